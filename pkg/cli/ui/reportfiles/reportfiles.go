// Package reportfiles finds the files that the pages of batchctl ui show: benchmark reports, reports of doctor, job
// files, scheduling policies and traces.
package reportfiles

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/batchctl/batchctl/pkg/cli/ui/show"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/doctor"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/forecast"
)

// Benchmark is the part of a benchmark.json that the pages show.
type Benchmark struct {
	// Path is the file, relative to the directory of --files.
	Path       string
	Title      string `json:"title"`
	Comparison struct {
		Base     struct{ Name string }
		Other    struct{ Name string }
		Pairs    []BenchmarkPair
		Unpaired []BenchmarkUnpaired
		Warnings []string
	} `json:"comparison"`
	Decision *struct {
		Words []string `json:"words"`
	} `json:"decision"`
	Notes []string `json:"notes"`
}

// BenchmarkKey names the work of a row.
type BenchmarkKey struct {
	Title, Size, Type, Parameters string
	Batch                         int
}

// Name returns the work as one text, such as "Gaussian blur 512x512 batch 2 uint8 sigma 2".
func (k BenchmarkKey) Name() string {
	batch := ""
	if k.Batch > 0 {
		batch = "batch " + strconv.Itoa(k.Batch)
	}
	return show.Join(" ", k.Title, k.Size, batch, k.Type, k.Parameters)
}

// BenchmarkUnpaired is a row that cannot be compared.
type BenchmarkUnpaired struct {
	BenchmarkKey
	Reason string
}

// BenchmarkPair is a row that both sides measured. Times are in seconds.
type BenchmarkPair struct {
	BenchmarkKey
	Base, Other *BenchmarkSummary
	SpeedUp     struct {
		Value    float64
		Interval *struct{ Low, High float64 }
	}
}

// BenchmarkSummary is a sample of times.
type BenchmarkSummary struct {
	Repeats          int
	Min, Median, Max float64
}

// Reports are the files of a directory that the pages show.
type Reports struct {
	Benchmarks []Benchmark
	Doctors    []DoctorReport
	// JobFiles, Policies and Traces are the paths of job files, of scheduling policies, and of files that a sizing
	// report can read.
	JobFiles, Policies, Traces []string
	// Problem tells why the directory was not read completely.
	Problem string
}

// DoctorReport is a recorded report of doctor.
type DoctorReport struct {
	Path string
	At   time.Time
	doctor.Report
}

const (
	// reportDepth is how deep below the directory reports are searched.
	reportDepth = 3
	// reportFiles is how many JSON files are read at most, and reportSize the largest.
	reportFiles = 500
	reportSize  = 8 << 20
)

// Find reads the benchmark reports and doctor reports below a directory.
func Find(dir string) Reports {
	var found Reports
	read := 0
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil && path == ".":
			return err
		case err != nil:
			return nil // another user's directory
		case e.IsDir() && path != "." && (strings.HasPrefix(e.Name(), ".") ||
			strings.Count(path, "/") >= reportDepth-1 || e.Name() == "node_modules"):
			return fs.SkipDir
		case e.IsDir() || !e.Type().IsRegular() || strings.HasPrefix(path, "-"):
			return nil
		case slices.Contains([]string{".swf", ".csv"}, filepath.Ext(path)):
			if len(found.Traces) < reportFiles {
				found.Traces = append(found.Traces, path)
			}
			return nil
		case filepath.Ext(path) != ".json":
			return nil
		}
		info, err := e.Info()
		if err != nil || info.Size() > reportSize {
			return nil
		}
		if read++; read > reportFiles {
			found.Problem = fmt.Sprintf("only the first %d JSON files were read; name a smaller directory with --files",
				reportFiles)
			return fs.SkipAll
		}
		found.add(dir, path, info.ModTime())
		return nil
	})
	if err != nil {
		found.Problem = show.Text(fmt.Sprintf("read %s: %v", dir, exit.Cause(err)))
	}
	slices.SortStableFunc(found.Doctors, func(a, b DoctorReport) int { return b.At.Compare(a.At) })
	return found
}

// add adds a file if it is a report.
func (r *Reports) add(dir, path string, at time.Time) {
	text, err := os.ReadFile(filepath.Join(dir, path))
	if err != nil {
		return
	}
	var b Benchmark
	if json.Unmarshal(text, &b) == nil && len(b.Comparison.Pairs)+len(b.Comparison.Unpaired) > 0 {
		b.Path = path
		r.Benchmarks = append(r.Benchmarks, b)
		return
	}
	var d doctor.Report
	if json.Unmarshal(text, &d) == nil && d.Kind != "" && (len(d.Findings) > 0 || len(d.Unread) > 0) {
		r.Doctors = append(r.Doctors, DoctorReport{path, at, d})
		return
	}
	// A policy without members is also any empty object.
	if p, err := forecast.ParsePolicy(text); err == nil && (p.ComputeReservation != nil || p.ShareDecaySeconds != nil ||
		p.ShareDistribution != nil) {
		r.Policies = append(r.Policies, path)
		return
	}
	if isJobFile(path, text) {
		r.JobFiles = append(r.JobFiles, path)
	}
}

// isJobFile reports whether a file has jobs, rather than queues or settings.
func isJobFile(path string, text []byte) bool {
	if filepath.Base(path) == document.FileName ||
		document.Recognize(diag.NewSource(path, string(text))) != document.Ours {
		return false
	}
	var members map[string]json.RawMessage
	_ = json.Unmarshal(text, &members) // a file with comments is a job file until batchctl reads it
	return !slices.ContainsFunc([]string{"jobQueues", "computeEnvironments", "schedulingPolicies", "jobQueueName",
		"computeEnvironmentName"}, func(name string) bool { return members[name] != nil })
}
