package testbed

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/newfile"
)

// memoryFile is what a benchmark remembers of itself, in its directory.
const memoryFile = "deployed.json"

// Memory is what a benchmark remembers: whose it is, and the jobs that continue
// without it. All else is found out again.
type Memory struct {
	path string

	Began  time.Time `json:"began"`
	Target string    `json:"target"`
	Prefix string    `json:"prefix"`
	// Jobs are those of the benchmark under way, by part ("CPU matrix"); Measured says
	// that it is done, and the next one begins again.
	Jobs     map[string]Jobs `json:"jobs,omitempty"`
	Measured time.Time       `json:"measured,omitzero"`
	// Logs are the ids of all jobs, also of earlier benchmarks, whose logs are removed at
	// the end.
	Logs []string `json:"logs,omitempty"`
}

// Jobs are the jobs of a part.
type Jobs struct {
	// Work is the hash of their requests.
	Work string `json:"work"`
	// Asked is when they began to be submitted. Without IDs it is unknown whether they
	// were.
	Asked time.Time `json:"asked"`
	Jobs  []Job     `json:"jobs,omitempty"`
}

// Job is a job that was submitted.
type Job struct {
	Name string `json:"name"`
	ID   string `json:"id"`
}

// Recall reads what an earlier process remembered; nothing if there are none.
func Recall(dir string) (*Memory, error) {
	m := &Memory{path: filepath.Join(dir, memoryFile)}
	text, err := os.ReadFile(m.path)
	if errors.Is(err, fs.ErrNotExist) {
		return m, nil
	}
	if err == nil {
		err = json.Unmarshal(text, m)
	}
	if err != nil {
		return nil, exit.Fail(exit.NotDone, "read %s: %v", m.path, exit.Cause(err)).
			Try("use another directory: --out DIRECTORY    or remove the file: batchctl then no longer knows the jobs of that benchmark")
	}
	return m, nil
}

// Belongs refuses the memory of another account, Region or prefix.
func (m *Memory) Belongs(target, prefix, dir string) error {
	switch {
	case m.Target != "" && m.Target != target:
		return exit.Fail(exit.NotDone, "%s is the directory of a benchmark in %s, but this is %s: nothing was done",
			dir, m.Target, target).
			Try("name another one: --out DIRECTORY    or that target: --target NAME")
	case m.Prefix != "" && m.Prefix != prefix:
		return exit.Fail(exit.NotDone, "%s is the directory of a benchmark with --prefix %s: nothing was done", dir,
			m.Prefix).
			Try("pass --prefix %s, or another directory: --out DIRECTORY", m.Prefix)
	}
	return nil
}

// Begin notes whose the benchmark is, before anything is made.
func (m *Memory) Begin(target, prefix string) error {
	m.Target, m.Prefix = target, prefix
	if m.Began.IsZero() {
		m.Began = time.Now().UTC().Truncate(time.Second)
	}
	if !m.Measured.IsZero() { // a new benchmark
		m.Jobs, m.Measured = nil, time.Time{}
	}
	return m.Keep()
}

// Keep writes the memory into the directory of the benchmark.
func (m *Memory) Keep() error {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(m); err != nil {
		return err
	}
	return newfile.Write(m.path, newfile.ForAll, newfile.Bytes(diag.PrintableJSON(text.Bytes())))
}

// Note remembers the jobs of a part.
func (m *Memory) Note(part string, jobs Jobs) error {
	if m.Jobs == nil {
		m.Jobs = map[string]Jobs{}
	}
	m.Jobs[part] = jobs
	for _, j := range jobs.Jobs {
		if !slices.Contains(m.Logs, j.ID) {
			m.Logs = append(m.Logs, j.ID)
		}
	}
	return m.Keep()
}

// Forget removes the memory: nothing of the benchmark is left.
func (m *Memory) Forget() error {
	if err := os.Remove(m.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return exit.Fail(exit.NotDone, "remove %s: %v", m.path, exit.Cause(err))
	}
	return nil
}
