package quickstart

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/newfile"
	"github.com/batchctl/batchctl/pkg/target"
)

// quickstartFile is what a quick start remembers of itself, in its directory.
const quickstartFile = "quickstart.json"

// quickstartMemory is what a quick start remembers: whose it is, and the jobs that go on
// without it. All else is found out anew.
type quickstartMemory struct {
	path string

	Began  time.Time `json:"began"`
	Target string    `json:"target"`
	Prefix string    `json:"prefix"`
	// Jobs are those of the benchmark under way, by part ("CPU matrix"); Measured says
	// that it is done, and the next one begins anew.
	Jobs     map[string]quickJobs `json:"jobs,omitempty"`
	Measured time.Time            `json:"measured,omitzero"`
	// Logs are the ids of all jobs, also of earlier benchmarks, whose logs are removed at
	// the end.
	Logs []string `json:"logs,omitempty"`
}

// quickJobs are the jobs of a part.
type quickJobs struct {
	// Work is the hash of their requests.
	Work string `json:"work"`
	// Asked is when they began to be submitted. Without IDs it is not known whether they
	// were.
	Asked time.Time  `json:"asked"`
	Jobs  []quickJob `json:"jobs,omitempty"`
}

type quickJob struct {
	Name string `json:"name"`
	ID   string `json:"id"`
}

// recallQuickstart reads what an earlier process remembered; nothing where there is none.
func recallQuickstart(dir string) (*quickstartMemory, error) {
	m := &quickstartMemory{path: filepath.Join(dir, quickstartFile)}
	text, err := os.ReadFile(m.path)
	if errors.Is(err, fs.ErrNotExist) {
		return m, nil
	}
	if err == nil {
		err = json.Unmarshal(text, m)
	}
	if err != nil {
		return nil, exit.Fail(exit.NotDone, "read %s: %v", m.path, exit.Cause(err)).Try("begin in another directory: --out DIRECTORY    or remove the file: jobs of that quick start are not known any more then")
	}
	return m, nil
}

// belongs refuses the memory of another account, Region or prefix.
func (m *quickstartMemory) belongs(t *target.Target, prefix, dir string) error {
	switch {
	case m.Target != "" && m.Target != t.Kind():
		return exit.Fail(exit.NotDone, "%s is the directory of a quick start in %s, and this is %s: nothing was done", dir, m.Target, t.Kind()).
			Try("name another one: --out DIRECTORY    or that target: --target NAME")
	case m.Prefix != "" && m.Prefix != prefix:
		return exit.Fail(exit.NotDone, "%s is the directory of a quick start with --prefix %s: nothing was done", dir, m.Prefix).
			Try("say --prefix %s, or name another one: --out DIRECTORY", m.Prefix)
	}
	return nil
}

// begin notes whose the quick start is, before anything is made.
func (m *quickstartMemory) begin(t *target.Target, prefix string) error {
	m.Target, m.Prefix = t.Kind(), prefix
	if m.Began.IsZero() {
		m.Began = time.Now().UTC().Truncate(time.Second)
	}
	if !m.Measured.IsZero() { // a new benchmark
		m.Jobs, m.Measured = nil, time.Time{}
	}
	return m.keep()
}

func (m *quickstartMemory) keep() error {
	text, err := term.JSONText(m)
	if err != nil {
		return err
	}
	return newfile.Write(m.path, newfile.ForAll, newfile.Bytes(text))
}

// note remembers the jobs of a part.
func (m *quickstartMemory) note(part string, jobs quickJobs) error {
	if m.Jobs == nil {
		m.Jobs = map[string]quickJobs{}
	}
	m.Jobs[part] = jobs
	for _, j := range jobs.Jobs {
		if !slices.Contains(m.Logs, j.ID) {
			m.Logs = append(m.Logs, j.ID)
		}
	}
	return m.keep()
}

// forget removes the memory: nothing of the quick start is left.
func (m *quickstartMemory) forget() error {
	if err := os.Remove(m.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return exit.Fail(exit.NotDone, "remove %s: %v", m.path, exit.Cause(err))
	}
	return nil
}
