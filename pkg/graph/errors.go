package graph

import (
	"fmt"
	"strings"

	"github.com/batchctl/batchctl/pkg/draw"
)

// CycleError is a graph in which jobs wait for each other.
type CycleError struct {
	// Names are the jobs of the cycle. Each waits for the one before it, the first for the last.
	Names []string
}

// Error names the jobs of the cycle.
func (e *CycleError) Error() string {
	if len(e.Names) == 1 {
		return fmt.Sprintf("%s waits for itself: remove that dependency", draw.OneLine(e.Names[0]))
	}
	names := make([]string, len(e.Names), len(e.Names)+1)
	for i, n := range e.Names {
		names[i] = draw.OneLine(n)
	}
	return fmt.Sprintf("jobs wait for each other: %s: remove one of these dependencies",
		strings.Join(append(names, names[0]), " -> "))
}

// EdgeError is an edge between nodes that do not exist.
type EdgeError struct {
	Edge  Edge
	Nodes int // the number of nodes
}

// Error shows the edge and the valid indexes.
func (e *EdgeError) Error() string {
	if e.Nodes == 0 {
		return fmt.Sprintf("edge from node %d to node %d: there are no nodes", e.Edge.From, e.Edge.To)
	}
	return fmt.Sprintf("edge from node %d to node %d: the nodes are 0 to %d", e.Edge.From, e.Edge.To, e.Nodes-1)
}
