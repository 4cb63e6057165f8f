package document

import (
	"slices"
	"strconv"
	"strings"

	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/results"
)

// metricsMember is the numbers to find in the job's log.
var metricsMember = member{name: "metrics", oneContainer: true, read: readMetrics, references: metricsReferences,
	native: metricsNative, find: findMetrics}

// readMetrics reads the metrics of a job and checks each of them.
func readMetrics(l *lowering, list *jsontree.Node, job *Job) {
	if list.Len() == 0 {
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

// findMetrics finds the metrics in a submission, unless lowering would not add the same.
func findMetrics(c *compaction) {
	v, rest := c.cutVariable(results.MetricsVariable)
	text := v.Get("value").Str()
	list, err := results.ListMetrics(text)
	if err != nil || len(list) == 0 || results.FormatMetrics(list) != text || strings.Contains(text, referenceMark) {
		return
	}
	metrics := jsontree.NewObject(v)
	for _, m := range list {
		if wrong, _ := results.CheckMetricName(m.Name); wrong != "" || results.CheckExpression(m.Expression) != nil ||
			metrics.Get(m.Name) != nil {
			return
		}
		metrics.Set(m.Name, jsontree.NewString(m.Expression, v))
	}
	c.submit, c.found["metrics"] = rest, metrics
}

func metricsReferences(r *referring, job *Job) {
	r.misplaced(job.MetricsNode, "the children of an array have the same metrics")
}

// metricsNative adds the metrics of a job to a copy of its submission, as pkg/plan does for requests that are sent.
func metricsNative(job *Job, _, submit *jsontree.Node) {
	if len(job.Metrics) > 0 {
		addVariable(ownOverrides(submit), results.MetricsVariable, results.FormatMetrics(job.Metrics))
	}
}
