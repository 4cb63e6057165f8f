package ui

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/batchctl/batchctl/pkg/cli/input"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/target"
	"github.com/batchctl/batchctl/pkg/ui/web"
)

// linger is how long the server continues to watch what no page shows, so that a reload finds it.
const linger = 10 * time.Second

// server answers the requests of the pages.
type server struct {
	*core
	hub    *web.Hub
	groups []routes // of all groups of pages
}

// newServer returns a server for the target of the options. It ends with ctx.
func newServer(ctx context.Context, con *term.Console, run Run, o options) (*server, error) {
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
	c := newCore(ctx, run, o, name)
	return &server{core: c, hub: web.NewHub(linger), groups: groupsOf(c, in.Platform)}, nil
}

// groupsOf returns the routes of all groups of pages. platform is the platform file; nil without one.
func groupsOf(c *core, platform *document.Platform) []routes {
	return []routes{
		(&queuePages{c}).routes(), (&forecastPages{c}).routes(), (&jobListPages{core: c}).routes(), (&jobPages{c}).routes(), (&arrayPages{c}).routes(),
		(&workflowPages{c}).routes(), (&checkPages{c}).routes(), (&reportPages{c}).routes(), (&platformPages{c, platform}).routes(), (&actions{c}).routes(),
	}
}

// handler answers the addresses of the pages, their assets and their events.
func (s *server) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/queues", http.StatusSeeOther) })
	mux.HandleFunc("GET /assets/{name}", serveAsset)
	mux.HandleFunc("GET /favicon.ico", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/assets/icon.svg", http.StatusSeeOther)
	})
	mux.HandleFunc("GET /events", (&eventStream{s.core, s.hub}).serve)
	for _, group := range s.groups {
		for pattern, show := range group.pages {
			mux.HandleFunc("GET "+pattern, s.answer(show))
		}
		for pattern, data := range group.data {
			mux.HandleFunc(pattern, s.answerJSON(data))
		}
	}
	mux.HandleFunc("/", s.answer(func(r *http.Request) (page, error) { return page{}, errNotFound }))
	return mux
}

// answer returns the handler of a page.
func (s *server) answer(show func(*http.Request) (page, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		p, err := show(r)
		if err != nil {
			p = page{Template: "problem", Title: "Not shown", Section: p.Section, Part: p.Part, Problem: problemOf(err)}
		}
		p.Core = s.core
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
		own, isExact := v.(exact)
		if isExact {
			v = own.data
		}
		text, failed := json.Marshal(v)
		if failed == nil && !isExact {
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
