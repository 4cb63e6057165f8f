package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
)

// jobFiles are directories of valid job files, about 5 KB each.
type jobFiles struct {
	all, few string
	bare     string // those of all without $schema, as people write them
	one      string // a file
}

// writeJobFiles writes the files that validate checks.
func (w *workshop) writeJobFiles() (jobFiles, error) {
	f := jobFiles{all: w.path("files"), few: w.path("few"), bare: w.path("bare")}
	f.one = filepath.Join(f.all, "00000.json")
	for dir, n := range map[string]int{f.all: w.size(10000, 200), f.few: w.size(1000, 20), f.bare: w.size(10000, 200)} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			return f, err
		}
		for i := range n {
			file := jobFile(i)
			if dir == f.bare {
				delete(file, "$schema")
			}
			text, err := json.MarshalIndent(file, "", "  ")
			if err != nil {
				return f, err
			}
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%05d.json", i)), append(text, '\n'),
				0o644); err != nil {
				return f, err
			}
		}
	}
	syscall.Sync() // otherwise the disk's work would take a CPU from both sides
	return f, nil
}

// jobFile returns a job file that differs from the others in most values.
func jobFile(i int) map[string]any {
	environment := map[string]string{}
	for k := range 60 {
		environment[fmt.Sprintf("VARIABLE_%d", k)] = fmt.Sprintf("value %d of job %d: s3://data/experiment-%d/part-%d",
			k, i, i, k)
	}
	return map[string]any{
		"$schema":    "https://raw.githubusercontent.com/batchctl/batchctl/main/schemas/job.schema.json",
		"name":       fmt.Sprintf("job-%d", i),
		"image":      fmt.Sprintf("123456789012.dkr.ecr.us-east-1.amazonaws.com/train:1.4.%d", i%50),
		"command":    []string{"python", "train.py", "--epochs", "Ref::epochs", "--seed", fmt.Sprint(i)},
		"parameters": map[string]string{"epochs": fmt.Sprint(i%90 + 1)},
		"resources": map[string]any{"vcpus": 1 + i%16, "memory": fmt.Sprintf("%d GiB", 2+i%60),
			"sharedMemory": "1 GiB"},
		"environment": environment,
		"tags":        map[string]string{"Team": "research", "CostCenter": fmt.Sprintf("CC-%d", i)},
		"timeout":     fmt.Sprintf("%dh", 1+i%20),
		"retryStrategy": map[string]any{"attempts": 1 + i%5,
			"evaluateOnExit": []map[string]string{{"onStatusReason": "Host EC2*", "action": "RETRY"},
				{"onReason": "*", "action": "EXIT"}}},
	}
}

// ajvVersion is the version of ajv-cli, the peer of validate.
const ajvVersion = "5.0.0"

// ajv returns the path of ajv-cli, which it installs into the cache of the checks if it is missing there.
func (w *workshop) ajv(ctx context.Context) (string, error) {
	missing := needs("node, and npm with a network to install ajv-cli " + ajvVersion)
	if lookPath("node") != nil {
		return "", missing
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "batchctl-ci", "ajv-cli-"+ajvVersion)
	file := filepath.Join(dir, "node_modules", ".bin", "ajv")
	if _, err := os.Stat(file); err == nil {
		return file, nil
	}
	c := exec.CommandContext(ctx, "npm", "install", "--loglevel=error", "--no-fund", "--no-audit", "--prefix", dir,
		"ajv-cli@"+ajvVersion)
	if c.Run() != nil {
		return "", missing
	}
	return file, nil
}

// validateGroups compares validate with ajv-cli. validate checks all rules, ajv-cli only the schema.
func (w *workshop) validateGroups() []group {
	var ajv, million string
	perFile := func(name string, dir func(jobFiles) string, n int) side {
		s := w.batchctlSide(name, func(f jobFiles) []string { return []string{"validate", dir(f)} })
		run := s.run
		s.run = func(ctx context.Context) (figures, error) {
			f, err := run(ctx)
			if err == nil {
				f[microseconds] = []float64{f[ofCPUs][0] / float64(n) * 1e6}
			}
			return f, err
		}
		return s
	}
	many := perFile("million", func(jobFiles) string { return million }, copies*w.size(10000, 200))
	prepare := many.prepare
	many.prepare = func(ctx context.Context) (err error) {
		if err = prepare(ctx); err == nil {
			million, err = w.linkJobFiles()
		}
		return err
	}
	return []group{{
		rounds: 5,
		rows: []row{
			{name: "validate/10000", peer: "ajv-cli", ours: figure{"batchctl", seconds},
				theirs: figure{"ajv-cli", seconds}, goal: atLeast(3)},
			{name: "validate/bare", peer: "with $schema", ours: figure{"bare", seconds},
				theirs: figure{"batchctl", seconds}, goal: atMost(1.5)},
			{name: "validate/memory", peer: "1,000 files", unit: mebibytes, ours: figure{"batchctl", mebibytes},
				theirs: figure{"few", mebibytes}, goal: atMost(1.1)},
			{name: "validate/peak", unit: mebibytes, ours: figure{"batchctl", mebibytes}, goal: below(100)},
		},
		sides: []side{
			w.batchctlSide("batchctl", func(f jobFiles) []string { return []string{"validate", f.all} }),
			{name: "ajv-cli", prepare: func(ctx context.Context) (err error) { ajv, err = w.ajv(ctx); return err },
				run: func(ctx context.Context) (figures, error) {
					f, err := w.files()
					if err != nil {
						return nil, err
					}
					return w.timed(ctx, program{args: []string{ajv, "validate", "--spec=draft2020", "--strict=false",
						"-s",
						filepath.Join(w.root, "schemas/job.schema.json"),
						"-r", filepath.Join(w.root, "schemas/native.schema.json"), "-d",
						filepath.Join(f.all, "*.json")}})
				}},
			w.batchctlSide("bare", func(f jobFiles) []string { return []string{"validate", f.bare} }),
			w.batchctlSide("few", func(f jobFiles) []string { return []string{"validate", f.few} }),
		},
	}, {
		rounds: 1, long: true,
		rows: []row{
			{name: "validate/1000k", peer: "10,000 files", unit: microseconds, ours: figure{"million", microseconds},
				theirs: figure{"all", microseconds}, goal: atMost(1.1)},
			{name: "validate/1000k/peak", unit: mebibytes, ours: figure{"million", mebibytes}, goal: below(700)},
		},
		sides: []side{many, perFile("all", func(f jobFiles) string { return f.all }, w.size(10000, 200))},
	}}
}

// microseconds is the name of the figure of the time of both CPUs for one file.
const microseconds = "µs"

// copies is how often the largest check has each job file.
const copies = 100

// linkJobFiles returns a directory with the job files many times: as links, which take no space.
func (w *workshop) linkJobFiles() (string, error) {
	f, err := w.files()
	if err != nil {
		return "", err
	}
	entries, err := os.ReadDir(f.all)
	if err != nil {
		return "", err
	}
	root := w.path("million")
	for i := range copies {
		dir := filepath.Join(root, fmt.Sprint(i))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return "", err
		}
		for _, e := range entries {
			if err := os.Link(filepath.Join(f.all, e.Name()), filepath.Join(dir, e.Name())); err != nil {
				return "", err
			}
		}
	}
	return root, nil
}

// batchctlSide is a run of batchctl with job files.
func (w *workshop) batchctlSide(name string, args func(jobFiles) []string) side {
	return side{name: name, prepare: func(context.Context) error {
		if _, err := w.files(); err != nil {
			return err
		}
		_, err := w.batchctl()
		return err
	}, run: func(ctx context.Context) (figures, error) {
		f, err := w.files()
		if err != nil {
			return nil, err
		}
		return w.timed(ctx, program{args: append([]string{w.path("batchctl")}, args(f)...)})
	}}
}

// startGroups compares the start of batchctl with that of an empty Go program.
func (w *workshop) startGroups() []group {
	return []group{{
		rounds: 41, warm: true,
		rows: []row{
			{name: "start/version", peer: "empty program", ours: figure{"version", seconds},
				theirs: figure{"empty", seconds}, goal: atMost(6)},
			{name: "start/validate", peer: "empty program", ours: figure{"validate", seconds},
				theirs: figure{"empty", seconds}, goal: atMost(8)},
		},
		sides: []side{
			w.batchctlSide("version", func(jobFiles) []string { return []string{"version"} }),
			{name: "empty", prepare: func(context.Context) error { _, err := w.empty(); return err },
				run: func(ctx context.Context) (figures, error) {
					return w.timed(ctx, program{args: []string{w.path("empty")}})
				}},
			w.batchctlSide("validate", func(f jobFiles) []string { return []string{"validate", f.one} }),
		},
	}}
}

// sweepGroups compares a matrix of 100,000 cells with one of 10,000, and counts the calls that submit it.
func (w *workshop) sweepGroups() []group {
	plan := func(name string, exclude bool, learningRates int) side {
		file := w.path("sweep-" + name + ".json")
		return side{name: name, prepare: func(context.Context) error {
			if _, err := w.batchctl(); err != nil {
				return err
			}
			return writeJSON(file, sweepFile(learningRates, exclude))
		}, run: func(ctx context.Context) (figures, error) {
			// Status 4: the checks that need the target are left out.
			return w.timed(ctx, program{args: []string{w.path("batchctl"), "plan", "--offline", file}, allowed: 4})
		}}
	}
	many, few := w.size(1000, 100), w.size(100, 10)
	return []group{{
		rounds: 9,
		rows: []row{
			{name: "sweep/plan", peer: "10,000 cells", ours: figure{"large", seconds}, theirs: figure{"small", seconds},
				goal: atMost(12)},
			{name: "sweep/excluded", peer: "10,000 cells", ours: figure{"largeless", seconds},
				theirs: figure{"smallless", seconds}, goal: atMost(12)},
			{name: "sweep/peak", unit: mebibytes, ours: figure{"large", mebibytes}, goal: below(300)},
			{name: "sweep/excluded-peak", unit: mebibytes, ours: figure{"largeless", mebibytes}, goal: below(300)},
		},
		sides: []side{plan("large", false, many), plan("small", false, few), plan("largeless", true, many),
			plan("smallless", true, few)},
	}, {
		rounds: 1,
		rows:   []row{{name: "sweep/calls", unit: "calls", ours: figure{"submit", "calls"}, goal: below(10)}},
		sides: []side{{name: "submit", prepare: func(context.Context) error { _, err := w.batchctl(); return err },
			run: func(ctx context.Context) (figures, error) {
				file := w.path("sweep-calls.json")
				if err := writeJSON(file, sweepFile(many, false)); err != nil {
					return nil, err
				}
				return w.countCalls(ctx, file, many*100)
			}}},
	}}
}

// sweepFile returns a job file whose array has 100 cells for each learning rate.
func sweepFile(learningRates int, exclude bool) map[string]any {
	rates, seeds := make([]float64, learningRates), make([]int, 100)
	for i := range rates {
		rates[i] = float64(i) / 1000
	}
	var excluded []map[string]int
	for i := range seeds {
		seeds[i] = i
		if i%7 == 0 {
			excluded = append(excluded, map[string]int{"seed": i})
		}
	}
	array := map[string]any{"matrix": map[string]any{"lr": rates, "seed": seeds}}
	if exclude {
		array["exclude"] = excluded
	}
	return map[string]any{"name": "sweep", "image": "busybox:1", "command": []string{"train", "--lr",
		"${{ matrix.lr }}", "--seed", "${{ matrix.seed }}"},
		"array": array, "resources": map[string]any{"vcpus": 1, "memory": "128 MiB"}, "timeout": "10m", "queue": "q"}
}

// countCalls submits the file to a service that accepts everything. It returns the number of SubmitJob calls, and an
// error if their arrays do not have the wanted number of children together.
func (w *workshop) countCalls(ctx context.Context, file string, children int) (figures, error) {
	var mu sync.Mutex
	calls, found := 0, 0
	server := httptest.NewServer(http.HandlerFunc(func(response http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		var submit struct{ ArrayProperties struct{ Size int } }
		mu.Lock()
		if strings.HasSuffix(r.URL.Path, "/submitjob") && json.Unmarshal(text, &submit) == nil {
			calls++
			found += submit.ArrayProperties.Size
		}
		id := fmt.Sprintf("%08x-0000-4000-8000-000000000000", calls)
		mu.Unlock()
		response.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(response).
			Encode(map[string]any{"jobDefinitionArn": "arn:aws:batch:us-east-1:123456789012:job-definition/sweep:1",
				"jobDefinitionName": "sweep",
				"revision":          1, "jobId": id, "jobName": "sweep", "jobDefinitions": []any{}, "jobs": []any{},
				"jobSummaryList": []any{}})
	}))
	defer server.Close()
	if _, err := w.timed(ctx,
		program{args: []string{w.path("batchctl"), "submit", "--target", "aws", "--endpoint-url", server.URL, "--json",
			file}}); err != nil {
		return nil, err
	}
	if found != children {
		return nil, fmt.Errorf("%d SubmitJob calls have %d children, want %d", calls, found, children)
	}
	return figures{"calls": {float64(calls)}}, nil
}

func writeJSON(path string, document any) error {
	text, err := json.Marshal(document)
	if err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o600)
}
