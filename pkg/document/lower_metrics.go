package document

import (
	"slices"
	"strconv"

	"github.com/batchctl/batchctl/pkg/results"
)

// metrics reads the metrics of a job and checks each of them.
func (l *lowering) metrics(job *Job) {
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
			wrong, hint = "the metric "+strconv.Quote(m.Name)+" has the name of a value of the array",
				"give the metric another name"
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
