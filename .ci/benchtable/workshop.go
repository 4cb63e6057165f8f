package main

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"go.yaml.in/yaml/v4"
)

// workshop has what the benchmarks share: a directory, and programs that are built when the first row needs them.
type workshop struct {
	dir   string
	root  string // of the repository
	small bool   // use small sizes, to try the benchmarks
	notes []string
	built map[string]bool // the tests of packages

	batchctl, workloads, empty, store func() (string, error) // the paths of built programs
	files                             func() (jobFiles, error)
	flags                             func() (releaseFlags, error)
	journaled                         func() error // mounts a file system
	unmount                           func()       // nil if it is not mounted
}

// peersProgram runs the peers that need Python.
//
//go:embed peers.py
var peersProgram []byte

// newWorkshop returns a workshop with an empty directory. Close removes it.
func newWorkshop(small bool) (*workshop, error) {
	root, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(".goreleaser.yaml"); err != nil {
		return nil, fmt.Errorf("start it in the root of the repository: %w", err)
	}
	dir, err := os.MkdirTemp("", "bench-")
	if err != nil {
		return nil, err
	}
	w := &workshop{dir: dir, root: root, small: small, built: map[string]bool{}}
	w.flags = sync.OnceValues(func() (releaseFlags, error) {
		text, err := os.ReadFile(".goreleaser.yaml")
		if err != nil {
			return releaseFlags{}, err
		}
		return parseReleaseFlags(text, "batchctl")
	})
	w.batchctl = sync.OnceValues(func() (string, error) { return w.build("batchctl", "build", "./cmd/batchctl") })
	w.workloads = sync.OnceValues(func() (string, error) {
		text, err := os.ReadFile(".goreleaser.yaml")
		if err != nil {
			return "", err
		}
		// The program of the CPU image: nothing of a GPU, and no C library.
		flags, err := parseReleaseFlags(text, "static")
		if err != nil {
			return "", err
		}
		return w.buildWith(flags, "workloads", "build", "./cmd/batchctl-workloads")
	})
	w.store = sync.OnceValues(func() (string, error) { return w.build("store", "build", "./pkg/objects/s3mem/serve") })
	w.empty = sync.OnceValues(func() (string, error) {
		source := filepath.Join(w.dir, "empty.go")
		if err := os.WriteFile(source, []byte("package main\n\nfunc main() {}\n"), 0o600); err != nil {
			return "", err
		}
		return w.build("empty", "build", source)
	})
	w.files = sync.OnceValues(w.writeJobFiles)
	w.journaled = sync.OnceValue(func() (err error) {
		w.unmount, err = w.mountJournaled()
		return err
	})
	return w, os.WriteFile(w.path("peers.py"), peersProgram, 0o600)
}

func (w *workshop) close() {
	if w.unmount != nil {
		w.unmount()
	}
	_ = os.RemoveAll(w.dir)
}

// groups returns all rows, in the order of the table.
func (w *workshop) groups() []group {
	return slices.Concat(w.validateGroups(), w.startGroups(), w.submitGroups(), w.engineGroups(), w.sweepGroups(),
		w.stageGroups(), w.matrixGroups(), w.imageGroups())
}

// path returns the path of a file in the workshop's directory.
func (w *workshop) path(name string) string { return filepath.Join(w.dir, name) }

// size returns the full size, or the small one if the user asks for small sizes.
func (w *workshop) size(full, small int) int {
	if w.small {
		return small
	}
	return full
}

// note adds a line above the table, once.
func (w *workshop) note(text string) {
	if !slices.Contains(w.notes, text) {
		w.notes = append(w.notes, text)
	}
}

// releaseFlags are how goreleaser builds a program: arguments of go build, and variables.
type releaseFlags struct{ args, env []string }

// parseReleaseFlags reads the flags of a build from goreleaser's configuration, so that a change there reaches the
// benchmarks.
func parseReleaseFlags(text []byte, id string) (releaseFlags, error) {
	var config struct {
		Env    []string
		Builds []struct {
			ID                     string
			Tags, Ldflags, Gcflags []string
		}
	}
	if err := yaml.Unmarshal(text, &config); err != nil {
		return releaseFlags{}, fmt.Errorf(".goreleaser.yaml: %w", err)
	}
	for _, b := range config.Builds {
		if b.ID != id {
			continue
		}
		f := releaseFlags{env: config.Env}
		if len(b.Tags) > 0 {
			f.args = append(f.args, "-tags="+strings.Join(b.Tags, ","))
		}
		if len(b.Ldflags) > 0 {
			f.args = append(f.args, "-ldflags="+strings.Join(b.Ldflags, " "))
		}
		for _, flag := range b.Gcflags {
			f.args = append(f.args, "-gcflags="+flag)
		}
		if i := slices.IndexFunc(f.args, func(a string) bool { return strings.Contains(a, "{{") }); i >= 0 {
			return f, fmt.Errorf(".goreleaser.yaml: build %s: cannot fill in the template in %q", id, f.args[i])
		}
		return f, nil
	}
	return releaseFlags{}, fmt.Errorf(".goreleaser.yaml has no build %q", id)
}

// build builds a program, or with "test -c" the tests of a package, as a release of batchctl is built.
func (w *workshop) build(name, command, source string) (string, error) {
	flags, err := w.flags()
	if err != nil {
		return "", err
	}
	return w.buildWith(flags, name, command, source)
}

func (w *workshop) buildWith(flags releaseFlags, name, command, source string) (string, error) {
	args := append(strings.Fields(command), flags.args...)
	c := exec.Command("go", append(args, "-o", w.path(name), source)...)
	c.Dir, c.Env = w.root, append(os.Environ(), flags.env...)
	if out, err := c.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %w: %s", source, err, firstLine(string(out)))
	}
	return w.path(name), nil
}

// program is a command to run.
type program struct {
	env     []string // added to that of all programs
	allowed int      // an exit status that is no failure, beside 0
	args    []string
	dir     string // the workshop's if empty
}

// disturbing are variables that change what one side of a comparison does. Some are set on machines of CI.
var disturbing = []string{"AWS_", "BATCHCTL_", "OPENBLAS_", "GOTO_NUM_THREADS", "OMP_NUM_THREADS", "OPENCV_",
	"GOMAXPROCS", "GODEBUG", "GOGC", "GOMEMLIMIT"}

// environment returns the variables for all programs: nothing that changes their speed, and an account for AWS's tools
// that does not exist.
func (w *workshop) environment() []string {
	env := slices.DeleteFunc(os.Environ(), func(v string) bool {
		return slices.ContainsFunc(disturbing, func(prefix string) bool { return strings.HasPrefix(v, prefix) })
	})
	none := w.path("none")
	return append(env, "AWS_REGION=us-east-1", "AWS_DEFAULT_REGION=us-east-1", "AWS_ACCESS_KEY_ID=a",
		"AWS_SECRET_ACCESS_KEY=b", "AWS_CONFIG_FILE="+none,
		"AWS_SHARED_CREDENTIALS_FILE="+none, "AWS_PAGER=", "AWS_EC2_METADATA_DISABLED=true", "NO_PROXY=127.0.0.1",
		"BATCHCTL_STATE_DIR="+w.path("state"), "BENCHMARK_DIR="+w.dir)
}

// peakUnit is the unit of the peak memory of a process in bytes.
var peakUnit = map[bool]float64{true: 1, false: 1024}[runtime.GOOS == "darwin"]

// mebibytes is the name of the figure of the peak memory.
const mebibytes = "MiB"

// ofCPUs is the name of the figure of the time that a process spends on all CPUs.
const ofCPUs = "CPU seconds"

// output runs a program and returns what it prints, and as figures its time and its peak memory. Linux counts the
// memory of the parent until the child's program starts, so this program must stay smaller than those it measures.
func (w *workshop) output(ctx context.Context, p program) ([]byte, figures, error) {
	c := exec.CommandContext(ctx, p.args[0], p.args[1:]...)
	c.Dir, c.Env = p.dir, append(w.environment(), p.env...)
	if c.Dir == "" {
		c.Dir = w.dir
	}
	var out, problems bytes.Buffer
	c.Stdout, c.Stderr = &out, &problems
	began := time.Now()
	err := c.Run()
	took := time.Since(began)
	var exited *exec.ExitError
	if errors.As(err, &exited) && exited.ExitCode() == p.allowed && p.allowed != 0 {
		err = nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w: %s", strings.Join(p.args[:min(3, len(p.args))], " "), err,
			lastLine(problems.String()))
	}
	f := figures{seconds: {took.Seconds()}, ofCPUs: {(c.ProcessState.UserTime() + c.ProcessState.SystemTime()).
		Seconds()}}
	if usage, ok := c.ProcessState.SysUsage().(*syscall.Rusage); ok {
		f[mebibytes] = []float64{float64(usage.Maxrss) * peakUnit / (1 << 20)}
	}
	return out.Bytes(), f, nil
}

// timed runs a program for its figures.
func (w *workshop) timed(ctx context.Context, p program) (figures, error) {
	_, f, err := w.output(ctx, p)
	return f, err
}

// discard runs a program of which only success counts.
func (w *workshop) discard(ctx context.Context, args ...string) error {
	_, _, err := w.output(ctx, program{args: args})
	return err
}

// python returns a python3 that has the modules. PYTHON names another one.
func (w *workshop) python(ctx context.Context, modules ...string) (string, error) {
	for _, candidate := range []string{os.Getenv("PYTHON"), "python3", "/usr/bin/python3"} {
		if candidate != "" && w.discard(ctx, candidate, "-c", "import "+strings.Join(modules, ", ")) == nil {
			return candidate, nil
		}
	}
	return "", needs("a python3 with " + strings.Join(modules, " and "))
}

// lookPath returns an error of type needs if a program is not installed.
func lookPath(name string) error {
	if _, err := exec.LookPath(name); err != nil {
		return needs(name)
	}
	return nil
}

func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return text[strings.LastIndexByte(text, '\n')+1:]
}
