//go:build unix

package stage

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// carrier records its calls.
type carrier struct {
	mu      sync.Mutex
	asked   []string
	bring   func(ctx context.Context, in Input) (Moved, error)
	take    func(ctx context.Context, out Output) (Moved, error)
	carried atomic.Int64
}

func (c *carrier) note(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked = append(c.asked, text)
}

func (c *carrier) sorted() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	asked := slices.Clone(c.asked)
	slices.Sort(asked)
	return strings.Join(asked, ", ")
}

func (c *carrier) Download(ctx context.Context, in Input) (Moved, error) {
	c.note("in " + in.From)
	if c.bring != nil {
		return c.bring(ctx, in)
	}
	return Moved{Files: 1, Bytes: 10}, nil
}

func (c *carrier) Upload(ctx context.Context, out Output) (Moved, error) {
	c.note("out " + out.To)
	if c.take != nil {
		return c.take(ctx, out)
	}
	return Moved{Files: 2, Bytes: 20}, nil
}

func (c *carrier) Transferred() int64 { return c.carried.Load() }

// stager returns a Stager whose program runs in a directory of the test.
func stager(t *testing.T, document string) (*Stager, *carrier, *strings.Builder) {
	t.Helper()
	var stderr strings.Builder
	c := &carrier{}
	return &Stager{Environ: []string{"PATH=" + os.Getenv("PATH"), "ID=7", Variable + "=" + document}, Dir: t.TempDir(), Carrier: c, Stderr: &stderr,
		Exec: func(string, []string, []string) error { return errors.New("exec is not meant here") }}, c, &stderr
}

// three has an output for each outcome.
const three = `{"version":1,"inputs":[{"from":"s3://b/in/${ID}","to":"in"}],"outputs":[
	{"from":"/","to":"s3://b/s"},{"from":"/","to":"s3://b/f","when":"failure"},{"from":"/","to":"s3://b/a","when":"always"}]}`

func ends(document string) string { return strings.ReplaceAll(document, `"/"`, `"/etc"`) }

// TestRun checks which outputs are uploaded after which outcome, and the exit code.
func TestRun(t *testing.T) {
	for _, test := range []struct {
		name, script  string
		broken        string // the To of an output that fails
		exit          int
		asked, stderr string
	}{
		{"success", "exit 0", "", 0, "in s3://b/in/7, out s3://b/a, out s3://b/s", "output /etc -> s3://b/s: 2 files, 20 B in "},
		{"failure", "exit 3", "", 3, "in s3://b/in/7, out s3://b/a, out s3://b/f", "input s3://b/in/7 -> "},
		{"killed", "kill -9 $$", "", 137, "in s3://b/in/7, out s3://b/a, out s3://b/f", ""},
		{"an output fails", "exit 0", "s3://b/s", ExitOutputs, "in s3://b/in/7, out s3://b/a, out s3://b/s", ""},
		{"both fail", "exit 3", "s3://b/f", 3, "in s3://b/in/7, out s3://b/a, out s3://b/f", "no way"},
	} {
		s, c, stderr := stager(t, ends(three))
		c.take = func(_ context.Context, out Output) (Moved, error) {
			if out.To == test.broken {
				return Moved{}, errors.New("no way")
			}
			return Moved{Files: 2, Bytes: 20}, nil
		}
		exit, err := s.Run(t.Context(), []string{"sh", "-c", test.script})
		if exit != test.exit || c.sorted() != test.asked || !strings.Contains(stderr.String(), test.stderr) {
			t.Errorf("%s: exit code %d, %v, %s\n%s", test.name, exit, err, c.sorted(), stderr)
		}
		if failed := test.exit == ExitOutputs; failed != (err != nil) || failed && !strings.Contains(err.Error(), "output /etc -> s3://b/s: no way") {
			t.Errorf("%s: %v", test.name, err)
		}
	}
}

func TestRunErrors(t *testing.T) {
	for _, test := range []struct {
		name, document string
		args           []string
		exit           int
		asked, want    string
	}{
		{"damaged", `{"version":1`, []string{"true"}, 64, "", Variable + ": it is not complete JSON"},
		{"newer", `{"version":9}`, []string{"true"}, 64, "", "update batchctl"},
		{"unset", `{"version":1,"inputs":[{"from":"s3://b/a","to":"x"}],"outputs":[{"from":"x","to":"s3://b/${NOT_SET}"}]}`, []string{"true"}, 64, "", "${NOT_SET}"},
		{"no program", ends(three), nil, 64, "", "no program"},
		{"not there", ends(three), []string{"no-such-program"}, 127, "in s3://b/in/7, out s3://b/a, out s3://b/f", "no-such-program: not found"},
		{"no file to run", ends(three), []string{"/etc"}, 126, "in s3://b/in/7, out s3://b/a, out s3://b/f", "not an executable"},
		{"no outputs", `{"version":1,"inputs":[{"from":"s3://b/a","to":"x"}]}`, []string{"true"}, 126, "in s3://b/a", "exec is not meant here"},
	} {
		s, c, _ := stager(t, test.document)
		exit, err := s.Run(t.Context(), test.args)
		if exit != test.exit || c.sorted() != test.asked || err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: exit code %d, %v, %s", test.name, exit, err, c.sorted())
		}
	}
}

// TestExec checks that without outputs the program replaces the process.
func TestExec(t *testing.T) {
	for _, document := range []string{"", `{"version":1}`, `{"version":1,"inputs":[{"from":"s3://b/a","to":"x"}]}`} {
		s, _, _ := stager(t, document)
		var got []string
		s.Exec = func(path string, argv, env []string) error {
			got = append([]string{filepath.Base(path)}, argv[1:]...)
			return nil
		}
		if exit, err := s.Run(t.Context(), []string{"sh", "-c", "x"}); exit != 0 || err != nil || !slices.Equal(got, []string{"sh", "-c", "x"}) {
			t.Errorf("%d %v %q", exit, err, got)
		}
	}
}

// TestInputFails checks that a failed input stops the others, that the program does not start, and that
// only the cause is printed.
func TestInputFails(t *testing.T) {
	s, c, _ := stager(t, `{"version":1,"inputs":[{"from":"s3://b/bad","to":"x"},{"from":"s3://b/slow","to":"y"}],"outputs":[{"from":"/etc","to":"s3://b/o","when":"always"}]}`)
	c.bring = func(ctx context.Context, in Input) (Moved, error) {
		if in.From == "s3://b/bad" {
			return Moved{}, errors.New("it is gone")
		}
		<-ctx.Done()
		return Moved{}, context.Cause(ctx)
	}
	exit, err := s.Run(t.Context(), []string{"true"})
	if exit != ExitInputs || err == nil || err.Error() != "input s3://b/bad -> "+s.Dir+"/x: it is gone" || c.sorted() != "in s3://b/bad, in s3://b/slow" {
		t.Errorf("%d %v %s", exit, err, c.sorted())
	}
}

// TestNested checks that an input inside another input's directory comes after it.
func TestNested(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, c, _ := stager(t, `{"version":1,"inputs":[{"from":"s3://b/3","to":"/d/e/f"},{"from":"s3://b/2/","to":"/d/e"},{"from":"s3://b/1/","to":"/d"},{"from":"s3://b/other","to":"/o"}]}`)
		var order []string
		c.bring = func(_ context.Context, in Input) (Moved, error) {
			time.Sleep(time.Second)
			c.mu.Lock()
			order = append(order, in.From)
			c.mu.Unlock()
			return Moved{}, nil
		}
		d, err := s.Document()
		if err == nil {
			err = s.In(t.Context(), d)
		}
		order = slices.DeleteFunc(order, func(from string) bool { return from == "s3://b/other" })
		if err != nil || strings.Join(order, " ") != "s3://b/1/ s3://b/2/ s3://b/3" {
			t.Errorf("%v %q", err, order)
		}
	})
}

// TestMissingOutput checks that a missing output is an error after success, and a message after failure.
func TestMissingOutput(t *testing.T) {
	const document = `{"version":1,"outputs":[{"from":"gone","to":"s3://b/o","when":"always"}]}`
	s, _, stderr := stager(t, document)
	if exit, err := s.Run(t.Context(), []string{"sh", "-c", "exit 0"}); exit != ExitOutputs || err == nil || err.Error() != "output gone was not created" {
		t.Errorf("%d %v", exit, err)
	}
	if exit, err := s.Run(t.Context(), []string{"sh", "-c", "exit 9"}); exit != 9 || err != nil || !strings.Contains(stderr.String(), "output gone does not exist") {
		t.Errorf("%d %v %s", exit, err, stderr)
	}
}

// TestShortNames checks that messages about local files have their names and not those at the staging location.
func TestShortNames(t *testing.T) {
	hash := strings.Repeat("0a", 32)
	s, c, stderr := stager(t, `{"version":1,"inputs":[{"from":"/state/staged/`+hash+`","to":"count.py"},{"from":"s3://b/`+hash+`.tree","to":"data/"},{"from":"s3://b/x","to":"x"}],`+
		`"outputs":[{"from":"out","to":"/state/staged/outputs/1/0/out","local":"results/"}]}`)
	c.bring = func(_ context.Context, in Input) (Moved, error) {
		if strings.HasSuffix(in.From, "tree") {
			return Moved{Files: 3, Bytes: 4096}, nil
		}
		return Moved{Files: 1, Bytes: 440}, nil
	}
	c.take = func(context.Context, Output) (Moved, error) { return Moved{Files: 1, Bytes: 65}, nil }
	if exit, err := s.Run(t.Context(), []string{"sh", "-c", "mkdir " + s.Dir + "/out"}); exit != 0 || err != nil {
		t.Fatalf("%d %v", exit, err)
	}
	for _, want := range []string{"batchctl: input count.py, 440 B\n", "batchctl: input data, 3 files, 4 KiB\n", "batchctl: input s3://b/x -> ", "batchctl: output out, 65 B\n"} {
		if !strings.Contains(stderr.String(), want) {
			t.Errorf("no %q in\n%s", want, stderr)
		}
	}
}

// TestSignals checks that signals reach the running program, and that its outputs are still uploaded.
func TestSignals(t *testing.T) {
	s, c, _ := stager(t, ends(three))
	signals := make(chan os.Signal, 1)
	s.Signals = signals
	ready := filepath.Join(s.Dir, "ready")
	go func() {
		for {
			if _, err := os.Stat(ready); err == nil {
				signals <- syscall.SIGTERM
				return
			}
			time.Sleep(time.Millisecond)
		}
	}()
	exit, err := s.Run(t.Context(), []string{"sh", "-c", `trap 'exit 5' TERM; : > "$0"; while :; do sleep 0.01; done`, ready})
	if exit != 5 || err != nil || c.sorted() != "in s3://b/in/7, out s3://b/a, out s3://b/f" {
		t.Errorf("%d %v %s", exit, err, c.sorted())
	}
}

// TestSignalWhileMoving checks that any signal stops inputs; only SIGINT stops outputs, SIGTERM does not.
func TestSignalWhileMoving(t *testing.T) {
	for sig, exit := range map[os.Signal]int{syscall.SIGTERM: 143, os.Interrupt: 130} {
		s, c, _ := stager(t, ends(three))
		signals := make(chan os.Signal, 1)
		s.Signals = signals
		c.bring = func(ctx context.Context, _ Input) (Moved, error) {
			signals <- sig
			<-ctx.Done()
			return Moved{}, context.Cause(ctx)
		}
		if got, err := s.Run(t.Context(), []string{"true"}); got != exit || err == nil || !strings.Contains(err.Error(), "the program was not started") {
			t.Errorf("%v in: %d %v", sig, got, err)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		for sig, want := range map[os.Signal]string{syscall.SIGTERM: "", os.Interrupt: "interrupt"} {
			s, c, stderr := stager(t, ends(three))
			signals := make(chan os.Signal, 1)
			s.Signals = signals
			c.take = func(ctx context.Context, _ Output) (Moved, error) {
				select {
				case signals <- sig:
				default:
				}
				select {
				case <-ctx.Done():
					return Moved{}, context.Cause(ctx)
				case <-time.After(20 * time.Second):
					return Moved{Files: 1}, nil
				}
			}
			d, err := s.Document()
			if err != nil {
				t.Fatal(err)
			}
			err = s.Out(t.Context(), d, true)
			if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%v out: %v\n%s", sig, err, stderr)
			}
			if sig == syscall.SIGTERM && !strings.Contains(stderr.String(), "while there is time") {
				t.Errorf("%s", stderr)
			}
		}
	})
}

// TestProgress checks that the progress of a long transfer is printed from time to time, and a short one
// once.
func TestProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, c, stderr := stager(t, `{"version":1,"inputs":[{"from":"https://u:p@host/x?key=secret","to":"x"},{"from":"s3://b/\u001b[2J/","to":"y"}]}`)
		c.bring = func(ctx context.Context, in Input) (Moved, error) {
			if strings.HasPrefix(in.From, "https") {
				time.Sleep(70 * time.Second)
				return Moved{Files: 1, Bytes: 7e9, Unverified: 1}, nil
			}
			c.carried.Store(3 << 30)
			return Moved{Files: 3, Bytes: 100, Kept: 2}, nil
		}
		d, err := s.Document()
		if err == nil {
			err = s.In(t.Context(), d)
		}
		want := "batchctl: input s3://b/\\x1b[2J/ -> DIR/y: 3 files, 100 B in 0.0 s (2 already there)\n" +
			"batchctl: 1 of 2 inputs in progress: 3 GiB so far in 30.0 s, 107.4 MB/s\n" +
			"batchctl: 1 of 2 inputs in progress: 3 GiB so far in 60.0 s, 53.7 MB/s\n" +
			"batchctl: input https://host/x -> DIR/x: 1 file, 6.52 GiB in 70.0 s, 100.0 MB/s (1 without a checksum to verify)\n"
		if got := strings.ReplaceAll(stderr.String(), s.Dir, "DIR"); err != nil || got != want {
			t.Errorf("%v\n%swant\n%s", err, got, want)
		}
	})
}
