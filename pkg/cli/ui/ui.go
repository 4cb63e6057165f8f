package ui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/batchctl/batchctl/pkg/cli/input"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/target"
	"github.com/batchctl/batchctl/pkg/ui/web"
)

// linger is how long the server continues to watch what no page shows, so that a reload finds it.
const linger = 10 * time.Second

// server answers the requests of the pages.
type server struct {
	options options
	c       *commander
	o       *observer
	hub     *web.Hub
	// target is the name of the target, and platform its platform file; nil without one.
	target   string
	platform *document.Platform
	isLocal  bool
	// groups are the keys of the groups that the list of jobs showed, by id.
	groups sync.Map
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
	s := &server{options: o, c: newCommander(ctx, run, o.Target), hub: web.NewHub(linger), target: name, platform: in.Platform, isLocal: name == target.Local}
	s.o = newObserver(s.c, o.Options, s.isLocal)
	return s, nil
}

// serve is batchctl ui without --export.
func serve(ctx context.Context, con *term.Console, run Run, o options) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s, err := newServer(ctx, con, run, o)
	if err != nil {
		return err
	}
	listener, err := web.Listen(o.port)
	if err != nil {
		return exit.Fail(exit.NotDone, "listen on port %d: %v", o.port, exit.Cause(err)).Try("choose another port, or leave out --port")
	}
	defer s.hub.Close()
	guard := web.NewGuard(listener.Addr().(*net.TCPAddr).Port)
	base := "http://" + listener.Addr().String()
	go s.o.run(ctx)
	go s.o.followEngine(ctx)
	if err := announce(con, guard, base, o.noOpen); err != nil {
		return errors.Join(err, listener.Close())
	}
	if err := web.Serve(ctx, listener, guard.Wrap(web.Compressed(s.handler()))); err != nil {
		return exit.Fail(exit.NotDone, "serve the pages: %v", err)
	}
	return nil
}

// announce prints the address, and opens it in a browser.
func announce(con *term.Console, guard *web.Guard, base string, noOpen bool) error {
	// The address is what a script reads, so it goes to standard output. It has the key on purpose.
	if err := con.PrintUnmasked(guard.Address(base) + "\n"); err != nil {
		return err
	}
	fmt.Fprintln(con.Err, "the address contains a key, with which anyone on this machine can read the pages: do not share it. Press Ctrl-C to stop")
	if noOpen {
		return nil
	}
	if err := openBrowser(guard.Ticket(base)); err != nil {
		fmt.Fprintf(con.Err, "note: no browser was opened: %s; open the address yourself\n", diag.Printable(err.Error()))
	}
	return nil
}

// openBrowser opens an address in the user's browser. It does not wait for the browser.
func openBrowser(address string) error {
	command := []string{"xdg-open"}
	switch runtime.GOOS {
	case "darwin":
		command = []string{"open"}
	case "windows":
		command = []string{"rundll32", "url.dll,FileProtocolHandler"}
	default:
		if os.Getenv("DISPLAY") == "" && os.Getenv("WAYLAND_DISPLAY") == "" && os.Getenv("BROWSER") == "" {
			return errors.New("there is no display")
		}
		if own := strings.Fields(os.Getenv("BROWSER")); len(own) > 0 {
			command = own
		}
	}
	cmd := exec.Command(command[0], append(command[1:], address)...)
	cmd.Stdout, cmd.Stderr = io.Discard, io.Discard
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() { _ = cmd.Wait() }() // it ends when it likes
	return nil
}

// label names the target for people.
func (s *server) label() string {
	s.o.mu.Lock()
	defer s.o.mu.Unlock()
	if s.o.snapshot != nil {
		return s.o.snapshot.Target
	}
	return s.target
}

// FilesDirectory is the directory of --files, for the pages.
func (s *server) FilesDirectory() string {
	if s.options.files == "." {
		return "this directory"
	}
	return shown(s.options.files)
}

// handler returns the routes of the pages.
func (s *server) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/queues", http.StatusSeeOther) })
	mux.HandleFunc("GET /assets/{name}", serveAsset)
	mux.HandleFunc("GET /favicon.ico", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/assets/icon.svg", http.StatusSeeOther)
	})
	mux.HandleFunc("GET /events", s.events)
	for pattern, show := range map[string]func(*http.Request) (page, error){
		"/queues":                 s.queuesPage,
		"/queues/{name}":          s.queuePage,
		"/queues/{name}/forecast": s.forecastPart,
		"/queues/{name}/when":     s.whenPart,
		"/reports/whatif":         s.whatIfPage,
		"/reports/sizing":         s.sizingPage,
		"/reports/accuracy":       s.accuracyPage,
		"/jobs":                   s.jobsPage,
		"/jobs/{id}":              s.jobPage,
		"/jobs/{id}/explain":      s.explainPart,
		"/jobs/{id}/cost":         s.costPart,
		"/jobs/{id}/results":      s.resultsPage,
		"/jobs/{id}/measurements": s.measuredPart,
		"/workflows/{id}":         s.workflowPage,
		"/check":                  s.checkPage,
		"/reports":                s.reportsPage,
		"/reports/cost":           s.costReport,
		"/reports/sizes":          s.sizesReport,
		"/reports/compare":        s.comparePage,
		"/reports/benchmark":      s.benchmarkPage,
		"/platform":               s.platformPage,
		"/platform/drift":         s.driftPart,
	} {
		mux.HandleFunc("GET "+pattern, s.answer(show))
	}
	for pattern, data := range map[string]func(*http.Request) (any, error){
		"GET /jobs/rows":                       s.jobRows,
		"GET /jobs/{id}/children":              s.children,
		"GET /jobs/{id}/children/values":       s.childResults,
		"GET /jobs/{id}/children/measurements": s.childMeasurements,
		"POST /check":                          s.check,
		"POST /actions/{action}":               s.act,
	} {
		mux.HandleFunc(pattern, s.answerJSON(data))
	}
	mux.HandleFunc("/", s.answer(func(r *http.Request) (page, error) { return page{}, errNotFound }))
	return mux
}
