package document

import (
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// retryStrategyMember is how often AWS Batch runs a job.
var retryStrategyMember = member{name: "retryStrategy", in: inDefinition, override: "retryStrategy",
	lower: retryStrategy, raise: attempts}

// timeoutMember is how long one attempt may run.
var timeoutMember = member{name: "timeout", in: inDefinition, override: "timeout", lower: timeout, raise: duration}

// retryStrategy returns the strategy of the requests; a number is short for its attempts.
func retryStrategy(l *lowering, m *jsontree.Node) *jsontree.Node {
	if !m.Is(jsontree.Number) {
		return l.arena.Clone(m)
	}
	out := l.object(m)
	out.Set("attempts", l.arena.Clone(m))
	return out
}

// timeout returns the timeout of the requests; a text such as "2h" is short for an object.
func timeout(l *lowering, m *jsontree.Node) *jsontree.Node {
	if !m.Is(jsontree.String) {
		return l.arena.Clone(m)
	}
	n := readDuration(&l.problems, m)
	if n < 0 {
		return nil
	}
	out := l.object(m)
	out.Set("attemptDurationSeconds", l.number(n, m))
	return out
}

// attempts returns a strategy without conditions as its number of attempts.
func attempts(strategy *jsontree.Node) *jsontree.Node {
	if n := strategy.Get("attempts"); n != nil && strategy.Len() == 1 {
		return n
	}
	return strategy
}

// duration returns a timeout as a text such as "2h".
func duration(timeout *jsontree.Node) *jsontree.Node {
	n := timeout.Get("attemptDurationSeconds")
	left, ok := plainInt(n, jsontree.Number)
	if !ok || timeout.Len() != 1 {
		return timeout
	}
	return durationNode(left, n)
}
