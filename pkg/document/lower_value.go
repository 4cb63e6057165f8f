package document

import (
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// readSize reads a size in MiB. It reports an unreadable one, and returns -1.
func readSize(p *problems, m *jsontree.Node) int64 {
	mib, err := mebibytes(m)
	if err != nil {
		p.report(RuleResourceUnit, m, m.Span, hintOf(err), "%s: %v", m.Name, err)
		return -1
	}
	return mib
}

// readCount reads a number of vCPUs or GPUs; "" for an unreadable one.
func readCount(p *problems, m *jsontree.Node) string {
	n, err := count(m)
	if err != nil {
		p.report(RuleResourceUnit, m, m.Span, hintOf(err), "%s: %v", m.Name, err)
	}
	return n
}

// readDuration reads a duration in seconds; -1 for an unreadable one.
func readDuration(p *problems, m *jsontree.Node) int64 {
	n, err := seconds(m)
	if err != nil {
		p.report(RuleDuration, m, m.Span, hintOf(err), "%s: %v", m.Name, err)
		return -1
	}
	return n
}
