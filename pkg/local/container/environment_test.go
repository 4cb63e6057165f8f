//go:build unix

package container

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/batch/types"
	"github.com/google/go-cmp/cmp"

	"github.com/batchctl/batchctl/pkg/local/attempt"
)

func pairs(variables [][2]string) []types.KeyValuePair {
	var all []types.KeyValuePair
	for _, v := range variables {
		all = append(all, types.KeyValuePair{Name: &v[0], Value: &v[1]})
	}
	return all
}

// TestHandover checks in which way each variable is passed.
func TestHandover(t *testing.T) {
	t.Setenv("SET_HERE", "ours")
	t.Setenv("SET_ALIKE", "x\ny")
	long := strings.Repeat("x", longestLine)
	for _, c := range []struct{ name, value, way string }{
		{"A", "", "file"},
		{"A", ` # "q" 'q' = ü `, "file"},
		{"A*", "x", "file"},
		{"a.b-c", "x\ry", "file"},
		{"LD_PRELOAD", "/x.so", "file"},
		{"SET_HERE", "x", "file"},
		{"PODMAN_4_7_0", long[:longestLine-13], "file"},
		{"A", "x\ny", "own"},
		{"A", "x\r", "own"},
		{"A", "\xff", "own"},
		{"A", long, "own"},
		{"GOOGLE_KEY", "x\ny", "own"},
		{"A*", "x\ny", "line"}, // podman would pass on all variables that begin with A
		{"#A", "x", "line"},
		{"A B", "x", "line"},
		{"", "x", "line"},
		{"SET_HERE", "x\ny", "line"},
		{"SET_ALIKE", "x\ny", "own"},
		{"LD_PRELOAD", "x\ny", "line"},
		{"https_proxy", "x\ny", "line"},
		{"DOCKER_HOST", "x\ny", "line"},
		{"CONTAINERS_CONF", "x\ny", "line"},
		{"XDG_RUNTIME_DIR", "x\ny", "line"},
	} {
		a := attempt.Attempt{Environment: pairs([][2]string{{c.name, c.value}})}
		h, err := environment(a)
		if err != nil {
			t.Error(err)
		}
		text := c.name + "=" + c.value
		way := ""
		switch {
		case strings.HasPrefix(h.file, text+"\n") && len(h.own)+len(h.flags) == 1:
			way = "file"
		case len(h.own) == 1 && h.own[0] == text && h.flags[1] == "--env="+c.name:
			way = "own"
		case len(h.own) == 0 && h.flags[1] == "--env="+text:
			way = "line"
		}
		if way != c.way {
			t.Errorf("%.40q is passed by %q, want %q", text, way, c.way)
		}
		// Every user of the machine can read the command line.
		a.Secrets = []string{c.name}
		if _, err := environment(a); (err != nil) != (c.way == "line") || err != nil && c.value != "x" && strings.Contains(err.Error(), c.value) {
			t.Errorf("%.40q as a secret: %v", text, err)
		}
	}
	twice, _ := environment(attempt.Attempt{Environment: pairs([][2]string{{"A", "1"}, {"A", "2\n3"}, {"A", "4"}})})
	if d := cmp.Diff("A=4\nNVIDIA_VISIBLE_DEVICES=void\n", twice.file); d != "" || len(twice.own) > 0 {
		t.Errorf("a name given three times: %s%q", d, twice.own)
	}
}

// awkward are variables that a command line, a file or an environment could lose or misread.
var awkward = [][2]string{
	{"LINES_OF", "first\nsecond\n\n--privileged"}, {"CRLF", "a\r\nb\r"}, {"RETURN", "a\rb"}, {"RETURN_LAST", "a\r"},
	{"QUOTES", `"a" 'b' ` + "`c`"}, {"QUOTED", `"a"`}, {"BACKSLASH", `a\nb\`}, {"DOLLAR", "$HOME ${HOME}"}, {"HASH", "#a # b"},
	{"SPACES", "  a  "}, {"TAB", "\ta\t"}, {"EQUALS", "=a=b="}, {"EMPTY", ""}, {"UNICODE", "grün 日本 \u2028 \ufeff"}, {"LONG", strings.Repeat("x", 100000)},
	{"STAR*", "a"}, {"ÜMLAUT", "a"}, {"#COMMENT", "a"}, {"export", "a"},
	{"PATH", "/nothing"}, {"HOME", "/nothing"}, {"TMPDIR", "/nothing"}, {"XDG_RUNTIME_DIR", "/nothing"}, {"XDG_CONFIG_HOME", "/nothing"},
	{"DOCKER_HOST", "tcp://127.0.0.1:1"}, {"DOCKER_CONFIG", "/nothing"}, {"DOCKER_CONTEXT", "nothing"}, {"DOCKER_API_VERSION", "0.1"},
	{"CONTAINER_HOST", "tcp://127.0.0.1:1"}, {"CONTAINERS_CONF", "/nothing"}, {"CONTAINERS_STORAGE_CONF", "/nothing"},
	{"LD_PRELOAD", "/nothing"}, {"HTTP_PROXY", "http://127.0.0.1:1"}, {"no_proxy", "*"}, {"GODEBUG", "x=y"},
	{"OF_TWO_LINES_HOME", "a\nb"}, {"STORAGE_DRIVER", "no\nthing"}, {"DOCKER_CERT_PATH", "/no\nthing"},
}

func testEnvironment(t *testing.T, x *Executor) {
	t.Setenv("OF_THE_ENGINE", "secret")
	command, want := `"/job", "quoted"`, ""
	for _, v := range awkward {
		command += fmt.Sprintf(", %q", v[0])
		want += fmt.Sprintf("%s=%q\n", v[0], v[1])
	}
	r := newTrial(t, x, `"command": [`+command+`, "OF_THE_ENGINE", "NVIDIA_VISIBLE_DEVICES"]`)
	r.a.Environment = pairs(awkward)
	o := r.run(t, t.Context())
	if d := cmp.Diff(want+"OF_THE_ENGINE=\"\"\nNVIDIA_VISIBLE_DEVICES=\"void\"\n", o.log); d != "" || o.exit != 0 || o.err != nil {
		t.Errorf("exit %d, %v, -want +got:\n%s", o.exit, o.err, d)
	}
}

// testCommandLines searches for a value on the command lines of all calls of the program, and of
// all processes while the job runs.
func testCommandLines(t *testing.T, x *Executor) {
	if _, err := os.Stat("/proc/self/cmdline"); err != nil {
		t.Skipf("command lines are read from /proc: %v", err)
	}
	const marker = "value-that-must-stay-hidden"
	noting, dir := noted(t, x, "cat /proc/$$/cmdline")
	r := newTrial(t, noting, `"command": ["/job", "quoted", "ONE", "TWO", "DOCKER_HOST"]`)
	r.a.Environment = pairs([][2]string{{"ONE", marker}, {"TWO", marker + "\n" + marker}, {"DOCKER_HOST", marker}})
	r.a.Secrets = []string{"ONE", "TWO", "DOCKER_HOST"}
	var running []string
	r.a.Started = func(string) { running, _ = filepath.Glob("/proc/[0-9]*/cmdline"); running = contents(running) }
	o := r.run(t, t.Context())
	o.want(t, 0, fmt.Sprintf("ONE=%q\nTWO=%q\nDOCKER_HOST=%q\n", marker, marker+"\n"+marker, marker), "")
	calls, err := filepath.Glob(filepath.Join(dir, "*.call"))
	if err != nil {
		t.Fatal(err)
	}
	calls = contents(calls)
	if all := strings.Join(calls, "\n"); !strings.Contains(all, "--env=TWO\x00") || !strings.Contains(all, "start\x00--attach") || len(running) == 0 {
		t.Fatalf("not all was seen: %q, %d processes", calls, len(running))
	}
	for _, line := range append(calls, running...) {
		if strings.Contains(line, marker) {
			t.Errorf("a value stands on a command line: %q", line)
		}
	}
}

// noted returns an executor whose program first writes the output of a shell command to a file in
// the directory. The file's name is the number of the process.
func noted(t *testing.T, x *Executor, command string) (_ *Executor, dir string) {
	t.Helper()
	noting := *x
	dir = emptyDir(t)
	noting.path = filepath.Join(dir, x.kind)
	script := "#!/bin/sh\n" + command + " > " + dir + "/$$.call\nexec " + x.path + " \"$@\"\n"
	if err := os.WriteFile(noting.path, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	return &noting, dir
}

// contents returns the texts of the files that can be read.
func contents(files []string) []string {
	var all []string
	for _, file := range files {
		if text, err := os.ReadFile(file); err == nil {
			all = append(all, string(text))
		}
	}
	return all
}
