package ui

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/batchctl/batchctl/pkg/cli/input"
	"github.com/batchctl/batchctl/pkg/cli/jobs"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/cli/ui/forecastpages"
	"github.com/batchctl/batchctl/pkg/cli/ui/jobpages"
	"github.com/batchctl/batchctl/pkg/cli/ui/page"
	"github.com/batchctl/batchctl/pkg/cli/ui/queuepages"
	"github.com/batchctl/batchctl/pkg/cli/ui/reportpages"
	"github.com/batchctl/batchctl/pkg/cli/ui/show"
	"github.com/batchctl/batchctl/pkg/cli/ui/source"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/target"
	"github.com/batchctl/batchctl/pkg/ui/web"
)

// linger is how long the server continues to watch what no page shows, so that a reload finds it.
const linger = 10 * time.Second

// server answers the requests of the pages.
type server struct {
	*source.Source
	hub          *web.Hub
	allowChanges bool
	groups       []page.Routes // of all groups of pages
}

// newServer returns a server for the target of the options. It ends with ctx.
func newServer(ctx context.Context, con *term.Console, o options) (*server, error) {
	in := &input.Input{PlacesNothing: true}
	if err := in.FindPlatform(o.Target); err != nil {
		return nil, err
	}
	name := o.Target.NameFrom(in.Platform)
	if in.Problems.HasErrors() {
		return nil, input.Complain(con, in.Problems)
	}
	if !target.Exists(name, in.Platform) {
		return nil, target.Unknown(name, in.Platform)
	}
	c := source.New(ctx, jobs.Options{Given: o.Given, Target: o.Target, Submission: o.Submission}, name)
	c.Commands.Instead = o.instead
	return &server{Source: c, hub: web.NewHub(linger), allowChanges: o.AllowChanges,
		groups: groupsOf(c, in.Platform, o.AllowChanges)}, nil
}

// groupsOf returns the routes of all groups of pages. platform is the platform file; nil without one.
func groupsOf(c *source.Source, platform *document.Platform, allowChanges bool) []page.Routes {
	return []page.Routes{
		(&queuepages.Queues{Source: c}).Routes(), (&queuepages.Platform{Source: c, File: platform}).
			Routes(), (&forecastpages.Forecasts{Source: c}).Routes(),
		(&jobpages.JobList{Source: c}).Routes(), (&jobpages.Jobs{Source: c}).Routes(), (&jobpages.Arrays{Source: c}).
			Routes(), (&jobpages.Workflows{Source: c}).Routes(),
		(&jobpages.Check{Source: c}).Routes(), (&reportpages.Reports{Source: c}).Routes(), (&actions{c, allowChanges}).
			routes(),
	}
}

// handler answers the addresses of the pages, their assets and their events.
func (s *server) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}",
		func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/queues", http.StatusSeeOther) })
	mux.HandleFunc("GET /assets/{name}", page.ServeAsset)
	mux.HandleFunc("GET /favicon.ico", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/assets/icon.svg", http.StatusSeeOther)
	})
	mux.HandleFunc("GET /events", (&eventStream{s.Source, s.hub}).serve)
	for _, group := range s.groups {
		for pattern, read := range group.Pages {
			mux.HandleFunc("GET "+pattern, s.answer(withoutFlags(pattern, read)))
		}
		for pattern, data := range group.Data {
			mux.HandleFunc(pattern, s.answerJSON(withoutFlags(pattern, data)))
		}
	}
	mux.HandleFunc("/", s.answer(func(r *http.Request) (page.Page, error) { return page.Page{}, page.ErrNotFound }))
	return mux
}

// ownValues are the query parameters that no command gets: the search of the list of jobs, its open groups, and the
// name of a result.
var ownValues = []string{"q", "open", "value"}

// withoutFlags answers requests whose ids and values cannot be flags of a command.
func withoutFlags[T any](pattern string, read func(*http.Request) (T, error)) func(*http.Request) (T, error) {
	var names []string
	for part := range strings.SplitSeq(pattern, "/") {
		if name, ok := strings.CutPrefix(part, "{"); ok {
			names = append(names, strings.TrimSuffix(name, "}"))
		}
	}
	return func(r *http.Request) (none T, err error) {
		for _, name := range names {
			if strings.HasPrefix(r.PathValue(name), "-") {
				return none, page.ErrNotFound
			}
		}
		for name, values := range r.URL.Query() {
			for _, v := range values {
				if strings.HasPrefix(strings.TrimSpace(v), "-") && !slices.Contains(ownValues, name) {
					return none, page.BadRequest(fmt.Errorf("%s cannot begin with a hyphen: %q", name, v))
				}
			}
		}
		return read(r)
	}
}

// answer returns the handler of a page.
func (s *server) answer(read func(*http.Request) (page.Page, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		p, err := read(r)
		if err != nil {
			p = page.Page{Template: "problem", Title: "Not shown", Section: p.Section, Part: p.Part,
				Problem: page.ProblemOf(err)}
		}
		p.Source, p.AllowChanges = s.Source, s.allowChanges
		if c, err := r.Cookie("batchctl-theme"); err == nil && (c.Value == "dark" || c.Value == "light") {
			p.Theme = c.Value
		}
		var b bytes.Buffer
		if failed := p.Write(&b); failed != nil {
			http.Error(w, "the page cannot be rendered: "+failed.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.WriteHeader(page.StatusOf(err))
		_, _ = w.Write(show.Plain(b.Bytes())) // a browser that has left needs no answer
	}
}

// answerJSON returns the handler of data that a script asks for.
func (s *server) answerJSON(data func(*http.Request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		v, err := data(r)
		if err != nil {
			v = page.ProblemOf(err)
		}
		own, isExact := v.(page.Exact)
		if isExact {
			v = own.Data
		}
		text, failed := json.Marshal(v)
		if failed == nil && !isExact {
			text, failed = show.PlainJSON(text)
		}
		if failed != nil {
			http.Error(w, failed.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(page.StatusOf(err))
		_, _ = w.Write(text)
	}
}
