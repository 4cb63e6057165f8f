package document

import (
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// retryStrategy returns the strategy of the requests; a number is short for its attempts.
func retryStrategy(p *part, m *jsontree.Node) *jsontree.Node {
	if !m.Is(jsontree.Number) {
		return p.arena.Clone(m)
	}
	out := p.object(m)
	out.Set("attempts", p.arena.Clone(m))
	return out
}

// timeout returns the timeout of the requests; a text such as "2h" is short for an object.
func timeout(p *part, m *jsontree.Node) *jsontree.Node {
	if !m.Is(jsontree.String) {
		return p.arena.Clone(m)
	}
	n := readDuration(&p.problems, m)
	if n < 0 {
		return nil
	}
	out := p.object(m)
	out.Set("attemptDurationSeconds", p.number(n, m))
	return out
}
