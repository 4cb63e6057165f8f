package diag_test

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/batchctl/batchctl/pkg/diag"
)

// sample returns problems as a check of several files finds them: with a fix, twice in a
// file, with a hostile name, and without a file.
func sample() diag.List {
	job := diag.NewSource("jobs/a.json", "{\n  \"名\": \"x\",\n  \"memory\": \"2\",\n  \"memory\": \"2\"\n}\n")
	evil := diag.NewSource("./x, y:%\"<&>\n::error::\x1b[2J.json", "[1, \"\u202e\"]")
	memory := diag.Diagnostic{Rule: "memory-min-4", Source: job, Message: "memory must be at least 4 MiB",
		Hint: `write "4" or more`, Span: spanOf(job, `"2"`, 0)}
	memory.Fix = &diag.Fix{Message: `write "4"`, Edits: []diag.Edit{{Span: memory.Span, Text: `"4"`}}}
	again := memory
	again.Span = spanOf(job, `"2"`, 1)
	again.Fix = &diag.Fix{Message: "leave out the second memory", Edits: []diag.Edit{
		{Span: spanOf(job, `"memory": "2"`, 1)}, {Span: diag.Span{Start: 1, End: 1}, Text: " "}}}
	return diag.List{
		{Severity: diag.Warning, Rule: "no-platform", Message: "placement was not checked"},
		{Severity: diag.Warning, Rule: "odd-name", Source: job, Span: spanOf(job, `"名"`, 0), Message: "100% odd"},
		memory, again,
		{Source: evil, Span: diag.Span{Start: 4, End: 99}, Rule: "a:b,c", Message: "a\nb ::warning::c [d](e) ]]>\x00\ufffe"},
	}
}

// spanOf returns the span of the nth part (from 0) in the text.
func spanOf(src *diag.Source, part string, nth int) diag.Span {
	start := 0
	for range nth {
		start += strings.Index(src.Text[start:], part) + 1
	}
	start += strings.Index(src.Text[start:], part)
	return diag.Span{Start: start, End: start + len(part)}
}

func report() diag.Report {
	return diag.Report{
		Files: []string{"jobs/clean.json", "jobs/a.json"},
		Tool: diag.Tool{Name: "batchctl", Version: "v1.2.3", URI: "https://example.com/batchctl", Rules: []diag.RuleInfo{
			{ID: "unused", Doc: "nothing", Severity: diag.Warning},
			{ID: "memory-min-4", Doc: "memory is at least 4 MiB", Help: "AWS Batch refuses less.", Markdown: "AWS Batch refuses *less*.", URI: "https://example.com/rules#memory-min-4"},
			{ID: "unused", Doc: "a repetition"},
		}},
	}
}

func write(t *testing.T, f diag.Format, l diag.List, r diag.Report) string {
	t.Helper()
	var b strings.Builder
	if err := f.Write(&b, l, r); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestFormats(t *testing.T) {
	for _, f := range diag.Formats() {
		t.Run(f.Name, func(t *testing.T) {
			got := write(t, f, sample(), report())
			expect(t, "format", f.Name, got)
			check(t, f.Name, got, sample())
			check(t, f.Name, write(t, f, nil, diag.Report{}), nil)
			if err := f.Write(brokenPipe{}, sample(), report()); err != os.ErrClosed {
				t.Errorf("with a broken pipe: %v", err)
			}
			if f.Doc == "" {
				t.Error("no doc")
			}
		})
	}
}

// check fails unless programs can read the text, and it is harmless.
func check(t *testing.T, format, text string, l diag.List) {
	t.Helper()
	checkRunes(t, text, "\n\t")
	switch format {
	case "text":
	case "json", "gitlab":
		checkJSON(t, text, l)
	case "sarif":
		checkSARIF(t, text, l)
	case "junit", "checkstyle":
		checkXML(t, text)
	case "github":
		checkGitHub(t, text, l)
	default:
		t.Errorf("no check for format %s", format)
	}
}

func checkJSON(t *testing.T, text string, l diag.List) {
	t.Helper()
	var back []any
	if err := json.Unmarshal([]byte(text), &back); err != nil || back == nil || len(back) != len(l) {
		t.Errorf("%v, %d entries of %d in %s", err, len(back), len(l), text)
	}
}

func checkXML(t *testing.T, text string) {
	t.Helper()
	dec := xml.NewDecoder(strings.NewReader(text))
	for {
		_, err := dec.Token()
		if err == io.EOF {
			return
		}
		if err != nil {
			t.Fatalf("%v in %s", err, text)
		}
	}
}

var githubCommand = regexp.MustCompile(`^::(?:error|warning) (?:file=([^:,]*),line=\d+,col=\d+,endLine=\d+,endColumn=\d+,)?title=[^:,]+::(.*)$`)

func checkGitHub(t *testing.T, text string, l diag.List) {
	t.Helper()
	lines := strings.SplitAfter(text, "\n")
	if len(lines) != len(l)+1 || lines[len(l)] != "" {
		t.Fatalf("%d problems in %q", len(l), text)
	}
	unescape := strings.NewReplacer("%3A", ":", "%2C", ",", "%25", "%")
	for i, d := range l {
		m := githubCommand.FindStringSubmatch(strings.TrimSuffix(lines[i], "\n"))
		if m == nil {
			t.Fatalf("not a command: %q", lines[i])
		}
		if got := unescape.Replace(m[2]); !strings.HasPrefix(got, diag.Printable(d.Message)) {
			t.Errorf("message is %q", got)
		}
	}
}

// TestJUnitFailOn checks that warnings fail tests in a run that fails for warnings.
func TestJUnitFailOn(t *testing.T) {
	for severity, want := range map[diag.Severity]string{
		diag.Error:   `<testsuites tests="5" failures="2" errors="0">`,
		diag.Warning: `<testsuites tests="5" failures="4" errors="0">`,
	} {
		for _, f := range diag.Formats() {
			r := report()
			r.FailOn = severity
			if f.Name == "junit" && !strings.Contains(write(t, f, sample(), r), want) {
				t.Errorf("no %s", want)
			}
		}
	}
	var b strings.Builder
	if err := diag.WriteJUnit(&b, nil, []string{"b", "a"}); err != nil {
		t.Fatal(err)
	}
	if a := strings.Index(b.String(), `classname="a"`); a < 0 || a > strings.Index(b.String(), `classname="b"`) {
		t.Errorf("clean files are not sorted: %s", b.String())
	}
}

func TestWriteTextFix(t *testing.T) {
	d := mark("«1»")
	d.Fix = &diag.Fix{Message: "write 2"}
	for hint, want := range map[string]string{
		"":                   "    = fix: write 2\n",
		"write 2":            "    = fix: write 2\n",
		"drop it, or double": "    = help: drop it, or double\n    = fix: write 2\n",
	} {
		d.Hint = hint
		var b strings.Builder
		if err := diag.WriteText(&b, diag.List{d}, diag.TextOptions{}); err != nil {
			t.Fatal(err)
		}
		if _, got, _ := strings.Cut(b.String(), "^\n"); got != want {
			t.Errorf("with hint %q: %q", hint, got)
		}
	}
}

func TestSummary(t *testing.T) {
	l := sample()
	l = append(l, l[1], l[1], l[1])
	var b strings.Builder
	if err := diag.WriteSummary(&b, l); err != nil {
		t.Fatal(err)
	}
	want := `COUNT  SEVERITY  RULE          FIRST
2      error     memory-min-4  jobs/a.json:3:13
1      error     a:b,c         ./x, y:%"<&>\n::error::\x1b[2J.json:1:5
4      warning   odd-name      jobs/a.json:2:3
1      warning   no-platform   -
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Error(diff)
	}
	if got := fmt.Sprint(diag.Summary(nil)); got != "[]" {
		t.Error(got)
	}
}

// FuzzFormats writes hostile names, rules, messages and texts in every format.
func FuzzFormats(f *testing.F) {
	f.Add("job.json", "rule", "message", "{\n\t\"a\": 1}\r\n", "2", 3, 6)
	f.Add("C:\\a b\\\x1b[2J::%0A,x=", "r::\n", "]]><![CDATA[&lt;\x00\ufffe%0A::error::\u202e", "名\xff\ufeff", "\r\n\x07", -1, 400)
	f.Add("//a/../..\n", "", "", "", "", 0, 0)
	f.Fuzz(func(t *testing.T, name, rule, message, text, insert string, start, end int) {
		src := diag.NewSource(name, text)
		span := diag.Span{Start: start, End: end}
		d := diag.Diagnostic{Source: src, Rule: rule, Message: message, Span: span,
			Fix: &diag.Fix{Message: message, Edits: []diag.Edit{{Span: span, Text: insert}}}}
		nowhere := diag.Diagnostic{Severity: diag.Warning, Rule: rule, Message: message, Hint: message}
		l := diag.List{d, d, nowhere}
		r := diag.Report{Files: []string{name, text}, Tool: diag.Tool{Name: name, Version: rule, Rules: []diag.RuleInfo{{ID: text, Doc: message}}}}
		for _, format := range diag.Formats() {
			check(t, format.Name, write(t, format, l, r), l)
		}
		var b strings.Builder
		if err := diag.WriteSummary(&b, l); err != nil {
			t.Fatal(err)
		}
		checkRunes(t, b.String(), "\n")
	})
}
