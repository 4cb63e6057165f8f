package model

import (
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
	"pgregory.net/rapid"
)

// TestDeadlineIsCurrent checks that the remembered deadline of the queues equals the one of its jobs and limits, after
// any order of queues that are created, changed and deleted, and of jobs that enter and leave them.
func TestDeadlineIsCurrent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m, machine, now, jobs := New(nil), Amount{MilliCPU: 1000, MemoryMiB: 1000}, int64(0), 0
		apply := func(e Event) {
			for events := []Event{e}; ; {
				for _, e := range events {
					if err := m.Apply(now, e); err != nil {
						t.Fatal(err)
					}
				}
				due := m.Due()
				if due == nil {
					return
				}
				events = m.Follow(due, machine)
			}
		}
		limits := func() []types.JobStateTimeLimitAction {
			if rapid.Bool().Draw(t, "without limits") {
				return []types.JobStateTimeLimitAction{}
			}
			return []types.JobStateTimeLimitAction{{Reason: aws.String("MISCONFIGURATION:JOB_RESOURCE_REQUIREMENT"), State: "RUNNABLE",
				MaxTimeSeconds: aws.Int32(rapid.Int32Range(600, 86400).Draw(t, "seconds")), Action: "CANCEL"}}
		}
		// Nothing fits a machine of one vCPU.
		apply(Event{Registered: &Registration{Revision: 1, Request: Shape[*awsbatch.RegisterJobDefinitionInput]{V: &awsbatch.RegisterJobDefinitionInput{
			JobDefinitionName: aws.String("d"), ContainerProperties: &types.ContainerProperties{ResourceRequirements: []types.ResourceRequirement{
				{Type: types.ResourceTypeVcpu, Value: aws.String("99")}, {Type: types.ResourceTypeMemory, Value: aws.String("4")}}}}}}})
		for range rapid.IntRange(1, 30).Draw(t, "events") {
			now += rapid.Int64Range(0, 1_000_000).Draw(t, "milliseconds")
			name := rapid.SampledFrom([]string{"p", "q"}).Draw(t, "queue")
			_, known := m.Queue(name)
			switch step := rapid.IntRange(0, 3).Draw(t, "step"); {
			case !known:
				apply(Event{QueueCreated: &Shape[*awsbatch.CreateJobQueueInput]{V: &awsbatch.CreateJobQueueInput{JobQueueName: &name, Priority: aws.Int32(1), JobStateTimeLimitActions: limits()}}})
			case step == 0:
				apply(Event{QueueUpdated: &Shape[*awsbatch.UpdateJobQueueInput]{V: &awsbatch.UpdateJobQueueInput{JobQueue: &name, JobStateTimeLimitActions: limits()}}})
			case step == 1:
				apply(Event{Deleted: &Deletion{Resource: ResourceOf(KindQueue, name)}})
			case step == 2:
				jobs++
				apply(Event{Submitted: &Submission{ID: fmt.Sprint("j", jobs), Definition: "d:1", To: Runnable, Request: Shape[*awsbatch.SubmitJobInput]{V: &awsbatch.SubmitJobInput{
					JobName: aws.String("j"), JobQueue: &name, JobDefinition: aws.String("d")}}}})
			default:
				for _, e := range m.Overdue(now) {
					apply(e)
				}
			}
			want := int64(Never)
			for _, q := range m.Queues {
				if l := m.Lines[q.Name]; l != nil {
					for j := range l.runnable() {
						at, _ := q.deadline(j)
						want = min(want, at)
					}
				}
			}
			if got := m.NextDeadline(); got != want {
				t.Fatalf("the next deadline is %d, want %d", got, want)
			}
		}
	})
}
