package plan

import (
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/usage"
)

// Rules that only measure can break, by their names in a report.
const (
	ruleMeasureContainer = "measure-container"
	ruleMeasureSize      = "measure-size"
)

// measures adds what a job measures of itself: its attempts' use, and metrics in its log.
type measures struct {
	*variables
	platform *document.Platform
}

// addMeasure asks for the measurement of a job's attempts, and puts the launcher that measures before the command. It
// comes after staging and the launcher of an array, which measure themselves.
func (m *measures) addMeasure(g *group, job *Job) {
	j := g.Job
	if j.Measure == nil {
		return
	}
	if r := job.Register; r != nil && r.EcsProperties != nil {
		for i := range r.EcsProperties.TaskProperties {
			containers := r.EcsProperties.TaskProperties[i].Containers
			for k := range containers {
				containers[k].Environment = set(containers[k].Environment, variable(usage.Variable, "1"))
			}
		}
		job.Measured = true
		return
	}
	d := m.definition(job, g.known)
	if d != nil && d.ContainerProperties == nil || overridesSeveral(job) {
		if p := m.platform; p == nil || p.Defaults == nil || p.Defaults.Source != j.Measure.Source {
			m.fail(j.Measure, ruleMeasureContainer,
				"measure works only in a job with one container, or with its own jobDefinition.ecsProperties",
				`set BATCHCTL_MEASURE to "1" in the containers of the definition`)
		}
		return
	}
	if m.givesOther(job, j.Measure, "its measure sets", usage.Variable, "1") {
		return
	}
	job.Measured = true
	job.Submit.ContainerOverrides = withVariables(job.Submit.ContainerOverrides, variable(usage.Variable, "1"))
	if command := job.command(d); len(command) > 0 {
		job.setCommand(j, document.MeasuredCommand(command))
	}
	m.fitsOverrides(job, j.Measure, ruleMeasureSize, "measure", "shorten the command, or leave measure out")
}
