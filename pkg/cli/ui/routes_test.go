package ui

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/cli/ui/page"
	"github.com/batchctl/batchctl/pkg/cli/ui/uitest"
	"github.com/batchctl/batchctl/pkg/ui/web"
)

func TestUnknownAddresses(t *testing.T) {
	r := uitest.Recording()
	s := serverOf(t, r, nil)
	h := s.handler()
	for address, want := range map[string]int{"/nope": 404, "/queues/nope": 404, "/jobs/nope": 404, "/jobs/nope/explain": 404, "/jobs/nope/results": 404, "/jobs/nope/nope": 404,
		"/workflows/nope": 404, "/reports/nope": 404, "/assets/nope.js": 404, "/assets/frame.html": 404, "/assets/..%2fui.go": 404,
		"/jobs/nope/children": 404, "/reports/cost?since=1y": 400, "/reports/cost?by=user": 400, "/reports/sizes?since=1y": 400, "/queues/-x/forecast": 404, "/queues/default/when?job=/etc/passwd": 400,
		"/reports/whatif?queue=nope": 400, "/reports/whatif?max=512": 400, "/reports/whatif?environment=local&max=x": 400, "/reports/whatif?environment=local&max=-1": 400,
		"/reports/whatif?file=../x.json": 400, "/reports/whatif?reclaims=x": 400, "/reports/whatif?environment=local&type=ec2": 400, "/reports/whatif?type=SPOT": 400,
		"/reports/whatif?policy=/etc/passwd": 400, "/reports/whatif?queue=default&weight=vision": 400, "/reports/whatif?queue=default&weight=:2": 400,
		"/reports/sizing?wait=1y": 400, "/reports/sizing?queue=nope": 400, "/reports/compare?good=--platform": 400, "/reports/compare?good=nope&bad=nope": 404,
		"/jobs/nope/measurements": 404, "/jobs/-x/measurements": 404, "/jobs?sort=colour": 400, "/jobs?from=-1": 400, "/jobs?n=x": 400, "/jobs/rows?group=x": 400,
		"/jobs/" + uitest.PrepareID + "/children": 400, "/": 303, "/favicon.ico": 303} {
		w := get(h, address)
		if w.Code != want {
			t.Errorf("%s: status %d, want %d", address, w.Code, want)
		}
		text := w.Body.String()
		if w.Code >= 400 && strings.HasPrefix(w.Header().Get("Content-Type"), "text/html") && !strings.Contains(text, `role="alert"`) {
			t.Errorf("%s: the page does not tell what is wrong: %s", address, text)
		}
		if w.Code >= 400 && w.Header().Get("Content-Type") == "application/json" && decoded[page.Problem](t, w).Message == "" {
			t.Errorf("%s: %s", address, text)
		}
	}
	// An unknown page has the frame, so that the user finds the way back.
	if text := get(h, "/nope").Body.String(); !strings.Contains(text, `<a href="/jobs">`) || !strings.Contains(text, page.ErrNotFound.Error()) {
		t.Error(text)
	}
	for name := range strings.FieldsSeq("page.css icon.svg " + strings.Join(page.Scripts, " ")) {
		w := get(h, "/assets/"+name)
		want := map[string]string{"css": "text/css; charset=utf-8", "svg": "image/svg+xml", "js": "text/javascript; charset=utf-8"}[name[strings.LastIndex(name, ".")+1:]]
		if w.Code != 200 || w.Body.Len() == 0 || w.Header().Get("Content-Type") != want {
			t.Errorf("%s: status %d, %d bytes, %s", name, w.Code, w.Body.Len(), w.Header())
		}
	}
}

// TestNoFlagsInAddresses has flags in the place of every id and every value of an address: no command may run.
func TestNoFlagsInAddresses(t *testing.T) {
	r := uitest.Recording()
	s := serverOf(t, r, func(o *options) { o.AllowChanges = true })
	h := s.handler()
	wildcard := regexp.MustCompile(`\{[a-z]+\}`)
	n := 0
	check := func(w *httptest.ResponseRecorder, address string) {
		t.Helper()
		if n++; w.Code != http.StatusNotFound && w.Code != http.StatusBadRequest {
			t.Errorf("%s: status %d: %.200s", address, w.Code, w.Body)
		}
	}
	for _, flag := range []string{"--state-dir=%2Ftmp%2Fx", "--target=aws", "-t", "--help", "--", "-", "-%2D", "%2D-target"} {
		for _, group := range s.groups {
			patterns := slices.AppendSeq(slices.Collect(maps.Keys(group.Pages)), maps.Keys(group.Data))
			for _, pattern := range patterns {
				method, path, isData := strings.Cut(pattern, " ")
				if !isData {
					method, path = "GET", pattern
				}
				if !wildcard.MatchString(path) {
					continue
				}
				address := wildcard.ReplaceAllString(path, flag)
				if method == "GET" {
					check(get(h, address), address)
				} else {
					check(post(h, address, request{Job: uitest.PrepareID}), address)
				}
			}
		}
		for _, name := range []string{"job", "good", "bad", "since", "by", "file", "queue", "wait", "environment", "max", "types", "share", "count", "reclaims", "type", "policy", "weight", "topic"} {
			for _, path := range []string{"/reports/compare", "/reports/cost", "/reports/sizes", "/reports/sizing", "/reports/whatif", "/queues/default", "/queues/default/when"} {
				address := path + "?" + name + "=" + flag
				check(get(h, address), address)
			}
		}
		check(post(h, "/actions/stop", request{Job: "--target=aws"}), "/actions/stop")
		check(get(h, "/events?topic=job:"+flag), "/events")
	}
	if len(r.Lines) > 0 || n < 1000 {
		t.Errorf("%d addresses; commands ran: %q", n, r.Lines)
	}
	if w := get(h, "/jobs?q=-x"); w.Code != http.StatusOK {
		t.Errorf("a search for a hyphen: status %d", w.Code)
	}
}

// TestCheckFails has a text that validate cannot read, and a request that has no text.
func TestCheckFails(t *testing.T) {
	r := uitest.Recording()
	s := serverOf(t, r, nil)
	r.Known["validate -"] = uitest.Reply{Err: "batchctl: the text has no end\n", Status: 2}
	if w := post(s.handler(), "/check", map[string]string{"Text": "{"}); w.Code != 502 || decoded[page.Problem](t, w).Message != "the text has no end" {
		t.Errorf("status %d: %s", w.Code, w.Body)
	}
	if w := post(s.handler(), "/check", []int{1}); w.Code != 400 {
		t.Errorf("status %d: %s", w.Code, w.Body)
	}
}

// TestManyResults has more results than the page shows: it names the command for the others.
func TestManyResults(t *testing.T) {
	r := uitest.Recording()
	s := serverOf(t, r, nil)
	r.Set("results "+uitest.ArrayID, "["+strings.Repeat(`{"index":0},`, 1000)+`{"index":1}]`)
	w := get(s.handler(), "/jobs/"+uitest.ArrayID+"/results")
	if want := "and 1 more rows: batchctl results " + uitest.ArrayID + " --target local"; w.Code != http.StatusOK || !strings.Contains(w.Body.String(), want) {
		t.Errorf("status %d, without %q: %.300s", w.Code, want, w.Body)
	}
}

// TestTargetFails has a target that does not answer: every page is an error page with the message and the hint.
func TestTargetFails(t *testing.T) {
	r := uitest.Recording()
	s := serverOf(t, r, nil)
	writeJobFile(t)
	h := s.handler()
	for line := range r.Known {
		r.Known[line] = uitest.Reply{Err: "batchctl: cannot reach the target\n  start it\n", Status: 3}
	}
	for _, v := range views {
		if v.commands == nil || strings.HasPrefix(v.commands[0], "file") || v.commands[0] == "status" {
			continue
		}
		w := get(h, v.address)
		if text := w.Body.String(); w.Code != http.StatusBadGateway || !strings.Contains(text, "cannot reach the target") || !strings.Contains(text, "start it") {
			t.Errorf("%s: status %d: %s", v.address, w.Code, text)
		}
	}
}

func TestReadOnly(t *testing.T) {
	r := uitest.Recording()
	s := serverOf(t, r, nil)
	for _, action := range []string{"stop", "retry", "replay", "submit", "nope"} {
		for _, body := range []request{{Job: uitest.PrepareID}, {Job: uitest.PrepareID, Only: true}, {Text: "{}"}, {Job: uitest.RunID, Submission: true}} {
			w := post(s.handler(), "/actions/"+action, body)
			if w.Code != http.StatusBadRequest || !strings.Contains(decoded[page.Problem](t, w).Message, "--allow-changes") {
				t.Errorf("%s: status %d: %s", action, w.Code, w.Body)
			}
		}
	}
	if len(r.Lines) > 0 {
		t.Errorf("commands ran: %q", r.Lines)
	}
	for _, v := range views {
		if text := get(s.handler(), v.address).Body.String(); strings.Contains(text, "data-action") || strings.Contains(text, "data-changes") {
			t.Errorf("%s offers changes", v.address)
		}
	}
}

func TestChanges(t *testing.T) {
	r := uitest.Recording()
	r.Known["submit -"] = uitest.Reply{Out: `[{"name":"a","id":"1","shortId":"1"},{"name":"b","id":"2","shortId":"2"}]`, Err: "note: one\n"}
	r.Known["stop "+uitest.PrepareID] = uitest.Reply{Out: `[{"name":"prepare","shortId":"273ad2f0","call":"TerminateJob","before":"RUNNING","status":"FAILED"}]`}
	s := serverOf(t, r, func(o *options) { o.AllowChanges = true })
	h := s.handler()
	for _, c := range []struct {
		action string
		body   request
		want   []string // the command
		line   string
	}{
		{"stop", request{Job: uitest.PrepareID}, []string{"stop", uitest.PrepareID}, "batchctl stop " + uitest.PrepareID},
		{"stop", request{Job: uitest.RunID, Submission: true}, []string{"stop", "--submission", uitest.RunID}, "batchctl stop --submission " + uitest.RunID},
		{"stop", request{Job: "a b;c"}, []string{"stop", "a b;c"}, "batchctl stop 'a b;c'"},
		{"retry", request{Job: uitest.PrepareID}, []string{"retry", uitest.PrepareID}, "batchctl retry " + uitest.PrepareID},
		{"retry", request{Job: uitest.RunID, Submission: true}, []string{"retry", "--submission", uitest.RunID}, "batchctl retry --submission " + uitest.RunID},
		{"replay", request{Job: uitest.PrepareID}, []string{"replay", uitest.PrepareID}, "batchctl replay " + uitest.PrepareID},
		{"submit", request{Text: `{"name":"x"}`}, []string{"submit", "-"}, "batchctl submit job.json"},
		{"submit", request{Text: "{}", Job: "--x"}, []string{"submit", "-"}, "batchctl submit job.json"},
	} {
		r.Lines, r.Inputs = nil, nil
		c.body.Only = true
		shownFirst := decoded[done](t, post(h, "/actions/"+c.action, c.body))
		if len(r.Lines) > 0 || !strings.HasPrefix(shownFirst.Command, c.line+" --target local") {
			t.Errorf("%s only: %q, %+v", c.action, r.Lines, shownFirst)
		}
		c.body.Only = false
		w := post(h, "/actions/"+c.action, c.body)
		if w.Code != 200 || len(r.Lines) != 1 || !slices.Equal(r.Lines[0], c.want) || r.Inputs[0] != c.body.Text {
			t.Errorf("%s: status %d, ran %q with %q, want %q", c.action, w.Code, r.Lines, r.Inputs, c.want)
		}
		if got := decoded[done](t, w); got.Command != shownFirst.Command {
			t.Errorf("%s: shows %s, runs %s", c.action, shownFirst.Command, got.Command)
		}
	}
	if got := decoded[done](t, post(h, "/actions/stop", request{Job: uitest.PrepareID})); got.Output != "273ad2f0  prepare  FAILED, was RUNNING (TerminateJob)" || got.Failed != "" {
		t.Errorf("%+v", got)
	}
	if got := decoded[done](t, post(h, "/actions/stop", request{Job: "nope"})); !strings.Contains(got.Failed, "no job") || !strings.Contains(got.Hint, "batchctl list") {
		t.Errorf("%+v", got)
	}
	if got := decoded[done](t, post(h, "/actions/submit", request{Text: "{}"})); !slices.Equal(got.Jobs, []string{"1", "2"}) || got.Notes != "note: one" {
		t.Errorf("the submitted jobs: %+v", got)
	}
}

func TestWrongChanges(t *testing.T) {
	r := uitest.Recording()
	s := serverOf(t, r, func(o *options) { o.AllowChanges = true })
	h := s.handler()
	for _, c := range []struct {
		action string
		body   any
		want   int
	}{
		{"stop", request{Job: "-x"}, 400}, {"stop", request{Job: "--submission"}, 400}, {"stop", request{}, 400}, {"stop", request{Submission: true}, 400},
		{"retry", request{Job: "--", Submission: true}, 400}, {"replay", request{Job: "--run"}, 400}, {"submit", request{Text: " \n"}, 400}, {"submit", request{Job: uitest.PrepareID}, 400},
		{"gc", request{Job: uitest.PrepareID}, 404}, {"apply", request{Text: "{}"}, 404}, {"Stop", request{Job: uitest.PrepareID}, 404}, {"stop", "text", 400}, {"stop", []int{1}, 400},
		{"stop", map[string]any{"Job": 7}, 400}, {"stop", nil, 400},
	} {
		if w := post(h, "/actions/"+c.action, c.body); w.Code != c.want {
			t.Errorf("%s %v: status %d, want %d: %s", c.action, c.body, w.Code, c.want, w.Body)
		}
	}
	if len(r.Lines) > 0 {
		t.Errorf("commands ran: %q", r.Lines)
	}
}

// TestBrowserLeaves ends the request of a change: the command does not end.
func TestBrowserLeaves(t *testing.T) {
	r := uitest.Recording()
	begun, left, finished := make(chan bool), make(chan bool), false
	r.Before = func(ctx context.Context, _ string, _ term.Streams) {
		close(begun)
		<-left
		finished = ctx.Err() == nil
	}
	s := serverOf(t, r, func(o *options) { o.AllowChanges = true })
	ctx, leave := context.WithCancel(t.Context())
	var all sync.WaitGroup
	all.Go(func() {
		s.handler().ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, "POST", "/actions/stop", strings.NewReader(`{"Job":"`+uitest.PrepareID+`"}`)))
	})
	<-begun
	leave()
	close(left)
	all.Wait()
	if !finished {
		t.Error("the command ended with the request")
	}
}

// TestGuardedServer sends requests to the complete server: only the browser with the key gets answers.
func TestGuardedServer(t *testing.T) {
	r := uitest.Recording()
	s := serverOf(t, r, func(o *options) { o.AllowChanges = true })
	writeJobFile(t)
	ln, err := web.Listen(0)
	if err != nil {
		t.Fatal(err)
	}
	guard := web.NewGuard(ln.Addr().(*net.TCPAddr).Port)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- web.Serve(ctx, ln, guard.Wrap(web.Compressed(s.handler()))) }()
	host := ln.Addr().String()
	base := "http://" + host
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	send := func(method, path, body string, headers ...string) *http.Response {
		t.Helper()
		q, err := http.NewRequestWithContext(t.Context(), method, base+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i < len(headers); i += 2 {
			if headers[i] == "Host" {
				q.Host = headers[i+1]
			}
			q.Header.Set(headers[i], headers[i+1])
		}
		answer, err := client.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		answer.Body = io.NopCloser(strings.NewReader(string(text)))
		return answer
	}
	// Without the cookie, nothing answers.
	stopBody := `{"Job":"` + uitest.PrepareID + `"}`
	for _, v := range views {
		if answer := send("GET", v.address, ""); answer.StatusCode != 403 {
			t.Errorf("%s without a cookie: status %d", v.address, answer.StatusCode)
		}
	}
	for _, path := range []string{"/", "/nope", "/assets/page.css", "/events?topic=queues", "/favicon.ico"} {
		if answer := send("GET", path, ""); answer.StatusCode != 403 {
			t.Errorf("%s without a cookie: status %d", path, answer.StatusCode)
		}
	}
	for _, path := range []string{"/check", "/actions/stop"} {
		if answer := send("POST", path, stopBody, "Content-Type", "application/json", "Origin", base); answer.StatusCode != 403 {
			t.Errorf("POST %s without a cookie: status %d", path, answer.StatusCode)
		}
	}
	if len(r.Lines) > 0 {
		t.Errorf("commands ran for requests without a cookie: %q", r.Lines)
	}
	opened := send("GET", strings.TrimPrefix(guard.Ticket(base), base), "")
	if opened.StatusCode != 200 || len(opened.Cookies()) != 1 {
		t.Fatalf("status %d, %d cookies", opened.StatusCode, len(opened.Cookies()))
	}
	cookie := opened.Cookies()[0].String()
	cookie, _, _ = strings.Cut(cookie, ";")
	with := func(headers ...string) []string { return append([]string{"Cookie", cookie}, headers...) }
	for _, c := range []struct {
		name, method, path string
		headers            []string
		want               int
	}{
		{"another origin", "POST", "/actions/stop", with("Content-Type", "application/json", "Origin", "http://evil.example"), 403},
		{"another port", "POST", "/actions/stop", with("Content-Type", "application/json", "Origin", "http://127.0.0.1:1"), 403},
		{"the null origin", "POST", "/actions/stop", with("Content-Type", "application/json", "Origin", "null"), 403},
		{"no origin", "POST", "/actions/stop", with("Content-Type", "application/json"), 403},
		{"a form", "POST", "/actions/stop", with("Content-Type", "application/x-www-form-urlencoded", "Origin", base), 403},
		{"a form of text", "POST", "/actions/stop", with("Content-Type", "text/plain", "Origin", base), 403},
		{"another site", "POST", "/actions/stop", with("Content-Type", "application/json", "Origin", base, "Sec-Fetch-Site", "cross-site"), 403},
		{"check of another origin", "POST", "/check", with("Content-Type", "application/json", "Origin", "http://evil.example"), 403},
		{"rebound name", "POST", "/actions/stop", with("Content-Type", "application/json", "Origin", "http://evil.example", "Host", "evil.example"), 403},
		{"rebound name", "GET", "/jobs", with("Host", "evil.example"), 403},
		{"a frame", "GET", "/jobs", with("Sec-Fetch-Dest", "iframe"), 403},
		{"an image of another site", "GET", "/jobs/rows", with("Sec-Fetch-Site", "cross-site"), 403},
		{"GET of a change", "GET", "/actions/stop", with(), 404},
		{"GET of check is its page", "GET", "/check", with(), 200},
		{"POST to a page", "POST", "/jobs", with("Content-Type", "application/json", "Origin", base), 404},
		{"PUT", "PUT", "/actions/stop", with("Content-Type", "application/json", "Origin", base), 403},
		{"DELETE", "DELETE", "/jobs/" + uitest.PrepareID, with("Origin", base), 403},
		{"OPTIONS", "OPTIONS", "/actions/stop", with("Origin", "http://evil.example", "Access-Control-Request-Method", "POST"), 403},
		{"HEAD", "HEAD", "/check", with(), 200},
	} {
		before := len(r.Lines)
		if answer := send(c.method, c.path, stopBody, c.headers...); answer.StatusCode != c.want {
			t.Errorf("%s: status %d, want %d", c.name, answer.StatusCode, c.want)
		}
		if len(r.Lines) != before {
			t.Errorf("%s: %q ran", c.name, r.Lines[before:])
		}
	}
	// The browser gets everything, compressed, and with the headers of the guard.
	for _, v := range views {
		answer := send("GET", v.address, "", with()...)
		text, _ := io.ReadAll(answer.Body)
		if answer.StatusCode != v.status || answer.Header.Get("Cache-Control") != "no-store" || answer.Header.Get("X-Content-Type-Options") != "nosniff" ||
			!strings.Contains(answer.Header.Get("Content-Security-Policy"), "default-src 'none'") || answer.Uncompressed != (len(text) > 1<<10) {
			t.Errorf("%s: status %d, %d bytes, %s", v.address, answer.StatusCode, len(text), answer.Header)
		}
		if strings.Contains(string(text), " style=") || strings.Contains(string(text), "<style>") && !strings.Contains(string(text), "<svg") {
			t.Errorf("%s has an inline style, which the policy does not allow", v.address)
		}
	}
	stopped := send("POST", "/actions/stop", stopBody, with("Content-Type", "application/json", "Origin", base, "Sec-Fetch-Site", "same-origin")...)
	if stopped.StatusCode != 200 || r.Count("stop "+uitest.PrepareID) != 1 {
		t.Errorf("status %d, %d commands", stopped.StatusCode, r.Count("stop "+uitest.PrepareID))
	}
	large, _ := json.Marshal(map[string]string{"Text": strings.Repeat("x", 5<<20)})
	if answer := send("POST", "/check", string(large), with("Content-Type", "application/json", "Origin", base)...); answer.StatusCode != 400 {
		t.Errorf("a body of 5 MiB: status %d", answer.StatusCode)
	}
	// An event stream begins at once.
	q, _ := http.NewRequestWithContext(t.Context(), "GET", base+"/events?topic=job:"+uitest.PrepareID, nil)
	q.Header.Set("Cookie", cookie)
	stream, err := client.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for lines := bufio.NewScanner(stream.Body); !found && lines.Scan(); {
		found = strings.Contains(lines.Text(), `"version"`)
	}
	if !found || stream.Header.Get("Content-Type") != "text/event-stream" {
		t.Errorf("no event: %s", stream.Header)
	}
	_ = stream.Body.Close()
	client.CloseIdleConnections()
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
