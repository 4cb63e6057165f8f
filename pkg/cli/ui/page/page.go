package page

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"mime"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/cli/ui/show"
	"github.com/batchctl/batchctl/pkg/cli/ui/source"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/graph"
	"github.com/batchctl/batchctl/pkg/packed"
	"github.com/batchctl/batchctl/pkg/syncmap"
	"github.com/batchctl/batchctl/pkg/text"
)

// asset returns a file of assets.
func asset(name string) []byte { return []byte(packed.Text(files(), "assets/"+name)) }

// Page is a page, or a part of one that is loaded later.
type Page struct {
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

	Source *source.Source
	// AllowChanges reports that --allow-changes is set.
	AllowChanges bool
	// Problem is shown instead of the body.
	Problem *Problem
	// Export is set for a page that is written to a file.
	Export *Exported
	// Theme is the theme that the user chose; "" follows the system.
	Theme string
}

// The following methods are for the frame and the pages.

// CanChange reports whether the page offers changes.
func (p Page) CanChange() bool {
	return p.Export == nil && p.AllowChanges
}

// TargetName names the target.
func (p Page) TargetName() string { return show.Text(p.Source.Label()) }

// section is an item of the navigation.
type section struct{ Path, Name string }

// Navigation returns the sections.
func (p Page) Navigation() []section {
	return []section{{"queues", "Queues"}, {"jobs", "Jobs"}, {"check", "Check"}, {"reports", "Reports"},
		{"platform", "Platform"}}
}

// JobLink returns the address of a job's page; "#" for a job that is not in a copy.
func (p Page) JobLink(id string) string {
	if p.Export == nil {
		return JobAddress(id)
	}
	if name := p.Export.Pages[id]; name != "" {
		return name
	}
	return "#"
}

// JobAddress returns the address of a job's page.
func JobAddress(id string) string { return "/jobs/" + url.PathEscape(id) }

// Routes are the addresses of a group of pages.
type Routes struct {
	// Pages are the pages, and the parts of pages, by the pattern of their address.
	Pages map[string]func(*http.Request) (Page, error)
	// Data are the answers to scripts, by method and pattern.
	Data map[string]func(*http.Request) (any, error)
}

// Exact is data for a script that contains the user's own text, so no character of it is replaced.
type Exact struct{ Data any }

// Problem is why a page has nothing to show.
type Problem struct{ Message, Hint string }

// Exported is what a page in a file has instead of links to assets.
type Exported struct {
	Style   template.CSS
	Script  template.JS
	Policy  string // Content-Security-Policy
	Written time.Time
	// Verdict is the explanation of a job, Measured what its attempts used, Log its lines, and Grid the children of an
	// array.
	Verdict, Measured template.HTML
	Log, Grid         any
	// Pages are the names of the files of the jobs that are in the copy, by id.
	Pages map[string]string
}

// ErrNotFound is the error for an address without a page.
var ErrNotFound = errors.New("there is no such page")

// badRequest is an error of the request rather than of the target.
type badRequest struct{ error }

// BadRequest returns an error of the request rather than of the target.
func BadRequest(err error) error { return badRequest{err} }

// StatusOf returns the HTTP status for an error.
func StatusOf(err error) int {
	if err == nil {
		return http.StatusOK
	}
	if errors.Is(err, ErrNotFound) {
		return http.StatusNotFound
	}
	if _, ok := errors.AsType[badRequest](err); ok {
		return http.StatusBadRequest
	}
	if failed, ok := errors.AsType[*exit.Failure](err); ok && strings.HasPrefix(failed.Message, "no job") {
		return http.StatusNotFound
	}
	return http.StatusBadGateway
}

// ProblemOf returns what a page shows of an error.
func ProblemOf(err error) *Problem {
	if failed, ok := errors.AsType[*exit.Failure](err); ok {
		return &Problem{show.Text(failed.Message), show.Text(failed.Hint)}
	}
	return &Problem{show.Text(err.Error()), show.Text(exit.Remedy(err))}
}

// Write renders the page.
func (p Page) Write(b *bytes.Buffer) error {
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
var parsed syncmap.Map[string, *template.Template]

// templates returns the template of a page with the frame.
func templates(name string) (*template.Template, error) {
	if t, ok := parsed.Load(name); ok {
		return t, nil
	}
	t, err := template.New(name).Funcs(functions).ParseFS(files(), "assets/frame.html", "assets/parts.html",
		"assets/"+name+".html")
	if err == nil {
		parsed.Store(name, t)
	}
	return t, err
}

// Scripts are the files of the pages' script, in the order in which they run.
var Scripts = []string{"live.js", "jobs.js", "grid.js", "log.js", "check.js", "actions.js"}

// styleSheet returns the style sheet of the pages, with the colours of graphs.
func styleSheet() []byte {
	return append(asset("page.css"), graph.Stylesheet()...)
}

// ServeAsset answers with the style sheet or a script.
func ServeAsset(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	text := []byte(nil)
	switch {
	case name == "page.css":
		text = styleSheet()
	case slices.Contains(Scripts, name) || name == "icon.svg":
		text = asset(name)
	default:
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", mime.TypeByExtension(path.Ext(name)))
	_, _ = w.Write(text)
}

// functions are the functions of the templates.
var functions = template.FuncMap{
	"shown":        show.Text,
	"short":        batch.ShortID,
	"lower":        func(v any) string { return strings.ToLower(fmt.Sprint(v)) },
	"mark":         func(v any) string { return show.Mark(fmt.Sprint(v)) },
	"plural":       text.Count[int],
	"scripts":      func() []string { return Scripts },
	"number":       show.Number,
	"seconds":      show.Seconds,
	"clock":        show.Clock,
	"ago":          func(ms int64) string { return term.Ago(&ms, time.Now()) },
	"took":         show.Took,
	"milliseconds": func(at *int64) int64 { return aws.ToInt64(at) },
	// pkg/ui/chart and pkg/graph draw these pictures, and escape all text in them.
	"svg":     func(text string) template.HTML { return template.HTML(text) },
	"data":    data,
	"value":   show.Value,
	"segment": url.PathEscape,
	"query":   url.QueryEscape,
	"lines":   func(text string) []string { return strings.Split(text, "\n") },
	"has":     func(list []string, v string) bool { return slices.Contains(list, v) },
	"list":    func(v ...string) []string { return v },
	"json_of": jsonOf,
	"image":   image,
	"index_of": func(id string) string {
		_, index, _ := batch.SplitChildID(id)
		return strconv.Itoa(index)
	},
	"line": func(c *source.Source, args ...string) string { return show.Text(c.Commands.Line(args...)) },
	"add":  func(a, b int) int { return a + b },
}

// data returns a value as JSON for an element that scripts read and browsers do not run.
func data(v any) (template.JS, error) {
	text, err := json.Marshal(v) // it escapes <, > and &
	return template.JS(text), err
}

// jsonOf returns a value as JSON on one line.
func jsonOf(v any) (string, error) {
	text, err := json.Marshal(v)
	return show.Text(string(text)), err
}

// image returns a picture as the address of an image. Inside an image, SVG runs no scripts and loads nothing.
func image(svg string) template.URL {
	return template.URL("data:image/svg+xml;base64," + base64.StdEncoding.EncodeToString([]byte(svg)))
}

// NewExported returns what all pages of a copy share. The pages contain their style sheet and script, and allow no
// other: text that looks like markup could not run even if it became some.
func NewExported() Exported {
	var script bytes.Buffer
	for _, name := range Scripts {
		script.Write(asset(name))
	}
	style := styleSheet()
	hash := func(text []byte) string {
		sum := sha256.Sum256(text)
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	return Exported{Style: template.CSS(style), Script: template.JS(script.Bytes()), Written: time.Now(),
		Pages: map[string]string{},
		Policy: "default-src 'none'; img-src data:; base-uri 'none'; form-action 'none'; style-src " + hash(style) +
			"; script-src " + hash(script.Bytes())}
}
