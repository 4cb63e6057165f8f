package insights

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// record is an event of the property tests: its message is a JSON object with these fields.
type record struct {
	id    int
	at    int64
	level string // "": absent
	ms    int
}

func (r record) event() Event {
	level := ""
	if r.level != "" {
		level = fmt.Sprintf(`"level": %q, `, r.level)
	}
	return Event{Timestamp: r.at, Position: int64(r.id), Message: fmt.Sprintf(`{%s"ms": %d, "id": %d}`, level, r.ms, r.id)}
}

var records = rapid.Custom(func(t *rapid.T) record {
	return record{0, int64(rapid.IntRange(0, 20).Draw(t, "at")), rapid.SampledFrom([]string{"", "A", "B", "C", "a1", "a12"}).Draw(t, "level"),
		rapid.IntRange(0, 9).Draw(t, "ms")}
})

// TestAgainstReference compares random queries with a reference that sorts, filters and cuts whole lists. The reference
// knows nothing of limited memory.
func TestAgainstReference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := rapid.SliceOfN(records, 0, 60).Draw(t, "events")
		for i := range all {
			all[i].id = i
		}
		query, want := referenceQuery(t, slices.Clone(all))
		q, err := Parse(query)
		if err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		r := q.Start(0, "", 0)
		for _, c := range all {
			e := c.event()
			if err := r.Add(&e); err != nil {
				t.Fatal(err)
			}
		}
		rows, err := r.Finish()
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, row := range rows {
			got = append(got, row[0].Value)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%s\nover %+v\ngot  %v\nwant %v", query, all, got, want)
		}
	})
}

// referenceQuery returns a random query and the ids of its results.
func referenceQuery(t *rapid.T, rows []record) (query string, want []string) {
	parts := []string{"fields id"}
	order := func(a, b record) int { return cmp.Or(cmp.Compare(b.at, a.at), cmp.Compare(b.id, a.id)) }
	slices.SortFunc(rows, order)
	for range rapid.IntRange(0, 4).Draw(t, "commands") {
		switch rapid.SampledFrom([]string{"filter", "sort", "limit"}).Draw(t, "command") {
		case "filter":
			if n := rapid.IntRange(0, 9).Draw(t, "ms"); rapid.Bool().Draw(t, "by level") {
				parts = append(parts, fmt.Sprintf("filter level like 'a' or ms > %d", n))
				rows = slices.DeleteFunc(rows, func(r record) bool { return !strings.Contains(r.level, "a") && r.ms <= n })
			} else {
				parts = append(parts, fmt.Sprintf("filter not (ms in [%d, 3]) and ispresent(level)", n))
				rows = slices.DeleteFunc(rows, func(r record) bool { return r.ms == n || r.ms == 3 || r.level == "" })
			}
		case "sort":
			// The id makes the order complete: how ties are resolved is compared in TestQueries.
			by := []string{"ms", "level"}[rapid.IntRange(0, 1).Draw(t, "key")]
			sign, word := 1, "asc"
			if rapid.Bool().Draw(t, "descending") {
				sign, word = -1, "desc"
			}
			parts = append(parts, "sort "+by+" "+word+", id")
			slices.SortFunc(rows, func(a, b record) int {
				c := cmp.Compare(a.ms, b.ms)
				if by == "level" { // "A" < "B" < "C" < "a1" < "a12" is the natural order
					c = strings.Compare(a.level, b.level)
				}
				return cmp.Or(sign*c, cmp.Compare(a.id, b.id))
			})
		case "limit":
			n := rapid.IntRange(1, 20).Draw(t, "limit")
			parts = append(parts, "limit "+strconv.Itoa(n))
			rows = rows[:min(n, len(rows))]
		}
	}
	if rapid.Bool().Draw(t, "dedup") {
		parts = append(parts, "dedup level")
		seen := map[string]bool{}
		rows = slices.DeleteFunc(rows, func(r record) bool {
			repeated := r.level != "" && seen[r.level]
			seen[r.level] = true
			return repeated
		})
	}
	for _, r := range rows {
		want = append(want, strconv.Itoa(r.id))
	}
	return strings.Join(parts, " | "), want
}

// TestCollector checks that a collector with a small limit, which drops rows all the time, keeps those that sorting
// everything would keep.
func TestCollector(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(1, 5).Draw(t, "limit")
		n := rapid.IntRange(0, 4000).Draw(t, "rows")
		step := rapid.SampledFrom([]int{1, 7, 3989, 3990}).Draw(t, "step") // ascending, mixed, descending times
		levels := rapid.IntRange(1, 9).Draw(t, "levels")
		q, err := Parse(fmt.Sprintf("fields id | sort @timestamp asc | dedup level | limit %d", limit))
		if err != nil {
			t.Fatal(err)
		}
		r := q.Start(0, "", 0)
		first := map[string]record{}
		for i := range n {
			c := record{id: i, at: int64(i * step % 3991), level: "L" + strconv.Itoa(i*i%levels)}
			e := c.event()
			if err := r.Add(&e); err != nil {
				t.Fatal(err)
			}
			if old, ok := first[c.level]; !ok || c.at < old.at {
				first[c.level] = c
			}
		}
		rows, err := r.Finish()
		var want, got []int
		for _, c := range first {
			want = append(want, int(c.at))
		}
		slices.Sort(want)
		want = want[:min(limit, len(want))]
		for _, row := range rows {
			id, errID := strconv.Atoi(row[0].Value)
			if errID != nil {
				t.Fatal(errID)
			}
			got = append(got, id*step%3991)
		}
		if err != nil || !slices.Equal(got, want) {
			t.Fatalf("got %v, %v, want %v", got, err, want)
		}
		if r.memory > 2*r.Size() {
			t.Fatalf("%d bytes are kept for %d bytes of results", r.memory, r.Size())
		}
	})
}

// TestStatsAgainstReference compares random groups with sums over whole lists.
func TestStatsAgainstReference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := rapid.SliceOfN(records, 0, 60).Draw(t, "events")
		q, err := Parse("stats count(*), sum(ms), min(ms), max(ms), pct(ms, 90), count_distinct(ms), latest(ms) by coalesce(level, '-') as l")
		if err != nil {
			t.Fatal(err)
		}
		r := q.Start(0, "", 0)
		groups := map[string][]record{}
		for i, c := range all {
			c.id = i
			e := c.event()
			if err := r.Add(&e); err != nil {
				t.Fatal(err)
			}
			groups[cmp.Or(c.level, "-")] = append(groups[cmp.Or(c.level, "-")], c)
		}
		rows, err := r.Finish()
		if err != nil || len(rows) != len(groups) {
			t.Fatalf("%d rows, %v, want %d", len(rows), err, len(groups))
		}
		for _, row := range rows {
			g := groups[row[0].Value]
			var ms []int
			sum, latest := 0, g[0]
			for _, c := range g {
				ms, sum = append(ms, c.ms), sum+c.ms
				if c.at >= latest.at {
					latest = c
				}
			}
			slices.Sort(ms)
			rank := (len(ms)*9 + 9) / 10
			want := fmt.Sprintln(len(g), sum, ms[0], ms[len(ms)-1], ms[rank-1], len(slices.Compact(slices.Clone(ms))), latest.ms)
			var got []any
			for _, f := range row[1:] {
				got = append(got, f.Value)
			}
			if fmt.Sprintln(got...) != want {
				t.Fatalf("%s: got %v, want %s", row[0].Value, got, want)
			}
		}
	})
}

// BenchmarkQuery runs queries over events as a job prints them. One operation is one event.
func BenchmarkQuery(b *testing.B) {
	for _, query := range []string{"filter @message like /ERROR/ | stats count(*)", "filter @message like 'ERROR' | limit 20",
		"fields @timestamp, @message | sort @timestamp desc | limit 20", "filter level = 'ERROR' | stats avg(ms) by bin(5m)",
		"parse @message '*level\": \"*\"*' as a, b, c | stats count(*) by b"} {
		b.Run(strings.NewReplacer(" ", "_", "/", "|").Replace(query), func(b *testing.B) {
			q, err := Parse(query)
			if err != nil {
				b.Fatal(err)
			}
			r := q.Start(0, "", 0)
			message := []byte(`{"time": "2026-01-02T03:04:05Z", "level": "INFO", "ms": 17, "text": "the epoch ended with a loss of 0.123"}`)
			b.ReportAllocs()
			b.SetBytes(int64(len(message)))
			for i := range b.N {
				if err := r.Add(&Event{Timestamp: int64(i), Position: int64(i), Message: string(message)}); err != nil {
					b.Fatal(err)
				}
			}
			if _, err := r.Finish(); err != nil {
				b.Fatal(err)
			}
		})
	}
}
