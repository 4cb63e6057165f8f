package cli

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"github.com/batchctl/batchctl/pkg/testtool"
)

// runner plays GitHub's runner for the steps of action.yml: expressions, environment, outputs, PATH.
type runner struct {
	dir     string            // the workspace
	inputs  map[string]string // of the workflow; the defaults are added
	context map[string]string // the values of expressions, such as runner.os
	env     []string
	path    string // PATH
	cached  bool   // whether the cache keeps directories between runs
}

// action is what action.yml has.
type action struct {
	Inputs  map[string]struct{ Default string }
	Outputs map[string]struct{ Value string }
	Runs    struct {
		Steps []struct {
			Name, ID, If, Uses, Run string
			Env, With               map[string]string
		}
	}
}

var (
	expression = regexp.MustCompile(`\$\{\{\s*(.*?)\s*\}\}`)
	equals     = regexp.MustCompile(`^(\S+) == '(\w*)' && '([\w.]*)' \|\| ''$`)
)

// expand replaces the expressions in a text. It knows names, A || B, and A == 'x' && 'y' || ”.
func (r *runner) expand(t *testing.T, text string) string {
	return expression.ReplaceAllStringFunc(text, func(s string) string {
		inner := expression.FindStringSubmatch(s)[1]
		if m := equals.FindStringSubmatch(inner); m != nil {
			if r.context[m[1]] == m[2] {
				return m[3]
			}
			return ""
		}
		for name := range strings.SplitSeq(inner, " || ") {
			value, known := r.context[name]
			if !known {
				t.Fatalf("the runner does not know %s", name)
			}
			if value != "" {
				return value
			}
		}
		return ""
	})
}

// run runs the action until a step fails. It returns the outputs, what the steps print, and whether all succeeded.
func (r *runner) run(t *testing.T) (outputs map[string]string, log string, ok bool) {
	t.Helper()
	var a action
	text, err := os.ReadFile("../../action.yml")
	if err == nil {
		err = yaml.Unmarshal(text, &a)
	}
	if err != nil {
		t.Fatal(err)
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	for name, input := range a.Inputs {
		if r.context["inputs."+name] = r.inputs[name]; r.inputs[name] == "" && name != "token" {
			r.context["inputs."+name] = input.Default
		}
	}
	path, ok := r.path, true
	for _, step := range a.Runs.Steps {
		switch {
		case strings.HasPrefix(step.Uses, "actions/cache@"):
			if folder := r.expand(t, step.With["path"]); !r.cached {
				if err := os.RemoveAll(folder); err != nil {
					t.Fatal(err)
				}
			}
			if key := r.expand(t, step.With["key"]); !strings.Contains(key, r.context["steps.find.outputs.version"]) {
				t.Errorf("the key of the cache, %s, lacks the version", key)
			}
			continue
		case step.Run == "" || step.Name == "comment": // TestComment runs that
			continue
		}
		files := t.TempDir()
		command := exec.Command("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step.Run) // as GitHub does
		command.Dir = r.dir
		command.Env = append(slices.Clone(r.env), "PATH="+path, "GITHUB_ACTIONS=true", "GITHUB_ACTION_PATH="+root,
			"GITHUB_OUTPUT="+filepath.Join(files, "output"), "GITHUB_PATH="+filepath.Join(files, "path"))
		for name, value := range step.Env {
			command.Env = append(command.Env, name+"="+r.expand(t, value))
		}
		out, err := command.CombinedOutput()
		log += string(out)
		for line := range strings.Lines(read(t, filepath.Join(files, "output"))) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
			r.context["steps."+step.ID+".outputs."+name] = value
		}
		for line := range strings.Lines(read(t, filepath.Join(files, "path"))) {
			path = strings.TrimSpace(line) + ":" + path
		}
		if err != nil {
			ok = false
			break
		}
	}
	outputs = map[string]string{}
	for name, output := range a.Outputs {
		if strings.Contains(output.Value, "steps.find") && r.context["steps.find.outputs.version"] == "" {
			continue
		}
		outputs[name] = r.expand(t, output.Value)
	}
	return outputs, log, ok
}

// read returns the text of a file, or "" if there is none.
func read(t *testing.T, path string) string {
	text, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return string(text)
}

// releases serves releases as GitHub does.
type releases struct {
	files     map[string][]byte // by VERSION/NAME
	newest    string
	downloads []string
}

func (s *releases) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch name, isFile := strings.CutPrefix(r.URL.Path, "/releases/download/"); {
	case isFile && s.files[name] != nil:
		s.downloads = append(s.downloads, name)
		_, _ = w.Write(s.files[name])
	case r.URL.Path == "/releases/latest" && s.newest != "":
		http.Redirect(w, r, "/releases/tag/"+s.newest, http.StatusFound)
	case r.URL.Path == "/releases/tag/"+s.newest:
	default:
		http.NotFound(w, r)
	}
}

// add adds a release with the archive for this machine, whose batchctl is this test, and with its checksums.
func (s *releases) add(t *testing.T, version string) {
	t.Helper()
	program, err := exec.LookPath("batchctl") // testscript put it there
	if err != nil {
		t.Fatal(err)
	}
	var packed bytes.Buffer
	compressed := gzip.NewWriter(&packed)
	archive := tar.NewWriter(compressed)
	for _, name := range []string{"batchctl", "batchctl-workloads"} {
		script := fmt.Sprintf("#!/bin/sh\nexec '%s' \"$@\"\n", program)
		err = errors.Join(archive.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(script))}), func() error { _, err := archive.Write([]byte(script)); return err }())
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(archive.Close(), compressed.Close()); err != nil {
		t.Fatal(err)
	}
	name := fmt.Sprintf("batchctl_%s_%s_%s.tar.gz", strings.TrimPrefix(version, "v"), runtime.GOOS, runtime.GOARCH)
	s.files[version+"/"+name] = packed.Bytes()
	s.files[version+"/checksums.txt"] = fmt.Appendf(nil, "%064d  another.tar.gz\n%x  %s\n", 0, sha256.Sum256(packed.Bytes()), name)
}

// TestAction plays a runner for the GitHub action: it downloads a release, checks it, keeps it, and reports the
// problems as annotations or SARIF.
func TestAction(t *testing.T) {
	testtool.Need(t, "bash", "curl", "tar", "awk")
	if runtime.GOOS == "windows" {
		t.Skip("the test's program is a script")
	}
	served := &releases{files: map[string][]byte{}, newest: "v1.10.0"}
	served.add(t, "v1.2.3")
	served.add(t, "v1.10.0")
	served.add(t, "v2.0.0")
	for name := range served.files {
		if strings.HasPrefix(name, "v2.0.0/batchctl") {
			served.files[name] = append(served.files[name], "something else"...)
		}
	}
	server := httptest.NewServer(served)
	t.Cleanup(server.Close)
	newRunner := func(inputs map[string]string) *runner {
		dir := t.TempDir()
		for name, text := range map[string]string{"good.json": `{"name": "good", "image": "busybox:1.36", "command": ["true"], "resources": {"vcpus": 1, "memory": "512 MiB"}, "timeout": "10m"}`,
			"bad.json": `{"name": "bad name", "image": "busybox:1.36", "command": ["true"], "resources": {"vcpus": 1, "memory": "512 MiB"}, "timeout": "10m"}`} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		inputs["releases"] = server.URL + "/releases"
		return &runner{dir: dir, inputs: inputs, path: os.Getenv("PATH"), cached: true,
			env:     append(os.Environ(), "HOME="+t.TempDir(), "BATCHCTL_STATE_DIR="+t.TempDir(), "NO_PROXY=*"),
			context: map[string]string{"github.action_ref": "main", "runner.os": "Linux", "runner.arch": "X64", "runner.tool_cache": t.TempDir()}}
	}

	t.Run("newest release, annotations", func(t *testing.T) {
		outputs, log, ok := newRunner(map[string]string{"path": "bad.json good.json"}).run(t)
		if ok || !strings.Contains(log, "::error file=bad.json,line=1,") || strings.Contains(log, "good.json") {
			t.Errorf("ok %v, log:\n%s", ok, log)
		}
		if outputs["version"] != "v1.10.0" || outputs["sarif"] != "" {
			t.Errorf("outputs %v", outputs)
		}
	})
	t.Run("the action's tag, from the cache the second time", func(t *testing.T) {
		r := newRunner(map[string]string{"path": "good.json"})
		r.context["github.action_ref"] = "v1.2.3"
		for _, want := range []int{2, 0} {
			served.downloads = nil
			if outputs, log, ok := r.run(t); !ok || outputs["version"] != "v1.2.3" {
				t.Fatalf("outputs %v, log:\n%s", outputs, log)
			}
			if len(served.downloads) != want {
				t.Errorf("downloads %q, want %d", served.downloads, want)
			}
		}
	})
	t.Run("SARIF", func(t *testing.T) {
		r := newRunner(map[string]string{"path": ".", "format": "sarif", "version": "v1.2.3"})
		outputs, log, ok := r.run(t)
		report := read(t, filepath.Join(r.dir, outputs["sarif"]))
		if ok || outputs["sarif"] == "" || !strings.Contains(report, `"bad.json"`) {
			t.Errorf("ok %v, outputs %v, report %q, log:\n%s", ok, outputs, report, log)
		}
	})
	for version, want := range map[string]string{
		"v2.0.0":      "the checksum of batchctl_2.0.0_",
		"v3.0.0":      "cannot download",
		"v1.2.3/../x": "there is no release",
	} {
		t.Run(version, func(t *testing.T) {
			r := newRunner(map[string]string{"path": "good.json", "version": version})
			if _, log, ok := r.run(t); ok || !strings.Contains(log, "::error title=batchctl::"+want) || strings.Contains(log, "curl:") {
				t.Errorf("ok %v, log:\n%s", ok, log)
			}
		})
	}
	t.Run("no release", func(t *testing.T) {
		served.newest = ""
		if _, log, ok := newRunner(map[string]string{}).run(t); ok || !strings.Contains(log, "::error title=batchctl::there is no release at "+server.URL) || strings.Contains(log, "curl:") {
			t.Errorf("log:\n%s", log)
		}
	})
}

// TestActionPaths runs the validation step of the GitHub action with a batchctl that prints its arguments.
func TestActionPaths(t *testing.T) {
	testtool.Need(t, "bash")
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("../../action.yml")
	if err != nil {
		t.Fatal(err)
	}
	_, step, _ := strings.Cut(string(text), "- name: validate\n")
	_, script, found := strings.Cut(step, "run: |\n")
	script, _, ended := strings.Cut(script, "    - name: ")
	if !found || !ended {
		t.Fatal("action.yml has no step that validates")
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "batchctl"), []byte("#!"+bash+"\nprintf '%s\\n' \"$@\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for input, want := range map[string][]string{
		".":                           {"."},
		"a.json jobs/*.json":          {"a.json", "jobs/*.json"},
		"a.json\nb.json\n":            {"a.json", "b.json"}, // path: |
		"\n  a.json\n":                {"a.json"},
		"a.json --write-baseline=x.y": {"a.json", "--write-baseline=x.y"}, // a file of a pull request
	} {
		step := exec.Command(bash, "--noprofile", "--norc", "-eo", "pipefail", "-c", script) // as GitHub runs it
		step.Dir = dir
		step.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "INPUT="+input, "FAIL_ON=error", "FORMAT=github", "PLATFORM=")
		out, err := step.Output()
		if err != nil {
			t.Fatalf("%q: %v", input, err)
		}
		got := strings.Split(strings.TrimSpace(string(out)), "\n")
		if want = append([]string{"validate", "--fail-on", "error", "--output", "github", "--"}, want...); !slices.Equal(got, want) {
			t.Errorf("%q: batchctl is called with %q, want %q", input, got, want)
		}
	}
}

// A tag of an action can be moved to other code; a commit cannot.
func TestActionsArePinned(t *testing.T) {
	files, err := filepath.Glob("../../.github/workflows/*.yml")
	if err != nil {
		t.Fatal(err)
	}
	uses := regexp.MustCompile(`(?m)^[\s-]*uses:\s*(\S+)`)
	pinned := regexp.MustCompile(`^[\w.-]+(/[\w.-]+)+@[0-9a-f]{40}$`)
	found := 0
	for _, name := range append(files, "../../action.yml") {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range uses.FindAllStringSubmatch(string(text), -1) {
			found++
			if !pinned.MatchString(m[1]) {
				t.Errorf("%s uses %s, which is not pinned by commit", name, m[1])
			}
		}
	}
	if found < 4 {
		t.Errorf("only %d actions found", found)
	}
}
