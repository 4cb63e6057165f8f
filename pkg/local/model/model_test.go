package model

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
)

// TestDeletedStreamKeepsPositions checks that the deletion of a stream or group leaves the positions of the
// others, which are page tokens of the API.
func TestDeletedStreamKeepsPositions(t *testing.T) {
	l := newLogs()
	apply := func(e Event) {
		t.Helper()
		if known, err := l.apply(1, &e); !known || err != nil {
			t.Fatal(known, err)
		}
	}
	for _, name := range []string{"a", "b", "c"} {
		apply(Event{LogStreamCreated: &LogStreamCreation{Group: "g", Stream: name, File: "file"}})
	}
	before := l.LogStreams
	apply(Event{LogStreamDeleted: &LogStreamDeletion{Group: "g", Stream: "b"}})
	if l.LogStreams[1].Name != "" || l.LogStreams[2].Name != "c" || before[1].Name != "b" || l.LogDeletions != 1 {
		t.Errorf("%+v, before %+v", l.LogStreams, before)
	}
	if s, _ := l.FindStream("g", "b"); s != nil {
		t.Errorf("found the deleted stream %+v", s)
	}
	apply(Event{LogGroupDeleted: &LogGroupDeletion{Group: "g"}})
	if len(l.LogStreams) != 3 || l.LogStreams[2].Name != "" || l.LogGroups["g"] != nil {
		t.Errorf("%+v, %+v", l.LogStreams, l.LogGroups)
	}
	if known, _ := l.apply(1, &Event{Moved: &move{}}); known {
		t.Error("the log index applied an event about a job")
	}
}

// TestAffectedQueues checks which queues a change of a resource concerns: only their waiting jobs are examined again.
func TestAffectedQueues(t *testing.T) {
	s := newControlPlane()
	s.Environments["e"] = &Environment{Name: "e", Request: &awsbatch.CreateComputeEnvironmentInput{}}
	s.addQueue(&Queue{QueueSpec: QueueSpec{Name: "configured", Environments: []string{ComputeEnvironment}}, Configured: true})
	s.addQueue(&Queue{QueueSpec: QueueSpec{Name: "batch", Environments: []string{"e"}}})
	s.addQueue(&Queue{QueueSpec: QueueSpec{Name: "training"}, Service: "s"})
	s.QuotaShares[QuotaShareOf("training", "x")] = &QuotaShare{Name: "x", Queue: "training"}
	for _, c := range []struct {
		e    Event
		want string
	}{
		{Event{QueueUpdated: &Shape[*awsbatch.UpdateJobQueueInput]{V: &awsbatch.UpdateJobQueueInput{JobQueue: aws.String("batch")}}}, "batch"},
		{Event{QueueUpdated: &Shape[*awsbatch.UpdateJobQueueInput]{V: &awsbatch.UpdateJobQueueInput{JobQueue: aws.String("configured")}}}, ""},
		{Event{EnvironmentUpdated: &Shape[*awsbatch.UpdateComputeEnvironmentInput]{V: &awsbatch.UpdateComputeEnvironmentInput{ComputeEnvironment: aws.String("e")}}}, "batch"},
		{Event{EnvironmentUpdated: &Shape[*awsbatch.UpdateComputeEnvironmentInput]{V: &awsbatch.UpdateComputeEnvironmentInput{ComputeEnvironment: aws.String(ComputeEnvironment)}}}, ""},
		{Event{ServiceEnvironmentUpdated: &Shape[*awsbatch.UpdateServiceEnvironmentInput]{V: &awsbatch.UpdateServiceEnvironmentInput{ServiceEnvironment: aws.String("s")}}}, "training"},
		{Event{QuotaShareCreated: &Shape[*awsbatch.CreateQuotaShareInput]{V: &awsbatch.CreateQuotaShareInput{JobQueue: aws.String("training")}}}, "training"},
		{Event{QuotaShareUpdated: &Shape[*awsbatch.UpdateQuotaShareInput]{V: &awsbatch.UpdateQuotaShareInput{QuotaShareArn: aws.String(QuotaShareOf("training", "x").ARN())}}}, "training"},
		{Event{Tagged: &Tagging{}}, ""},
	} {
		got := ""
		for _, q := range s.Queues {
			if s.affects(&c.e, q) {
				got += q.Name
			}
		}
		if got != c.want {
			t.Errorf("%+v affects %q, want %q", c.e, got, c.want)
		}
	}
}

// TestReconsidered checks that a JobTable marks as due the jobs that wait in one queue, parked ones too, and no others.
func TestReconsidered(t *testing.T) {
	s := newJobTable()
	add := func(id, queue string, parked bool) {
		j := &Job{ID: id, Definition: &Definition{Request: &awsbatch.RegisterJobDefinitionInput{JobDefinitionName: aws.String("d")}},
			Request: &awsbatch.SubmitJobInput{JobName: aws.String(id), JobQueue: aws.String(queue)}}
		j.Task = Task{Job: j, Index: -1}
		s.addJob(1, j)
		if err := s.moveOne(1, &j.Task, Runnable, ""); err != nil {
			t.Fatal(err)
		}
		if parked {
			s.explain(1, &j.Task, &Explanation{Reason: "it fits nowhere"})
		}
	}
	add("waits", "q", false)
	add("parked", "q", true)
	add("other", "r", false)
	s.DropDue()
	s.reconsider("q")
	due := map[string]bool{}
	for one := s.Due(); one != nil; one = s.Due() {
		due[one.ID()] = true
		s.removeDue()
	}
	if len(due) != 2 || !due["waits"] || !due["parked"] {
		t.Errorf("due: %v", due)
	}
}
