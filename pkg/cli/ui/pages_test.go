package ui

import (
	"encoding/json"
	"fmt"
	"html"
	"iter"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/batchctl/batchctl/pkg/cli/ui/jobpages"
	"github.com/batchctl/batchctl/pkg/cli/ui/uitest"
)

// views are all pages and all data, with the commands that they run. status is the HTTP status for the recording.
var views = []struct {
	address  string
	commands []string
	status   int
	// has are texts that must be in the answer.
	has []string
}{
	{"/queues", []string{"top"}, 200, []string{"default", "ENABLED", "1.5 of 2 vCPUs", "no role", "a note", "vision 1", "2+"}},
	{"/queues/default", []string{"top"}, 200, []string{"maxvCpus", "vision", "INVALID", "/jobs/" + uitest.ReportID}},
	{"/queues/default?forecast=1&job=job.json", []string{"top"}, 200, []string{`data-load="/queues/default/forecast"`, `data-load="/queues/default/when?job=job.json"`}},
	{"/queues/default/forecast", []string{"forecast", "accuracy of default"}, 200, []string{"Of 40 earlier forecasts, 55 % were right", "started 4m later than forecast", "Do not rely on this forecast", "vCPUs of share vision", "at least", "20m (10m to 40m)", "3.75 (2.50 to 5.00)", "team-a", "unknown: which jobs come", "batchctl forecast default"}},
	{"/queues/default/when?job=job.json", []string{"plan --when"}, 200, []string{"behind 37 jobs of share vision; with maxvCpus 512 of local: within a minute, for 12.00 USD an hour more", "31 from definition, 6 from queue", "which jobs come later"}},
	{"/queues/default/when", nil, 200, []string{"job.json"}},
	{"/jobs", []string{"top", "status", "list"}, 200, []string{"prepare", "array of 4", "Dependent Job failed"}},
	{"/jobs?group=tag:team&open=%3Dvision", []string{"status"}, 200, []string{"vision"}},
	{"/jobs/rows?n=100", []string{"status", "list"}, 200, []string{`"name":"prepare"`}},
	{"/jobs/rows?group=tag:team", []string{"status"}, 200, []string{`"label":"vision"`}},
	{"/jobs/rows?group=workflow", []string{"status"}, 200, []string{`"label":"calibration`}},
	{"/jobs/" + uitest.PrepareID, []string{"status ID"}, 200, []string{"SUCCEEDED", "attempt 1", "preparing", "MODE", "team", "vision", `["job:` + uitest.PrepareID + `","log:` + uitest.PrepareID + `"]`}},
	{"/jobs/" + uitest.ReportID, []string{"status ID"}, 200, []string{"Dependent Job failed", "/jobs/" + uitest.ArrayID, "/workflows/" + uitest.RunID}},
	{"/jobs/" + uitest.ArrayID + ":3", []string{"status ID"}, 200, []string{"sweep:3", "exit code 3", "/jobs/" + uitest.ArrayID}},
	{"/jobs/" + uitest.ArrayID, []string{"status ID", "list"}, 200, []string{`data-grid="` + uitest.ArrayID, "Failed children", uitest.ArrayID + ":3", `["job:` + uitest.ArrayID + `"]`}},
	{"/jobs/" + uitest.ArrayID + "/children", []string{"status ID", "list"}, 200, []string{`"statuses":"cccf"`, `"rows":{"name":"lr","values":["0.1","0.01"]}`, `"places":[0,1,2,3]`, "lr=0.01 seed=2"}},
	{"/jobs/" + uitest.ArrayID + "/children/values", []string{"status ID", "results"}, 200, []string{`{"name":"error","values":[0,0.1,0.2,null]}`}},
	{"/jobs/" + uitest.ArrayID + "/results", []string{"status ID", "results", "list"}, 200, []string{"data:image/svg+xml;base64,", "SUCCEEDED", "<td>0.2</td>"}},
	{"/jobs/" + uitest.ArrayID + "/explain", []string{"status ID", "explain"}, 200, []string{"a disk on this machine was full", "out-of-disk", "df -h", "Why it failed"}},
	{"/jobs/" + uitest.PrepareID + "/explain", []string{"status ID"}, 200, nil},
	{"/jobs/" + uitest.ArrayID + "/cost", []string{"cost"}, 200, []string{"sweep", "prices of"}},
	{"/jobs/" + uitest.PrepareID + "/measurements", []string{"history"}, 200, []string{"700 MiB", "of 1 GiB", "2 sidecar", "100 MiB", "of 512 MiB", "20 MiB", "1.6", "NVIDIA L4: 2 GiB of 22.5 GiB, 50 % busy", "peak memory of attempt 1"}},
	{"/jobs/" + uitest.ArrayID + "/measurements", []string{"history"}, 200, []string{"peak memory", "200 MiB", "300 MiB", "29 %", "busy CPUs"}},
	{"/jobs/" + uitest.ArrayID + "/children/measurements", []string{"status ID", "history"}, 200, []string{`{"measured":true,"name":"peak memory MiB","values":[100,200,300,null]}`, `"name":"busy CPUs"`}},
	{"/workflows/" + uitest.RunID, []string{"status --submission"}, 200, []string{"calibration", "array of 4", "Dependent Job failed"}},
	{"/check", nil, 200, []string{"public.ecr.aws"}},
	{"/reports", []string{"status"}, 200, []string{"by=tag:team", "/jobs/" + uitest.ArrayID + "/results"}},
	{"/reports/cost", []string{"cost"}, 200, []string{"calibration", "last 7d"}},
	{"/reports/sizes", []string{"advise"}, 200, []string{"40 measured of 41 attempts, 1 out of memory", "3.01 GiB", "memory 3.25 GiB, 1 vCPU: enough for 99 % of runs", "saves 5.76 of 7.68 USD", "cpu: 4 jobs on m5.xlarge",
		`"resources": { "vcpus": 1, "memory": "3328 MiB" }`, "By depth: explains 80 %", "No proposal: no measured runs", `"measure": true`, "last 30d"}},
	{"/reports/compare?good=" + uitest.PrepareID + "&bad=" + uitest.ReportID, []string{"diff"}, 200, []string{"likely cause", "container.command[2]", "echo preparing", "echo report", "700 MiB", "unmeasured", "same: image, queue",
		"unknown: the image's digest", "batchctl diff " + uitest.PrepareID, `label="prepare SUCCEEDED"`}},
	{"/reports/compare?bad=x", nil, 200, []string{`value="x"`}},
	{"/reports/whatif", []string{"top"}, 200, []string{"maxvCpus", `value="local"`, `value="job.json"`}},
	{whatIfAddress, []string{"what-if"}, 200, []string{"20m (10m to 40m)", "→ 2m (1m to 4m)", "→ 7.50", "the jobs of share vision wait 12m", `"maxvCpus": 512`, "vCPUs of share audio after the change", "--without-share=vision",
		`"computeEnvironmentName": "local"`, "Copy for apply", `"jobQueue": "default"`, "Copy for the platform file", `<option value="SPOT" selected>`, `<option value="fair" selected>`, `value="vision:0.5"`}},
	{"/reports/sizing", []string{"top"}, 200, []string{"recorded history", "Each run counts once"}},
	{"/reports/sizing?queue=default&wait=30m", []string{"sizing"}, 200, []string{"the cheapest set that keeps 95 % of the waits below 30m: local maxvCpus 64 with t3a, maxvCpus 64, 3.75 USD", "23 sets tried", "a cheaper set may exist", "120 jobs", "waited 1m (median)",
		"3 rows skipped: no duration", "the present vCPUs", `"computeResources": {`, "Copy for apply", `"computeEnvironment": "local"`, "Copy for the platform file"}},
	{"/reports/accuracy", []string{"accuracy"}, 200, []string{"Queue default has <strong>poor forecasts</strong>", "82 %", "-12s", "poor: do not rely on it", "55 %", "4m", "too few to tell", "batchctl forecast --accuracy"}},
	{"/platform", nil, 200, []string{"There is no platform file here"}},
	{"/platform/drift", []string{"apply"}, 200, []string{"1 difference", "priority"}},
}

// whatIfAddress proposes every kind of change.
const whatIfAddress = "/reports/whatif?queue=default&environment=local&max=512&types=g6e.12xlarge&share=vision&file=job.json&count=200&reclaims=0.05&type=SPOT&policy=fair&weight=vision:0.5"

// writeJobFile writes the job file that the pages offer to the current directory.
func writeJobFile(t *testing.T) {
	t.Helper()
	if err := os.WriteFile("job.json", []byte(jobpages.ExampleJob), 0o600); err != nil {
		t.Fatal(err)
	}
}

// tag is a start tag of a page.
type tag struct {
	name       string
	attributes map[string]string
}

// Start tags as the templates write them: lower case, and every value in double quotes.
var (
	startTag  = regexp.MustCompile(`^<([a-zA-Z][a-zA-Z0-9]*)((?:\s+[a-zA-Z][-a-zA-Z0-9:]*(?:="[^"<]*")?)*)\s*/?>`)
	endTag    = regexp.MustCompile(`^</[a-zA-Z][a-zA-Z0-9]*>`)
	attribute = regexp.MustCompile(`([a-zA-Z][-a-zA-Z0-9:]*)(?:="([^"<]*)")?`)
)

// tagsOf returns the start tags of a page, or an error for markup that the templates do not write. The text of scripts
// and styles is returned, too.
func tagsOf(page string) (all []tag, raw []string, err error) {
	rest := strings.TrimPrefix(page, "<!doctype html>\n")
	for {
		at := strings.IndexByte(rest, '<')
		if at < 0 {
			return all, raw, nil
		}
		rest = rest[at:]
		if end := endTag.FindString(rest); end != "" {
			rest = rest[len(end):]
			continue
		}
		m := startTag.FindStringSubmatch(rest)
		if m == nil {
			return nil, nil, fmt.Errorf("no tag: %.200q", rest)
		}
		rest = rest[len(m[0]):]
		found := tag{m[1], map[string]string{}}
		for _, a := range attribute.FindAllStringSubmatch(m[2], -1) {
			if _, twice := found.attributes[a[1]]; twice {
				return nil, nil, fmt.Errorf("attribute %s twice: %s", a[1], m[0])
			}
			found.attributes[a[1]] = html.UnescapeString(a[2])
		}
		all = append(all, found)
		if found.name == "script" || found.name == "style" {
			text, after, ok := strings.Cut(rest, "</"+found.name+">")
			if !ok {
				return nil, nil, fmt.Errorf("no end of %s", m[0])
			}
			raw, rest = append(raw, text), after
		}
	}
}

// vocabulary are the elements with their attributes that pages may have: "a href".
func vocabulary(t *testing.T, pages ...string) map[string]bool {
	t.Helper()
	known := map[string]bool{}
	for _, text := range pages {
		all, _, err := tagsOf(text)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range all {
			known[found.name] = true
			for name := range found.attributes {
				known[found.name+" "+name] = true
			}
		}
	}
	return known
}

// badMarkup returns what is wrong in a page whose texts are hostile; "" if nothing is.
func badMarkup(page string, known map[string]bool) string {
	all, raw, err := tagsOf(page)
	if err != nil {
		return err.Error()
	}
	for _, text := range raw {
		if strings.Contains(strings.ToLower(text), "<!--") || strings.Contains(strings.ToLower(text), "<script") {
			return "a script contains markup"
		}
	}
	for _, found := range all {
		if !known[found.name] {
			return "element " + found.name
		}
		for name, value := range found.attributes {
			if !known[found.name+" "+name] && !optional[name] {
				return "attribute " + found.name + " " + name
			}
			if slices.Contains([]string{"href", "src", "action", "data-load"}, name) && !ownAddress.MatchString(value) {
				return fmt.Sprintf("address %s=%.100q", name, value)
			}
			if name == "style" || strings.HasPrefix(name, "on") {
				return "attribute " + name
			}
		}
	}
	return badText(page)
}

// optional are attributes that depend on the data.
var optional = map[string]bool{"aria-current": true, "selected": true, "open": true, "checked": true, "class": true, "paint-order": true, "stroke-width": true, "stroke": true, "stroke-linejoin": true}

// ownAddress is an address of this server, or of a file of a copy.
var ownAddress = regexp.MustCompile(`^(/$|/[^/\\]|#|data:image/svg\+xml;base64,|[-0-9a-zA-Z_.%]+\.html$|$)`)

// badText returns the first character of a text that can change what is around it; "" if there is none.
func badText(text string) string {
	if !utf8.ValidString(text) {
		return "invalid UTF-8"
	}
	for i, r := range text {
		if unicode.IsControl(r) && r != '\n' && r != '\t' || unicode.Is(unicode.Bidi_Control, r) {
			return fmt.Sprintf("character %U in %q", r, text[max(0, i-100):min(len(text), i+20)])
		}
	}
	return ""
}

// TestPages renders every page for the recording.
func TestPages(t *testing.T) {
	s := serverOf(t, uitest.Recording(), nil)
	writeJobFile(t)
	h := s.handler()
	for _, v := range views {
		w := get(h, v.address)
		text := w.Body.String()
		if w.Code != v.status {
			t.Errorf("%s: status %d: %s", v.address, w.Code, text)
			continue
		}
		plain := html.UnescapeString(text)
		for _, want := range v.has {
			if !strings.Contains(plain, want) {
				t.Errorf("%s: no %q in\n%s", v.address, want, text)
			}
		}
		if strings.Contains(text, "ZgotmplZ") || strings.Contains(text, "%!") || strings.Contains(text, "<no value>") || strings.Contains(text, "<nil>") {
			t.Errorf("%s: a template met a value that it does not expect:\n%s", v.address, text)
		}
		if w.Header().Get("Content-Type") == "application/json" {
			if !json.Valid(w.Body.Bytes()) {
				t.Errorf("%s: %s", v.address, text)
			}
			continue
		}
		known := vocabulary(t, text)
		if bad := badMarkup(text, known); bad != "" {
			t.Errorf("%s: %s", v.address, bad)
		}
		ids := map[string]bool{}
		all, _, _ := tagsOf(text)
		for _, found := range all {
			if id := found.attributes["id"]; id != "" && ids[id] {
				t.Errorf("%s: two elements have the id %s", v.address, id)
			} else {
				ids[id] = true
			}
		}
		for _, found := range all {
			for _, name := range []string{"aria-labelledby", "for", "aria-describedby"} {
				for _, id := range strings.Fields(found.attributes[name]) {
					if !ids[id] {
						t.Errorf("%s: %s=%s names no element", v.address, name, id)
					}
				}
			}
		}
	}
}

// hostile are texts in place of a text: alone and together.
var hostile = []string{
	"<img src=x onerror=pwned>\" onmouseover=\"pwned\" x='</script></style></textarea></title><script>pwned()</script><!--{{.Server.options}}{{template \"frame\"}}" +
		"\u202epwned\u2066\x1b[31m\x1b]8;;http://evil.example\x07\x00\x7f\u0085\n`${pwned}`&lt;img&gt;",
	"javascript:pwned()",
	"//evil.example/",
}

// structures are values in place of others, by the kind of the other.
func structures(v any) []string {
	switch v.(type) {
	case string:
		return []string{"null", "7", `""`, "[]"}
	case float64:
		return []string{"null", "-1", "0", "1e300", `"text"`}
	case bool:
		return []string{"null", "7"}
	}
	return []string{"null", "[]", "{}", "[null]", "[{}]", `"text"`}
}

// variants returns the n of which one in n variants of a document is tried: BATCHCTL_VARIANTS, or byDefault.
func variants(t *testing.T, byDefault int) int {
	t.Helper()
	text := os.Getenv("BATCHCTL_VARIANTS")
	if text == "" {
		return byDefault
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("BATCHCTL_VARIANTS=%q is not a positive number", text)
	}
	return n
}

// mutations returns variants of a JSON document, with a name: each value replaced, each member left out or renamed.
// The document is written only if its function is called in the loop.
func mutations(text string) iter.Seq2[string, func() string] {
	return func(yield func(string, func() string) bool) {
		var root any
		if json.Unmarshal([]byte(text), &root) != nil {
			return
		}
		stopped := false
		send := func(name string) {
			stopped = stopped || !yield(name, func() string {
				b, err := json.Marshal(root)
				if err != nil {
					panic(err) // it was decoded from JSON
				}
				return string(b)
			})
		}
		var visit func(path string, v any, set func(any))
		visit = func(path string, v any, set func(any)) {
			if stopped {
				return
			}
			if _, isText := v.(string); isText {
				for i, h := range hostile {
					set(h)
					send(fmt.Sprintf("%s is hostile %d", path, i))
				}
			}
			for _, s := range structures(v) {
				set(json.RawMessage(s))
				send(path + " is " + s)
			}
			set(v)
			switch v := v.(type) {
			case []any:
				for i := range min(len(v), 2) {
					visit(fmt.Sprintf("%s[%d]", path, i), v[i], func(n any) { v[i] = n })
				}
			case map[string]any:
				for _, name := range slices.Sorted(maps.Keys(v)) {
					old := v[name]
					delete(v, name)
					send(path + "." + name + " is missing")
					v[hostile[0]] = old
					send(path + "." + name + " is renamed")
					delete(v, hostile[0])
					v[name] = old
					visit(path+"."+name, old, func(n any) { v[name] = n })
				}
			}
		}
		visit("", root, func(n any) { root = n })
		// All texts are long.
		if !stopped {
			yield("all texts are long", func() string {
				return regexp.MustCompile(`:\s*"[^"\\]*"`).ReplaceAllString(text, `:"`+strings.Repeat("pwned ", 170_000/max(1, strings.Count(text, `"`)/40))+`"`)
			})
		}
	}
}

// commandsOf returns the recorded command lines that a view runs.
func commandsOf(address string, commands []string) (lines []string) {
	_, id, _ := strings.Cut(address, "/jobs/")
	id, _, _ = strings.Cut(id, "/")
	for _, name := range commands {
		switch name {
		case "list":
			lines = append(lines, "list --array "+uitest.ArrayID+" --limit 0", "list --array "+uitest.ArrayID+" --status FAILED --limit 0")
		case "status ID":
			lines = append(lines, "status "+id)
		case "status --submission":
			lines = append(lines, "status --submission "+uitest.RunID)
		case "cost":
			if id == "" {
				lines = append(lines, "cost --since 7d --by workflow")
				continue
			}
			lines = append(lines, "cost "+id)
		case "results", "explain":
			lines = append(lines, name+" "+id)
		case "apply":
			lines = append(lines, "apply . --check")
		case "history":
			lines = append(lines, "history "+id+" --limit 5000")
		case "forecast":
			lines = append(lines, "forecast default")
		case "accuracy":
			lines = append(lines, "forecast --accuracy")
		case "accuracy of default":
			lines = append(lines, "forecast --accuracy default")
		case "what-if":
			lines = append(lines, uitest.WhatIfLine)
		case "plan --when":
			lines = append(lines, "plan job.json --when")
		case "sizing":
			lines = append(lines, "forecast --replay=history --max-wait=30m default")
		case "advise":
			lines = append(lines, "advise --since 30d")
		case "diff":
			lines = append(lines, "diff "+uitest.PrepareID+" "+uitest.ReportID)
		default:
			lines = append(lines, name)
		}
	}
	return lines
}

// TestHostileData changes every value of the recording in turn. No page fails to render, and no text becomes markup or
// changes the direction of the text around it.
func TestHostileData(t *testing.T) {
	r := uitest.Recording()
	s := serverOf(t, r, nil)
	writeJobFile(t)
	h := s.handler()
	var pages []string
	for _, v := range views {
		if w := get(h, v.address); w.Header().Get("Content-Type") != "application/json" {
			pages = append(pages, w.Body.String())
		}
	}
	pages = append(pages, get(h, "/nope").Body.String())
	known := vocabulary(t, pages...)
	for _, more := range []string{"p class", "span title"} {
		known[more] = true
	}
	tried := 0
	failures := map[string]bool{}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	sample := rand.New(rand.NewPCG(seed, 0)) // of the variants: all of them take minutes
	for _, v := range views {
		for _, line := range commandsOf(v.address, v.commands) {
			original := r.Known[line].Out
			if original == "" {
				t.Fatalf("%s: no recording of %s", v.address, line)
			}
			for name, write := range mutations(original) {
				if sample.IntN(variants(t, map[bool]int{true: 6, false: 40}[strings.HasSuffix(name, "is hostile 0")])) > 0 {
					continue
				}
				r.Set(line, uitest.IndentJSON(write()))
				s.Forget()
				if line == "status" || strings.HasPrefix(line, "list --array") {
					s.list(r)
				}
				tried++
				bad := problemsOf(h, v.address, known)
				kind := v.address + " " + regexp.MustCompile(`\[\d+\]`).ReplaceAllString(name, "") + bad[:min(len(bad), 30)]
				if bad != "" && !failures[kind] {
					failures[kind] = true
					t.Errorf("%s, %s: %s\n  %s", v.address, line, name, bad)
				}
			}
			r.Set(line, original)
			s.Forget()
			s.list(r)
		}
	}
	if tried < 200 {
		t.Errorf("only %d variants", tried)
	}
}

// problemsOf asks for a page and returns what is wrong with it; "" if nothing is.
func problemsOf(h http.Handler, address string, known map[string]bool) (bad string) {
	defer func() {
		if p := recover(); p != nil {
			bad = fmt.Sprintf("panic: %v", p)
		}
	}()
	w := get(h, address)
	text := w.Body.String()
	switch {
	case w.Code == http.StatusInternalServerError:
		return text
	case w.Header().Get("Content-Type") == "application/json":
		if !json.Valid(w.Body.Bytes()) {
			return "no JSON"
		}
		return badText(text)
	}
	return badMarkup(text, known)
}

// TestHostileRequests has hostile texts in the address: in ids, queries and forms.
func TestHostileRequests(t *testing.T) {
	s := serverOf(t, uitest.Recording(), nil)
	writeJobFile(t)
	h := s.handler()
	var pages []string
	for _, v := range views {
		if w := get(h, v.address); w.Header().Get("Content-Type") != "application/json" {
			pages = append(pages, w.Body.String())
		}
	}
	known := vocabulary(t, append(pages, get(h, "/nope").Body.String())...)
	for _, text := range append([]string{"-x", "--submission", "..", "%00", strings.Repeat("x", 1<<16)}, hostile...) {
		path, query := url.PathEscape(text), url.QueryEscape(text)
		for _, address := range []string{"/queues/" + path, "/jobs/" + path, "/jobs/" + path + "/explain", "/jobs/" + path + "/cost", "/jobs/" + path + "/results",
			"/jobs/" + path + "/children", "/jobs/" + path + "/children/values", "/workflows/" + path, "/jobs?q=" + query, "/jobs?status=" + query, "/jobs?queue=" + query,
			"/jobs?group=tag:" + query, "/jobs?sort=" + query, "/jobs?from=" + query, "/jobs/rows?q=" + query, "/jobs/rows?group=tag:" + query, "/jobs/rows?open=" + query,
			"/jobs/" + path + "/measurements", "/jobs/" + path + "/children/measurements", "/reports/sizes?since=" + query, "/reports/compare?good=" + query,
			"/reports/compare?good=" + query + "&bad=" + query, "/reports/cost?by=" + query, "/reports/cost?by=tag:" + query, "/queues/" + path + "/forecast", "/queues/" + path + "/when", "/queues/default/when?job=" + query,
			"/queues/default?forecast=1&job=" + query, "/reports/whatif?queue=" + query, "/reports/whatif?share=" + query, "/reports/whatif?max=" + query, "/reports/whatif?environment=local&types=" + query,
			"/reports/whatif?file=" + query, "/reports/whatif?reclaims=" + query, "/reports/whatif?policy=" + query, "/reports/whatif?type=" + query, "/reports/whatif?queue=default&weight=" + query, "/reports/whatif?queue=default&weight=1:" + query, "/reports/sizing?queue=" + query, "/reports/sizing?wait=" + query, "/reports/cost?since=" + query,
			"/jobs/" + uitest.ArrayID + "/results?value=" + query, "/" + path, "/assets/" + path} {
			if bad := problemsOf(h, address, known); bad != "" && bad != "no tag" && !strings.HasPrefix(address, "/assets/") {
				t.Errorf("%.100s: %s", address, bad)
			}
		}
	}
}
