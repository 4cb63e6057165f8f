package graph

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// samples are the graphs of the golden files.
func samples() map[string]*Graph {
	return map[string]*Graph{
		"one":      {Nodes: []Node{{Name: "resnet-train", Queue: "gpu-job-queue", Labels: []string{"1 GPU"}}}},
		"none":     {Name: "nothing"},
		"chain":    chain(),
		"diamond":  diamond(),
		"running":  running(),
		"random":   randomGraph(30, 7),
		"fan":      fan(100),
		"names":    longNames(),
		"when":     conditions(),
		"critical": critical(),
		"forest":   forest(),
		"hostile":  hostile(),
	}
}

func chain() *Graph {
	return &Graph{
		Name: "training",
		Nodes: []Node{
			{Name: "prepare", Queue: "cpu-job-queue"},
			{Name: "sweep", Kind: Array, Queue: "gpu-job-queue", Labels: []string{"matrix lr x seed, 6 cells", "1 GPU"}},
			{Name: "score", Kind: Array, Queue: "cpu-job-queue", Labels: []string{"array of 10000"}},
			{Name: "report", Queue: "cpu-job-queue"},
		},
		Edges: []Edge{{From: 0, To: 1}, {From: 1, To: 2, Type: NToN}, {From: 2, To: 3}},
	}
}

func diamond() *Graph {
	return &Graph{
		Name:  "diamond",
		Nodes: []Node{{Name: "a", Queue: "q"}, {Name: "b", Queue: "q"}, {Name: "c", Queue: "q"}, {Name: "d", Queue: "q"}},
		Edges: []Edge{{From: 0, To: 1}, {From: 0, To: 2}, {From: 1, To: 3}, {From: 2, To: 3}},
	}
}

func running() *Graph {
	return &Graph{
		Name: "nightly",
		Nodes: []Node{
			{Name: "prepare", Queue: "cpu", Status: "SUCCEEDED"},
			{Name: "train", Kind: Array, Queue: "gpu", Labels: []string{"array of 10000", "1 GPU"}, Status: "PENDING",
				Counts: map[string]int{"SUCCEEDED": 7000, "FAILED": 3, "RUNNING": 512, "RUNNABLE": 2485}},
			{Name: "measure", Queue: "cpu", Status: "FAILED"},
			{Name: "collect", Queue: "cpu", Status: "PENDING"},
			{Name: "report", Queue: "cpu", Status: "PENDING"},
			{Name: "alone", Queue: "cpu", Status: "RUNNABLE"},
		},
		Edges: []Edge{{From: 0, To: 1}, {From: 0, To: 2}, {From: 1, To: 3}, {From: 2, To: 4}, {From: 3, To: 4}, {From: 1, To: 1, Type: Sequential}},
	}
}

func conditions() *Graph {
	return &Graph{
		Nodes: []Node{{Name: "build"}, {Name: "test", Kind: Array, Labels: []string{"array of 8"}}, {Name: "page-me", Labels: []string{"when: failure"}},
			{Name: "clean-up"}, {Name: "join-1", Kind: Join, Labels: []string{"join"}}},
		Edges: []Edge{{From: 0, To: 1}, {From: 1, To: 2, Type: Failure}, {From: 1, To: 3, Type: Always}, {From: 0, To: 3, Type: Always}, {From: 2, To: 4, Type: Always}, {From: 3, To: 4}, {From: 0, To: 4, Type: "new-type"}},
	}
}

// critical has a critical path over each type of edge, and links.
func critical() *Graph {
	g := &Graph{
		Name: "nightly", CriticalNote: "1h12m in all",
		Nodes: []Node{
			{Name: "prepare", Queue: "cpu", Labels: []string{"ran 2m10s"}, Status: "SUCCEEDED", Link: "/jobs/1?a=b&c=%22"},
			{Name: "check", Queue: "cpu", Status: "SUCCEEDED", Link: "/jobs/2"},
			{Name: "train", Kind: Array, Queue: "gpu", Labels: []string{"array of 100", "took 1h2m"}, Status: "FAILED",
				Counts: map[string]int{"SUCCEEDED": 97, "FAILED": 3}, Link: "/jobs/3"},
			{Name: "score", Kind: Array, Queue: "gpu", Labels: []string{"array of 100", "took 12s"}, Status: "FAILED",
				Counts: map[string]int{"SUCCEEDED": 90, "FAILED": 10}, Link: "/jobs/4"},
			{Name: "page-me", Queue: "cpu", Labels: []string{"ran 3s"}, Status: "SUCCEEDED", Link: "/jobs/5"},
			{Name: "clean-up", Queue: "cpu", Labels: []string{"ran 5m3s"}, Status: "RUNNING", Link: "/jobs/6"},
			{Name: "report", Queue: "cpu", Status: "SKIPPED", Labels: []string{"not needed: score failed"}},
		},
		Edges: []Edge{{From: 0, To: 1}, {From: 0, To: 2}, {From: 1, To: 3, Type: Always}, {From: 2, To: 3, Type: NToN},
			{From: 3, To: 4, Type: Failure}, {From: 4, To: 5, Type: Always}, {From: 0, To: 5}, {From: 3, To: 6}},
	}
	if _, err := g.MarkCritical([]Times{{1, 10}, {1, 11}, {1, 90}, {1, 95}, {95, 99}, {99, 0}, {}}); err != nil {
		panic(err)
	}
	return g
}

// randomGraph has n jobs and about two edges for each, the same for the same seed.
func randomGraph(n int, seed uint64) *Graph {
	r := rand.New(rand.NewPCG(seed, seed))
	g := &Graph{Name: fmt.Sprintf("%d jobs", n)}
	for i := range n {
		node := Node{Name: fmt.Sprintf("job-%02d", i), Queue: []string{"cpu", "gpu"}[r.IntN(2)]}
		if r.IntN(4) == 0 {
			node.Kind, node.Labels = Array, []string{fmt.Sprintf("array of %d", 2+r.IntN(999))}
		}
		g.Nodes = append(g.Nodes, node)
		for range r.IntN(4) {
			if i > 0 {
				g.Edges = append(g.Edges, Edge{From: max(0, i-1-r.IntN(8)), To: i})
			}
		}
	}
	return g
}

func fan(n int) *Graph {
	g := &Graph{Name: "fan"}
	for i := range n {
		g.Nodes = append(g.Nodes, Node{Name: fmt.Sprintf("shard-%03d", i), Queue: "cpu"})
		g.Edges = append(g.Edges, Edge{From: i, To: n})
	}
	g.Nodes = append(g.Nodes, Node{Name: "merge", Queue: "cpu"})
	return g
}

func longNames() *Graph {
	long := func(end string) string { return strings.Repeat("a-very-long-name_", 9)[:120-len(end)] + end }
	return &Graph{
		Nodes: []Node{{Name: long("-first"), Queue: strings.Repeat("q", 128)}, {Name: long("-second"), Kind: Array, Labels: []string{"array of 100", strings.Repeat("label ", 20)}},
			{Name: strings.Repeat("x", 128)}, {Name: "short"}, {Name: strings.Repeat("名前の長いジョブ", 8)}},
		Edges: []Edge{{From: 0, To: 1}, {From: 1, To: 2, Type: NToN}, {From: 0, To: 3}, {From: 2, To: 3}, {From: 3, To: 4}},
	}
}

// forest has jobs that nothing joins, and two workflows.
func forest() *Graph {
	g := &Graph{Name: "forest"}
	for i := range 11 {
		g.Nodes = append(g.Nodes, Node{Name: fmt.Sprintf("single-%d", i)})
	}
	g.Nodes = append(g.Nodes, Node{Name: "a1"}, Node{Name: "a2"}, Node{Name: "b1"}, Node{Name: "b2"}, Node{Name: "b3"}, Node{Name: "b4"})
	g.Edges = []Edge{{From: 11, To: 12}, {From: 13, To: 14}, {From: 14, To: 15}, {From: 13, To: 16}, {From: 16, To: 15}}
	return g
}

// hostile holds what means something to XML, DOT, a terminal or a browser.
func hostile() *Graph {
	return &Graph{
		Name: `</title><script>alert("1")</script>`,
		Nodes: []Node{{Name: `<b>&"'\`, Labels: []string{"a\nb", "\x1b[31mred\x00"}, Queue: `q\"; }`}, {Name: "bidi\u202eevil", Status: `"odd"><x`},
			{Name: "", Counts: map[string]int{"<&>": 3, "RUNNING": 0}}},
		Edges: []Edge{{From: 0, To: 1, Type: `"]; x [`}, {From: 1, To: 2, Type: "]]>"}},
	}
}
