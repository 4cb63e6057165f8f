package ui

import (
	"bytes"
	"embed"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"math"
	"mime"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/graph"
	"github.com/batchctl/batchctl/pkg/secret"
)

//go:embed assets
var assets embed.FS

// page is a page, or a part of one that is loaded later.
type page struct {
	// Template is the name of the file in assets, without .html. It defines the template "content".
	Template string
	Title    string
	// Section is the item of the navigation that the page belongs to.
	Section string
	// Topics are what the page watches.
	Topics []string
	// Part leaves out the frame of the page.
	Part bool
	// Body is for the page's own template.
	Body any

	Server *server
	// Problem is shown instead of the body.
	Problem *problem
	// Export is set for a page that is written to a file.
	Export *exported
	theme  string
}

// The following methods are for the frame and the pages.

// Theme is the theme that the user chose; "" follows the system.
func (p page) Theme() string { return p.theme }

// CanChange reports whether the page offers changes.
func (p page) CanChange() bool {
	return p.Export == nil && p.Server != nil && p.Server.options.allowChanges
}

// TargetName names the target.
func (p page) TargetName() string { return shown(p.Server.label()) }

// section is an item of the navigation.
type section struct{ Path, Name string }

// Navigation returns the sections.
func (p page) Navigation() []section {
	return []section{{"queues", "Queues"}, {"jobs", "Jobs"}, {"check", "Check"}, {"reports", "Reports"}, {"platform", "Platform"}}
}

// JobLink returns the address of a job's page; "#" for a job that is not in a copy.
func (p page) JobLink(id string) string {
	if p.Export == nil {
		return jobAddress(id)
	}
	if name := p.Export.Pages[id]; name != "" {
		return name
	}
	return "#"
}

// problem is why a page has nothing to show.
type problem struct{ Message, Hint string }

// exported is what a page in a file has instead of links to assets.
type exported struct {
	Style   template.CSS
	Script  template.JS
	Policy  string // Content-Security-Policy
	Written time.Time
	// Verdict is the explanation of a job, Measured what its attempts used, Log its lines, and Grid the children of an
	// array.
	Verdict, Measured template.HTML
	Log               []logLine
	Grid              *copiedGrid
	// Pages are the names of the files of the jobs that are in the copy, by id.
	Pages map[string]string
}

// errNotFound is the error for an address without a page.
var errNotFound = errors.New("there is no such page")

// badRequest is an error of the request rather than of the target.
type badRequest struct{ error }

// statusOf returns the HTTP status for an error.
func statusOf(err error) int {
	if err == nil {
		return http.StatusOK
	}
	if errors.Is(err, errNotFound) {
		return http.StatusNotFound
	}
	if _, ok := errors.AsType[badRequest](err); ok {
		return http.StatusBadRequest
	}
	if failed, ok := errors.AsType[*commandError](err); ok && strings.HasPrefix(failed.Message, "no job") {
		return http.StatusNotFound
	}
	return http.StatusBadGateway
}

// problemOf returns what a page shows of an error.
func problemOf(err error) *problem {
	if failed, ok := errors.AsType[*commandError](err); ok {
		return &problem{shown(failed.Message), shown(failed.Hint)}
	}
	return &problem{Message: shown(err.Error())}
}

// shown returns a text as pages show it: without credentials, and without characters that change the direction or the
// place of the text around them.
func shown(text string) string { return diag.Printable(secret.Mask("", text)) }

// valueOf returns the value of a variable or tag as pages show it. Some credentials are only known by their name.
func valueOf(name, value string) string { return diag.Printable(secret.Mask(name, value)) }

// shownLines returns a text of several lines as pages show it. A credential can have several lines.
func shownLines(text string) string {
	return diag.PrintableLines(secret.Mask("", strings.TrimRight(text, "\n")))
}

// plain returns a page without characters that change the direction or the place of the text around them. Most texts
// went through shown, which does the same; this is for those of which a template expects an id or a status.
func plain(page []byte) []byte {
	isPlain := func(r rune) bool {
		return r == '\n' || r == '\t' || !unicode.In(r, unicode.Cc, unicode.Bidi_Control, unicode.Zl, unicode.Zp)
	}
	if bytes.IndexFunc(page, func(r rune) bool { return !isPlain(r) }) < 0 {
		return page
	}
	var b bytes.Buffer
	for _, r := range string(page) { // bytes that are no UTF-8 become U+FFFD
		if isPlain(r) {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.Bytes()
}

// plainJSON returns JSON whose strings can be shown.
func plainJSON(text []byte) ([]byte, error) {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	return json.Marshal(plainStrings(v))
}

// plainStrings returns a decoded value with strings that can be shown.
func plainStrings(v any) any {
	switch v := v.(type) {
	case string:
		return string(plain([]byte(v)))
	case []any:
		for i := range v {
			v[i] = plainStrings(v[i])
		}
	case map[string]any:
		all := make(map[string]any, len(v))
		for name, member := range v {
			all[string(plain([]byte(name)))] = plainStrings(member)
		}
		return all
	}
	return v
}

// answer returns the handler of a page.
func (s *server) answer(show func(*http.Request) (page, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		p, err := show(r)
		if err != nil {
			p = page{Template: "problem", Title: "Not shown", Section: p.Section, Part: p.Part, Problem: problemOf(err)}
		}
		p.Server = s
		if c, err := r.Cookie("batchctl-theme"); err == nil && (c.Value == "dark" || c.Value == "light") {
			p.theme = c.Value
		}
		var b bytes.Buffer
		if failed := p.write(&b); failed != nil {
			http.Error(w, "the page cannot be rendered: "+failed.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.WriteHeader(statusOf(err))
		_, _ = w.Write(plain(b.Bytes())) // a browser that has left needs no answer
	}
}

// answerJSON returns the handler of data that a script asks for.
func (s *server) answerJSON(data func(*http.Request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		v, err := data(r)
		if err != nil {
			v = problemOf(err)
		}
		text, failed := json.Marshal(v)
		if _, isCheck := v.(*checked); failed == nil && !isCheck { // it has the user's own text, with fixes
			text, failed = plainJSON(text)
		}
		if failed != nil {
			http.Error(w, failed.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(statusOf(err))
		_, _ = w.Write(text)
	}
}

// write renders the page.
func (p page) write(b *bytes.Buffer) error {
	t, err := templates(p.Template)
	if err != nil {
		return err
	}
	name := "frame"
	if p.Part {
		name = "content"
	}
	return t.ExecuteTemplate(b, name, p)
}

// parsed are the templates by name.
var parsed sync.Map

// templates returns the template of a page with the frame.
func templates(name string) (*template.Template, error) {
	if t, ok := parsed.Load(name); ok {
		return t.(*template.Template), nil
	}
	t, err := template.New(name).Funcs(functions).ParseFS(assets, "assets/frame.html", "assets/parts.html", "assets/"+name+".html")
	if err == nil {
		parsed.Store(name, t)
	}
	return t, err
}

// scripts are the files of the pages' script, in the order in which they run.
var scripts = []string{"live.js", "jobs.js", "grid.js", "log.js", "check.js", "actions.js"}

// styleSheet returns the style sheet of the pages, with the colours of graphs.
func styleSheet() []byte {
	text, err := assets.ReadFile("assets/page.css")
	if err != nil {
		panic(err) // a file of this package
	}
	return append(text, graph.Stylesheet()...)
}

// serveAsset answers with the style sheet or a script.
func serveAsset(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	text := []byte(nil)
	switch {
	case name == "page.css":
		text = styleSheet()
	case slices.Contains(scripts, name) || name == "icon.svg":
		text, _ = assets.ReadFile("assets/" + name) // it is embedded
	default:
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", mime.TypeByExtension(path.Ext(name)))
	_, _ = w.Write(text)
}

// functions are the functions of the templates.
var functions = template.FuncMap{
	"shown":        shown,
	"short":        batch.ShortID,
	"lower":        func(v any) string { return strings.ToLower(fmt.Sprint(v)) },
	"mark":         func(v any) string { return mark(fmt.Sprint(v)) },
	"plural":       term.Plural,
	"scripts":      func() []string { return scripts },
	"number":       number,
	"seconds":      seconds,
	"clock":        clock,
	"ago":          func(ms int64) string { return term.Ago(&ms, time.Now()) },
	"took":         took,
	"milliseconds": func(at *int64) int64 { return aws.ToInt64(at) },
	// pkg/ui/chart and pkg/graph draw these pictures, and escape all text in them.
	"svg":        func(text string) template.HTML { return template.HTML(text) },
	"data":       data,
	"value":      valueOf,
	"short_time": shortTime,
	"segment":    url.PathEscape,
	"query":      url.QueryEscape,
	"lines":      func(text string) []string { return strings.Split(text, "\n") },
	"has":        func(list []string, v string) bool { return slices.Contains(list, v) },
	"list":       func(v ...string) []string { return v },
	"json_of":    jsonOf,
	"image":      image,
	"index_of": func(id string) string {
		_, index, _ := batch.SplitChildID(id)
		return strconv.Itoa(index)
	},
	"line": func(s *server, args ...string) string { return shown(s.c.line(args...)) },
	"add":  func(a, b int) int { return a + b },
}

// marks are the signs of the statuses, because colour alone does not tell them.
var marks = map[string]string{
	string(types.JobStatusSubmitted): "·", string(types.JobStatusPending): "◦", string(types.JobStatusRunnable): "○", string(types.JobStatusStarting): "◐",
	string(types.JobStatusRunning): "●", string(types.JobStatusSucceeded): "✓", string(types.JobStatusFailed): "✕",
}

// mark returns the sign of a status.
func mark(status string) string {
	if m := marks[status]; m != "" {
		return m
	}
	return "?"
}

// number formats a quantity.
func number(v any) string {
	switch n := v.(type) {
	case float64:
		return strconv.FormatFloat(n, 'f', -1, 64)
	case *int32:
		if n == nil {
			return "–"
		}
		return strconv.Itoa(int(*n))
	}
	return fmt.Sprint(v)
}

// seconds formats a duration in seconds. A time.Duration has only 292 years.
func seconds(s float64) string {
	if days := s / (24 * 60 * 60); math.Abs(days) > 1000 {
		return fmt.Sprintf("%.0f days", days)
	}
	return term.Short(time.Duration(s * float64(time.Second)))
}

// clock formats a time of the API, in the local time zone.
func clock(v any) string {
	var ms int64
	switch n := v.(type) {
	case int64:
		ms = n
	case *int64:
		ms = aws.ToInt64(n)
	}
	if ms == 0 {
		return "–"
	}
	return time.UnixMilli(ms).Format("2006-01-02 15:04:05")
}

// took formats the time between two times of the API, or until now.
func took(from, to *int64) string {
	if aws.ToInt64(from) == 0 {
		return "–"
	}
	return term.Took(from, to, time.Now())
}

// data returns a value as JSON for an element that scripts read and browsers do not run.
func data(v any) (template.JS, error) {
	text, err := json.Marshal(v) // it escapes <, > and &
	return template.JS(text), err
}

// jsonOf returns a value as JSON on one line.
func jsonOf(v any) (string, error) {
	text, err := json.Marshal(v)
	return shown(string(text)), err
}

// image returns a picture as the address of an image. Inside an image, SVG runs no scripts and loads nothing.
func image(svg string) template.URL {
	return template.URL("data:image/svg+xml;base64," + base64.StdEncoding.EncodeToString([]byte(svg)))
}
