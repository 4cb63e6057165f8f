package graph

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// samples are the graphs of the golden files.
func samples() map[string]*Graph {
	return map[string]*Graph{
		"one":     {Nodes: []Node{{Name: "resnet-train", Queue: "gpu-job-queue", Labels: []string{"1 GPU"}}}},
		"none":    {Name: "nothing"},
		"chain":   chain(),
		"diamond": diamond(),
		"running": running(),
		"random":  randomGraph(30, 7),
		"fan":     fan(100),
		"names":   longNames(),
		"when":    conditions(),
		"forest":  forest(),
		"hostile": hostile(),
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
		Edges: []Edge{{0, 1, ""}, {1, 2, NToN}, {2, 3, ""}},
	}
}

func diamond() *Graph {
	return &Graph{
		Name:  "diamond",
		Nodes: []Node{{Name: "a", Queue: "q"}, {Name: "b", Queue: "q"}, {Name: "c", Queue: "q"}, {Name: "d", Queue: "q"}},
		Edges: []Edge{{0, 1, ""}, {0, 2, ""}, {1, 3, ""}, {2, 3, ""}},
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
		Edges: []Edge{{0, 1, ""}, {0, 2, ""}, {1, 3, ""}, {2, 4, ""}, {3, 4, ""}, {1, 1, Sequential}},
	}
}

func conditions() *Graph {
	return &Graph{
		Nodes: []Node{{Name: "build"}, {Name: "test", Kind: Array, Labels: []string{"array of 8"}}, {Name: "page-me", Labels: []string{"when: failure"}},
			{Name: "clean-up"}, {Name: "join-1", Kind: Join, Labels: []string{"join"}}},
		Edges: []Edge{{0, 1, ""}, {1, 2, Failure}, {1, 3, Always}, {0, 3, Always}, {2, 4, Always}, {3, 4, ""}, {0, 4, "new-type"}},
	}
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
		Edges: []Edge{{0, 1, ""}, {1, 2, NToN}, {0, 3, ""}, {2, 3, ""}, {3, 4, ""}},
	}
}

// forest has jobs that nothing joins, and two workflows.
func forest() *Graph {
	g := &Graph{Name: "forest"}
	for i := range 11 {
		g.Nodes = append(g.Nodes, Node{Name: fmt.Sprintf("single-%d", i)})
	}
	g.Nodes = append(g.Nodes, Node{Name: "a1"}, Node{Name: "a2"}, Node{Name: "b1"}, Node{Name: "b2"}, Node{Name: "b3"}, Node{Name: "b4"})
	g.Edges = []Edge{{11, 12, ""}, {13, 14, ""}, {14, 15, ""}, {13, 16, ""}, {16, 15, ""}}
	return g
}

// hostile holds what means something to XML, DOT, a terminal or a browser.
func hostile() *Graph {
	return &Graph{
		Name: `</title><script>alert("1")</script>`,
		Nodes: []Node{{Name: `<b>&"'\`, Labels: []string{"a\nb", "\x1b[31mred\x00"}, Queue: `q\"; }`}, {Name: "bidi\u202eevil", Status: `"odd"><x`},
			{Name: "", Counts: map[string]int{"<&>": 3, "RUNNING": 0}}},
		Edges: []Edge{{0, 1, `"]; x [`}, {1, 2, "]]>"}},
	}
}
