package ui

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/batchctl/batchctl/pkg/cli/cmdline"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/cli/ui/uitest"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/target"
)

// exportTo runs batchctl ui --export for the recording.
func exportTo(t *testing.T, r *uitest.Replies, dir string, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	var out, notes bytes.Buffer
	o := options{Given: cmdline.Given{Command: "ui", Args: args}, Target: target.Options{Name: target.Local, StateDir: t.TempDir()}, Export: dir, instead: r.Answer}
	err = export(t.Context(), &term.Console{Streams: term.Streams{In: strings.NewReader(""), Out: &out, Err: &notes}}, o)
	return out.String(), notes.String(), err
}

// filesIn returns the files of a directory with their texts.
func filesIn(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		all[e.Name()] = string(text)
	}
	return all
}

func TestExport(t *testing.T) {
	t.Chdir(t.TempDir())
	r := uitest.Recording()
	stdout, stderr, err := exportTo(t, r, "copy")
	if err != nil {
		t.Fatal(err)
	}
	if stdout != filepath.Join("copy", "index.html")+"\n" || stderr != "wrote 8 pages to copy; open index.html in a browser\n" {
		t.Errorf("stdout %q, stderr %q", stdout, stderr)
	}
	pages := filesIn(t, "copy")
	want := []string{"index.html", uitest.PrepareID + ".html", uitest.ArrayID + ".html", uitest.ReportID + ".html"}
	for i := range 4 {
		want = append(want, fmt.Sprintf("%s_%d.html", uitest.ArrayID, i))
	}
	if got := slices.Sorted(maps.Keys(pages)); !slices.Equal(got, slices.Sorted(slices.Values(want))) {
		t.Fatalf("files %q", got)
	}
	linked := map[string]bool{"index.html": true}
	for name, text := range pages {
		checkCopy(t, name, text)
		all, _, err := tagsOf(text)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, found := range all {
			href := found.attributes["href"]
			switch {
			case found.name != "a" || href == "#main":
			case pages[href] == "":
				t.Errorf("%s links %q, which is not in the copy", name, href)
			default:
				linked[href] = true
			}
		}
		for _, file := range regexp.MustCompile(`"\d+":"([^"]+\.html)"`).FindAllStringSubmatch(text, -1) {
			linked[file[1]] = true // the grid
			if pages[file[1]] == "" {
				t.Errorf("the grid of %s links %q, which is not in the copy", name, file[1])
			}
		}
	}
	for name := range pages {
		if !linked[name] {
			t.Errorf("no page links %s", name)
		}
	}
	for name, texts := range map[string][]string{
		"index.html":                    {"calibration", "array of 4", "a copy of"},
		uitest.PrepareID + ".html":      {"preparing", "attempt 1", "MODE"},
		uitest.ArrayID + ".html":        {`"statuses":"cccf"`, `{"name":"error","values":[0,0.1,0.2,null]}`, "a disk on this machine was full", `"places":[0,1,2,3]`},
		uitest.ArrayID + "_3.html":      {"no space left on device", "exit code 3"},
		uitest.ReportID + ".html":       {"Dependent Job failed", uitest.ArrayID + ".html"},
		uitest.ArrayID + "_0" + ".html": {"SUCCEEDED"},
	} {
		for _, text := range texts {
			if !strings.Contains(pages[name], text) {
				t.Errorf("%s has no %q", name, text)
			}
		}
	}
}

// checkCopy checks that a page loads nothing, and that its policy admits its own style and script and no other.
func checkCopy(t *testing.T, name, text string) {
	t.Helper()
	if bad := badText(text); bad != "" {
		t.Errorf("%s: %s", name, bad)
	}
	policy := ""
	all, raw, err := tagsOf(text)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	hash := func(text string) string {
		sum := sha256.Sum256([]byte(text))
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	inline := 0
	for _, found := range all {
		if found.attributes["http-equiv"] == "Content-Security-Policy" {
			policy = found.attributes["content"]
		}
		for attribute, value := range found.attributes {
			if strings.Contains(value, "/assets/") || attribute == "src" && !strings.HasPrefix(value, "data:") || strings.HasPrefix(attribute, "on") || attribute == "style" ||
				attribute == "href" && !regexp.MustCompile(`^(#main|[-\w]+\.html)$`).MatchString(value) {
				t.Errorf("%s: <%s %s=%q>", name, found.name, attribute, value)
			}
		}
		if found.name == "form" || found.name == "link" || found.name == "base" || found.name == "button" && found.attributes["data-action"] != "" {
			t.Errorf("%s has a %s", name, found.name)
		}
		if found.name != "script" && found.name != "style" {
			continue
		}
		body := raw[inline]
		inline++
		switch kind := "script"; {
		case found.attributes["type"] == "application/json": // data
		case strings.Contains(body, "@import") || found.name == "style" && strings.Contains(body, "url("):
			t.Errorf("%s: the %s loads something", name, found.name)
		default:
			if found.name == "style" {
				kind = "style"
			}
			if !strings.Contains(policy, kind+"-src "+hash(body)) {
				t.Errorf("%s: the policy %q does not admit the %s, which is before it or has the hash %s", name, policy, kind, hash(body))
			}
		}
	}
	if !strings.HasPrefix(policy, "default-src 'none';") || strings.Contains(policy, "unsafe") || strings.Contains(policy, "http") || strings.Count(policy, "sha256-") != 2 {
		t.Errorf("%s: policy %q", name, policy)
	}
}

// TestHostileExport copies jobs whose texts, also ids, are hostile: the pages contain no markup of theirs, and no file
// is outside the directory.
func TestHostileExport(t *testing.T) {
	t.Chdir(t.TempDir())
	r := uitest.Recording()
	known := map[string]bool{"span title": true}
	if _, _, err := exportTo(t, r, "plain"); err != nil {
		t.Fatal(err)
	}
	for _, text := range filesIn(t, "plain") {
		maps.Copy(known, vocabulary(t, text))
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	sample := rand.New(rand.NewPCG(seed, 0))
	for _, line := range []string{"status", "status " + uitest.PrepareID, "status " + uitest.ArrayID, "explain " + uitest.ArrayID, "list --array " + uitest.ArrayID + " --limit 0", "results " + uitest.ArrayID, "logs " + uitest.PrepareID + "", "top"} {
		original := r.Known[line].Out
		tried := 0
		for name, write := range mutations(original) {
			if !strings.Contains(name, "is hostile") && !strings.Contains(name, "renamed") || sample.IntN(variants(t, 40)) > 0 {
				continue
			}
			r.Set(line, uitest.IndentJSON(write()))
			dir := t.TempDir()
			_, _, err := exportTo(t, r, filepath.Join(dir, "copy"))
			if entries, _ := os.ReadDir(dir); len(entries) > 1 {
				t.Errorf("%s, %s: %d entries beside the copy", line, name, len(entries)-1)
			}
			if err != nil {
				continue // an id that no other command knows
			}
			tried++
			for file, text := range filesIn(t, filepath.Join(dir, "copy")) {
				if bad := badMarkup(text, known); bad != "" {
					t.Errorf("%s, %s: %s: %s", line, name, file, bad)
				}
			}
		}
		r.Set(line, original)
		if variants(t, 40) == 1 && tried == 0 {
			t.Errorf("%s: no copy", line)
		}
	}
}

func TestExportDirectory(t *testing.T) {
	t.Chdir(t.TempDir())
	r := uitest.Recording()
	write := func(name, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("notes/a.txt", "keep")
	write("mixed/index.html", "keep")
	write("mixed/a.txt", "keep")
	write("other/a.html", "keep")
	for _, dir := range []string{"notes", "mixed", "other"} {
		before := filesIn(t, dir)
		stdout, _, err := exportTo(t, r, dir)
		failed, ok := errors.AsType[*exit.Failure](err)
		if !ok || failed.Code != exit.NotDone || !strings.Contains(failed.Error(), dir+" is not empty") || stdout != "" {
			t.Errorf("%s: %v, %q", dir, err, stdout)
		}
		if !maps.Equal(before, filesIn(t, dir)) {
			t.Errorf("%s changed", dir)
		}
	}
	write("file", "keep")
	for _, dir := range []string{"file", "file/below"} {
		if _, _, err := exportTo(t, r, dir); err == nil {
			t.Errorf("exported to %s", dir)
		}
	}
	// An empty directory and an earlier copy are replaced.
	if err := os.Mkdir("empty", 0o755); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, _, err := exportTo(t, r, "empty"); err != nil {
			t.Error(err)
		}
	}
	first := filesIn(t, "empty")
	write("empty/index.html", "old")
	if _, _, err := exportTo(t, r, "empty"); err != nil || len(filesIn(t, "empty")["index.html"]) != len(first["index.html"]) {
		t.Errorf("the old page is still there: %v", err)
	}
	// A page that cannot be written is an error, and leaves no part of it.
	if err := os.Remove("empty/index.html"); err != nil {
		t.Fatal(err)
	}
	write("empty/index.html/x", "a directory")
	stdout, _, err := exportTo(t, r, "empty")
	if err == nil || stdout != "" || !strings.Contains(err.Error(), "index.html") {
		t.Errorf("%q, %v", stdout, err)
	}
	if rest, _ := filepath.Glob("empty/.batchctl-*"); len(rest) > 0 {
		t.Errorf("parts of pages are left: %q", rest)
	}
}

// closedWriter is a standard output that nothing can be written to.
type closedWriter struct{}

func (closedWriter) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

func TestExportFails(t *testing.T) {
	t.Chdir(t.TempDir())
	o := options{Given: cmdline.Given{Command: "ui"}, Target: target.Options{Name: target.Local, StateDir: t.TempDir()}, Export: "full"}
	r := uitest.Recording()
	o.instead = r.Answer
	if err := export(t.Context(), &term.Console{Streams: term.Streams{Out: closedWriter{}, Err: io.Discard}}, o); err == nil {
		t.Error("an address that was not printed is no error")
	}
	for name, c := range map[string]struct {
		change func()
		code   int
		text   string
	}{
		"no jobs":            {func() { r.Known["status"] = uitest.Reply{Out: "[]"} }, exit.NotDone, "there is no job to export"},
		"a failed command":   {func() { r.Known["status"] = uitest.Reply{Err: "batchctl: no state\n  submit\n", Status: 3} }, 3, "no state"},
		"a missing job":      {func() { delete(r.Known, "status "+uitest.PrepareID) }, 1, "no job"},
		"a missing child":    {func() { delete(r.Known, "status "+uitest.ArrayID+":0") }, 1, "no job"},
		"a missing listing":  {func() { delete(r.Known, "list --array "+uitest.ArrayID+" --limit 0") }, 1, "no job"},
		"text, not JSON":     {func() { r.Known["status"] = uitest.Reply{Out: "text"} }, 0, "batchctl status"},
		"a silent target":    {func() { r.Known["top"] = uitest.Reply{Err: "batchctl: no answer\n", Status: 3} }, -1, ""},
		"an unknown command": {func() { clear(r.Known) }, 1, "no job"},
	} {
		r = uitest.Recording()
		c.change()
		_, _, err := exportTo(t, r, "dir-"+strings.ReplaceAll(name, " ", "-"))
		if err == nil {
			t.Errorf("%s is no error", name)
			continue
		}
		if failed, ok := errors.AsType[*exit.Failure](err); c.code > 0 && (!ok || failed.Code != c.code) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %#v", name, err)
		}
	}
	// Without a log, results and an explanation, the rest is copied.
	r = uitest.Recording()
	for line := range r.Known {
		if strings.HasPrefix(line, "logs ") || strings.HasPrefix(line, "results ") || strings.HasPrefix(line, "explain ") {
			delete(r.Known, line)
		}
	}
	if _, notes, err := exportTo(t, r, "rest"); err != nil || !strings.Contains(notes, "8 pages") {
		t.Errorf("%q, %v", notes, err)
	}
}

// TestChosenChildren copies the failed children of a large array first.
func TestChosenChildren(t *testing.T) {
	t.Chdir(t.TempDir())
	r := uitest.Recording()
	listing := r.Known["list --array "+uitest.ArrayID+" --limit 0"].Out
	one := regexp.MustCompile(`(?s)\{\s*"jobId".*?"stoppedAt": \d+\s*\}`).FindString(listing)
	var rows []string
	for i := range 3 * copiedChildren {
		row := strings.NewReplacer(uitest.ArrayID+":0", fmt.Sprintf("%s:%d", uitest.ArrayID, i), `"index": 0`, fmt.Sprintf(`"index": %d`, i)).Replace(one)
		if i%100 == 50 {
			row = strings.Replace(row, "SUCCEEDED", "FAILED", 1)
		}
		rows = append(rows, row)
		r.Known[fmt.Sprintf("status %s:%d", uitest.ArrayID, i)] = uitest.Reply{Out: strings.ReplaceAll(r.Known["status "+uitest.ArrayID+":0"].Out, uitest.ArrayID+":0", fmt.Sprintf("%s:%d", uitest.ArrayID, i))}
	}
	r.Set("list --array "+uitest.ArrayID+" --limit 0", "["+strings.Join(rows, ",")+"]")
	r.Set("status "+uitest.ArrayID, strings.Replace(r.Known["status "+uitest.ArrayID].Out, `"size": 4`, fmt.Sprintf(`"size": %d`, 3*copiedChildren), 1))
	if _, _, err := exportTo(t, r, "large"); err != nil {
		t.Fatal(err)
	}
	pages := filesIn(t, "large")
	for i, want := range map[int]bool{0: true, 96: true, 97: true, 98: false, 50: true, 150: true, 250: true, 100: false} {
		if (pages[fmt.Sprintf("%s_%d.html", uitest.ArrayID, i)] != "") != want {
			t.Errorf("child %d: in the copy %v", i, !want)
		}
	}
	if len(pages) != copiedChildren+4 {
		t.Errorf("%d pages", len(pages))
	}
}

// TestMeasuredCopy exports the recorded jobs: the copies of a job and of an array have the measurements.
func TestMeasuredCopy(t *testing.T) {
	pages := copied(t, serverOf(t, uitest.Recording(), nil))
	job, array := pages["copy of "+fileOf(uitest.PrepareID)], pages["copy of "+fileOf(uitest.ArrayID)]
	if !strings.Contains(job, "measured-head") || !strings.Contains(job, "700 MiB") || strings.Contains(job, "/measurements") {
		t.Errorf("the copy of the job: %s", job)
	}
	if !strings.Contains(array, `"peak memory MiB"`) || !strings.Contains(array, "300 MiB") {
		t.Errorf("the copy of the array: %s", array)
	}
}
