package templates

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
	"github.com/google/go-cmp/cmp"

	"github.com/batchctl/batchctl/pkg/ladder"
	"github.com/batchctl/batchctl/pkg/notify"
)

// publication is a request of Amazon SNS, with the members that the state machine sends.
type publication struct {
	TopicArn, Message, Subject             string
	MessageGroupId, MessageDeduplicationId string `json:",omitempty"`
}

const (
	topic     = "arn:aws:sns:us-east-1:123456789012:batchctl-jobs"
	fifoTopic = topic + ".fifo"
)

// publish executes a Publish. It refuses what SNS refuses (API reference, Publish).
func (a *account) publish(arguments any) (any, error) {
	in := publication{}
	asRequest(a.t, arguments, &in)
	a.tries++
	if a.denied[in.TopicArn] != 0 {
		a.denied[in.TopicArn]--
		return nil, &asError{"Sns.AuthorizationErrorException", "not authorized to perform: SNS:Publish"}
	}
	fifo := strings.HasSuffix(in.TopicArn, ".fifo")
	if n := len(in.Subject); n == 0 || n >= 100 || fifo != (in.MessageGroupId == notify.Group) || fifo != (in.MessageDeduplicationId != "") || len(in.MessageDeduplicationId) > 128 {
		a.t.Errorf("SNS rejects %+v", in)
	}
	a.published = append(a.published, in)
	return object{"MessageId": fmt.Sprint("message-", len(a.published))}, nil
}

// events returns the messages that were published, in order. Each has the form of notify.Event:
// all of its members, and no other ones.
func (a *account) events() (all []notify.Event) {
	a.t.Helper()
	for _, p := range a.published {
		var e notify.Event
		d := json.NewDecoder(strings.NewReader(p.Message))
		d.DisallowUnknownFields()
		if err := d.Decode(&e); err != nil {
			a.t.Fatalf("%v in %s", err, p.Message)
		}
		want, err := json.Marshal(e)
		if err != nil {
			a.t.Fatal(err)
		}
		var sent, same any
		if err := json.NewDecoder(bytes.NewReader(want)).Decode(&same); err != nil {
			a.t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(p.Message), &sent); err != nil {
			a.t.Fatal(err)
		}
		if d := cmp.Diff(same, sent); d != "" {
			a.t.Errorf("the message and package notify differ: %s", d)
		}
		if p.MessageDeduplicationId != "" && p.MessageDeduplicationId != e.ID {
			a.t.Errorf("deduplication id %s, id %s", p.MessageDeduplicationId, e.ID)
		}
		all = append(all, e)
	}
	return all
}

// noticed returns an account with a job that notifies these topics when it ends.
func noticed(t *testing.T, status types.JobStatus, topics ...string) *account {
	job := ladderJob(allRungs())
	job.Status, job.StoppedAt = status, sdk.Int64(1_799_999_900_000)
	job.Tags[ladder.NoticeTag] = strings.Join(topics, " ")
	job.Attempts = []types.AttemptDetail{{Container: &types.AttemptContainerDetail{ExitCode: sdk.Int32(0)}}}
	if status == types.JobStatusFailed {
		job.StatusReason = sdk.String("Essential container in task exited")
		job.Attempts[0].Container.ExitCode = sdk.Int32(3)
	}
	return &account{t: t, job: job, denied: map[string]int{}}
}

// ends executes the ladder for the end of the account's job.
func (a *account) ends(m *machine) string {
	a.t.Helper()
	return a.climbs(m, object{"jobId": *a.job.JobId, "blocked": false})
}

// ladderMessages checks the messages about single jobs that no other job follows.
func ladderMessages(t *testing.T, m *machine) {
	good := noticed(t, types.JobStatusSucceeded, topic, fifoTopic, topic)
	good.job.JobName = sdk.String("train-abcdefghijklmnopqrstuvwxyz")
	good.job.Tags["batchctl:run"] = "3f2a91c0"
	if failed := good.ends(m); failed != "" || len(good.published) != 2 || good.submitted != nil {
		t.Fatalf("ended with %q after %+v", failed, good.published)
	}
	events := good.events()
	want := notify.Event{Type: notify.JobType, Version: notify.Version, ID: events[0].ID, Time: m.now.UTC(), Target: "aws 123456789012 us-east-1",
		Submission: "3f2a91c0", Name: "train", Status: "SUCCEEDED",
		Jobs: []notify.Job{{Name: "train", ID: *good.job.JobId, Queue: "batchctl-cpu", Status: "SUCCEEDED", ExitCode: sdk.Int32(0), StartedAt: 1_799_999_500_000, StoppedAt: 1_799_999_900_000}}}
	if d := cmp.Diff(want, events[0]); d != "" {
		t.Error(d)
	}
	if p := good.published; p[0].TopicArn != topic || p[1].TopicArn != fifoTopic || p[0].Subject != "batchctl: train SUCCEEDED" || events[0].ID == events[1].ID || !strings.HasPrefix(events[0].ID, *good.job.JobId+"-") {
		t.Errorf("published %+v", p)
	}
	for name, c := range map[string]struct {
		change func(*account)
		reason string
		exit   int32
		name   string
	}{
		"no rung applies": {func(*account) {}, "Essential container in task exited", 3, "train"},
		"no rungs":        {func(a *account) { a.job.Container.Environment = a.job.Container.Environment[1:] }, "Essential container in task exited", 3, "train"},
		"stopped":         {func(a *account) { a.job.IsTerminated, a.job.StatusReason = sdk.Bool(true), sdk.String("stopped by a") }, "stopped by a", 3, "train"},
		"long name": {func(a *account) { a.job.JobName = sdk.String(strings.Repeat("train", 25)) }, "Essential container in task exited", 3,
			strings.Repeat("train", 25)},
	} {
		a := noticed(t, types.JobStatusFailed, topic)
		c.change(a)
		if failed := a.ends(m); failed != "" || len(a.published) != 1 || a.submitted != nil {
			t.Errorf("%s: ended with %q after %+v", name, failed, a.published)
			continue
		}
		e := a.events()[0]
		if j := e.Jobs[0]; e.Status != "FAILED" || e.Submission != "x" || e.Name != c.name || j.Status != "FAILED" || j.Reason != c.reason || *j.ExitCode != c.exit || j.Error != "" {
			t.Errorf("%s: %+v", name, e)
		}
	}
}

// ladderSilent checks the executions that send nothing: another one reports the end, or the job has
// not ended.
func ladderSilent(t *testing.T, m *machine) {
	for name, c := range map[string]struct {
		change    func(*account)
		submitted int
		blocked   bool
		failed    string
	}{
		"runs again":      {func(a *account) { a.job.Attempts[0].Container.ExitCode = sdk.Int32(75) }, 1, false, ""},
		"of the client":   {func(a *account) { a.job.Tags[ladder.Tag] = ladder.ByClient }, 0, false, ""},
		"without tags":    {func(a *account) { a.job.Tags = nil }, 0, false, ""},
		"without topics":  {func(a *account) { delete(a.job.Tags, ladder.NoticeTag) }, 0, false, ""},
		"empty tag":       {func(a *account) { a.job.Tags[ladder.NoticeTag] = " " }, 0, false, ""},
		"a child":         {func(a *account) { a.job.ArrayProperties = &types.ArrayPropertiesDetail{Index: sdk.Int32(1)} }, 0, false, ""},
		"a duplicate":     {func(a *account) { a.job.StatusReason = sdk.String("batchctl: twin of 1, accepted twice") }, 0, false, ""},
		"runs":            {func(a *account) { a.job.Status = types.JobStatusRunning }, 0, false, ""},
		"blocked, ended":  {func(*account) {}, 0, true, ""},
		"another target":  {func(a *account) { a.job = waitingElsewhere(m) }, 0, true, "OtherTarget"},
		"all of an array": {func(a *account) { *a = *noticedArray(t, 3, topic) }, 1, false, ""},
	} {
		a := noticed(t, types.JobStatusFailed, topic)
		c.change(a)
		if failed := a.climbs(m, object{"jobId": *a.job.JobId, "blocked": c.blocked}); failed != c.failed || a.published != nil || len(a.submitted) != c.submitted {
			t.Errorf("%s: ended with %q after %d jobs and %+v", name, failed, len(a.submitted), a.published)
		}
	}
}

// waitingElsewhere returns a RUNNABLE job whose rung changes the target.
func waitingElsewhere(m *machine) types.JobDetail {
	job := waitingJob(m, "")
	rungs := allRungs()
	rungs[2].Target = "us-west"
	job.Container.Environment[0].Value = sdk.String(rungs.Format())
	job.Tags[ladder.NoticeTag] = topic
	return job
}

// noticedArray is failedArray with topics.
func noticedArray(t *testing.T, n int, topics ...string) *account {
	a := failedArray(t, n)
	a.job.Tags[ladder.NoticeTag], a.denied = strings.Join(topics, " "), map[string]int{}
	return a
}

// ladderChain follows a job through its rungs: only the last job has a message, and it names the one before.
func ladderChain(t *testing.T, m *machine) {
	a := noticed(t, types.JobStatusFailed, fifoTopic)
	a.job.Container.Reason = sdk.String("OutOfMemoryError: Container killed due to memory usage")
	a.job.JobName = sdk.String("train-abcdefghijklmnopqrstuvwxyz")
	first := *a.job.JobId
	for i, end := range []int32{75, 75, 3} {
		if failed := a.ends(m); failed != "" || a.published != nil || len(a.submitted) != i+1 {
			t.Fatalf("job %d: ended with %q after %+v", i, failed, a.published)
		}
		in := a.submitted[i]
		if in.Tags[ladder.NoticeTag] != fifoTopic || in.Tags[ladder.Tag] != ladder.ByStateMachine {
			t.Errorf("job %d has the tags %v", i, in.Tags)
		}
		a.job.JobId, a.job.JobName, a.job.Tags = sdk.String(fmt.Sprint("job-", i)), in.JobName, maps.Clone(in.Tags)
		a.job.Container.Reason, a.job.Attempts[0].Container.ExitCode = nil, sdk.Int32(end)
		if i == 0 && in.Tags["batchctl:retry-of"] != first {
			t.Errorf("tags %v", in.Tags)
		}
	}
	if failed := a.ends(m); failed != "" || len(a.published) != 1 || len(a.submitted) != 3 {
		t.Fatalf("ended with %q after %+v", failed, a.published)
	}
	e := a.events()[0]
	if j := e.Jobs[0]; e.Name != "train" || e.Submission != "" || e.Status != "FAILED" || j.Name != "train-try4" || j.ID != "job-2" || j.Again != "job-1" || j.Cause != "exitCodes" || *j.ExitCode != 3 {
		t.Errorf("%+v", e)
	}
}

// ladderArrayMessages checks that an array has one message, if a part of it ends here.
func ladderArrayMessages(t *testing.T, m *machine) {
	good := noticed(t, types.JobStatusSucceeded, topic)
	good.job.ArrayProperties = &types.ArrayPropertiesDetail{Size: sdk.Int32(12), StatusSummary: map[string]int32{"SUCCEEDED": 12}}
	if failed := good.ends(m); failed != "" || len(good.published) != 1 || good.events()[0].Jobs[0].ArraySize != 12 {
		t.Errorf("ended with %q after %+v", failed, good.published)
	}
	for name, c := range map[string]struct {
		change    func(*account)
		submitted int
	}{
		"a child without a step": {func(a *account) { a.end(1) }, 1},
		"no child has a step":    {func(a *account) { a.end(0); a.end(1); a.end(2) }, 0},
		"no child failed":        {func(a *account) { a.children = nil }, 0},
	} {
		a := noticedArray(t, 3, topic)
		c.change(a)
		if failed := a.ends(m); failed != "" || len(a.published) != 1 || len(a.submitted) != c.submitted {
			t.Errorf("%s: ended with %q after %d jobs and %+v", name, failed, len(a.submitted), a.published)
			continue
		}
		if e := a.events()[0]; e.Status != "FAILED" || e.Jobs[0].ArraySize != 4 || len(e.Jobs) != 1 {
			t.Errorf("%s: %+v", name, e)
		}
	}
}

// end makes a child fail on its own.
func (a *account) end(index int) {
	child := a.children[index]
	child.Container.Reason, child.Container.ExitCode = nil, sdk.Int32(1)
	a.children[index] = child
}

// ladderUnable checks executions that cannot continue: they send a message with their error, and
// then fail with it.
func ladderUnable(t *testing.T, m *machine) {
	for want, change := range map[string]func() *account{
		"TooManyFailed": func() *account { return noticedArray(t, 1001, topic) },
		"NoCommand":     func() *account { a := noticedArray(t, 3, topic); a.job.Container.Command = nil; return a },
		"NotSubmitted":  func() *account { a := noticedArray(t, 3, topic); a.reject = 1; return a },
	} {
		a := change()
		if failed := a.ends(m); failed != want || len(a.published) != 1 || a.submitted != nil {
			t.Errorf("ended with %q after %+v, want %q", failed, a.published, want)
			continue
		}
		if e := a.events()[0]; e.Jobs[0].Error != want || e.Status != "FAILED" {
			t.Errorf("%s: %+v", want, e)
		}
		denied := change()
		denied.denied[topic] = -1
		if failed := denied.ends(m); failed != want || denied.published != nil {
			t.Errorf("ended with %q after %+v, want %q", failed, denied.published, want)
		}
	}
}

// ladderDenied checks that a topic that accepts no message costs neither a step nor the other topics their message.
func ladderDenied(t *testing.T, m *machine) {
	const foreign = "arn:aws:sns:us-east-1:123456789012:payroll"
	a := noticedArray(t, 3, foreign, topic)
	a.end(2)
	a.denied[foreign] = -1
	began := m.now
	if failed := a.ends(m); failed != "NotNotified" || len(a.submitted) != 1 || len(a.published) != 1 || a.published[0].TopicArn != topic || a.tries != 5 {
		t.Errorf("ended with %q after %d jobs, %d tries and %+v", failed, len(a.submitted), a.tries, a.published)
	}
	if waited := m.now.Sub(began).Seconds(); waited != 5+15+45 {
		t.Errorf("tried for %v seconds", waited)
	}
	late := noticed(t, types.JobStatusSucceeded, topic)
	late.denied[topic] = 2
	if failed := late.ends(m); failed != "" || len(late.published) != 1 || late.tries != 3 {
		t.Errorf("ended with %q after %d tries", failed, late.tries)
	}
}

// ladderEvents checks which events of EventBridge reach the state machine, and that a job has one
// execution however many rules match.
func ladderEvents(t *testing.T, m *machine) {
	const queue = "arn:aws:batch:us-east-1:123456789012:job-queue/batchctl-cpu"
	environment := object{"environment": []any{object{"name": "A", "value": "b"}, object{"name": ladder.Variable, "value": "[]"}}}
	own := object{ladder.Tag: ladder.ByStateMachine, ladder.NoticeTag: topic, "resourceArn": "x"}
	for name, c := range map[string]struct {
		detail object
		rules  []string
	}{
		"failed with rungs":  {object{"status": "FAILED", "jobQueue": queue, "container": environment, "tags": object{}}, []string{"FailedJobs"}},
		"failed with both":   {object{"status": "FAILED", "jobQueue": queue, "container": environment, "tags": own}, []string{"EndedJobs", "FailedJobs"}},
		"failed with topics": {object{"status": "FAILED", "jobQueue": queue, "container": object{}, "tags": own}, []string{"EndedJobs"}},
		"succeeded":          {object{"status": "SUCCEEDED", "jobQueue": queue, "container": environment, "tags": own}, []string{"EndedJobs"}},
		"without topics":     {object{"status": "SUCCEEDED", "jobQueue": queue, "container": environment, "tags": object{ladder.Tag: ladder.ByStateMachine}}, nil},
		"of the client":      {object{"status": "SUCCEEDED", "jobQueue": queue, "tags": object{ladder.Tag: ladder.ByClient, ladder.NoticeTag: topic}}, nil},
		"another project":    {object{"status": "SUCCEEDED", "jobQueue": strings.Replace(queue, "batchctl-", "other-", 1), "tags": own}, nil},
		"an array":           {object{"status": "FAILED", "jobQueue": queue, "container": environment, "tags": own, "arrayProperties": object{"size": 2.0}}, []string{"EndedJobs", "FailedJobs"}},
		"a child":            {object{"status": "FAILED", "jobQueue": queue, "container": environment, "tags": own, "arrayProperties": object{"index": 0.0}}, nil},
		"runs":               {object{"status": "RUNNING", "jobQueue": queue, "container": environment, "tags": own}, nil},
	} {
		c.detail["jobId"] = "a"
		event := object{"source": "aws.batch", "detail-type": "Batch Job State Change", "detail": c.detail}
		a := &account{t: t}
		m.call = a.call
		var rules []string
		for rule, r := range section(parse(t, file("ladder")), "Resources") {
			if pattern := at(r, "Properties", "EventPattern"); pattern != nil && matchesEvent(pattern, event) {
				rules = append(rules, rule)
				if _, failed := m.run(ladderMachine(t, "Dispatch"), event, object{}); failed != "" {
					t.Errorf("%s: %s", name, failed)
				}
			}
		}
		if slices.Sort(rules); !slices.Equal(rules, c.rules) || len(a.started) != min(1, len(rules)) {
			t.Errorf("%s: rules %v start %v; want %v", name, rules, a.started, c.rules)
		}
	}
}

// matchesEvent reports whether a pattern of EventBridge matches a part of an event: equal texts,
// prefix and exists (user guide, "Event patterns").
func matchesEvent(pattern, value any) bool {
	if values, ok := value.([]any); ok {
		return slices.ContainsFunc(values, func(v any) bool { return matchesEvent(pattern, v) })
	}
	if alternatives, ok := pattern.([]any); ok {
		return slices.ContainsFunc(alternatives, func(one any) bool {
			text, _ := value.(string)
			prefix, _ := at(one, "prefix", "Fn::Sub").(string)
			prefix = strings.NewReplacer("${AWS::Partition}", "aws", "${AWS::Region}", "us-east-1", "${AWS::AccountId}", "123456789012", "${Project}", "batchctl").Replace(prefix)
			exists := at(one, "exists")
			return one == value || exists == true && value != nil || exists == false && value == nil || prefix != "" && strings.HasPrefix(text, prefix)
		})
	}
	for name, inner := range pattern.(object) {
		if !matchesEvent(inner, at(value, name)) {
			return false
		}
	}
	return true
}

// TestMayPublish checks that the state machine may publish only to the topics of its project.
func TestMayPublish(t *testing.T) {
	var resources []any
	walk(at(parse(t, file("ladder")), "Resources"), func(v any) {
		if anyWord(at(v, "Action"), func(w string) bool { return strings.HasPrefix(w, "sns:") }) {
			resources = append(resources, at(v, "Action"), at(v, "Resource", "Fn::Sub"))
		}
	})
	if want := []any{"sns:Publish", "arn:${AWS::Partition}:sns:${AWS::Region}:${AWS::AccountId}:${Project}-*"}; !slices.Equal(resources, want) {
		t.Errorf("the role may %v", resources)
	}
}
