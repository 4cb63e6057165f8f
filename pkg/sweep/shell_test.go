package sweep

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"pgregory.net/rapid"

	"github.com/batchctl/batchctl/pkg/testtool"
)

// shell is a shell that images call sh.
type shell struct {
	name string
	args []string
}

func (s shell) command(args ...string) *exec.Cmd {
	return exec.Command(s.args[0], append(slices.Clone(s.args[1:]), args...)...)
}

// eachShell runs a test under every shell. A missing shell is skipped, or fails the test if tools are
// required.
func eachShell(t *testing.T, test func(t *testing.T, sh shell)) {
	for _, sh := range []shell{{"dash", []string{"dash"}}, {"bash", []string{"bash", "--posix"}}, {"busybox", []string{"busybox", "sh"}}} {
		t.Run(sh.name, func(t *testing.T) {
			testtool.Works(t, sh.args[0], append(slices.Clone(sh.args[1:]), "-c", ":")...)
			test(t, sh)
		})
	}
}

// launch is one child: what the container gives it.
type launch struct {
	env  []string
	args []string
}

// outcome is the result of a child: the arguments and the environment of the user's program, or the
// message, and the exit code.
type outcome struct {
	exit    int
	message string
	args    []string
	env     []string
}

func (o outcome) String() string {
	return fmt.Sprintf("exit %d %q\nargs %q\nenv  %q", o.exit, o.message, o.args, o.env)
}

// printer is a user's program that prints its arguments, which are all "ARG_number=…",
// and its environment, each ended by NUL: env alone does it.
func printer(args []string) []string {
	command := []string{"env", "-0"}
	for i, arg := range args {
		command = append(command, fmt.Sprintf("ARG_%d=%s", i, arg))
	}
	return command
}

// ofPrinter parses the output of printer. It omits the variables that shells set on their own.
func ofPrinter(fields []string) outcome {
	var o outcome
	for _, field := range fields {
		name, _, _ := strings.Cut(field, "=")
		switch {
		case strings.HasPrefix(name, "ARG_"):
			o.args = append(o.args, field)
		case !slices.Contains([]string{"PWD", "OLDPWD", "SHLVL", "_"}, name):
			o.env = append(o.env, field)
		}
	}
	slices.Sort(o.args)
	slices.Sort(o.env)
	return o
}

func path() string { return "PATH=" + os.Getenv("PATH") }

// inGo runs a child in Go.
func inGo(ctx context.Context, l launch) outcome {
	var o outcome
	var stderr strings.Builder
	c := Child{Environ: append([]string{path()}, l.env...), Args: l.args, Stderr: &stderr, Exec: func(_ string, argv, env []string) error {
		o = ofPrinter(append(argv[2:], env...))
		return nil
	}}
	exit, err := c.Run(ctx)
	o.exit = exit
	if o.message = stderr.String(); err != nil {
		o.message += "batchctl: " + err.Error() + "\n"
	}
	return o
}

// quoted is a text as a word of a shell script.
func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// inShell runs children in one process of the shell, each in a subshell of it.
func inShell(sh shell, dir string, launches []launch) ([]outcome, error) {
	var script strings.Builder
	fmt.Fprintf(&script, "P=%s\n", quoted(Program))
	for _, l := range launches {
		script.WriteString("(\n")
		for _, variable := range l.env {
			name, value, _ := strings.Cut(variable, "=")
			fmt.Fprintf(&script, "export %s=%s\n", name, quoted(value))
		}
		script.WriteString("set --")
		for _, arg := range l.args {
			script.WriteString(" " + quoted(arg))
		}
		script.WriteString("\neval \"$P\"\n) 2>&1\nprintf '\\0exit %s\\0' $?\n")
	}
	file := filepath.Join(dir, "script")
	if err := os.WriteFile(file, []byte(script.String()), 0o600); err != nil {
		return nil, err
	}
	cmd := sh.command(file)
	cmd.Env, cmd.Dir = []string{path()}, dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("%w\n%s", err, out)
	}
	var outcomes []outcome
	var printed []string
	var o outcome
	for field := range strings.SplitSeq(string(out), "\x00") {
		switch {
		case strings.HasPrefix(field, "batchctl: "):
			o.message = field
		case strings.Contains(field, "="): // all that is printed does
			printed = append(printed, field)
		case strings.HasPrefix(field, "exit "):
			sorted := ofPrinter(printed)
			o.args, o.env = sorted.args, sorted.env
			if o.exit, err = strconv.Atoi(field[len("exit "):]); err != nil {
				return nil, err
			}
			outcomes = append(outcomes, o)
			printed, o = nil, outcome{}
		}
	}
	return outcomes, nil
}

// drawLaunch draws a child of a sweep; now and then one that has no cell.
func drawLaunch(t *rapid.T, s *Sweep) launch {
	l := launch{env: []string{DocumentVariable + "=" + s.Document(), "OTHER=" + text(4).Draw(t, "other")}}
	cell := rapid.IntRange(0, min(s.Len(), 2000)).Draw(t, "cell")
	if s.Kind == Plain {
		cell = rapid.SampledFrom([]int{cell, s.Len() - 1, s.Len()}).Draw(t, "plain cell")
	}
	index := cell
	switch rapid.IntRange(0, 3).Draw(t, "cells") {
	case 0:
		l.env = append(l.env, CellsVariable+"=")
	case 1:
		cells := rapid.SliceOfN(rapid.IntRange(0, s.Len()-1), 1, 8).Draw(t, "other cells")
		index = rapid.IntRange(0, len(cells)).Draw(t, "index")
		l.env = append(l.env, CellsVariable+"="+FormatCells(cells))
	case 2:
		if cell >= 3 {
			l.env = append(l.env, fmt.Sprintf("%s=3-%d", CellsVariable, cell))
			index -= 3
		}
	}
	if index > 0 || rapid.Bool().Draw(t, "an index") {
		l.env = append(l.env, fmt.Sprintf("%s=%d", indexVariable, index))
	}
	for _, variable := range s.Templates[:rapid.IntRange(0, len(s.Templates)).Draw(t, "set templates")] {
		l.env = append(l.env, variable+"="+text(8).Draw(t, variable))
	}
	l.args = printer(rapid.SliceOfN(text(8), 0, 3).Draw(t, "args"))
	return l
}

func TestShellsDoAsChild(t *testing.T) {
	eachShell(t, func(t *testing.T, sh shell) {
		dir := t.TempDir()
		// What a line of a document becomes if it is taken for a pattern.
		for _, file := range []string{"=0", "+0", "&0", "0"} {
			if err := os.WriteFile(filepath.Join(dir, file), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		rapid.Check(t, func(t *rapid.T) {
			s := drawCells(t)
			if rapid.IntRange(0, 9).Draw(t, "plain") == 0 {
				s = &Sweep{Kind: Plain, Size: rapid.IntRange(1, 10000).Draw(t, "size")}
			}
			launches := make([]launch, 4)
			for i := range launches {
				launches[i] = drawLaunch(t, s)
			}
			got, err := inShell(sh, dir, launches)
			if err != nil || len(got) != len(launches) {
				t.Fatalf("%d outcomes, %v", len(got), err)
			}
			for i, l := range launches {
				if want := inGo(context.Background(), l); got[i].String() != want.String() {
					t.Fatalf("environment %q, arguments %q\n%s:\n%v\nGo:\n%v", l.env, l.args, sh.name, got[i], want)
				}
			}
		})
	})
}

// TestDamage compares the answers of every shell and of Go to missing, truncated and invalid input.
func TestDamage(t *testing.T) {
	doc := DocumentVariable + "=" + example().Document()
	index := func(text string) string { return indexVariable + "=" + text }
	command := printer(nil)
	const damaged = "batchctl: BATCHCTL_ARRAY holds no whole document of version 1: submit the job again\n"
	missing := filepath.Join(t.TempDir(), "missing")
	var launches []launch
	var want []string
	add := func(message string, args []string, env ...string) {
		launches, want = append(launches, launch{env, args}), append(want, message)
	}
	add("batchctl: neither BATCHCTL_ARRAY nor BATCHCTL_ARRAY_URL is set: submit the job with batchctl\n", command)
	add("batchctl: there is no command to run: give the job one\n", nil, doc)
	add("batchctl: there is no cell 6: the array has 6\n", command, doc, index("6"))
	add("batchctl: there is no cell 9: the array has 6\n", command, doc, index("1"), CellsVariable+"=1 9")
	add("batchctl: BATCHCTL_CELLS has no cell for index 2\n", command, doc, index("2"), CellsVariable+"=1 9")
	for _, bad := range []string{"x", "-1", "01", "1 2", "99999999999999999999", "*"} {
		add("batchctl: AWS_BATCH_JOB_ARRAY_INDEX is no index: "+bad+"\n", command, doc, index(bad))
	}
	for _, bad := range []string{"x", "2-1", "1,2", "-1", "1-", "01", "*"} {
		add("batchctl: BATCHCTL_CELLS is damaged: "+bad+"\n", command, doc, CellsVariable+"="+bad)
	}
	for n := len(DocumentVariable) + 2; n < len(doc)-1; n++ {
		add(damaged, command, doc[:n])
	}
	add(damaged, command, strings.Replace(doc, "array 1", "array 2", 1))
	add(damaged, command, strings.Replace(doc, "&9\n", "", 1), index("5"))
	add("batchctl: cannot read "+missing+"\n", command, URLVariable+"="+missing)
	add("batchctl: cannot read ftp://x/y\n", command, URLVariable+"=ftp://x/y")

	check := func(t *testing.T, i int, got outcome) {
		t.Helper()
		// Before the message of a file that cannot be opened comes the shell's own.
		if got.exit != ExitUsage || !strings.HasSuffix(got.message, want[i]) || strings.HasPrefix(want[i], damaged[:20]) && got.message != want[i] {
			t.Errorf("%q, %q: %v\nwant %q", launches[i].env, launches[i].args, got, want[i])
		}
	}
	t.Run("go", func(t *testing.T) {
		for i, l := range launches {
			check(t, i, inGo(t.Context(), l))
		}
	})
	eachShell(t, func(t *testing.T, sh shell) {
		for i, l := range launches {
			cmd := sh.command(append([]string{"-c", Program, "sh"}, l.args...)...)
			cmd.Env = append([]string{path()}, l.env...)
			out, err := cmd.CombinedOutput()
			if _, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
				t.Fatal(err)
			}
			check(t, i, outcome{exit: cmd.ProcessState.ExitCode(), message: string(out)})
		}
	})
}

// aws writes a program aws into a directory: it prints the files there by the last
// part of the URL, and fails for others.
func aws(t *testing.T, dir string) {
	t.Helper()
	script := fmt.Sprintf("#!/bin/sh\n[ \"$1 $2 $4\" = 's3 cp -' ] && exec cat %s/\"${3##*/}\"\n", quoted(dir))
	if err := os.WriteFile(filepath.Join(dir, "aws"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
}

// openIn is Child.Open for the same files.
func openIn(dir string) func(context.Context, string) (io.ReadCloser, error) {
	return func(_ context.Context, url string) (io.ReadCloser, error) {
		return os.Open(filepath.Join(dir, filepath.Base(url)))
	}
}

// TestDocumentElsewhere checks a document in a file, or in S3, which needs aws.
func TestDocumentElsewhere(t *testing.T) {
	dir := t.TempDir()
	aws(t, dir)
	s := &Sweep{Kind: Table, Names: []string{"v"}}
	for i := range 3000 {
		s.Rows = append(s.Rows, []string{fmt.Sprintf(`  %d \ "*" é $x `, i)})
	}
	file := filepath.Join(dir, "document")
	if err := os.WriteFile(file, []byte(s.Document()), 0o600); err != nil {
		t.Fatal(err)
	}
	withAWS := "PATH=" + dir + ":" + os.Getenv("PATH")
	eachShell(t, func(t *testing.T, sh shell) {
		run := func(env ...string) (string, int) {
			cmd := sh.command("-c", Program, "sh", "env", "-0", "GOT=["+Reference("v")+"]")
			cmd.Env = append(env, indexVariable+"=2998")
			out, _ := cmd.CombinedOutput()
			return string(out), cmd.ProcessState.ExitCode()
		}
		for _, place := range []string{file, "s3://bucket/document"} {
			if out, exit := run(withAWS, URLVariable+"="+place); exit != 0 || !strings.Contains(out, "GOT=["+s.Rows[2998][0]+"]\x00") {
				t.Errorf("%s: exit %d\n%s", place, exit, out)
			}
		}
		if out, exit := run(withAWS, URLVariable+"=s3://bucket/nothing"); exit != ExitUsage || !strings.HasSuffix(out, "batchctl: cannot read s3://bucket/nothing\n") {
			t.Errorf("nothing there: exit %d\n%s", exit, out)
		}
		empty := t.TempDir()
		cmd := sh.command("-c", Program, "sh", "env")
		cmd.Env = []string{"PATH=" + empty, URLVariable + "=s3://bucket/document"}
		out, _ := cmd.CombinedOutput()
		want := "batchctl: cannot read s3://bucket/document: there is no aws; install the AWS CLI in the image, or use the launcher batchctl\n"
		if exit := cmd.ProcessState.ExitCode(); exit != ExitNotFound || string(out) != want {
			t.Errorf("no aws: exit %d\n%s", exit, out)
		}
	})
	t.Run("go", func(t *testing.T) {
		for _, place := range []string{file, "s3://bucket/document"} {
			var got []string
			c := Child{Environ: []string{path(), URLVariable + "=" + place, indexVariable + "=2998"}, Args: []string{"env", Reference("v")}, Open: openIn(dir), Stderr: io.Discard,
				Exec: func(_ string, argv, _ []string) error { got = argv; return nil }}
			if exit, err := c.Run(t.Context()); exit != 0 || err != nil || len(got) != 2 || got[1] != s.Rows[2998][0] {
				t.Errorf("%s: exit %d, %v, %q", place, exit, err, got)
			}
		}
	})
}

// TestNothingLeaks checks that the user's program finds no option, separator or variable of the launcher,
// and is the process that the container started.
func TestNothingLeaks(t *testing.T) {
	user := `printf '[%s]' "$@" $-; printf ' %s ' "$IFS" | od -An -c; set -- /*; [ $# -gt 1 ] && echo globs; echo $PPID; env | grep '^_[a-zA-Z]=' ; :`
	eachShell(t, func(t *testing.T, sh shell) {
		var plain, launched bytes.Buffer
		for out, args := range map[*bytes.Buffer][]string{
			&plain:    {"-c", `exec "$@"`, "sh"},
			&launched: {"-c", Program, "sh"},
		} {
			cmd := sh.command(append(args, "sh", "-c", user, "x", "a  b", "*", "-n", "", "=")...)
			cmd.Env = []string{path(), DocumentVariable + "=" + example().Document()}
			cmd.Stdout, cmd.Stderr = out, out
			if err := cmd.Run(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
		}
		if launched.String() != plain.String() || !strings.Contains(plain.String(), "globs") {
			t.Errorf("got\n%s\nwant\n%s", launched.String(), plain.String())
		}
	})
}

// TestProgramIsFound compares Child's search for a program, and its message without one, with the
// shells'.
func TestProgramIsFound(t *testing.T) {
	dir := t.TempDir()
	for name, mode := range map[string]os.FileMode{"plain": 0o600, "script": 0o700} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("echo ran \"$@\"\n"), mode); err != nil {
			t.Fatal(err)
		}
	}
	env := []string{"PATH=/nowhere:" + dir + ":/bin", DocumentVariable + "=" + example().Document()}
	for name, want := range map[string]int{"nosuch": 127, "plain": 126, dir + "/plain": 126, dir + "/nosuch": 127, dir: 126, "script": 0, dir + "/script": 0} {
		var path string
		var runs int
		c := Child{Environ: env, Args: []string{name, "a"}, Stderr: io.Discard, Exec: func(found string, argv, _ []string) error {
			if path = found; runs == 0 {
				runs++
				return syscall.ENOEXEC
			}
			if argv[1] != dir+"/script" || argv[2] != "a" {
				t.Errorf("%q: %q", name, argv)
			}
			return nil
		}}
		if exit, err := c.Run(t.Context()); exit != want || (err == nil) != (want == 0) || want == 0 && path != "/bin/sh" {
			t.Errorf("%q: exit %d, %v, %s", name, exit, err, path)
		}
		eachShell(t, func(t *testing.T, sh shell) {
			cmd := sh.command("-c", Program, "sh", name, "a")
			cmd.Env = env
			out, _ := cmd.CombinedOutput()
			if exit := cmd.ProcessState.ExitCode(); exit != want {
				t.Errorf("%q: exit %d, want %d\n%s", name, exit, want, out)
			}
		})
	}
}
