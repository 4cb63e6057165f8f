package ecs

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	"github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/batchctl/batchctl/pkg/client"
)

func taskOf(t *testing.T, more string) *Task {
	t.Helper()
	j := jobOf(t, "job.json", simple(more))
	task, err := Build(j, j.Register, Options{Cluster: "c", Region: "us-east-1"})
	if err != nil {
		t.Fatal(err)
	}
	return task
}

func TestRegisterOnlyWhatChanged(t *testing.T) {
	a := newAccount()
	register := func(more string) Registered {
		t.Helper()
		r, err := a.client().Register(t.Context(), taskOf(t, more).Definition)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	first := register("")
	if !first.Fresh || !strings.HasSuffix(first.Arn, "task-definition/j:1") || first.Changes != nil {
		t.Errorf("%+v", first)
	}
	if again := register(""); again.Fresh || again.Arn != first.Arn {
		t.Errorf("%+v", again)
	}
	changed := register(`, "environment": {"A": "1"}`)
	if !changed.Fresh || !strings.HasSuffix(changed.Arn, ":2") || len(changed.Changes) != 1 ||
		changed.Changes[0].String() != `containerDefinitions[default].environment[A].value: + "1"` {
		t.Errorf("%+v", changed)
	}
	if len(a.revisions) != 2 {
		t.Errorf("%d revisions", len(a.revisions))
	}
}

func TestRunMeetsTrouble(t *testing.T) {
	for name, c := range map[string]struct {
		faults []fault
		tasks  int
		clear  bool // an answer, or a no
		ok     bool
	}{
		"nothing":        {nil, 1, true, true},
		"lost answer":    {[]fault{lostAfter}, 1, true, true},
		"lost request":   {[]fault{lostBefore}, 1, true, true},
		"throttled":      {[]fault{throttled, throttled, throttled}, 1, true, true},
		"broken":         {[]fault{broken, broken}, 1, true, true},
		"refused":        {[]fault{refused}, 0, true, false},
		"lost, then no":  {[]fault{lostAfter, refused}, 1, false, false},
		"always lost":    {slices.Repeat([]fault{lostAfter}, 99), 1, false, false},
		"always busy":    {slices.Repeat([]fault{throttled}, 99), 0, true, false},
		"always broken":  {slices.Repeat([]fault{broken}, 99), 0, false, false},
		"never arrives":  {slices.Repeat([]fault{lostBefore}, 99), 0, false, false},
		"lost then busy": {append([]fault{lostAfter}, slices.Repeat([]fault{throttled}, 99)...), 1, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := newAccount()
				a.faults["RunTask"] = c.faults
				s, err := a.client().Run(t.Context(), taskOf(t, "").Stamped("TOKEN"))
				_, unclear := errors.AsType[*UnclearError](err)
				if len(a.tasks) != c.tasks || unclear == c.clear || (err == nil) != c.ok || c.ok && ID(aws.ToString(s.TaskArn)) == "" {
					t.Errorf("%d tasks, %v, %+v", len(a.tasks), err, s)
				}
			})
		})
	}
}

func TestRunIsPlacedNowhere(t *testing.T) {
	a := newAccount()
	a.failures = []types.Failure{{Reason: aws.String("RESOURCE:GPU")}, {Reason: aws.String("RESOURCE:GPU")}, {Reason: aws.String("AGENT")}}
	_, err := a.client().Run(t.Context(), taskOf(t, "").Stamped("TOKEN"))
	if text := err.Error(); strings.Count(text, "RESOURCE:GPU") != 1 || !strings.Contains(text, "ECS_ENABLE_GPU_SUPPORT") || !strings.Contains(text, "AGENT") {
		t.Error(text)
	}
}

// submit is what a command does: an intent, RunTask, and the outcome written down.
func submit(ctx context.Context, a *account, r *Record, task *Task) error {
	i, err := r.Begin(&task.Run, task.Name, time.Now(), false)
	if err != nil {
		return err
	}
	s, err := a.client().Run(ctx, task.Stamped(i.Token))
	if err == nil {
		return i.Accepted(s, time.Now())
	}
	isOpen, closing := i.Failed(err)
	if closing == nil && !isOpen {
		return &cleared{err}
	}
	return errors.Join(err, closing)
}

// cleared is the error of a submission after which the record says that there is no task.
type cleared struct{ error }

// TestSubmittedOnce checks, for any behaviour of the network, that a command that is repeated
// until it succeeds runs one task, and that no task exists after a clear rejection.
func TestSubmittedOnce(t *testing.T) {
	task := taskOf(t, "")
	rapid.Check(t, func(d *rapid.T) {
		faults := rapid.SliceOfN(rapid.SampledFrom([]fault{none, lostBefore, lostAfter, throttled, broken, refused}), 0, 30).Draw(d, "faults")
		dir := t.TempDir()
		synctest.Test(t, func(t *testing.T) {
			a, r := newAccount(), &Record{Dir: dir, Target: "aws 1 us-east-1"}
			a.faults["RunTask"] = faults
			for n := 0; ; n++ {
				err := submit(t.Context(), a, r, task)
				if err == nil {
					break
				}
				if _, isClear := errors.AsType[*cleared](err); isClear && len(a.tasks) > 0 {
					t.Fatalf("a clear no (%v), and there is a task", err)
				}
				if n > len(faults) {
					t.Fatalf("it does not come to an end: %v", err)
				}
			}
			entries, err := r.Entries()
			if len(a.tasks) != 1 || len(entries) != 1 || err != nil {
				t.Fatalf("%d tasks, %d entries, %v", len(a.tasks), len(entries), err)
			}
		})
	})
}

func TestRecord(t *testing.T) {
	r := &Record{Dir: t.TempDir(), Target: "aws 1 us-east-1"}
	run, other := &taskOf(t, "").Run, &taskOf(t, `, "tags": {"a": "b"}`).Run
	now := time.Now()
	begin := func(in *awsecs.RunTaskInput, now time.Time, again bool) *Intent {
		t.Helper()
		i, err := r.Begin(in, "j", now, again)
		if err != nil {
			t.Fatal(err)
		}
		return i
	}
	first := begin(run, now, false)
	if beside := begin(run, now, false); beside.Token == first.Token || beside.Earlier {
		t.Error("two commands at the same time share a token")
	} else if err := beside.Drop(); err != nil {
		t.Error(err)
	}
	leave(t, first)
	if i := begin(other, now, false); i.Earlier {
		t.Error("another request took the token")
	} else if err := i.Drop(); err != nil {
		t.Error(err)
	}
	taken := begin(run, now.Add(time.Hour), false)
	if !taken.Earlier || taken.Token != first.Token || !taken.Began.Equal(first.Began) {
		t.Errorf("%+v", taken)
	}
	leave(t, taken)
	if _, err := r.Begin(run, "j", now.Add(25*time.Hour), false); !isForgotten(err) {
		t.Errorf("a token of yesterday: %v", err)
	}
	fresh := begin(run, now.Add(25*time.Hour), true)
	if fresh.Earlier || fresh.Token == first.Token {
		t.Errorf("%+v", fresh)
	}
	if err := fresh.Accepted(&types.Task{TaskArn: aws.String("arn:aws:ecs:us-east-1:1:task/c/0123456789abcdef")}, now); err != nil {
		t.Fatal(err)
	}
	entries, err := r.Entries()
	if err != nil || len(entries) != 1 {
		t.Fatal(entries, err)
	}
	for _, word := range []string{"", "j", "0123", "0123456789abcdef"} {
		if e, ok := Find(entries, word); !ok || e.Token != fresh.Token {
			t.Errorf("%q: %+v", word, e)
		}
	}
	for _, word := range []string{"012", "k", "4567"} {
		if e, ok := Find(entries, word); ok {
			t.Errorf("%q: %+v", word, e)
		}
	}
}

// leave is what a command does to whom no clear answer came.
func leave(t *testing.T, i *Intent) {
	t.Helper()
	if isOpen, err := i.Failed(&UnclearError{errors.New("lost")}); !isOpen || err != nil {
		t.Fatal(isOpen, err)
	}
}

func isForgotten(err error) bool {
	_, ok := errors.AsType[*ForgottenError](err)
	return ok
}

// TestCrashAfterTheEntry: the task is written down, and the intent still there.
func TestCrashAfterTheEntry(t *testing.T) {
	r := &Record{Dir: t.TempDir()}
	run := &taskOf(t, "").Run
	i, err := r.Begin(run, "j", time.Now(), false)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.append([]byte(`{"task": "arn", "token": "` + i.Token + `"}` + "\n" + `{"torn`)); err != nil {
		t.Fatal(err)
	}
	leave(t, i)
	next, err := r.Begin(run, "j", time.Now(), false)
	if err != nil || next.Earlier || next.Token == i.Token {
		t.Errorf("%+v %v", next, err)
	}
	if err := next.Accepted(&types.Task{TaskArn: aws.String("second")}, time.Now()); err != nil {
		t.Fatal(err)
	}
	if entries, err := r.Entries(); err != nil || len(entries) != 2 || entries[1].Task != "second" {
		t.Errorf("%+v %v", entries, err)
	}
}

func TestFollow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAccount()
		task := taskOf(t, "")
		c := a.client()
		registered, err := c.Register(t.Context(), task.Definition)
		if err != nil {
			t.Fatal(err)
		}
		task.Run.TaskDefinition = &registered.Arn
		s, err := c.Run(t.Context(), task.Stamped("TOKEN"))
		if err != nil {
			t.Fatal(err)
		}
		stream := "j/default/" + ID(*s.TaskArn)
		a.turns = []func(*types.Task){
			func(s *types.Task) { s.LastStatus = aws.String("PENDING") },
			func(s *types.Task) {
				s.LastStatus, s.Containers = aws.String("RUNNING"), []types.Container{{Name: aws.String(Container), GpuIds: []string{"GPU-1", "GPU-2"}}}
				a.events[stream] = []string{"one"}
			},
			func(s *types.Task) {
				s.LastStatus, s.StopCode, s.StoppedReason = aws.String("STOPPED"), types.TaskStopCodeEssentialContainerExited, aws.String("Essential container in task exited")
				s.Containers[0].ExitCode = new(int32)
			},
			func(*types.Task) { a.events[stream] = append(a.events[stream], "late") },
		}
		a.faults["DescribeTasks"] = []fault{throttled, none, broken, none, lostBefore}
		var told, lines []string
		logs := client.New(a.config())
		end, where, err := c.Follow(t.Context(), "c", *s.TaskArn, Watcher{
			State: func(s *types.Task) { told = append(told, *s.LastStatus+" "+strings.Join(GPUs(s), ",")) },
			Open: func(l Log) *client.StreamReader {
				return logs.StreamReader(*s.TaskArn, l.Group, l.Stream, client.LogOptions{})
			},
			Line:       func(_ Log, l client.Line) error { lines = append(lines, l.Text); return nil },
			LogTrouble: func(err error) { t.Error(err) },
		})
		if err != nil || !Succeeded(end, where) || !slices.Equal(lines, []string{"one", "late"}) {
			t.Errorf("%+v %v %q", end, err, lines)
		}
		if !slices.Equal(told, []string{"PENDING ", "RUNNING GPU-1,GPU-2", "STOPPED GPU-1,GPU-2"}) {
			t.Errorf("%q", told)
		}
	})
}

func TestFollowEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAccount()
		if _, _, err := a.client().Follow(t.Context(), "c", "gone", Watcher{}); !strings.Contains(err.Error(), "has no task gone") {
			t.Error(err)
		}
		a.faults["DescribeTasks"] = []fault{refused}
		if _, _, err := a.client().Follow(t.Context(), "c", "gone", Watcher{}); !Refused(err) {
			t.Error(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		a.tasks["TOKEN"] = &types.Task{TaskArn: aws.String("here"), LastStatus: aws.String("RUNNING"), TaskDefinitionArn: aws.String("d")}
		a.revisions = []map[string]any{{"taskDefinitionArn": "d"}}
		if _, _, err := a.client().Follow(ctx, "c", "here", Watcher{}); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
	})
}

// TestFollowWithoutTheDefinition checks that a role without permission to read task definitions
// can follow a task until it ends. Only its logs stay unknown, which is reported once.
func TestFollowWithoutTheDefinition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAccount()
		a.tasks["TOKEN"] = &types.Task{TaskArn: aws.String("here"), LastStatus: aws.String("RUNNING"), TaskDefinitionArn: aws.String("d"), Containers: []types.Container{{Name: aws.String(Container)}}}
		stop := func(s *types.Task) {
			s.LastStatus, s.StopCode = aws.String("STOPPED"), types.TaskStopCodeEssentialContainerExited
			s.Containers[0].ExitCode = new(int32)
		}
		for _, follow := range []func(c *Client, trouble func(error)) Watcher{
			func(_ *Client, trouble func(error)) Watcher { return Watcher{LogTrouble: trouble} },
			func(c *Client, trouble func(error)) Watcher {
				c.Progress = func(text string) { trouble(errors.New(text)) }
				return Watcher{}
			},
		} {
			a.turns = []func(*types.Task){func(s *types.Task) { s.LastStatus = aws.String("RUNNING") }, func(*types.Task) {}, stop}
			a.faults["DescribeTaskDefinition"] = []fault{refused}
			told, c := "", a.client()
			end, logs, err := c.Follow(t.Context(), "c", "here", follow(c, func(err error) { told += err.Error() }))
			if err != nil || !Succeeded(end, logs) || strings.Count(told, "without the task definition") != 1 {
				t.Errorf("%+v %v %q", end, err, told)
			}
		}
	})
}

func TestStop(t *testing.T) {
	a := newAccount()
	a.tasks["TOKEN"] = &types.Task{TaskArn: aws.String("here"), LastStatus: aws.String("RUNNING")}
	err := a.client().Stop(t.Context(), "c", "here", "why")
	if s := a.tasks["TOKEN"]; err != nil || !Stopped(s) || *s.StoppedReason != "why" {
		t.Errorf("%+v %v", s, err)
	}
}

func TestSucceeded(t *testing.T) {
	code := func(n int32) *int32 { return &n }
	sidecar := []Log{{Container: "main", Essential: true}, {Container: "side"}}
	for name, c := range map[string]struct {
		state *types.Task
		want  bool
	}{
		"0":               {&types.Task{StopCode: "EssentialContainerExited", Containers: []types.Container{{Name: aws.String("main"), ExitCode: code(0)}}}, true},
		"1":               {&types.Task{StopCode: "EssentialContainerExited", Containers: []types.Container{{Name: aws.String("main"), ExitCode: code(1)}}}, false},
		"sidecar killed":  {&types.Task{StopCode: "EssentialContainerExited", Containers: []types.Container{{Name: aws.String("main"), ExitCode: code(0)}, {Name: aws.String("side"), ExitCode: code(137)}}}, true},
		"stopped by user": {&types.Task{StopCode: "UserInitiated", Containers: []types.Container{{Name: aws.String("main"), ExitCode: code(0)}}}, false},
		"never started":   {&types.Task{StopCode: "TaskFailedToStart", Containers: []types.Container{{Name: aws.String("main")}}}, false},
		"no exit code":    {&types.Task{Containers: []types.Container{{Name: aws.String("main")}}}, false},
		"nothing ran":     {&types.Task{}, false},
		"only a sidecar":  {&types.Task{Containers: []types.Container{{Name: aws.String("side"), ExitCode: code(0)}}}, false},
	} {
		if got := Succeeded(c.state, sidecar); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestNames(t *testing.T) {
	const arn = "arn:aws:ecs:us-east-1:123456789012:task/gpu/0123456789abcdef"
	if ID(arn) != "0123456789abcdef" || ID("x") != "x" || ClusterOf(arn) != "gpu" || ClusterOf("x/y/z") != "" || ClusterOf("arn:aws:ecs:us-east-1:1:task/old") != "" {
		t.Error(ID(arn), ClusterOf(arn))
	}
}
