package plan

import (
	"github.com/batchctl/batchctl/pkg/results"
)

// Rules that only metrics can break, by their names in a report.
const (
	ruleMetricsContainer = "metrics-container"
	ruleMetricsSize      = "metrics-size"
)

// addMetrics puts the metrics of a job into its environment, where results finds them on any machine. They are in the
// submission, so that a changed expression needs no new revision of the definition.
func (m *measures) addMetrics(g *group, job *Job) {
	j := g.Job
	if len(j.Metrics) == 0 {
		return
	}
	if d := m.definition(job, g.known); d != nil && d.ContainerProperties == nil || overridesSeveral(job) {
		m.fail(j.MetricsNode, ruleMetricsContainer,
			"metrics work only in a job with one container, in containerProperties",
			"write the job with image or containerProperties")
		return
	}
	text := results.FormatMetrics(j.Metrics)
	if m.givesOther(job, j.MetricsNode, "its metrics set", results.MetricsVariable, text) {
		return
	}
	job.Submit.ContainerOverrides = withVariables(job.Submit.ContainerOverrides,
		variable(results.MetricsVariable, text))
	m.fitsOverrides(job, j.MetricsNode, ruleMetricsSize, "metrics", "match less of each line, or leave metrics out")
}
