package infra

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	batchtypes "github.com/aws/aws-sdk-go-v2/service/batch/types"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/batchctl/batchctl/pkg/rpc"
)

// in runs a test in virtual time with a cloud of its own.
func in(t *testing.T, test func(t *testing.T, c *cloud, told *[]string)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(t, newCloud(t), new([]string)) })
}

func count(list []string, word string) (n int) {
	for _, s := range list {
		if strings.HasPrefix(s, word) {
			n++
		}
	}
	return n
}

func TestDeploy(t *testing.T) {
	in(t, func(t *testing.T, c *cloud, told *[]string) {
		s := c.open(told)
		p, err := deploy(t.Context(), s, "1")
		if err != nil || p.Action != Create || len(p.Changes) != 3 {
			t.Fatalf("%+v %v", p, err)
		}
		want := []string{"CREATE_IN_PROGRESS team-net 0/3", "CREATE_IN_PROGRESS A 0/3", "CREATE_COMPLETE A 1/3", "CREATE_IN_PROGRESS B 1/3",
			"CREATE_COMPLETE B 2/3", "CREATE_IN_PROGRESS C 2/3", "CREATE_COMPLETE C 3/3", "CREATE_COMPLETE team-net 3/3"}
		if !slices.Equal(*told, want) {
			t.Errorf("events %q", *told)
		}
		if p, err := deploy(t.Context(), s, "1"); err != nil || p.Action != None || len(c.sets) != 1 {
			t.Errorf("the same again: %+v %v, %d change sets", p, err, len(c.sets))
		}
		if p, err := s.Deploy(t.Context(), fakeTemplates[0], nil); err != nil || p.Action != None {
			t.Errorf("a parameter that is not given does not keep its value: %+v %v", p, err)
		}
		if p, err := s.Diff(t.Context(), fakeTemplates[0], map[string]string{"Size": "2"}); err != nil || p.Action != Update || len(c.sets) != 1 || c.stacks["team-net"].params["Size"] != "1" {
			t.Errorf("diff: %+v %v, %d change sets", p, err, len(c.sets))
		}
		if p, err := deploy(t.Context(), s, "2"); err != nil || p.Action != Update || c.stacks["team-net"].params["Size"] != "2" {
			t.Errorf("update: %+v %v", p, err)
		}
	})
}

// TestTags: a new stack has the tag that the budget counts by, and an update takes and adds
// none, as that would replace compute environments.
func TestTags(t *testing.T) {
	in(t, func(t *testing.T, c *cloud, told *[]string) {
		c.summary = "<Parameters><member><ParameterKey>Project</ParameterKey><DefaultValue>batchctl</DefaultValue></member></Parameters>"
		s := c.open(told)
		own := []types.Tag{tag(Mark, "net"), tag("Project", "team")}
		if _, err := s.Deploy(t.Context(), fakeTemplates[0], nil); err != nil || !sameTags(c.stacks["team-net"].tags, own) {
			t.Fatalf("%v %v", c.stacks["team-net"].tags, err)
		}
		for _, tags := range [][]types.Tag{
			{tag(Mark, "net")},
			{tag("CostCenter", "7"), tag(Mark, "net"), tag("Project", "other")},
		} {
			c.stacks["team-net"].tags = append(slices.Clone(tags), tag("aws:x", "y"))
			c.changes = "<member><ResourceChange><Action>Modify</Action></ResourceChange></member>"
			if _, err := s.Deploy(t.Context(), fakeTemplates[0], nil); err != nil || !sameTags(c.stacks["team-net"].tags, tags) {
				t.Errorf("%v became %v: %v", tags, c.stacks["team-net"].tags, err)
			}
		}
	})
}

// TestDeclined leaves nothing behind.
func TestDeclined(t *testing.T) {
	in(t, func(t *testing.T, c *cloud, told *[]string) {
		s := c.open(told)
		s.Approve = func(*Proposal) (bool, error) { return false, nil }
		if _, err := deploy(t.Context(), s, "1"); !errors.Is(err, ErrDeclined) || len(c.stacks) != 0 || len(c.sets) != 0 {
			t.Errorf("%v, %d stacks, %d change sets", err, len(c.stacks), len(c.sets))
		}
	})
}

func TestForeignStack(t *testing.T) {
	in(t, func(t *testing.T, c *cloud, told *[]string) {
		s := c.open(told)
		if _, err := deploy(t.Context(), s, "1"); err != nil {
			t.Fatal(err)
		}
		c.stacks["team-net"].tags = nil
		if _, err := deploy(t.Context(), s, "2"); !isNotOurs(err) {
			t.Errorf("deploy: %v", err)
		}
		if d, err := s.PlanDestruction(t.Context(), fakeTemplates); err != nil || len(d.Stacks) != 0 {
			t.Errorf("destroy would delete %+v, %v", d, err)
		}
	})
}

func isNotOurs(err error) bool {
	_, ok := errors.AsType[*NotOursError](err)
	return ok
}

// TestFailedCreate names the reason and what is left, and is cleared by the next deploy.
func TestFailedCreate(t *testing.T) {
	in(t, func(t *testing.T, c *cloud, told *[]string) {
		s := c.open(told)
		c.failing = "C"
		_, err := deploy(t.Context(), s, "1")
		failed, ok := errors.AsType[*FailedError](err)
		if !ok || failed.Status != "ROLLBACK_COMPLETE" || len(failed.Reasons) != 1 || *failed.Reasons[0].ResourceStatusReason != "no room for C" || len(failed.Left) == 0 {
			t.Fatalf("%+v", err)
		}
		states, err := s.Status(t.Context(), fakeTemplates)
		if err != nil || states[0].Status != "ROLLBACK_COMPLETE" || states[0].Reason != "C: no room for C" {
			t.Errorf("status %+v %v", states, err)
		}
		c.failing = ""
		s.Confirm = func(string) (bool, error) { return false, nil }
		if _, err := deploy(t.Context(), s, "1"); !errors.Is(err, ErrDeclined) || c.stacks["team-net"] == nil {
			t.Errorf("declined: %v", err)
		}
		if _, err := deploy(t.Context(), c.open(told), "1"); err != nil || c.stacks["team-net"].status != "CREATE_COMPLETE" {
			t.Errorf("again: %v", err)
		}
		if !slices.ContainsFunc(*told, func(s string) bool {
			return strings.Contains(s, "it still contains") && strings.Contains(s, "B (id-B)")
		}) {
			t.Errorf("told %q", *told)
		}
	})
}

// TestCutOff cuts a deployment off at every call, by Ctrl-C, by credentials that expire
// and by a connection that breaks after the call has arrived. Then the status is what
// AWS has, and the next deployment reaches what the first one wanted.
func TestCutOff(t *testing.T) {
	for name, cut := range map[string]func(stop context.CancelCauseFunc) error{
		"ctrl-c":  func(stop context.CancelCauseFunc) error { stop(context.Canceled); return nil },
		"expired": func(context.CancelCauseFunc) error { return &refusal{403, "ExpiredToken", "log in"} },
	} {
		calls := 0
		for n := 1; n == 1 || n <= calls; n++ {
			in(t, func(t *testing.T, c *cloud, told *[]string) {
				ctx, stop := context.WithCancelCause(t.Context())
				defer stop(nil)
				c.fault = func(i int, _ string) error {
					if i == n || i > n && name == "expired" {
						return cut(stop)
					}
					return nil
				}
				_, err := deploy(ctx, c.open(told), "1")
				if n == 1 {
					c.fault = nil
					whole := newCloud(t)
					if _, err := deploy(t.Context(), whole.open(new([]string)), "1"); err != nil {
						t.Fatal(err)
					}
					calls = len(whole.calls)
				}
				// How often a deployment asks for the status depends on its random waits, so call n can be the last one.
				if made := c.stacks["team-net"]; err == nil && (made == nil || made.status != "CREATE_COMPLETE") {
					t.Errorf("%s at call %d: no error", name, n)
				}
				began := slices.Contains(c.calls[:min(n, len(c.calls))], "ExecuteChangeSet")
				if _, ok := errors.AsType[*StillRunningError](err); err != nil && ok != began && c.calls[min(n, len(c.calls))-1] != "ExecuteChangeSet" {
					t.Errorf("%s at call %d (%s): %v", name, n, c.calls[n-1], err)
				}
				c.fault = nil
				states, err := c.open(told).Status(t.Context(), fakeTemplates)
				real := Absent
				if s := c.stacks["team-net"]; s != nil {
					real = s.status
				}
				if err != nil || states[0].Status != real {
					t.Errorf("%s at call %d: status %+v, is %s, %v", name, n, states, real, err)
				}
				*told = nil
				_, err = deploy(t.Context(), c.open(told), "1")
				if s := c.stacks["team-net"]; err != nil || s == nil || s.status != "CREATE_COMPLETE" {
					t.Errorf("%s at call %d, again: %v", name, n, err)
				}
				if count(*told, "CREATE_COMPLETE A") > 1 {
					t.Errorf("%s at call %d: an event twice: %q", name, n, *told)
				}
			})
		}
	}
}

// TestLostAnswers breaks the connection once at every call: nothing is done twice.
func TestLostAnswers(t *testing.T) {
	for n := 2; n <= 12; n++ { // before the first answer there may be no service at all
		in(t, func(t *testing.T, c *cloud, told *[]string) {
			c.fault = func(i int, _ string) error {
				if i == n {
					return syscall.ECONNRESET
				}
				return nil
			}
			if _, err := deploy(t.Context(), c.open(told), "1"); err != nil || c.stacks["team-net"].status != "CREATE_COMPLETE" {
				t.Errorf("call %d: %v", n, err)
			}
			if got := count(*told, "CREATE_COMPLETE A"); got != 1 {
				t.Errorf("call %d: told %d times", n, got)
			}
		})
	}
}

// TestThrottled checks that a throttled command continues with longer pauses, and reports it once.
func TestThrottled(t *testing.T) {
	in(t, func(t *testing.T, c *cloud, told *[]string) {
		start, polls := time.Now(), 0
		c.fault = func(_ int, operation string) error {
			if operation == "DescribeStackEvents" && time.Since(start) > 2*time.Second && time.Since(start) < time.Minute {
				polls++
				return &refusal{400, "Throttling", "Rate exceeded"}
			}
			return nil
		}
		if _, err := deploy(t.Context(), c.open(told), "1"); err != nil {
			t.Fatal(err)
		}
		if polls > 30 || count(*told, "trying again") != 1 {
			t.Errorf("%d polls in a minute, told %q", polls, *told)
		}
	})
}

// TestStranded refuses what takes a compute environment from under a queue.
func TestStranded(t *testing.T) {
	environment := func(action, replacement string) string {
		return "<member><ResourceChange><Action>" + action + "</Action><Replacement>" + replacement + "</Replacement><LogicalResourceId>E</LogicalResourceId><PhysicalResourceId>arn:aws:batch:eu-central-1:123456789012:compute-environment/old</PhysicalResourceId><ResourceType>" + environmentType + "</ResourceType></ResourceChange></member>"
	}
	moved := "<member><ResourceChange><Action>Modify</Action><LogicalResourceId>Q</LogicalResourceId><PhysicalResourceId>arn:aws:batch:eu-central-1:123456789012:job-queue/cpu</PhysicalResourceId><ResourceType>" + queueType + "</ResourceType><Details><member><Target><Name>ComputeEnvironmentOrder</Name></Target></member></Details></ResourceChange></member>"
	for _, test := range []struct {
		what, changes, order string
		refused              bool
	}{
		{"replaced", environment("Modify", "True"), "old", true},
		{"perhaps replaced", environment("Modify", "Conditional"), "old", true},
		{"removed", environment("Remove", ""), "old", true},
		{"changed in place", environment("Modify", "False"), "old", false},
		{"replaced, the order moves with it", environment("Modify", "True") + moved, "old", false},
		{"removed, no queue names it", environment("Remove", ""), "new", false},
		{"removed, the queue changes otherwise", environment("Remove", "") + strings.Replace(moved, "ComputeEnvironmentOrder", "Priority", 1), "old", true},
	} {
		in(t, func(t *testing.T, c *cloud, told *[]string) {
			s := c.open(told)
			if _, err := deploy(t.Context(), s, "1"); err != nil {
				t.Fatal(err)
			}
			c.changes, c.order = test.changes, test.order
			_, err := deploy(t.Context(), s, "2")
			stranded, refused := errors.AsType[*OrphanedQueueError](err)
			if refused != test.refused || !refused && err != nil {
				t.Errorf("%s: %v", test.what, err)
			}
			if refused && (stranded.Queue != "cpu" || stranded.Environment != "old" || len(c.sets) != 1) {
				t.Errorf("%s: %+v, %d change sets", test.what, stranded, len(c.sets))
			}
		})
	}
}

func TestStuck(t *testing.T) {
	in(t, func(t *testing.T, c *cloud, told *[]string) {
		s := c.open(told)
		if _, err := deploy(t.Context(), s, "1"); err != nil {
			t.Fatal(err)
		}
		c.stacks["team-net"].status = "UPDATE_ROLLBACK_FAILED"
		_, err := deploy(t.Context(), s, "2")
		if stuck, ok := errors.AsType[*StuckError](err); !ok || !strings.Contains(stuck.Way, "continue-update-rollback --stack-name team-net") {
			t.Errorf("%v", err)
		}
	})
}

// TestDestroy drains the queue first, and keeps a repository with images.
func TestDestroy(t *testing.T) {
	in(t, func(t *testing.T, c *cloud, told *[]string) {
		s := c.open(told)
		if _, err := deploy(t.Context(), s, "1"); err != nil {
			t.Fatal(err)
		}
		d, err := s.PlanDestruction(t.Context(), fakeTemplates)
		if err != nil || len(d.Stacks) != 1 || len(d.Keeps) != 3 {
			t.Fatalf("%+v %v", d, err)
		}
		d.Queues, c.jobs, c.undeletable, c.calls = []string{"cpu"}, 7, "B", nil
		if err := s.Destroy(t.Context(), d); err != nil || c.state != "DISABLED" || len(c.stacks) != 0 {
			t.Errorf("%v, queue %s, %d stacks", err, c.state, len(c.stacks))
		}
		first, last := slices.Index(c.calls, "DeleteStack"), len(c.calls)-1
		for i, call := range c.calls {
			if call == "listjobs" {
				last = i
			}
		}
		if last > first || c.jobs >= 0 {
			t.Errorf("deleted before the queue was empty: %q", c.calls)
		}
		if count(*told, "keeping B") != 1 || count(*told, "waiting for") == 0 {
			t.Errorf("told %q", *told)
		}
		if states, err := s.Status(t.Context(), fakeTemplates); err != nil || states[0].Status != Absent {
			t.Errorf("status %+v %v", states, err)
		}
	})
}

// TestInterruptedDrain says that the queue is disabled, and deletes nothing.
func TestInterruptedDrain(t *testing.T) {
	in(t, func(t *testing.T, c *cloud, told *[]string) {
		s := c.open(told)
		if _, err := deploy(t.Context(), s, "1"); err != nil {
			t.Fatal(err)
		}
		d, err := s.PlanDestruction(t.Context(), fakeTemplates)
		if err != nil {
			t.Fatal(err)
		}
		d.Queues, c.jobs = []string{"cpu", "never-made"}, 1<<30
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		err = s.Destroy(ctx, d)
		if e, ok := errors.AsType[*DrainError](err); !ok || !slices.Equal(e.Queues, []string{"cpu"}) || c.state != "DISABLED" || slices.Contains(c.calls, "DeleteStack") {
			t.Errorf("%v, queue %s", err, c.state)
		}
	})
}

func TestNoChange(t *testing.T) {
	for text, want := range map[string]bool{
		"No updates are to be performed.": true,
		"The submitted information didn't contain changes. Submit different information to create a change set.": true,
		"Requires capabilities : [CAPABILITY_IAM]":                                                               false, "": false,
	} {
		if noChange(text) != want {
			t.Errorf("%q", text)
		}
	}
}

func TestAlias(t *testing.T) {
	for output, want := range map[string]string{"CpuQueueArn": "cpu", "GpuSpotJobQueueArn": "gpu-spot", "CpuSpotFirstJobQueue": "cpu-spot-first", "GPUQueue": "gpu", "QueueArn": "queue", "HPCNodesQueueName": "hpc-nodes"} {
		if got := alias(output); got != want {
			t.Errorf("%s: %s", output, got)
		}
	}
}

// TestEnvironmentsOfAQueue: the platform file has the environments in the order in which AWS Batch tries them,
// whatever the order of the answers.
func TestEnvironmentsOfAQueue(t *testing.T) {
	arn := func(name string) *string {
		return aws.String("arn:aws:batch:us-east-1:123456789012:compute-environment/" + name)
	}
	environment := func(name string, kind batchtypes.CRType) batchtypes.ComputeEnvironmentDetail {
		return batchtypes.ComputeEnvironmentDetail{ComputeEnvironmentName: &name, ComputeEnvironmentArn: arn(name), ComputeResources: &batchtypes.ComputeResource{Type: kind, MaxvCpus: aws.Int32(8)}}
	}
	all := []batchtypes.ComputeEnvironmentDetail{environment("other", "EC2"), environment("normal", "EC2"), environment("spot", "SPOT")}
	for _, test := range []struct {
		order []string
		want  string
	}{{[]string{"2 normal", "1 spot"}, "spot SPOT, normal EC2"}, {[]string{"1 normal", "2 spot"}, "normal EC2, spot SPOT"}, {[]string{"10 normal", "9 spot"}, "spot SPOT, normal EC2"}, {[]string{"1 gone", "2 spot"}, "spot SPOT"}, {nil, ""}} {
		var q batchtypes.JobQueueDetail
		for _, text := range test.order {
			number, name, _ := strings.Cut(text, " ")
			n, err := strconv.Atoi(number)
			if err != nil {
				t.Fatal(err)
			}
			q.ComputeEnvironmentOrder = append(q.ComputeEnvironmentOrder, batchtypes.ComputeEnvironmentOrder{Order: aws.Int32(int32(n)), ComputeEnvironment: arn(name)})
		}
		var got []string
		for _, e := range environmentsOf(q, all) {
			got = append(got, e.Name+" "+e.Type)
		}
		if text := strings.Join(got, ", "); text != test.want {
			t.Errorf("%v: %s, want %s", test.order, text, test.want)
		}
	}
}

func TestOfStack(t *testing.T) {
	c := course{done: map[string]bool{}}
	c.take(types.StackEvent{StackId: aws.String("s"), PhysicalResourceId: aws.String("nested"), ResourceStatus: types.ResourceStatusCreateComplete, LogicalResourceId: aws.String("N")})
	if c.end != "" || !c.done["N"] {
		t.Errorf("a nested stack's end was taken for the stack's: %+v", c)
	}
}

// endless answers each list with a page that names itself as the next one.
type endless struct{ asked int }

func (e *endless) Do(r *http.Request) (*http.Response, error) {
	e.asked++
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return nil, err
	}
	text := wrapped(form.Get("Action"), "<NextToken>again</NextToken>")
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(text)), Header: http.Header{}, Request: r}, nil
}

// TestListsThatDoNotEnd has each list name a page as its own next one.
func TestListsThatDoNotEnd(t *testing.T) {
	for name, list := range map[string]func(*Cloud) error{
		"resources": func(c *Cloud) error { _, err := c.resources(t.Context(), "s"); return err },
		"events": func(c *Cloud) error {
			_, err := c.events(t.Context(), "s", func(types.StackEvent) bool { return false })
			return err
		},
		"stacks":     func(c *Cloud) error { _, err := c.stacks(t.Context()); return err },
		"change set": func(c *Cloud) error { _, err := c.changeSet(t.Context(), "c", "s"); return err },
	} {
		e := &endless{}
		c := NewCloud(aws.Config{Region: "eu-central-1", HTTPClient: e, Credentials: credentials.NewStaticCredentialsProvider("a", "b", "")})
		if err := list(c); !errors.Is(err, rpc.ErrEndless) || e.asked != 2 {
			t.Errorf("%s: %v after %d calls", name, err, e.asked)
		}
	}
}
