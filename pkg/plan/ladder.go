package plan

import (
	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/ladder"
)

// Rules that only rungs can break, by their names in a report.
const (
	ruleLadderContainer = "ladder-container"
	ruleLadderSize      = "ladder-size"
)

// maxOwnTags leaves space for the tags of a submission. AWS Batch accepts 50 (API reference, SubmitJob.tags).
const maxOwnTags = 45

// addLadder puts the rungs of a job into its environment, where every program that may execute them finds them, and
// tags the job with the program that does: the client, unless the user gave it to the state machine.
func (b *builder) addLadder(g *group, job *Job) {
	j := g.Job
	if len(j.Rungs) == 0 {
		return
	}
	if d := b.definition(job, g.known); d != nil && d.ContainerProperties == nil || overridesSeveral(job) {
		b.fail(j.RungsNode, ruleLadderContainer, "onFailure works only in a job with one container, in containerProperties",
			"write the job with image or containerProperties")
		return
	}
	for _, r := range j.Rungs {
		if r.Queue != nil {
			b.checkQueue(r.Queue, r.Rung.Queue)
			b.checkAllowed(r.Queue, r.Rung.Queue)
		}
	}
	job.Ladder = j.Ladder(b.queueName)
	text := job.Ladder.Format()
	if b.givesOther(job, j.RungsNode, "its rungs set", ladder.Variable, text) {
		return
	}
	job.Submit.ContainerOverrides = withVariables(job.Submit.ContainerOverrides, variable(ladder.Variable, text))
	b.fitsOverrides(job, j.RungsNode, ruleLadderSize, "onFailure", "write fewer rungs")
	if job.Submit.Tags == nil {
		job.Submit.Tags = map[string]string{}
	}
	if job.Submit.Tags[ladder.Tag] == "" && len(job.Submit.Tags) < maxOwnTags {
		job.Submit.Tags[ladder.Tag] = ladder.ByClient
	}
}

// queueName returns the name of a queue that a file names by its alias.
func (b *builder) queueName(name string) string {
	if b.platform == nil || batch.IsARN(name) {
		return name
	}
	if q, ok := b.platform.Queue(name); ok && q.Name != "" {
		return q.Name
	}
	return name
}

// Awaited returns, by job, the jobs in After whose last rung the client awaits before it submits the job. AWS Batch
// would fail the job when the first of them fails, although it then runs again.
func Awaited(jobs ...*Job) map[*Job][]string {
	awaited, climbs := map[*Job][]string{}, map[string]bool{}
	for _, j := range jobs {
		for _, d := range j.After {
			if climbs[d.Job] && j.When == "" {
				awaited[j] = append(awaited[j], d.Job)
			}
		}
		climbs[j.Name] = j.Climbs()
	}
	return awaited
}

// Climbs reports whether the client executes the job's rungs.
func (j *Job) Climbs() bool {
	return len(j.Ladder) > 0 && j.Submit != nil && j.Submit.Tags[ladder.Tag] != ladder.ByStateMachine
}
