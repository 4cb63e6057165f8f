package ui

import (
	"encoding/json"
	"fmt"
	"html"
	"io/fs"
	"maps"
	"math/rand/v2"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/batchctl/batchctl/pkg/cli/ui/jobpages"
	"github.com/batchctl/batchctl/pkg/cli/ui/uitest"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/secret"
	"github.com/batchctl/batchctl/pkg/secret/secrettest"
	"github.com/batchctl/batchctl/pkg/testtool"
)

// place puts a credential into the recording. name is that of its variable; "" where a text has none.
type place struct {
	where string
	put   func(r *uitest.Replies, name, value string)
	named bool
}

// inJSON returns a function that replaces the first text of a recorded document by the credential.
func inJSON(line, old string) func(r *uitest.Replies, name, value string) {
	return func(r *uitest.Replies, name, value string) {
		quoted, _ := json.Marshal(value)
		quotedName, _ := json.Marshal(name)
		text := r.Known[line].Out
		changed := strings.Replace(text, old, strings.NewReplacer("NAME", string(quotedName), "VALUE", string(quoted)).Replace(replacements[old]), 1)
		if changed == text {
			panic("the recording of " + line + " has no " + old)
		}
		r.Set(line, changed)
	}
}

// replacements are what replaces the texts of places.
var replacements = map[string]string{
	"\"name\": \"MODE\",\n          \"value\": \"fast\"": "\"name\": NAME,\n          \"value\": VALUE",
	`"team": "vision"`: `NAME: VALUE`,
	`"sh",`:            `VALUE,`,
	`"statusReason": "Essential container in task exited"`:      `"statusReason": VALUE`,
	`"statusReason": "Dependent Job failed"`:                    `"statusReason": VALUE`,
	`"text": "preparing"`:                                       `"text": VALUE`,
	`"status": "SUCCEEDED"`:                                     `"status": VALUE`,
	`"summary": "a disk on this machine was full while it ran"`: `"summary": VALUE`,
	`"text": "error: no space left on device"`:                  `"text": VALUE`,
	`"job": "free disk space on this machine: df -h"`:           `"job": VALUE`,
	`"name": "calibration bdc3bcb5"`:                            `"name": VALUE`,
	`"note": "a note"`:                                          `"note": VALUE`,
	`"statusReason": "waits"`:                                   `"statusReason": VALUE`,
	`"statusReason": "no role"`:                                 `"statusReason": VALUE`,
	`"message": "unknown member \"commnd\""`:                    `"message": VALUE`,
	`"to": 2`:                                                   `"to": VALUE`,
	`"reason": "no role"`:                                       `"reason": VALUE`,
	`"container": "sidecar"`:                                    `"container": VALUE`,
	`"why": "no measured runs"`:                                 `"why": VALUE`,
	`"name": "team-a"`:                                          `"name": VALUE`,
	`"name": "the present vCPUs"`:                               `"name": VALUE`,
	`"queue": "new"`:                                            `"queue": VALUE`,
	`"new": "echo report"`:                                      `"new": VALUE`,
}

// places are where a credential can be, one in each document.
var places = []place{
	{"environment", inJSON("status "+uitest.PrepareID, "\"name\": \"MODE\",\n          \"value\": \"fast\""), true},
	{"environment of an array", inJSON("status "+uitest.ArrayID, "\"name\": \"MODE\",\n          \"value\": \"fast\""), true},
	{"tag", inJSON("status "+uitest.PrepareID, `"team": "vision"`), true},
	{"tag of an array", inJSON("status "+uitest.ArrayID, `"team": "vision"`), true},
	{"tag in the list", inJSON("status", `"team": "vision"`), true},
	{"command", inJSON("status "+uitest.PrepareID, `"sh",`), false},
	{"command of an array", inJSON("status "+uitest.ArrayID, `"sh",`), false},
	{"reason of an attempt", inJSON("status "+uitest.PrepareID, `"statusReason": "Essential container in task exited"`), false},
	{"reason", inJSON("status "+uitest.ReportID, `"statusReason": "Dependent Job failed"`), false},
	{"reason in a workflow", inJSON("status --submission "+uitest.RunID, `"statusReason": "Dependent Job failed"`), false},
	{"reason in the list", inJSON("status", `"statusReason": "Dependent Job failed"`), false},
	{"log", inJSON("logs "+uitest.PrepareID+"", `"text": "preparing"`), false},
	{"result", inJSON("results "+uitest.ArrayID, `"status": "SUCCEEDED"`), false},
	{"verdict", inJSON("explain "+uitest.ArrayID, `"summary": "a disk on this machine was full while it ran"`), false},
	{"evidence", inJSON("explain "+uitest.ArrayID, `"text": "error: no space left on device"`), false},
	{"fix", inJSON("explain "+uitest.ArrayID, `"job": "free disk space on this machine: df -h"`), false},
	{"cost", inJSON("cost --since 7d --by workflow", `"name": "calibration bdc3bcb5"`), false},
	{"note", inJSON("top", `"note": "a note"`), false},
	{"head of a queue", inJSON("top", `"statusReason": "waits"`), false},
	{"compute environment", inJSON("top", `"statusReason": "no role"`), false},
	{"problem of a file", inJSON("validate -", `"message": "unknown member \"commnd\""`), false},
	{"difference", inJSON("apply . --check", `"to": 2`), false},
	{"container of a measurement", inJSON("history "+uitest.PrepareID+" --limit 5000", `"container": "sidecar"`), false},
	{"team of a forecast", inJSON("forecast default", `"name": "team-a"`), false},
	{"team of a change", inJSON(uitest.WhatIfLine, `"name": "team-a"`), false},
	{"queue with forecasts", inJSON("forecast --accuracy", `"queue": "new"`), false},
	{"set of queues", inJSON("forecast --replay=history --max-wait=30m default", `"name": "the present vCPUs"`), false},
	{"advice", inJSON("advise --since 30d", `"why": "no measured runs"`), false},
	{"compared value", inJSON("diff "+uitest.PrepareID+" "+uitest.ReportID, `"new": "echo report"`), false},
	{"invalid resource", inJSON("apply . --check", `"reason": "no role"`), false},
}

// quoted returns a text as JSON.
func quoted(text string) string {
	b, _ := json.Marshal(text)
	return string(b)
}

// fresh returns new credentials of vendors: some in a short run, all in a long one.
func fresh(t *testing.T) []secrettest.Credential {
	t.Helper()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	all := secrettest.New(seed).All()
	if !testtool.IsLong() { // package secret tests all of them
		sample := rand.New(rand.NewPCG(seed, 0))
		sample.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		slices.SortStableFunc(all, func(a, b secrettest.Credential) int { // those of several lines are always among them
			special := func(c secrettest.Credential) int {
				return map[bool]int{true: 0, false: 1}[strings.Contains(c.Value, "\n")]
			}
			return special(a) - special(b)
		})
		all = all[:12]
	}
	return all
}

// shows reports whether a page shows a credential: as text, or as a part of an address.
func shows(page, hidden string) bool {
	for _, form := range []string{hidden, strings.Trim(quoted(hidden), `"`), url.QueryEscape(hidden), url.PathEscape(hidden)} {
		if strings.Contains(page, form) || strings.Contains(html.UnescapeString(page), form) {
			return true
		}
	}
	return false
}

// TestCredentials puts credentials of vendors into every place: no page, no data and no copy shows it.
func TestCredentials(t *testing.T) {
	r := uitest.Recording()
	s := serverOf(t, r, func(o *options) { o.AllowChanges = true })
	if err := os.WriteFile("job.json", []byte(jobpages.ExampleJob), 0o600); err != nil {
		t.Fatal(err)
	}
	h := s.handler()
	original := maps.Clone(r.Known)
	shown := map[string][]string{} // vendors by address
	for _, c := range fresh(t) {
		maps.Copy(r.Known, original)
		found := !c.Named && !strings.Contains(secret.Mask("", c.Value), c.Secret)
		put := []string(nil)
		for _, p := range places {
			if p.named || found {
				p.put(r, c.Name, c.Value)
				put = append(put, p.where)
			}
		}
		if found {
			r.Known["stop "+uitest.PrepareID] = uitest.Reply{Out: `[{"name":` + quoted(c.Value) + `,"error":` + quoted(c.Value) + `}]`, Err: "note: " + c.Value + "\nbatchctl: failed: " + c.Value + "\n  try " + c.Value + "\n", Status: 1}
			r.Known["plan -"] = uitest.Reply{Out: "plan " + c.Value + "\n", Status: exit.Change}
			r.Known["cost -"] = uitest.Reply{Err: "batchctl: " + c.Value + "\n", Status: 1}
			r.Known["status broken"] = uitest.Reply{Err: "batchctl: " + c.Value + "\n  " + c.Value, Status: 1}
		}
		s.Forget()
		s.list(r)
		answers := map[string]string{}
		for _, v := range views {
			answers[v.address] = get(h, v.address).Body.String()
		}
		answers["/jobs/broken"] = get(h, "/jobs/broken").Body.String()
		answers["stop"] = post(h, "/actions/stop", request{Job: uitest.PrepareID}).Body.String()
		answers["check"] = post(h, "/check", map[string]string{"Text": "{}"}).Body.String()
		answers["group"] = get(h, "/jobs/rows?group=tag:"+url.QueryEscape(c.Name)).Body.String()
		answers["group page"] = get(h, "/jobs?group=tag:"+url.QueryEscape(c.Name)).Body.String()
		topic, _ := (&eventStream{Source: s.Source}).topic("log:" + uitest.PrepareID)
		r.Set("logs "+uitest.PrepareID+" --follow", r.Known["logs "+uitest.PrepareID+""].Out)
		_ = topic.Run(t.Context(), func(data []byte) { answers["log"] += string(data) })
		if !strings.Contains(answers["log"], "done") {
			t.Fatalf("the log topic published %q", answers["log"])
		}
		maps.Copy(answers, copied(t, s))
		for address, text := range answers {
			if strings.Contains(text, "mask the credentials of a document") {
				t.Errorf("%s: a document with the credential of %s does not convert back: %s", address, c.Vendor, text)
			}
			if shows(text, c.Secret) {
				shown[address] = append(shown[address], fmt.Sprintf("%s in %s", c.Vendor, put))
			}
		}
	}
	for address, vendors := range shown {
		t.Errorf("%s shows credentials of %d vendors, the first of %s", address, len(vendors), vendors[0])
	}
}

// TestCredentialOfTwoWords has a command line whose option and value are two words.
func TestCredentialOfTwoWords(t *testing.T) {
	r := uitest.Recording()
	s := serverOf(t, r, nil)
	password := secrettest.New(rand.Uint64()).Of("abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ", 24)
	if strings.Contains(secret.Mask("", "mysql --password "+password), password) {
		t.Skip("package secret does not find the password in a command line")
	}
	line := "status " + uitest.PrepareID
	r.Set(line, strings.Replace(r.Known[line].Out, `"sh",`, `"mysql", "--password", "`+password+`",`, 1))
	if text := get(s.handler(), "/jobs/"+uitest.PrepareID).Body.String(); shows(text, password) {
		t.Error("the page of the job shows the password")
	}
}

// copied exports the recorded submission and returns the pages.
func copied(t *testing.T, s *server) map[string]string {
	t.Helper()
	dir := t.TempDir()
	c := newCopier(s.Source, dir)
	if err := c.copy(t.Context()); err != nil {
		t.Fatal(err)
	}
	pages := map[string]string{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(os.DirFS(dir), path)
		pages["copy of "+path] = string(text)
		return err
	})
	if err != nil || len(pages) != 8 { // index, 3 jobs and 4 children
		t.Fatalf("%d pages, %v", len(pages), err)
	}
	return pages
}
