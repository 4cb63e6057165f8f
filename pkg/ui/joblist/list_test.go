package joblist

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

// now is the time of queries in tests, after all times of jobs.
const now = 50

func anyJob() *rapid.Generator[Job] {
	times := rapid.Int64Range(0, 6)
	return rapid.Custom(func(t *rapid.T) Job {
		text := func(name string, of ...string) string { return rapid.SampledFrom(of).Draw(t, name) }
		j := Job{
			ID:         text("id", "a", "b", "c", "d", "e", "F", "g", "h", "i", "j", "k", "l"),
			Name:       text("name", "", "job-9", "job-10", "Job-10", "gpu"),
			Status:     text("status", append([]string{"", "ODD"}, lifeOrder...)...),
			Queue:      text("queue", "", "q10", "q9", "GPU"),
			Definition: text("definition", "", "d:1", "d:10"),
			Reason:     text("reason", "", "d:1", "Host lost"),
			Run:        text("run", "", "", "0123456789", "01234567xy", "r2"),
			Workflow:   text("workflow", "", "flow", "gpu"),
			Created:    times.Draw(t, "created"), Started: times.Draw(t, "started"), Stopped: times.Draw(t, "stopped"),
		}
		if rapid.Bool().Draw(t, "read") {
			j.Tags = rapid.MapOfN(rapid.SampledFrom([]string{"team", "TEAM", "aws:x", "batchctl:y"}), rapid.SampledFrom([]string{"", "q9", "x10", "x9", "none"}), 0, 3).Draw(t, "tags")
		}
		if rapid.Bool().Draw(t, "array") {
			j.Size, j.Counts = 3, map[string]int{"FAILED": 1, j.Status: 2}
		}
		return j
	})
}

func anyQuery() *rapid.Generator[Query] {
	return rapid.Custom(func(t *rapid.T) Query {
		texts := func(name string, of ...string) []string {
			if !rapid.Bool().Draw(t, name+" restricted") {
				return nil
			}
			return rapid.SliceOfN(rapid.SampledFrom(of), 1, 3).Draw(t, name)
		}
		return Query{
			Text:     strings.Join(texts("words", "gpu", "JOB", "1", "d:1", "status:f", "queue:q", "tag:x", "tag:team=", "tag:Team=x9", "id:f", "c", "h", "workflow:f", "reason:"), " "),
			Statuses: texts("statuses", lifeOrder...),
			Queues:   texts("queues", "", "q9", "q10", "missing"),
			GroupBy:  rapid.SampledFrom([]string{"", "workflow", "queue", "status", "definition", "tag:team", "tag:missing"}).Draw(t, "group"),
			SortBy:   rapid.SampledFrom(append([]string{""}, sortings...)).Draw(t, "sort"),
			Reverse:  rapid.Bool().Draw(t, "reverse"),
			Open:     texts("open", "", "0123456789", "r2", "q9", "q10", "FAILED", "d:1", "=", "=q9", "=none", "none", "unread", "missing"),
			From:     rapid.IntRange(-1, 12).Draw(t, "from"),
			Count:    rapid.IntRange(-1, 12).Draw(t, "count"),
			Now:      now,
		}
	})
}

// model is a naive list.
type model map[string]Job

func (m model) update(jobs []Job, old model) {
	for _, j := range jobs {
		before, ok := m[j.ID]
		if !ok {
			before, ok = old[j.ID]
		}
		if ok {
			if j.Tags == nil {
				j.Tags = before.Tags
			}
			j.Run, j.Workflow = cmp.Or(j.Run, before.Run), cmp.Or(j.Workflow, before.Workflow)
			if ended(before.Status) && !ended(j.Status) {
				before.Tags, before.Run, before.Workflow = j.Tags, j.Run, j.Workflow
				j = before
			}
		}
		m[j.ID] = j
	}
}

// sorted returns the jobs, newest first.
func (m model) sorted() []Job {
	return slices.SortedFunc(maps.Values(m), func(a, b Job) int {
		return cmp.Or(cmp.Compare(b.Created, a.Created), cmp.Compare(a.ID, b.ID))
	})
}

// has reports whether a word of Text matches a job.
func has(j Job, word string) bool {
	field, rest, found := strings.Cut(word, ":")
	in := func(part string, texts ...string) bool {
		return slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(strings.ToLower(text), part) })
	}
	tags := slices.Collect(maps.Values(j.Tags))
	byField := map[string][]string{"name": {j.Name}, "id": {j.ID}, "queue": {j.Queue}, "definition": {j.Definition},
		"reason": {j.Reason}, "workflow": {j.Workflow, j.Run}, "status": {j.Status}, "tag": tags}
	if texts, known := byField[field]; found && known {
		if name, value, named := strings.Cut(rest, "="); field == "tag" && named {
			for n, v := range j.Tags {
				if strings.ToLower(n) == name && in(value, v) {
					return true
				}
			}
			return false
		}
		return rest == "" || in(rest, texts...)
	}
	return in(word, append(tags, j.Name, j.ID, j.Queue, j.Definition, j.Reason, j.Workflow, j.Run)...)
}

// place compares two jobs by the sort key of a query alone.
func place(a, b Job, q Query) int {
	var x, y int64 // smallest first, missing ones last
	value := func(j Job) int64 {
		until := func(from, to int64) int64 {
			if to == 0 && !ended(j.Status) {
				to = now
			}
			if from == 0 || to == 0 {
				return math.MaxInt64
			}
			return -max(0, to-from)
		}
		at := func(time int64) int64 {
			if time == 0 {
				return math.MaxInt64
			}
			return -time
		}
		switch q.SortBy {
		case "started":
			return at(j.Started)
		case "waited":
			return until(j.Created, cmp.Or(j.Started, j.Stopped))
		case "ran":
			return until(j.Started, j.Stopped)
		}
		return at(j.Created)
	}
	sign := 1
	if q.Reverse {
		sign = -1
	}
	switch q.SortBy {
	case "name":
		return sign * compareNatural(a.Name, b.Name)
	case "queue":
		return sign * compareNatural(a.Queue, b.Queue)
	case "status":
		life := func(j Job) int { return (slices.Index(lifeOrder, j.Status) + 8) % 8 } // -1 is last
		x, y = int64(life(a)), int64(life(b))
	default:
		if x, y = value(a), value(b); x == math.MaxInt64 || y == math.MaxInt64 {
			return cmp.Compare(x, y)
		}
	}
	return sign * cmp.Compare(x, y)
}

// window answers a query in the simplest way.
func (m model) window(q Query) Window {
	var jobs []Job
	for _, j := range m.sorted() {
		if (q.Statuses == nil || slices.Contains(q.Statuses, j.Status)) && (q.Queues == nil || slices.Contains(q.Queues, j.Queue)) &&
			!slices.ContainsFunc(strings.Fields(strings.ToLower(q.Text)), func(word string) bool { return !has(j, word) }) {
			jobs = append(jobs, j)
		}
	}
	w := Window{Jobs: len(jobs), Rows: []Row{}, Counts: map[string]int{}}
	newest := slices.Clone(jobs)
	slices.SortStableFunc(jobs, func(a, b Job) int { return place(a, b, q) })
	for _, j := range jobs {
		w.Counts[j.Status]++
	}
	rows := m.grouped(q, jobs, newest)
	w.Total = len(rows)
	from := min(max(q.From, 0), len(rows))
	w.Rows = append(w.Rows, rows[from:min(from+max(q.Count, 0), len(rows))]...)
	return w
}

// grouped returns the rows of jobs.
func (m model) grouped(q Query, jobs, newest []Job) (rows []Row) {
	if q.GroupBy == "" {
		for _, j := range jobs {
			rows = append(rows, Row{Job: &j})
		}
		return rows
	}
	// part returns key, label and how far behind other groups a group is.
	part := func(j Job) (string, string, int) {
		values := map[string]string{"workflow": j.Run, "queue": j.Queue, "status": j.Status, "definition": j.Definition}
		if value, ok := values[q.GroupBy]; ok {
			if value == "" {
				return "", "(no " + q.GroupBy + ")", 1
			}
			return value, value, 0
		}
		name := strings.TrimPrefix(q.GroupBy, "tag:")
		value, ok := j.Tags[name]
		switch {
		case j.Tags == nil:
			return "unread", "(tags not read)", 2
		case !ok:
			return "none", "(no tag " + name + ")", 1
		}
		return "=" + value, cmp.Or(value, "(empty)"), 0
	}
	groups, behind, members := map[string]*Group{}, map[string]int{}, map[string][]Row{}
	for _, j := range jobs {
		key, label, last := part(j)
		g := groups[key]
		if g == nil {
			g = &Group{Key: key, Label: label, Counts: map[string]int{}, Open: slices.Contains(q.Open, key)}
			groups[key] = g
		}
		behind[key] = last
		g.Jobs++
		g.Counts[j.Status]++
		if j.Created > 0 {
			g.Last = max(g.Last, j.Created)
			if g.First == 0 || j.Created < g.First {
				g.First = j.Created
			}
		}
		members[key] = append(members[key], Row{Job: &j})
	}
	order := slices.SortedFunc(maps.Values(groups), func(a, b *Group) int {
		if c := cmp.Compare(behind[a.Key], behind[b.Key]); c != 0 {
			return c
		}
		if q.GroupBy == "workflow" {
			return cmp.Or(cmp.Compare(b.First, a.First), compareNatural(a.Key, b.Key))
		}
		return compareNatural(a.Key, b.Key) // "=" before each value does not matter
	})
	for _, g := range order {
		if q.GroupBy == "workflow" && g.Key != "" {
			g.Label = g.Key[:min(8, len(g.Key))]
			if i := slices.IndexFunc(newest, func(j Job) bool { return j.Run == g.Key && j.Workflow != "" }); i >= 0 {
				g.Label = newest[i].Workflow + " " + g.Label
			}
		}
		rows = append(rows, Row{Group: g})
		if g.Open {
			rows = append(rows, members[g.Key]...)
		}
	}
	return rows
}

// show returns rows as a text that a failure can print.
func show(w Window) string {
	var b strings.Builder
	fmt.Fprintf(&b, "total %d, jobs %d, counts %v\n", w.Total, w.Jobs, w.Counts)
	for _, r := range w.Rows {
		if r.Group != nil {
			fmt.Fprintf(&b, "%+v\n", *r.Group)
		} else {
			fmt.Fprintf(&b, "  %+v\n", *r.Job)
		}
	}
	return b.String()
}

func TestListIsLikeModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var l List
		m := model{}
		// Few queries, so that most have a result of an earlier version.
		queries := rapid.SliceOfN(anyQuery(), 2, 2).Draw(t, "queries")
		windows := func() {
			q := rapid.SampledFrom(queries).Draw(t, "query")
			version := l.Version()
			for range 2 { // the second answer is from the cache
				got, want := l.Window(q), m.window(q)
				want.Version = version
				if !reflect.DeepEqual(got, want) {
					t.Fatalf("%+v: got\n%s\nwant\n%s", q, show(got), show(want))
				}
			}
		}
		store := func(put func([]Job), jobs []Job, replace bool) {
			old, next := m, maps.Clone(m)
			if replace {
				next = model{}
			}
			next.update(jobs, old)
			version := l.Version()
			put(jobs)
			if changed := l.Version() != version; changed == reflect.DeepEqual(old, next) && len(old)+len(next) > 0 && !bounced(jobs) {
				t.Fatalf("changed: %v, from\n%v\nto\n%v", changed, old, next)
			}
			m = next
			version = l.Version()
			l.Update(m.sorted())
			l.Replace(m.sorted())
			if l.Version() != version {
				t.Fatal("the same content is a new version")
			}
		}
		several := rapid.SliceOfN(anyJob(), 0, 12)
		t.Repeat(map[string]func(*rapid.T){
			"update":  func(*rapid.T) { store(l.Update, several.Draw(t, "jobs"), false) },
			"replace": func(*rapid.T) { store(l.Replace, several.Draw(t, "jobs"), true) },
			"change one field": func(*rapid.T) {
				if len(m) == 0 {
					t.Skip("no jobs")
				}
				j := rapid.SampledFrom(m.sorted()).Draw(t, "job")
				field := rapid.IntRange(1, reflect.TypeFor[Job]().NumField()-1).Draw(t, "field") // not the id
				reflect.ValueOf(&j).Elem().Field(field).Set(reflect.ValueOf(anyJob().Draw(t, "other")).Field(field))
				store(l.Update, []Job{j}, false)
			},
			"remove one": func(*rapid.T) {
				if len(m) == 0 {
					t.Skip("no jobs")
				}
				store(l.Replace, m.sorted()[1:], true)
			},
			"window": func(*rapid.T) { windows() },
			"compact": func(*rapid.T) {
				l.Update(nil)
				for i := range 2 * len(l.symbols.texts) {
					l.symbols.intern(fmt.Sprint("unused ", i))
				}
				l.spacious = 0
				l.Update(nil)
				if slices.Contains(l.symbols.texts, "unused 1") {
					t.Fatal("unused texts are still there")
				}
			},
			"": func(*rapid.T) {
				for _, id := range []string{"a", "F", "z"} {
					got, ok := l.Get(id)
					if want, exists := m[id]; ok != exists || !reflect.DeepEqual(got, want) {
						t.Fatalf("job %s: got %+v, want %+v", id, got, want)
					}
				}
				var unfinished, untagged []string
				names, counts := map[string]bool{}, map[string]int{}
				for _, j := range m.sorted() {
					if !ended(j.Status) {
						unfinished = append(unfinished, j.ID)
					}
					if j.Tags == nil && len(untagged) < 3 {
						untagged = append(untagged, j.ID)
					}
					for name := range j.Tags {
						names[name] = !strings.Contains(name, ":")
					}
					counts[j.Status]++
				}
				slices.Reverse(unfinished)
				maps.DeleteFunc(names, func(_ string, plain bool) bool { return !plain })
				if !slices.Equal(l.Unfinished(), unfinished) || !slices.Equal(l.Untagged(3), untagged) {
					t.Fatalf("got %v and %v, want %v and %v", l.Unfinished(), l.Untagged(3), unfinished, untagged)
				}
				if got := l.TagNames(); !slices.Equal(got, slices.Sorted(maps.Keys(names))) {
					t.Fatalf("got tags %v, want %v", got, names)
				}
				if got := l.Counts(); !maps.Equal(got, counts) {
					t.Fatalf("got counts %v, want %v", got, counts)
				}
			},
		})
	})
}

// bounced reports whether an id is in jobs twice: the content may have changed and changed back.
func bounced(jobs []Job) bool {
	seen := map[string]bool{}
	for _, j := range jobs {
		seen[j.ID] = true
	}
	return len(seen) < len(jobs)
}

func TestWindowsFitTogether(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var l List
		l.Replace(rapid.SliceOfN(anyJob(), 0, 30).Draw(t, "jobs"))
		q := anyQuery().Draw(t, "query")
		q.From, q.Count = 0, MaxCount
		all := l.Window(q)
		if all.Total != len(all.Rows) {
			t.Fatalf("got %d rows, want %d", len(all.Rows), all.Total)
		}
		rows := []Row{}
		for q.From < all.Total {
			q.Count = rapid.IntRange(1, 9).Draw(t, "count")
			q.Now = now + rapid.Int64Range(-maxAge, maxAge).Draw(t, "later")
			w := l.Window(q)
			if w.Total != all.Total || w.Jobs != all.Jobs || !maps.Equal(w.Counts, all.Counts) {
				t.Fatalf("got %s, want %s", show(w), show(all))
			}
			rows = append(rows, w.Rows...)
			q.From += q.Count
		}
		if !reflect.DeepEqual(rows, all.Rows) {
			t.Fatalf("got %s, want %s", show(Window{Rows: rows}), show(all))
		}
	})
}

// TestLimits checks what the generators of small lists do not reach.
func TestLimits(t *testing.T) {
	var l List
	if w := l.Window(Query{Count: 5, GroupBy: "queue"}); w.Total != 0 || w.Rows == nil || w.Counts == nil {
		t.Errorf("empty list: got %+v", w)
	}
	l.Replace(typicalJobs(3000))
	if w := l.Window(Query{Count: 2000}); len(w.Rows) != MaxCount {
		t.Errorf("got %d rows, want %d", len(w.Rows), MaxCount)
	}
	q := Query{GroupBy: "queue", Open: []string{"queue-1", "queue-0", "queue-1"}}
	if twice, once := l.Window(q), l.Window(Query{GroupBy: "queue", Open: q.Open[1:]}); !reflect.DeepEqual(twice, once) {
		t.Errorf("a key of Open that is there twice: got %d rows, want %d", twice.Total, once.Total)
	}
	for i := range 40 {
		l.Window(Query{Text: fmt.Sprint(i), SortBy: "ran", Now: now})
		l.Window(Query{Text: fmt.Sprint(i), SortBy: "ran", Now: now + maxAge + 1})
	}
	if n := len(l.cache.results); n != maxResults {
		t.Errorf("got %d kept results, want %d", n, maxResults)
	}
	if l.cache.results[0].query != (Query{Text: "24", SortBy: "ran"}).Values().Encode() {
		t.Errorf("the oldest kept result is of %s", l.cache.results[0].query)
	}
	for i := range 20 { // reasons that come and go
		jobs := typicalJobs(3000)
		for j := range jobs {
			jobs[j].Status, jobs[j].Reason = "RUNNING", fmt.Sprint(i, " of ", j)
		}
		l.Replace(nil)
		l.Update(jobs)
	}
	if n := len(l.symbols.texts); n > 30_000 {
		t.Errorf("%d texts are kept for 3,000 jobs", n)
	}
}

// TestDurationsKeepTheirOrder checks that a running job moves only after a while.
func TestDurationsKeepTheirOrder(t *testing.T) {
	var l List
	l.Replace([]Job{
		{ID: "done", Status: "SUCCEEDED", Created: 1, Started: 1000, Stopped: 6000},
		{ID: "running", Status: "RUNNING", Created: 2, Started: 5000},
	})
	for _, test := range []struct {
		now   int64
		first string
	}{{9000, "done"}, {9000 + maxAge, "done"}, {9001 + maxAge, "running"}, {9001, "running"}, {9000, "done"}} {
		if got := l.Window(Query{SortBy: "ran", Count: 1, Now: test.now}).Rows[0].Job.ID; got != test.first {
			t.Errorf("at %d: got %s first, want %s", test.now, got, test.first)
		}
	}
}

func TestConcurrentUse(t *testing.T) {
	var l List
	jobs := typicalJobs(300)
	var wg sync.WaitGroup
	for writer := range 2 {
		wg.Go(func() {
			for i := range 50 {
				some := slices.Clone(jobs[i : i+200])
				for j := range some {
					some[j].Reason = fmt.Sprint("reason ", writer, i*j)
				}
				if i%5 == writer {
					l.Replace(some)
				} else {
					l.Update(some[:50])
				}
			}
		})
	}
	for reader := range 3 {
		wg.Go(func() {
			last := uint64(0)
			for i := range 200 {
				w := l.Window(Query{Text: []string{"", "reason", "tag:vision"}[i%3], GroupBy: []string{"", "workflow", "tag:team"}[reader],
					SortBy: sortings[i%len(sortings)], Open: []string{"=vision", ""}, Count: 100, Now: int64(i) * 1000})
				sum := 0
				for _, n := range w.Counts {
					sum += n
				}
				if sum != w.Jobs || len(w.Rows) != min(w.Total, 100) || w.Version < last {
					t.Errorf("got %s at version %d after %d", show(w), w.Version, last)
				}
				last = w.Version
				for _, row := range w.Rows {
					if row.Job != nil && row.Job.Tags != nil {
						row.Job.Tags["own"] = "the caller owns its maps"
					}
				}
				l.Get(jobs[i].ID)
				l.Unfinished()
				l.Untagged(5)
				l.TagNames()
				l.Counts()
			}
		})
	}
	wg.Wait()
	if slices.Contains(l.TagNames(), "own") {
		t.Error("a caller changed the list's tags")
	}
}
