package document

import (
	"fmt"
	"strconv"

	"github.com/batchctl/batchctl/pkg/jsontree"
)

// readSize reads a size in MiB. It reports an unreadable one, and returns -1.
func readSize(p *problems, m *jsontree.Node) int64 {
	return read(p, m, mebibytes, RuleResourceUnit, -1)
}

// readCount reads a number of vCPUs or GPUs; "" for an unreadable one.
func readCount(p *problems, m *jsontree.Node) string { return read(p, m, count, RuleResourceUnit, "") }

// readDuration reads a duration in seconds; -1 for an unreadable one.
func readDuration(p *problems, m *jsontree.Node) int64 { return read(p, m, seconds, RuleDuration, -1) }

// read reads a value with parse. It reports an unreadable one, and returns none.
func read[T any](p *problems, m *jsontree.Node, parse func(*jsontree.Node) (T, error), rule string, none T) T {
	value, err := parse(m)
	if err != nil {
		p.report(rule, m, m.Span, hintOf(err), "%s: %v", m.Name, err)
		return none
	}
	return value
}

// sizeNode returns a size in the largest unit that expresses it exactly, GiB or MiB.
func sizeNode(mib int64, from *jsontree.Node) *jsontree.Node {
	if mib%1024 == 0 {
		return jsontree.NewString(fmt.Sprintf("%d GiB", mib/1024), from)
	}
	return jsontree.NewString(fmt.Sprintf("%d MiB", mib), from)
}

// plainInt reads a number, in a node of this kind, that consists only of digits and is small enough for the short
// forms.
func plainInt(n *jsontree.Node, kind jsontree.Kind) (int64, bool) {
	if !n.Is(kind) {
		return 0, false
	}
	i, err := strconv.ParseInt(n.Text, 10, 32)
	return i, err == nil && i >= 0 && strconv.FormatInt(i, 10) == n.Text
}

// durationNode returns a duration in the form of a job file.
func durationNode(left int64, from *jsontree.Node) *jsontree.Node {
	text := ""
	for _, u := range [...]struct {
		seconds int64
		letter  string
	}{{86400, "d"}, {3600, "h"}, {60, "m"}, {1, "s"}} {
		if many := left / u.seconds; many > 0 {
			text += strconv.FormatInt(many, 10) + u.letter
			left %= u.seconds
		}
	}
	if text == "" {
		text = "0s"
	}
	return jsontree.NewString(text, from)
}
