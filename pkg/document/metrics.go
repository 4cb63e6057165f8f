package document

import (
	"slices"
	"strconv"
	"strings"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/results"
)

// measure reads the metrics of a job and checks each of them.
func (l *lowering) measure(job *Job) {
	list := l.job.Get("metrics")
	if list.Len() == 0 || l.means == byFragment {
		return // reported with the conflicts
	}
	if m := l.severalContainers(job); m != nil {
		l.report(RuleMemberConflict, list, list.Key, `write the job with "image", or with "definition" and "command"`,
			"metrics work only in a job with one container, and this job has %s", m.Name)
		return
	}
	job.MetricsNode = list
	for m := range list.Children() {
		wrong, hint := results.CheckMetricName(m.Name)
		if l.sweep != nil && slices.Contains(l.sweep.Names, m.Name) {
			wrong, hint = "the metric "+strconv.Quote(m.Name)+" has the name of a value of the array", "give the metric another name"
		}
		if wrong != "" {
			l.report(RuleBadValue, m, m.Key, hint, "%s", wrong)
		}
		if fault := results.CheckExpression(m.Str()); fault != nil {
			l.report(RuleBadValue, m, placeIn(m, fault.Start, fault.End), fault.Hint, "%s", fault.Message)
		}
		job.Metrics = append(job.Metrics, results.Metric{Name: m.Name, Expression: m.Str()})
	}
}

// measureNative adds the metrics of a job to a copy of its submission, as pkg/plan does for requests that are sent.
func measureNative(job *Job, submit *jsontree.Node) {
	if len(job.Metrics) == 0 {
		return
	}
	environmentOf(submit).Append(newVariable(results.MetricsVariable, results.FormatMetrics(job.Metrics), submit))
}

// withoutMetrics finds the metrics in a submission. It returns a copy of the submission without them, and the member
// of a job from which lowering adds them again; nil if it would not add the same.
func withoutMetrics(submit *jsontree.Node) (rest, metrics *jsontree.Node) {
	v, rest := cutLast(submit, results.MetricsVariable)
	if v == nil {
		return submit, nil
	}
	text := v.Get("value").Str()
	list, err := results.ListMetrics(text)
	if err != nil || len(list) == 0 || results.FormatMetrics(list) != text || strings.Contains(text, referenceMark) {
		return submit, nil
	}
	metrics = jsontree.NewObject(v)
	for _, m := range list {
		if wrong, _ := results.CheckMetricName(m.Name); wrong != "" || results.CheckExpression(m.Expression) != nil || metrics.Get(m.Name) != nil {
			return submit, nil
		}
		metrics.Set(m.Name, jsontree.NewString(m.Expression, v))
	}
	return rest, metrics
}

// placeIn returns the place of a part of a string, from one byte of its value to another. It is the whole string if the
// source does not contain the value, which happens after a correction of the text.
func placeIn(n *jsontree.Node, from, to int) diag.Span {
	if n.Source == nil || n.Span.End-n.Span.Start < 2 || n.Span.End > len(n.Source.Text) {
		return n.Span
	}
	raw := n.Source.Text[n.Span.Start+1 : n.Span.End-1]
	if len(raw) == len(n.Text) {
		return diag.Span{Start: n.Span.Start + 1 + from, End: n.Span.Start + 1 + max(to, from)}
	}
	start, end, value := -1, -1, 0
	for at := 0; ; {
		if value >= from && start < 0 {
			start = at
		}
		if value >= to && end < 0 {
			end = at
		}
		if at >= len(raw) {
			break
		}
		size, bytes := characterAt(raw[at:])
		at, value = at+size, value+bytes
	}
	if value != len(n.Text) || start < 0 || end < 0 {
		return n.Span
	}
	return diag.Span{Start: n.Span.Start + 1 + start, End: n.Span.Start + 1 + end}
}

// characterAt returns the length of the first character of a JSON string as written, and of its value in UTF-8.
func characterAt(raw string) (size, bytes int) {
	unit := func(s string) (rune, bool) {
		if len(s) < 6 || s[:2] != `\u` {
			return 0, false
		}
		v, err := strconv.ParseUint(s[2:6], 16, 16)
		return rune(v), err == nil
	}
	if raw[0] != '\\' {
		return 1, 1
	}
	first, ok := unit(raw)
	if !ok {
		return min(2, len(raw)), 1
	}
	if second, ok := unit(raw[6:]); ok && first >= 0xd800 && first < 0xdc00 && second >= 0xdc00 && second < 0xe000 {
		return 12, 4
	}
	return 6, len(string(first)) // a lone half becomes the replacement character
}
