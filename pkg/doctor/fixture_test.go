package doctor

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/batchctl/batchctl/pkg/testtool/golden"
)

// fixture is a host: its files, and other parts under names that begin with @. @env has
// variables; "@run COMMAND" the output of a program, "@http METHOD URL" a status and a body,
// "@space PATH" four numbers. The answer !hang never comes, !fails means exit code 1. @remove
// removes files of the base. @text and @json have the expected output.
type fixture struct {
	// finds are the ids of all findings that are not OK, sorted.
	finds []string
	files map[string]string
	// own means that the fixture is a whole host without a base.
	own     bool
	offline bool
}

func readFixture(t testing.TB, name string) fixture {
	t.Helper()
	archive, err := txtar.ParseFile(filepath.Join("testdata", name+".txtar"))
	if err != nil {
		t.Fatal(err)
	}
	f := fixture{files: map[string]string{}, own: true}
	for _, line := range strings.Split(string(archive.Comment), "\n") {
		switch key, value, _ := strings.Cut(line, ": "); key {
		case "base":
			f.files, f.own = readFixture(t, value).files, false
		case "finds":
			f.finds = strings.Fields(value)
		case "offline":
			f.offline = true
		}
	}
	for _, file := range archive.Files {
		if file.Name == "@text" || file.Name == "@json" {
			continue
		}
		if file.Name == "@remove" {
			for _, removed := range strings.Split(strings.TrimSpace(string(file.Data)), "\n") {
				if _, ok := f.files[removed]; !ok {
					t.Fatalf("%s: @remove %s: the base has no such file", name, removed)
				}
				delete(f.files, removed)
			}
			continue
		}
		f.files[file.Name] = string(file.Data)
	}
	return f
}

func fixtures(t testing.TB) (names []string) {
	t.Helper()
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no fixtures: %v", err)
	}
	for _, p := range paths {
		names = append(names, strings.TrimSuffix(filepath.Base(p), ".txtar"))
	}
	return names
}

// host returns the host of a fixture.
func (f fixture) host() Host {
	root := fstest.MapFS{}
	env := map[string]string{}
	for name, text := range f.files {
		if name == "@env" {
			for _, line := range lines(text) {
				k, v, _ := strings.Cut(line, "=")
				env[k] = v
			}
		} else if !strings.HasPrefix(name, "@") {
			root[name] = &fstest.MapFile{Data: []byte(text), Mode: 0o644}
		}
	}
	h := Host{FS: root, Env: func(name string) string { return env[name] }, Ask: &script{answers: f.files}}
	if f.offline {
		h.Ask, h.Env, h.Root = nil, nil, "host"
	}
	return h
}

// script answers as a fixture specifies, and records the requests.
type script struct {
	answers map[string]string
}

func (s *script) Run(ctx context.Context, program string, args ...string) (string, error) {
	command := strings.Join(append([]string{program}, args...), " ")
	if !readOnly.MatchString(command) {
		panic("doctor ran " + command)
	}
	out, ok := s.answers["@run "+command]
	if !ok {
		return "", fmt.Errorf("run %s: %w", program, fs.ErrNotExist)
	}
	return answer(ctx, out)
}

// readOnly matches the commands that are allowed on a host in use.
var readOnly = regexp.MustCompile(`^(nvidia-smi -q -x|dmesg|journalctl -k -b .*|docker info .*|systemctl (is-active|list-jobs) .*)$`)

func answer(ctx context.Context, out string) (string, error) {
	if strings.HasPrefix(out, "!hang") {
		<-ctx.Done()
		return "", ctx.Err()
	}
	if rest, ok := strings.CutPrefix(out, "!fails\n"); ok {
		return rest, errors.New("exit status 1")
	}
	return out, nil
}

func (s *script) HTTP(ctx context.Context, r Request) (int, string, error) {
	if r.Method != "GET" && (r.Method != "PUT" || r.URL != imds+"api/token") {
		panic("doctor sent " + r.Method + " " + r.URL)
	}
	out, ok := s.answers["@http "+r.Method+" "+r.URL]
	if !ok {
		return 0, "", errors.New("connection refused")
	}
	out, err := answer(ctx, out)
	if err != nil {
		return 0, "", err
	}
	var status int
	first, body, _ := strings.Cut(out, "\n")
	if _, err := fmt.Sscan(first, &status); err != nil {
		panic("fixture: " + r.URL + " begins with no status")
	}
	return status, body, nil
}

func (s *script) Space(path string) (Space, error) {
	out, ok := s.answers["@space "+path]
	if !ok {
		return Space{}, fs.ErrNotExist
	}
	var sp Space
	_, err := fmt.Sscan(out, &sp.Bytes, &sp.FreeBytes, &sp.Files, &sp.FreeFiles)
	return sp, err
}

// notOK returns the ids of a report's findings that are not OK, sorted.
func notOK(r Report) (ids []string) {
	for _, f := range r.Findings {
		if f.Severity != OK && !slices.Contains(ids, f.ID) {
			ids = append(ids, f.ID)
		}
	}
	slices.Sort(ids)
	return ids
}

func examine(t *testing.T, h Host) (r Report) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { r = Examine(t.Context(), h) })
	return r
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestFixtures checks that each host has exactly the findings in its file. The archive has the
// expected output: for whole hosts of every check, in text and JSON.
func TestFixtures(t *testing.T) {
	for _, name := range fixtures(t) {
		f := readFixture(t, name)
		r := examine(t, f.host())
		if diff := cmp.Diff(f.finds, notOK(r)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		archive, whole := golden.Read(t, filepath.Join("testdata", name+".txtar")), f.own || name == "broken-host"
		archive.Want(t, "@text", r.Text(whole))
		if whole {
			archive.Want(t, "@json", asJSON(t, r))
		}
		for _, found := range r.Findings {
			if found.Severity != OK && (found.Why == "" || found.Remedy == "" || found.Topic == "" || !slices.Contains(Severities(), found.Severity)) {
				t.Errorf("%s: %s has no why, no remedy or no topic: %+v", name, found.ID, found)
			}
		}
	}
}

// TestTopicsAlone checks that a topic's check finds the same if it is the only one: it needs only the facts.
func TestTopicsAlone(t *testing.T) {
	alone := 0
	for _, name := range fixtures(t) {
		want := map[string][]Finding{}
		for _, found := range examine(t, readFixture(t, name).host()).Findings {
			want[found.Topic] = append(want[found.Topic], found)
		}
		for _, c := range Checks() {
			if want[c.Topic] == nil {
				continue
			}
			var got []Finding
			synctest.Test(t, func(t *testing.T) {
				h := readFixture(t, name).host()
				h.Limit = defaultLimit
				if h.Env == nil {
					h.Env = func(string) string { return "" }
				}
				p := &probe{Host: &h, ctx: t.Context()}
				f := gatherFacts(p)
				in := &inspection{p, &findings{}, &f}
				c.run(in)
				for _, found := range in.report.list {
					found.Topic = c.Topic
					got = append(got, found)
				}
			})
			slices.SortStableFunc(got, func(a, b Finding) int {
				return slices.Index(Severities(), a.Severity) - slices.Index(Severities(), b.Severity)
			})
			if diff := cmp.Diff(want[c.Topic], got); diff != "" {
				t.Errorf("%s: %s alone (-want +got):\n%s", name, c.Topic, diff)
			}
			alone++
		}
	}
	if alone < 100 {
		t.Errorf("only %d checks ran", alone)
	}
}

// TestEveryFinding checks that a fixture shows each finding; it reads their ids from the source.
func TestEveryFinding(t *testing.T) {
	shown := map[string]bool{}
	for _, name := range fixtures(t) {
		for _, id := range readFixture(t, name).finds {
			shown[id] = true
		}
	}
	ids := map[string]bool{}
	paths, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	id := regexp.MustCompile(`(?m)(?:\bc\.report\.(?:problem|warning|note)\(|\bc\.report\.found\(severity, |^\t\t\{)"([a-z]+-[a-z0-9-]+|xid)",`)
	for _, p := range paths {
		if strings.HasSuffix(p, "_test.go") || p == "doctor.go" {
			continue
		}
		text, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range id.FindAllStringSubmatch(string(text), -1) {
			ids[m[1]] = true
		}
	}
	if len(ids) < 40 {
		t.Fatalf("only %d ids found in the source", len(ids))
	}
	for _, id := range slices.Sorted(maps.Keys(ids)) {
		if !shown[id] {
			t.Errorf("no fixture finds %s", id)
		}
	}
	for id := range shown {
		if !ids[id] {
			t.Errorf("a fixture finds %s, which is not in the source", id)
		}
	}
}
