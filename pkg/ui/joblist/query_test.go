package joblist

import (
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// searched are the jobs of TestText, by id.
var searched = []Job{
	{ID: "a1", Name: "Train-ResNet", Status: "FAILED", Queue: "gpu-spot", Definition: "train:3", Reason: "Host EC2 terminated",
		Run: "0f3c", Workflow: "nightly", Tags: map[string]string{"team": "Vision", "stage": ""}},
	{ID: "b2", Name: "label", Status: "RUNNING", Queue: "cpu", Definition: "label:12", Tags: map[string]string{"owner": "vision-ops"}},
	{ID: "c3", Name: "übung failed", Status: "SUCCEEDED", Queue: "cpu", Definition: "misc:1", Tags: map[string]string{}},
	{ID: "d4", Name: "gpu-check", Status: "RUNNABLE", Queue: "cpu", Definition: "misc:1"},
}

func TestText(t *testing.T) {
	tests := []struct{ text, ids string }{
		{"", "a1 b2 c3 d4"},
		{"  \t ", "a1 b2 c3 d4"},
		{"train", "a1"},
		{"RESNET", "a1"},
		{"Übung", "c3"},
		{"gpu", "a1 d4"},
		{"gpu check", "d4"},
		{"gpu nothing", ""},
		{"b2", "b2"},
		{"B2", "b2"},
		{"terminated host", "a1"},
		{"nightly", "a1"},
		{"0f3c", "a1"},
		{"vision", "a1 b2"},
		{"team", ""},
		{"failed", "c3"},
		{"misc:1", "c3 d4"},
		{"status:failed", "a1"},
		{"status:run", "b2 d4"},
		{"Status:Failed gpu", "a1"},
		{"status:", "a1 b2 c3 d4"},
		{"queue:gpu", "a1"},
		{"name:gpu", "d4"},
		{"id:d", "d4"},
		{"id:gpu", ""},
		{"definition:label:1", "b2"},
		{"reason:ec2", "a1"},
		{"workflow:night", "a1"},
		{"workflow:0f", "a1"},
		{"tag:vision", "a1 b2"},
		{"tag:team=vision", "a1"},
		{"tag:TEAM=VISION", "a1"},
		{"tag:team=", "a1"},
		{"tag:stage=", "a1"},
		{"tag:stage=x", ""},
		{"tag:=vision", "a1 b2"},
		{"tag:team=vision queue:cpu", ""},
		{"tag:", "a1 b2 c3 d4"},
		{"other:gpu", ""},
		{"queue", ""},
	}
	var l List
	l.Replace(searched)
	for _, test := range tests {
		var ids []string
		for _, row := range l.Window(Query{Text: test.text, Count: 10}).Rows {
			ids = append(ids, row.Job.ID)
		}
		if got := strings.Join(ids, " "); got != test.ids {
			t.Errorf("%q: got jobs %q, want %q", test.text, got, test.ids)
		}
	}
	l.Replace(searched[1:]) // searches of ids use what is kept from before
	if w := l.Window(Query{Text: "id:d4", Count: 10}); w.Jobs != 1 || w.Rows[0].Job.ID != "d4" {
		t.Errorf("after a job was removed: got %s", show(w))
	}
}

func TestParseQuery(t *testing.T) {
	tests := []struct {
		address string
		want    Query
		// errs are parts of the error.
		errs []string
	}{
		{address: "", want: Query{Count: 100}},
		{address: "q=a+b&status=failed&status=RUNNING&queue=x&queue=Y&group=tag:team&sort=ran&reverse=1&open=&open=%3Dx&from=7&n=50",
			want: Query{Text: "a b", Statuses: []string{"FAILED", "RUNNING"}, Queues: []string{"x", "Y"}, GroupBy: "tag:team", SortBy: "ran",
				Reverse: true, Open: []string{"", "=x"}, From: 7, Count: 50}},
		{address: "sort=created&reverse=false&group=&n=0", want: Query{}},
		{address: "n=1001&region=x", want: Query{Count: 1000}},
		{address: "status=DONE", errs: []string{`unknown status "DONE"`, "SUBMITTED, PENDING, RUNNABLE, STARTING, RUNNING, SUCCEEDED or FAILED"}},
		{address: "group=team", errs: []string{`unknown group "team"`, "workflow, queue, status, definition or tag:NAME"}},
		{address: "group=tag:", errs: []string{`unknown group "tag:"`}},
		{address: "sort=age", errs: []string{`unknown sort "age"`, "created, name, status, queue, waited, ran or started"}},
		{address: "reverse=yes", errs: []string{`invalid reverse "yes"`, "true or false"}},
		{address: "from=-1&n=x", errs: []string{`invalid from "-1"`, `invalid n "x"`, "a number from 0"}},
		{address: "n=99999999999999999999", errs: []string{"invalid n"}},
	}
	for _, test := range tests {
		values, err := url.ParseQuery(test.address)
		if err != nil {
			t.Fatal(err)
		}
		q, err := ParseQuery(values)
		if (err != nil) != (test.errs != nil) || !reflect.DeepEqual(q, test.want) {
			t.Errorf("%s: got %+v, %v, want %+v", test.address, q, err, test.want)
		}
		for _, part := range test.errs {
			if err != nil && !strings.Contains(err.Error(), part) {
				t.Errorf("%s: error %q lacks %q", test.address, err, part)
			}
		}
	}
}

func TestValues(t *testing.T) {
	if got := (Query{SortBy: "created", From: 3, Count: 4, Now: 5, Open: []string{"x"}}).Values(); len(got) > 0 {
		t.Errorf("defaults are in the address: %v", got)
	}
	rapid.Check(t, func(t *rapid.T) {
		q := anyQuery().Draw(t, "query")
		got, err := ParseQuery(q.Values())
		want := q
		want.Open, want.From, want.Count, want.Now = nil, 0, defaultCount, 0
		if want.SortBy == "created" {
			want.SortBy = ""
		}
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("got %+v, %v, want %+v", got, err, want)
		}
	})
}

// FuzzParseQuery checks that the address of a parsed query is its address, and that a window of it
// has the rows that it counts.
func FuzzParseQuery(f *testing.F) {
	for _, address := range []string{"q=gpu+tag:team%3Dvision&group=workflow&open=&n=3", "status=failed&sort=ran&reverse=t", "group=tag:team&open=none&open=%3DVision&from=1"} {
		f.Add(address)
	}
	var l List
	l.Replace(searched)
	f.Fuzz(func(t *testing.T, address string) {
		values, err := url.ParseQuery(address)
		if err != nil {
			t.Skip()
		}
		q, err := ParseQuery(values)
		if err != nil {
			return
		}
		again, err := ParseQuery(q.Values())
		if err != nil || again.Values().Encode() != q.Values().Encode() {
			t.Errorf("got %v, %v, want %v", again.Values(), err, q.Values())
		}
		w := l.Window(q)
		if rows := max(min(w.Total-q.From, q.Count), 0); len(w.Rows) != rows {
			t.Errorf("got %d rows, want %d", len(w.Rows), rows)
		}
	})
}

func TestNaturalOrder(t *testing.T) {
	sorted := []string{"", "007", "7", "08", "A", "a", "a1", "a01x", "a1y", "a2", "a10", "a10b2", "a10b10", "a99999999999999999999", "a100000000000000000000", "ab"}
	if got := slices.SortedFunc(slices.Values(sorted), compareNatural); !slices.Equal(got, sorted) {
		t.Errorf("got %q, want %q", got, sorted)
	}
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.SliceOfN(rapid.StringMatching(`[a01 -]{0,6}`), 3, 3).Draw(t, "texts")
		a, b, c := x[0], x[1], x[2]
		if ab, ba := compareNatural(a, b), compareNatural(b, a); (ab < 0) != (ba > 0) || (ab == 0) != (a == b) {
			t.Fatalf("%q and %q: %d and %d", a, b, ab, ba)
		}
		if compareNatural(a, b) < 0 && compareNatural(b, c) < 0 && compareNatural(a, c) >= 0 {
			t.Fatalf("%q < %q < %q, but not %[1]q < %[3]q", a, b, c)
		}
	})
}
