package cost

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/batch/types"
	"pgregory.net/rapid"

	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/ladder"
	"github.com/batchctl/batchctl/pkg/plan"
)

func jsonOf(t testing.TB, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// rounded is a rate without what floating point adds to its figures.
func rounded(r Rate) Rate {
	for _, f := range []*float64{&r.Share, &r.Whole, &r.Least, &r.Highest, &r.Alone} {
		*f = math.Round(*f*1e9) / 1e9
	}
	if r.Spot != nil {
		s := *r.Spot
		s.Low, s.High = math.Round(s.Low*1e9)/1e9, math.Round(s.High*1e9)/1e9
		r.Spot = &s
	}
	return r
}

func ran(seconds ...float64) func(plan.JobReview) History {
	return func(plan.JobReview) History { return HistoryOf(seconds) }
}

// with sets what a job's bounds are made of.
func with(j *plan.Job, name string, timeout, attempts, children int32) *plan.Job {
	j.Name, j.Submit.JobName = name, &name
	if timeout > 0 {
		j.Submit.Timeout = &types.JobTimeout{AttemptDurationSeconds: &timeout}
	}
	if attempts > 1 {
		j.Submit.RetryStrategy = &types.RetryStrategy{Attempts: &attempts}
	}
	if children > 1 {
		j.Submit.ArrayProperties = &types.ArrayProperties{Size: &children}
	}
	return j
}

func TestBefore(t *testing.T) {
	w := world(map[string][]string{"one": {"EC2 m5.large"}, "spot": {"SPOT m5.xlarge"}})
	tidy := with(job("one", "1", "1024", ""), "tidy", 3600, 1, 1)
	tidy.When = document.WhenFailure
	tagged := with(job("one", "1", "1024", ""), "tagged", 3600, 3, 1)
	tagged.Submit.Tags = map[string]string{"team": "a"}
	part := with(job("one", "1", "1024", ""), "sweep-0", 1800, 2, 100)
	part.Group = "sweep"
	made := &plan.Plan{Jobs: []*plan.Job{tagged, part, with(job("one", "1", "1024", ""), "endless", 0, 5, 1), with(job("spot", "4", "1024", ""), "cheap", 3600, 1, 1), tidy}}
	list := Before("flow", made.Review(w, nil, prices(t)), prices(t), ran(900, 2700))
	for i, want := range []string{"0.025 to 0.3 USD", "2.50 to 10.00 USD", "0.025 USD or more", "up to 0.24 USD", "0 to 0.1 USD"} {
		if got := list[i].Cost.String(); got != want {
			t.Errorf("%s costs %s, want %s", list[i].Job, got, want)
		}
	}
	total := Total(list)
	if got := jsonOf(t, total.Cost.High.Without); got != `[{"count":1,"why":"`+NoTimeout+`"}]` {
		t.Errorf("the upper bound is without %s", got)
	}
	for by, want := range map[By]string{
		ByJob: "tagged sweep-0 endless cheap tidy", ByArray: "(no array) sweep", ByWorkflow: "flow", "tag:team": "a (no tag team)",
	} {
		var names []string
		for _, g := range Together(list, by) {
			names = append(names, g.Name)
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("by %s: %s, want %s", by, got, want)
		}
	}
	if unknown := Before("flow", made.Review(w, nil, prices(t)), prices(t), ran()); unknown[0].Cost.String() != "up to 0.3 USD" || unknown[2].Cost.String() != "unknown" {
		t.Errorf("without earlier runs: %s, %s", unknown[0].Cost, unknown[2].Cost)
	}
}

// An earlier run may have been longer than the timeout is now.
// TestBeforeWithRungs checks that the upper end covers every job that may follow, on the largest and
// most expensive machine.
func TestBeforeWithRungs(t *testing.T) {
	w := world(map[string][]string{"one": {"EC2 m5.large", "EC2 m5.xlarge"}, "large": {"EC2 m5.xlarge"}})
	high := func(l ladder.Ladder) float64 {
		j := with(job("one", "1", "1024", ""), "climbs", 3600, 1, 1)
		j.Ladder = l
		all := Before("", (&plan.Plan{Jobs: []*plan.Job{j}}).Review(w, nil, prices(t)), prices(t), ran())
		if without := all[0].Cost.High.Without; len(without) > 0 {
			t.Fatal(without)
		}
		return all[0].Cost.High.USD
	}
	none := high(nil)
	retries := high(ladder.Ladder{{Cause: ladder.HostError, Attempts: 2}})
	memory := high(ladder.Ladder{{Cause: ladder.OutOfMemory, Factor: 2, UpToMiB: 12 * 1024}})
	queue := high(ladder.Ladder{{Cause: ladder.SpotReclaim, Attempts: 1, Queue: "large"}})
	// m5.large costs 0.1 and m5.xlarge 0.24 an hour: 1 to 12 GiB takes 4 more jobs.
	if none != 0.24 || math.Abs(retries-3*0.24) > 1e-9 || math.Abs(memory-5*0.24) > 1e-9 || math.Abs(queue-3*0.24) > 1e-9 {
		t.Errorf("without rungs %g, with 2 retries %g, with memory %g, with another queue %g", none, retries, memory, queue)
	}
}

func TestLowKeepsToTimeout(t *testing.T) {
	w := world(map[string][]string{"one": {"EC2 m5.large"}})
	made := &plan.Plan{Jobs: []*plan.Job{with(job("one", "2", "1024", ""), "a", 60, 1, 1)}}
	if c := Before("", made.Review(w, nil, prices(t)), prices(t), ran(7200))[0].Cost; c.Low.USD != c.High.USD {
		t.Errorf("it costs %s", c)
	}
}

func TestBy(t *testing.T) {
	for by, want := range map[By]bool{"job": true, "array": true, "workflow": true, "tag:a": true, "tag:": false, "": false, "queue": false} {
		if by.Valid() != want {
			t.Errorf("%q is valid: %v", by, !want)
		}
	}
}

// drawn is a job with bounds of its own.
func drawn(t *rapid.T) *plan.Job {
	j := job(rapid.SampledFrom([]string{"one", "two", "spot", "fargate"}).Draw(t, "queue"), rapid.SampledFrom([]string{"1", "2"}).Draw(t, "vcpus"), "4096", "")
	return with(j, rapid.StringMatching("[a-c]").Draw(t, "name"), rapid.SampledFrom([]int32{0, 60, 61, 300, 3600, 86_400, 1e6}).Draw(t, "timeout"), rapid.Int32Range(1, 10).Draw(t, "attempts"), rapid.Int32Range(1, 10000).Draw(t, "children"))
}

func TestBeforeProperties(t *testing.T) {
	w := world(map[string][]string{"one": {"EC2 m5.large"}, "two": {"EC2 m5.xlarge", "EC2 m5.large"}, "spot": {"SPOT m5.large", "EC2 m5.xlarge"}, "fargate": {"FARGATE_SPOT", "FARGATE"}})
	table := prices(t)
	rapid.Check(t, func(t *rapid.T) {
		jobs := rapid.SliceOfN(rapid.Custom(drawn), 1, 5).Draw(t, "jobs")
		seconds := rapid.SliceOfN(rapid.Float64Range(0, 1e6), 0, 5).Draw(t, "seconds")
		of := func(jobs ...*plan.Job) []Estimate {
			return Before("p", (&plan.Plan{Jobs: jobs}).Review(w, nil, table), table, ran(seconds...))
		}
		list := of(jobs...)
		total := Total(list).Cost
		for _, by := range []By{ByJob, ByArray, ByWorkflow, "tag:x"} {
			var sum Range
			for _, g := range Together(list, by) {
				sum = sum.Plus(g.Cost)
			}
			if !near(sum.Low.USD, total.Low.USD) || !near(sum.High.USD, total.High.USD) || sum.High.missing() != total.High.missing() || sum.Low.missing() != total.Low.missing() {
				t.Fatalf("by %s: %v, in all %v", by, sum, total)
			}
		}
		for i, e := range list {
			if e.Cost.Low.USD < 0 || e.Cost.High.USD < 0 || e.Cost.Low.Known() && e.Cost.High.Known() && e.Cost.Low.USD > e.Cost.High.USD {
				t.Fatalf("%s costs %v", e.Job, e.Cost)
			}
			if e.Cost.High.Known() != (e.TimeoutSeconds > 0) {
				t.Fatalf("a timeout of %d: %v", e.TimeoutSeconds, e.Cost.High)
			}
			if e.TimeoutSeconds == 0 {
				continue
			}
			for what, longer := range map[string]*plan.Job{
				"timeout":  again(jobs[i], e.TimeoutSeconds+1, int64(e.Attempts), int64(e.Children)),
				"attempts": again(jobs[i], e.TimeoutSeconds, int64(e.Attempts)+1, int64(e.Children)),
				"children": again(jobs[i], e.TimeoutSeconds, int64(e.Attempts), int64(e.Children)+1),
			} {
				if more := of(longer)[0].Cost; more.High.USD <= e.Cost.High.USD || more.Low.USD < e.Cost.Low.USD {
					t.Fatalf("with more %s: %v, before %v", what, more, e.Cost)
				}
			}
		}
	})
}

// again is a job with other bounds.
func again(j *plan.Job, timeout, attempts, children int64) *plan.Job {
	submit := *j.Submit
	return with(&plan.Job{Register: j.Register, Submit: &submit}, j.Name, int32(timeout), int32(attempts), int32(children))
}

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-9*max(1, math.Abs(a), math.Abs(b)) }

func TestHistoryOf(t *testing.T) {
	if h := HistoryOf(nil); h.Runs != 0 || h.Unknown == "" {
		t.Errorf("no runs: %+v", h)
	}
	rapid.Check(t, func(t *rapid.T) {
		seconds := rapid.SliceOfN(rapid.Float64Range(0, 1e9), 1, 30).Draw(t, "seconds")
		before := slices.Clone(seconds)
		h := HistoryOf(seconds)
		below, above := 0, 0
		for _, s := range seconds {
			if s < h.Median && !near(s, h.Median) {
				below++
			}
			if s > h.Median && !near(s, h.Median) {
				above++
			}
		}
		if h.Runs != len(seconds) || below > len(seconds)/2 || above > len(seconds)/2 || !slices.Equal(before, seconds) {
			t.Fatalf("%v has the median %v: %d below, %d above", seconds, h.Median, below, above)
		}
	})
	if h := HistoryOf([]float64{9, 1, 4, 2}); h.Median != 3 {
		t.Errorf("the median of four is %v", h.Median)
	}
}

func TestOver(t *testing.T) {
	w := world(map[string][]string{"one": {"EC2 m5.large"}, "theirs": {"UNMANAGED"}})
	bounded := func() *plan.Job { return with(job("one", "1", "1024", ""), "train", 36000, 3, 10) } // 30 USD
	for _, c := range []struct {
		jobs     []*plan.Job
		most     float64
		why, fix string
	}{
		{[]*plan.Job{bounded()}, 30, "", ""},
		{[]*plan.Job{with(job("one", "1", "1024", ""), "a", 3600, 3, 1)}, 0.3, "", ""}, // 0.1 x 3 is not 0.3 in binary
		{[]*plan.Job{bounded()}, 15, "the jobs may cost 30.00 USD, more than the limit of 15.00 USD",
			"train is the most expensive, up to 30.00 USD; lower it by a timeout of 5h, fewer attempts than 3, fewer children than 10"},
		{[]*plan.Job{bounded()}, 29.998, "the jobs may cost 30.000 USD, more than the limit of 29.998 USD",
			"train is the most expensive, up to 30.00 USD; lower it by a timeout of 9h59m, fewer attempts than 3, fewer children than 10"},
		{[]*plan.Job{bounded(), bounded()}, 45, "the jobs may cost 60.00 USD, more than the limit of 45.00 USD",
			// Half of one is too much.
			"train is the most expensive, up to 30.00 USD; lower it by a timeout of 5h, fewer attempts than 3, fewer children than 10"},
		{[]*plan.Job{bounded(), bounded()}, 20, "the jobs may cost 60.00 USD, more than the limit of 20.00 USD",
			// Also without one.
			"train is the most expensive, up to 30.00 USD; lower it by fewer attempts than 3, fewer children than 10"},
		{[]*plan.Job{with(job("one", "1", "1024", ""), "a", 60, 1, 1)}, 0, "the jobs may cost 0.00167 USD, more than the limit of 0 USD", "a is the most expensive, up to 0.00167 USD; lower it by a smaller machine"},
		{[]*plan.Job{bounded(), with(job("one", "1", "1024", ""), "b", 0, 1, 1)}, 1000, "cannot tell whether the jobs stay within 1000.00 USD: " + NoTimeout + " (1 of 2)",
			`give b a timeout: "timeout": "1h"`},
		{[]*plan.Job{with(job("theirs", "1", "1024", ""), "c", 60, 1, 1)}, 5, "cannot tell whether the jobs stay within 5.00 USD: the instances of an unmanaged environment are unknown (1 of 1)",
			"add these prices: --prices FILE; or name a queue with known instance types: --queue QUEUE"},
	} {
		list := Before("", (&plan.Plan{Jobs: c.jobs}).Review(w, nil, prices(t)), prices(t), ran())
		over := Over(list, c.most)
		if over == nil {
			over = &Excess{}
		}
		if over.Why != c.why || over.Fix != c.fix {
			t.Errorf("at most %v:\n got %s; %s\nwant %s; %s", c.most, over.Why, over.Fix, c.why, c.fix)
		}
	}
}

func TestParseUSD(t *testing.T) {
	for word, want := range map[string]float64{"20": 20, "0.50": 0.5, "$3": 3, "4 USD": 4, "4USD": 4, "0": 0, "1e2": 100} {
		if got, err := ParseUSD(word); err != nil || got != want {
			t.Errorf("%s is %v, %v", word, got, err)
		}
	}
	for _, word := range []string{"", "-1", "NaN", "Inf", "4 EUR", "USD", "1,5"} {
		if got, err := ParseUSD(word); err == nil {
			t.Errorf("%q is %v", word, got)
		}
	}
}
