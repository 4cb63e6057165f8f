package preview

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/batchctl/batchctl/pkg/cli/cmdline"
	"github.com/batchctl/batchctl/pkg/cli/input"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/plantext"
	"github.com/batchctl/batchctl/pkg/target"
	"github.com/batchctl/batchctl/pkg/testtool/golden"
)

// report plans the files of a directory that is the working directory.
func report(t *testing.T, o PlanOptions, paths ...string) (text string, code int) {
	t.Helper()
	var out bytes.Buffer
	con := &term.Console{Streams: term.Streams{In: strings.NewReader(""), Out: &out, Err: os.Stderr}}
	o.Format, o.Offline, o.Args, o.Command = "markdown", true, paths, "plan"
	err := PlanFiles(t.Context(), con, o)
	if err != nil {
		code = exit.From(err).Code
		if message := exit.From(err).Message; message != "" {
			t.Fatal(message)
		}
	}
	return out.String(), code
}

// harmless fails if a report has something outside of its code that a site reads as more than text.
func harmless(t *testing.T, text string) {
	t.Helper()
	rest := regexp.MustCompile(`<code>(?:[A-Za-z0-9 -]|[^\x00-\x7f]|&#[0-9]+;)*</code>`).ReplaceAllString(text, "CODE")
	rest = strings.ReplaceAll(strings.TrimPrefix(rest, plantext.Marker+"\n"), "<br>\n", "\n")
	if found := regexp.MustCompile("[@<>\\[\\]`&$\\\\~!]|#[^# ]|://|www\\.|(?m)^/").FindString(rest); found != "" {
		t.Errorf("%q is outside of code in:\n%s", found, rest)
	}
	for i, line := range strings.Split(rest, "\n") {
		if strings.HasPrefix(line, "|") && strings.Count(line, "|") != 6 {
			t.Errorf("line %d has %d cell borders: %s", i+1, strings.Count(line, "|"), line)
		}
	}
	if !strings.HasPrefix(text, plantext.Marker+"\n") || strings.Count(text, "<!--") != 1 {
		t.Error("the marker is not exactly in the first line")
	}
	if n := utf8.RuneCountInString(text); n > 65536 {
		t.Errorf("the comment has %d characters", n)
	}
}

// TestPlanMarkdown compares reports with the archives in testdata: the file paths lists the files, and a platform file
// fixes the prices.
func TestPlanMarkdown(t *testing.T) {
	for _, a := range golden.Glob(t, "testdata/markdown/*.txtar") {
		t.Run(a.Name, func(t *testing.T) {
			dir := t.TempDir()
			t.Setenv("BATCHCTL_STATE_DIR", filepath.Join(dir, "state"))
			a.Extract(t, dir)
			paths := strings.Split(strings.TrimSpace(a.Text(t, "paths")), "\n")
			t.Chdir(dir)
			text, code := report(t, PlanOptions{Pricing: Pricing{MaxCost: "5"}}, paths...)
			harmless(t, text)
			if strings.Contains(text, "hunter2hunter2") {
				t.Error("a credential is in the report")
			}
			a.Want(t, "want", text+fmt.Sprintf("\nexit code %d\n", code))
		})
	}
}

// TestPlanMarkdownLimits plans more than a comment can hold.
func TestPlanMarkdownLimits(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("BATCHCTL_STATE_DIR", filepath.Join(dir, "state"))
	t.Chdir(dir)
	// Every character of these names needs a reference, and each file has the most problems.
	tags := []string{}
	for i := range 60 {
		tags = append(tags, fmt.Sprintf(`"%d%s": "%s"`, i, strings.Repeat("|", 200), strings.Repeat("@", 300)))
	}
	text := `{"name": "` + strings.Repeat("<", 150) + `", "image": "` + strings.Repeat("#", 300) + `", "tags": {` + strings.Join(tags, ",") + `}}`
	var paths []string
	for i := range 400 {
		path := fmt.Sprintf("%d%s.json", i, strings.Repeat("|", 100))
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	got, code := report(t, PlanOptions{}, paths...)
	harmless(t, got)
	if code != exit.Problem {
		t.Errorf("exit code %d", code)
	}
	for _, part := range []string{"400 files: 400 with errors", " files more not shown.", "The problems of ", "problems more\n"} {
		if !strings.Contains(got, part) {
			t.Errorf("the report does not contain %q", part)
		}
	}
	if len(got) < 32000 {
		t.Errorf("only %d bytes are used", len(got))
	}
}

// TestPlanMarkdownAtTarget compares a job with a local engine that has run nothing, and with an unreachable one.
func TestPlanMarkdownAtTarget(t *testing.T) {
	t.Setenv("BATCHCTL_STATE_DIR", filepath.Join(t.TempDir(), "none"))
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	for name, c := range map[string]struct {
		target target.Options
		row    string
	}{
		"local": {target.Options{}, "1 job, 1 new definition | <code>this machine&#58; 1 of "},
		"aws":   {target.Options{Name: "aws", Region: "us-east-1", EndpointURL: "http://127.0.0.1:1"}, "#### "},
	} {
		var out bytes.Buffer
		con := &term.Console{Streams: term.Streams{In: strings.NewReader(""), Out: &out, Err: os.Stderr}}
		o := PlanOptions{Output: cmdline.Output{Format: "markdown"}}
		o.Command, o.Args, o.Target = "plan", []string{"testdata/job.json"}, c.target
		err := PlanFiles(t.Context(), con, o)
		harmless(t, out.String())
		if !strings.Contains(out.String(), c.row) || err == nil || exit.From(err).Code == exit.OK {
			t.Errorf("%s: %v\n%s", name, err, out.String())
		}
	}
}

func TestPlanMarkdownUsage(t *testing.T) {
	text, code := report(t, PlanOptions{})
	if code != exit.OK || !strings.Contains(text, "No job file has changed.") {
		t.Errorf("without a file: %d\n%s", code, text)
	}
	con := &term.Console{Streams: term.Streams{Out: &bytes.Buffer{}, Err: &bytes.Buffer{}}}
	of := func(o input.Options, paths ...string) PlanOptions {
		o.Args = paths
		return PlanOptions{Options: Options{Options: o}}
	}
	for _, o := range []PlanOptions{
		{Out: "x"},
		{Operation: "SubmitJob"},
		of(input.Options{}, "-"),
		of(input.Options{Catalog: "none.json"}, "a.json"),
		of(input.Options{Target: target.Options{Name: "nope"}}, "testdata/job.json"),
	} {
		o.Format = "markdown"
		if err := PlanFiles(t.Context(), con, o); err == nil || exit.From(input.FailureOf(err)).Message == "" {
			t.Errorf("%+v: %v", o, err)
		}
	}
}
