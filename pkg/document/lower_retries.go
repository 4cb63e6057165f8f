package document

import (
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// retryStrategy returns the strategy of the requests; a number is short for its attempts.
func (l *lowering) retryStrategy() *jsontree.Node {
	m := l.job.Get("retryStrategy")
	if !m.Is(jsontree.Number) {
		return l.arena.Clone(m)
	}
	out := l.object(m)
	out.Set("attempts", l.arena.Clone(m))
	return out
}

// timeout returns the timeout of the requests; a text such as "2h" is short for an object.
func (l *lowering) timeout() *jsontree.Node {
	m := l.job.Get("timeout")
	if !m.Is(jsontree.String) {
		return l.arena.Clone(m)
	}
	n := l.duration(m)
	if n < 0 {
		return nil
	}
	out := l.object(m)
	out.Set("attemptDurationSeconds", l.number(n, m))
	return out
}
