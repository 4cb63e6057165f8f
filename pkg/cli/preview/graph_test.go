package preview

import (
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/client/once"
	"github.com/batchctl/batchctl/pkg/graph"
)

// TestMarkCritical checks the durations of a chain of jobs, and where its critical path ends.
func TestMarkCritical(t *testing.T) {
	at := func(seconds int64) *int64 { return aws.Int64(1_000_000 + 1000*seconds) }
	now := time.UnixMilli(*at(100))
	first := types.JobDetail{Status: types.JobStatusSucceeded, CreatedAt: at(0), StartedAt: at(5), StoppedAt: at(20)}
	array := &types.ArrayPropertiesDetail{Size: aws.Int32(3)}
	for name, c := range map[string]struct {
		second types.JobDetail
		labels []string // of both nodes; "-": not on the path
		note   string
	}{
		"ended":           {types.JobDetail{Status: types.JobStatusSucceeded, CreatedAt: at(0), StartedAt: at(30), StoppedAt: at(50)}, []string{"ran 15s", "ran 20s"}, "50s in all"},
		"array ended":     {types.JobDetail{Status: types.JobStatusFailed, CreatedAt: at(0), StoppedAt: at(50), ArrayProperties: array}, []string{"ran 15s", "took 30s"}, "50s in all"},
		"array":           {types.JobDetail{Status: types.JobStatusPending, CreatedAt: at(0), ArrayProperties: array}, []string{"ran 15s", "active for 1m20s"}, "1m40s so far"},
		"running":         {types.JobDetail{Status: types.JobStatusRunning, CreatedAt: at(0), StartedAt: at(60)}, []string{"ran 15s", "running for 40s"}, "1m40s so far"},
		"waiting":         {types.JobDetail{Status: types.JobStatusRunnable, CreatedAt: at(0)}, []string{"ran 15s", "waiting for 1m20s"}, "1m40s so far"},
		"submitted late":  {types.JobDetail{Status: types.JobStatusRunnable, CreatedAt: at(90)}, []string{"ran 15s", "waiting for 10s"}, "1m40s so far"},
		"waits for retry": {types.JobDetail{Status: types.JobStatusRunnable, CreatedAt: at(0), StartedAt: at(30), StoppedAt: at(40)}, []string{"ran 15s", "waiting for 1m20s"}, "1m40s so far"},
		"never started":   {types.JobDetail{Status: types.JobStatusFailed, CreatedAt: at(0), StoppedAt: at(21)}, []string{"ran 15s", ""}, "21s in all"},
		"forgotten":       {types.JobDetail{Status: once.StatusExpired, CreatedAt: at(0)}, []string{"ran 15s", "-"}, "20s in all"},
		"end unknown":     {types.JobDetail{Status: types.JobStatusFailed, CreatedAt: at(0)}, []string{"ran 15s", "-"}, "20s in all"},
	} {
		// The last node is a step that batchctl has not submitted.
		g := &graph.Graph{Nodes: make([]graph.Node, 3), Edges: []graph.Edge{{From: 0, To: 1}, {From: 1, To: 2}}}
		if err := markCritical(g, []once.Recalled{{JobDetail: first}, {JobDetail: c.second}}, now); err != nil {
			t.Fatal(err)
		}
		var labels []string
		for _, n := range g.Nodes[:2] {
			switch {
			case !n.Critical:
				labels = append(labels, "-")
			case len(n.Labels) == 0:
				labels = append(labels, "")
			default:
				labels = append(labels, n.Labels...)
			}
		}
		if !slices.Equal(labels, c.labels) || g.CriticalNote != c.note || g.Nodes[2].Critical {
			t.Errorf("%s: %q, %q, want %q, %q", name, labels, g.CriticalNote, c.labels, c.note)
		}
	}
}

// TestLinkOf checks which addresses --link accepts, and that no id ends its part of one.
func TestLinkOf(t *testing.T) {
	for template, want := range map[string]string{
		"":                         "",
		"/jobs/{id}":               "/jobs/a%3A1%2F..",
		"{id}":                     "a%3A1%2F..",
		"#job-{id}":                "#job-a%3A1%2F..",
		"HTTPS://example.com/{id}": "HTTPS://example.com/a%3A1%2F..",
		"http://[::1]:80/{id}":     "http://[::1]:80/a%3A1%2F..",
		"javascript:f('{id}')":     "refused",
		" javascript:{id}":         "refused",
		"java\tscript:{id}":        "refused",
		"data:text/html,{id}":      "refused",
		"{id}:x":                   "refused",
		"https:{id}":               "refused",
		"/jobs":                    "refused",
	} {
		got := ""
		link, err := linkOf(template)
		switch {
		case err != nil:
			got = "refused"
		case link != nil:
			got = link("a:1/..")
		}
		if got != want {
			t.Errorf("%q: %s, want %s", template, got, want)
		}
	}
}
