package local

import (
	"strings"
	"testing"

	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/local/model"
)

// oldJournal has the records of an older engine: one environment, queues that are only names, and
// no scheduling policies.
const oldJournal = `
{"at":1000,"events":[{"queued":{"name":"urgent","priority":9,"environments":["local"]}}]}
{"at":1001,"events":[{"registered":{"revision":1,"request":{"jobDefinitionName":"work","type":"container","containerProperties":{"image":"busybox","command":["true"],"resourceRequirements":[{"type":"VCPU","value":"1"},{"type":"MEMORY","value":"64"}]},"tags":{"a":"1"}}}}]}
{"at":1002,"events":[{"submitted":{"id":"first","definition":"work:1","request":{"jobName":"first","jobQueue":"urgent","jobDefinition":"work","tags":{"b":"2"}}}}]}
{"at":1003,"events":[{"moved":{"job":"first","to":"RUNNABLE"}}]}
{"at":1004,"events":[{"started":{"job":"first","stream":"11111111-1111-4111-8111-111111111111"}}]}
{"at":1005,"events":[{"launched":{"job":"first","handle":"1 2"}}]}
{"at":1006,"events":[{"ended":{"job":"first","exit":0,"statusReason":"Essential container in task exited","to":"SUCCEEDED"}}]}
{"at":1007,"events":[{"submitted":{"id":"second","definition":"work:1","request":{"jobName":"second","jobQueue":"urgent","jobDefinition":"work"},"to":"RUNNABLE"}}]}
{"at":1007,"events":[{"started":{"job":"second","stream":"22222222-2222-4222-8222-222222222222","environment":"local"}}]}
{"at":1007,"events":[{"launched":{"job":"second"}},{"ended":{"job":"second","exit":0,"statusReason":"Essential container in task exited","to":"SUCCEEDED","executor":"podman"}}]}
{"at":1007,"events":[{"registered":{"revision":1,"request":{"jobDefinitionName":"multi","type":"multinode","nodeProperties":{"numNodes":2,"mainNode":0,"nodeRangeProperties":[{"targetNodes":"0:","container":{"image":"busybox","command":["true"],"resourceRequirements":[{"type":"VCPU","value":"1"},{"type":"MEMORY","value":"64"}]}}]}}}}]}
{"at":1007,"events":[{"submitted":{"id":"nodes","definition":"multi:1","request":{"jobName":"nodes","jobQueue":"urgent","jobDefinition":"multi"},"to":"RUNNABLE"}}]}
{"at":1007,"events":[{"started":{"job":"nodes","stream":"33333333-3333-4333-8333-333333333333","environment":"local"}}]}
{"at":1007,"events":[{"launched":{"job":"nodes"}},{"ended":{"job":"nodes","exit":0,"statusReason":"Essential container in task exited","to":"SUCCEEDED","containers":[{"name":"0","exit":0},{"name":"1","exit":7}]}}]}
{"at":1007,"events":[{"submitted":{"id":"stuck","definition":"work:1","request":{"jobName":"stuck","jobQueue":"urgent","jobDefinition":"work"}}}]}
{"at":1008,"events":[{"moved":{"job":"stuck","to":"RUNNABLE"}}]}
{"at":1009,"events":[{"explained":{"job":"stuck","reason":"MISCONFIGURATION:JOB_RESOURCE_REQUIREMENT - too large then"}}]}
`

func TestOldJournalsAreRead(t *testing.T) {
	w := open(t, Options{})
	e := w.engine
	e.mu.Lock()
	for _, text := range strings.Split(strings.TrimSpace(oldJournal), "\n") {
		if err := e.replayed([]byte(text)); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	e.mu.Unlock()
	w.want("first", types.JobStatusSucceeded, model.ReasonExited)
	w.want("stuck", types.JobStatusRunnable, "MISCONFIGURATION:JOB_RESOURCE_REQUIREMENT - too large then")
	if d := w.job("first"); d.Tags["b"] != "2" || *d.Container.LogStreamName != "work/default/11111111-1111-4111-8111-111111111111" {
		t.Errorf("%+v", d)
	}
	if d := w.job("nodes#1"); d.Status != types.JobStatusFailed || *d.Container.ExitCode != 7 || *d.Container.LogStreamName != "multi/default/33333333-3333-4333-8333-333333333333-1" {
		t.Errorf("%+v", d)
	}
	// The executor was recorded only at the end of an attempt, and before that not at all.
	for id, instance := range map[string]string{"first": "local", "second": "local-podman"} {
		c := w.job(id).Container
		task, d := w.task(c.TaskArn), w.instance(c.ContainerInstanceArn)
		if *task.Containers[0].ExitCode != 0 || *task.ContainerInstanceArn != *d.ContainerInstanceArn || !strings.HasSuffix(*d.ContainerInstanceArn, "/"+instance) {
			t.Errorf("%s: task %+v, instance %+v", id, task, d)
		}
	}
	e.recover() // as when an engine starts: the job now fits
	w.idle()
	w.want("stuck", types.JobStatusSucceeded, model.ReasonExited)
	if err := e.model.Overbooked(e.options.capacity()); err != nil {
		t.Error(err)
	}
	if q := w.queuesText(); !strings.Contains(q, `"jobQueueName":"urgent"`) {
		t.Errorf("queues %s", q)
	}
}

// An event of a newer engine is an error that names it, so that the engine does not start without it.
func TestEventsOfNewerEngines(t *testing.T) {
	e := open(t, Options{}).engine
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := e.replayed([]byte(`{"at":1000,"events":[{"invented":{"thing":"x"}}]}`)); err == nil || !strings.Contains(err.Error(), "written by a newer batchctl") {
		t.Errorf("error %v", err)
	}
}

// queuesText returns the queues that the API shows, as text.
func (w *testEngine) queuesText() string {
	out, err := w.DescribeJobQueues(w.t.Context(), &awsbatch.DescribeJobQueuesInput{})
	if err != nil {
		w.t.Fatal(err)
	}
	var names []string
	for _, q := range out.JobQueues {
		text, err := shapeText(&q)
		if err != nil {
			w.t.Fatal(err)
		}
		names = append(names, text)
	}
	return strings.Join(names, "\n")
}
