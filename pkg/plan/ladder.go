package plan

import (
	"fmt"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/ladder"
)

// Rules that only rungs can break, by their names in a report.
const (
	ruleLadderContainer = "ladder-container"
	ruleLadderSize      = "ladder-size"
	ruleLadderTopics    = "ladder-topics"
)

// maxOwnTags leaves space for the tags of a submission. AWS Batch accepts 50 (API reference, SubmitJob.tags).
const maxOwnTags = 45

// ladders adds what acts on the end of a job: its rungs, and the topics that the state machine notifies.
type ladders struct {
	*variables
	queues *queues
}

// addLadder puts the rungs of a job into its environment, where every program that may execute them finds them, and
// tags the job with the program that does: the client, unless the user gave it to the state machine.
func (l *ladders) addLadder(g *group, job *Job) {
	j := g.Job
	if len(j.Rungs) == 0 {
		return
	}
	if d := l.definition(job, g.known); d != nil && d.ContainerProperties == nil || overridesSeveral(job) {
		l.fail(j.RungsNode, ruleLadderContainer,
			"onFailure works only in a job with one container, in containerProperties",
			"write the job with image or containerProperties")
		return
	}
	for _, r := range j.Rungs {
		if r.Queue != nil {
			l.queues.checkQueue(r.Queue, r.Rung.Queue)
			l.queues.checkAllowed(r.Queue, r.Rung.Queue)
		}
	}
	job.Ladder = j.Ladder(l.queues.queueName)
	text := job.Ladder.Format()
	if l.givesOther(job, j.RungsNode, "its rungs set", ladder.Variable, text) {
		return
	}
	job.Submit.ContainerOverrides = withVariables(job.Submit.ContainerOverrides, variable(ladder.Variable, text))
	l.fitsOverrides(job, j.RungsNode, ruleLadderSize, "onFailure", "write fewer rungs")
	if job.Submit.Tags == nil {
		job.Submit.Tags = map[string]string{}
	}
	if job.Submit.Tags[ladder.Tag] == "" && len(job.Submit.Tags) < maxOwnTags {
		job.Submit.Tags[ladder.Tag] = ladder.ByClient
	}
}

// addTopics gives the topics among a job's receivers to the state machine, if that acts for the job. So one program
// sends the message: the state machine to topics, and the client to webhooks.
func (l *ladders) addTopics(g *group, job *Job) {
	if job.Submit.Tags[ladder.Tag] != ladder.ByStateMachine {
		return
	}
	var rest []string
	for _, receiver := range job.Notify {
		if batch.IsARN(receiver) {
			job.Topics = append(job.Topics, receiver)
		} else {
			rest = append(rest, receiver)
		}
	}
	if len(job.Topics) == 0 {
		return
	}
	value, why, hint := NoticeTagOf(job.Topics, job.Submit.Tags[ladder.NoticeTag], len(job.Submit.Tags))
	if why != "" {
		l.fail(g.NotifyNodes[0], ruleLadderTopics, why, hint)
		return
	}
	job.Notify, job.Submit.Tags[ladder.NoticeTag] = rest, value
}

// NoticeTagOf returns the value of the tag that gives topics to the state machine, or why a job cannot have it, and a
// hint. own is the value that the job already has; "" for none. tags is how many tags it has.
func NoticeTagOf(topics []string, own string, tags int) (value, why, hint string) {
	value, why = ladder.FormatTopics(topics)
	switch {
	case why != "":
		return "", why, "name fewer topics, or topics with shorter names; or let batchctl send the messages: remove the tag " + ladder.Tag
	case own == "" && tags >= maxOwnTags:
		return "", fmt.Sprintf("the job has %d tags, so the tag %s does not fit beside those of batchctl; %d is the most", tags, ladder.NoticeTag, maxOwnTags-1), "remove tags"
	case own != "" && own != value:
		return "", fmt.Sprintf("the job sets the tag %s to %q, but notify sets it to %q", ladder.NoticeTag, own, value),
			"remove the tag " + ladder.NoticeTag
	}
	return value, "", ""
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
