package lsp

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const marker = "█"

// completed opens a text with a marker at the cursor. It returns the text without the
// marker, and the completions.
func completed(t *testing.T, capabilities, uri, marked string, o Options) (string, []completionItem) {
	t.Helper()
	before, after, ok := strings.Cut(marked, marker)
	if !ok {
		t.Fatal("no cursor in " + marked)
	}
	c := open(t, capabilities, o)
	c.didOpen(uri, before+after)
	list := decodeAs[completionList](t, c.must("textDocument/completion",
		jsonOf(positionParams{documentID{URI: uri}, utf16Position(before, len(before))})))
	return before + after, list.Items
}

func labels(items []completionItem) []string {
	var out []string
	for _, i := range items {
		out = append(out, i.Label)
	}
	return out
}

func TestCompletion(t *testing.T) {
	const (
		job      = `"name": "a", "image": "b:1", `
		workflow = `{"name": "w", "jobs": [{"name": "first", "image": "a:1"}, {"name": "second", "image": "a:1"}, {"name": "third", "image": "a:1", `
	)
	tests := map[string]struct {
		text  string
		first []string // what comes first
		none  []string // what must not come
	}{
		"top level":                 {`{"image": "b:1", "jobDefinition": {}, █}`, []string{"name", "definition", "command"}, []string{"image", "jobDefinition"}},
		"members come once":         {`{"name": "a", █ "image": "b:1", "timeout": "1h"}`, []string{"definition"}, []string{"name", "image", "timeout"}},
		"in resources":              {"{" + job + `"resources": {█}}`, []string{"vcpus", "memory", "gpus", "sharedMemory", "$comment"}, []string{"image"}},
		"half a name":               {"{" + job + `"resources": {"vcpus": 1, "me█"}}`, []string{"memory", "gpus"}, []string{"vcpus"}},
		"half a name, no end":       {"{" + job + "\"resources\": {\"vcpus\": 1, \"me█\n  }\n}", []string{"memory", "gpus"}, []string{"vcpus"}},
		"a name without quotes":     {"{" + job + `"resources": {"vcpus": 1, me█}}`, []string{"memory", "gpus"}, []string{"vcpus"}},
		"nothing closed":            {"{" + job + `"resources": { "` + marker, []string{"vcpus", "memory"}, nil},
		"the name under the hand":   {"{" + job + `"resources": {"mem█ory": 1}}`, []string{"vcpus", "memory"}, nil},
		"after a slip":              {"{" + job + "\"secr\n  \"resources\": {█}}", []string{"vcpus"}, nil},
		"a missing comma":           {"{" + job + "\"timeout\": \"1h\"\n  █\n}", []string{"definition"}, []string{"timeout"}},
		"after a value":             {"{" + job + `"timeout": "1h" █}`, nil, nil},
		"after a name":              {"{" + job + `"timeout" █}`, nil, nil},
		"a boolean":                 {"{" + job + `"privileged": █}`, []string{"true", "false"}, nil},
		"half a boolean":            {"{" + job + `"privileged": t█}`, []string{"true", "false"}, nil},
		"not in quotes":             {"{" + job + `"privileged": "█"}`, nil, nil},
		"an enum in an array":       {"{" + job + `"platformCapabilities": ["█"]}`, []string{"EC2", "FARGATE"}, nil},
		"examples":                  {"{" + job + `"timeout": "█"}`, []string{"2h", "1h30m"}, []string{`{ "attemptDurationSeconds": 7200 }`}},
		"examples that are objects": {"{" + job + `"timeout": █}`, []string{"2h", "1h30m", `{ "attemptDurationSeconds": 7200 }`}, nil},
		"native":                    {`{"jobDefinitionName": "a", "type": "container", "containerProperties": {"res█"}}`, []string{"command"}, []string{"type"}},
		"native enum":               {`{"jobDefinitionName": "a", "type": █}`, []string{"container", "multinode"}, nil},
		"native list":               {`{"jobDefinitionName": "a", "type": "container", "containerProperties": {"resourceRequirements": [{"type": "VCPU"}, {"█"}]}}`, []string{"type", "value"}, nil},
		"escape hatch":              {"{" + job + `"jobDefinition": {"containerProperties": {"linuxParameters": {"█"}}}}`, []string{"devices"}, nil},
		"made-up names":             {"{" + job + `"tags": {█}}`, []string{"$comment"}, []string{"name"}},
		"defaults have no name":     {workflow + `}], "defaults": {█}}`, []string{"image"}, []string{"name", "$schema"}},
		"jobs to wait for":          {workflow + `"dependsOn": ["█"]}]}`, []string{"first", "second"}, []string{"third"}},
		"more jobs to wait for":     {workflow + `"dependsOn": ["first", █]}]}`, []string{"second"}, []string{"first", "third"}},
		"jobs in the long form":     {workflow + `"dependsOn": [{"job": "█"}]}]}`, []string{"first", "second"}, nil},
		"type of a dependency":      {workflow + `"dependsOn": [{"job": "first", "type": █}]}]}`, []string{"N_TO_N", "SEQUENTIAL"}, nil},
		"in a job of a workflow":    {workflow + `"█"}]}`, []string{"definition"}, []string{"name", "image"}},
		"references in a job list":  {`{"jobs": [{"jobName": "a", "jobQueue": "q", "jobDefinition": "d"}, {"jobName": "b", "jobQueue": "q", "jobDefinition": "d", "dependsOn": [{"jobId": "█"}]}]}`, []string{"${a}"}, []string{"${b}"}},
		"outside of everything":     {"█ {" + job + "}", nil, nil},
		"a closing too much":        {"{" + job + `}}█`, nil, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, items := completed(t, `{}`, jobURI, test.text, Options{FindPlatform: alone})
			got := labels(items)
			if d := cmp.Diff(test.first, got[:min(len(got), len(test.first))]); d != "" || test.first == nil && len(got) > 0 {
				t.Errorf("got %q (-want +got):\n%s", got, d)
			}
			for _, label := range test.none {
				if slices.Contains(got, label) {
					t.Errorf("offers %q", label)
				}
			}
			if slices.Sort(got); len(slices.Compact(got)) != len(items) {
				t.Errorf("twice the same in %q", got)
			}
		})
	}
}

// TestCompletionOfQueues checks that queues have the names of the platform file.
func TestCompletionOfQueues(t *testing.T) {
	dir := project(t)
	for marked, want := range map[string][]string{
		`{"name": "a", "image": "b:1", "queue": "█"}`:                       {"cpu", "gpu", "cpu-job-queue", "gpu-job-queue"},
		`{"jobName": "a", "jobDefinition": "b:1", "jobQueue": "█"}`:         {"cpu-job-queue", "gpu-job-queue"},
		`{"name": "a", "image": "b:1", "submitJob": {"jobQueue": █}}`:       {"cpu-job-queue", "gpu-job-queue"},
		`{"name": "a", "image": "b:1", "environment": {"queue": "█"}}`:      {},
		`{"name": "a", "jobs": [{"name": "b", "queue": "g█", "image": 7}]}`: {"cpu", "gpu", "cpu-job-queue", "gpu-job-queue"},
	} {
		_, items := completed(t, `{}`, uriOf(filepath.Join(dir, "jobs", "job.json")), marked, Options{})
		got := labels(items)
		if len(got) < len(want) || !slices.Equal(got[:len(want)], want) || len(want) == 0 && len(got) > 0 {
			t.Errorf("%s: %q, want %q", marked, got, want)
		}
	}
	_, items := completed(t, `{}`, uriOf(filepath.Join(dir, "batchctl.json")), `{"defaultTarget": "█", "targets": {"prod": {"region": "us-east-1"}}}`, Options{})
	if got := labels(items); !slices.Equal(got, []string{"local", "prod"}) {
		t.Errorf("targets: %q", got)
	}
	_, items = completed(t, `{}`, uriOf(filepath.Join(dir, "batchctl.json")), `{"defaults": {"queue": "█"}, "queues": {"big": {"jobQueue": "q"}}}`, Options{})
	if got := labels(items); len(got) < 2 || got[0] != "big" || got[1] != "q" {
		t.Errorf("queues of the file itself: %q", got)
	}
}

// TestCompletionOfTheFirstMembers checks texts that are not recognised yet.
func TestCompletionOfTheFirstMembers(t *testing.T) {
	governed := uriOf(filepath.Join(project(t), "job.json"))
	for _, test := range []struct {
		uri, marked string
		want        bool
	}{
		{jobURI, `{█}`, false},
		{jobURI, `{"name": "a", "█"}`, false},
		{jobURI, `{"name": "a", "version": "1", "image": █}`, false},
		{jobURI, `{"name": "a", "resources": {}, "█"}`, true},
		{jobURI, `{"jobQueueName": "a", █}`, true},
		{jobURI, `{"$schema": "job.schema.json", █}`, true},
		{governed, `{█}`, true},
		{governed, `{"name": "a", "█"}`, true},
		{governed, `{"name": "a", "version": "1", █}`, false},
		{governed, `[█]`, false},
		{governed, `█`, false},
	} {
		_, items := completed(t, `{}`, test.uri, test.marked, Options{})
		if got := len(items) > 0; got != test.want {
			t.Errorf("%s in %s: offers %q", test.marked, test.uri, labels(items))
		}
	}
}

// TestCompletionAccepted checks the text after an item is accepted.
func TestCompletionAccepted(t *testing.T) {
	const snippets = `{"textDocument":{"completion":{"completionItem":{"snippetSupport":true}}}}`
	const job = `{"name": "🎉", "image": "b:1", `
	tests := []struct{ name, capabilities, marked, label, want string }{
		{"plain", `{}`, job + `"comm█"}`, "command", job + `"command": []}`},
		{"snippet", snippets, job + `"comm█"}`, "command", job + `"command": [$1]}`},
		{"no quotes", snippets, job + `comm█}`, "command", job + `"command": [$1]}`},
		{"quote without end", snippets, job + "\"comm█\n}", "command", job + "\"command\": [$1]\n}"},
		{"blank", snippets, job + `█}`, "timeout", job + `"timeout": "$1"}`},
		{"a number", snippets, job + `"array": {█}}`, "size", job + `"array": {"size": $1}}`},
		{"an object", snippets, job + `█}`, "resources", job + `"resources": {$1}}`},
		{"a name that has a value", snippets, job + `"tim█" : 7}`, "timeout", job + `"timeout" : 7}`},
		{"in the middle of a name", snippets, job + `"tim█e": 7}`, "timeout", job + `"timeout": 7}`},
		{"a member follows", snippets, job + "█\n \"user\": \"1\"}", "timeout", job + "\"timeout\": \"$1\",\n \"user\": \"1\"}"},
		{"a comma is missing", snippets, job + "\"user\": \"1\"\n █}", "timeout", job + "\"user\": \"1\",\n \"timeout\": \"$1\"}"},
		{"a dollar", snippets, job + `"$█"}`, "$comment", job + `"\$comment": $1}`},
		{"value", `{}`, job + `"timeout": █}`, "2h", job + `"timeout": "2h"}`},
		{"value in quotes", `{}`, job + `"timeout": "1█m"}`, "2h", job + `"timeout": "2h"}`},
		{"value without end", `{}`, job + "\"timeout\": \"1█\n}", "2h", job + "\"timeout\": \"2h\"\n}"},
		{"word", `{}`, job + `"privileged": f█al}`, "true", job + `"privileged": true}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			text, items := completed(t, test.capabilities, jobURI, test.marked, Options{FindPlatform: alone})
			i := slices.IndexFunc(items, func(i completionItem) bool { return i.Label == test.label })
			if i < 0 {
				t.Fatalf("no %s in %q", test.label, labels(items))
			}
			item := items[i]
			got := applied(t, text, append(item.AdditionalTextEdits, item.TextEdit))
			if d := cmp.Diff(test.want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			if wantFormat := 1 + strings.Count(got, "$1"); item.InsertTextFormat != wantFormat {
				t.Errorf("format %d, want %d", item.InsertTextFormat, wantFormat)
			}
			typed := text[strings.Index(text, strings.Split(test.marked, marker)[0]):]
			if quoted := strings.HasPrefix(splice(typed, textRange{End: item.TextEdit.Range.Start}, ""), `"`); quoted != strings.HasPrefix(item.FilterText, `"`) {
				t.Errorf("filter %s does not begin as the text does", item.FilterText)
			}
		})
	}
}

func TestCompletionExplains(t *testing.T) {
	_, items := completed(t, `{}`, jobURI, `{"image": "b:1", "jobDefinition": {}, █}`, Options{FindPlatform: alone})
	if items[0].Label != "name" || items[0].Detail != "Name, required" || items[0].Kind != itemProperty || items[0].SortText >= items[1].SortText {
		t.Errorf("got %+v", items[0])
	}
	if doc := items[0].Documentation; doc.Kind != "markdown" || !strings.Contains(doc.Value, "Name of the job") {
		t.Errorf("documentation %+v", doc)
	}
}

// FuzzCompletion requests completions at every position of any text: none panics, and
// every edit is one line around the cursor.
func FuzzCompletion(f *testing.F) {
	for _, s := range []string{brokenJob, platformText, `{"name": "a", "image": "b", "dependsOn": ["`, `[{"a":]}`, `{"name":"a","image":"b",,"\`, "{\"name\":1,\"image\":\"\n\"é🎉"} {
		f.Add(s, len(s)/2)
		f.Add(s, len(s))
	}
	f.Fuzz(func(t *testing.T, s string, offset int) {
		offset = max(0, min(offset, len(s)))
		c := cursorAt(s, offset)
		if c.token.Start > c.token.End || c.top() != nil && c.token.End != offset {
			t.Fatalf("token %v at %d", c.token, offset)
		}
		r := c.replaced(s)
		if c.top() != nil && (r.Start != c.token.Start || r.End < offset || r.End > len(s) || strings.ContainsAny(s[offset:r.End], "\r\n")) {
			t.Fatalf("replaces %v at %d", r, offset)
		}
		srv := newServer(nil, Options{FindPlatform: alone, Rules: few})
		d := didOpenParams{}
		d.TextDocument.URI, d.TextDocument.Text = jobURI, strings.ToValidUTF8(s, "?")
		if _, err := srv.didOpen(d); err != nil {
			t.Fatal(err)
		}
		srv.docs[jobURI].known = true
		at := positionParams{documentID{URI: jobURI}, srv.docs[jobURI].text.position(offset, utf16Encoding)}
		if _, err := srv.completion(at); err != nil {
			t.Fatal(err)
		}
		if _, err := srv.hover(at); err != nil {
			t.Fatal(err)
		}
	})
}
