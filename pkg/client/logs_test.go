package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
	"github.com/google/go-cmp/cmp"

	"github.com/batchctl/batchctl/pkg/client/clienttest"
)

func written(lines ...string) func(time.Duration) []string {
	return func(time.Duration) []string { return lines }
}

// growing writes a line each second, n in all, from a given time on.
func growing(prefix string, from time.Duration, n int) func(time.Duration) []string {
	return func(elapsed time.Duration) (lines []string) {
		for i := range min(n, int((elapsed-from)/time.Second)) {
			lines = append(lines, fmt.Sprint(prefix, i))
		}
		return lines
	}
}

func attemptOf(stream string) types.AttemptDetail {
	return types.AttemptDetail{Container: &types.AttemptContainerDetail{LogStreamName: &stream}}
}

// withLogs adds the stream of its container to every state of a job.
func withLogs(stream string, state func(time.Duration) *types.JobDetail) func(time.Duration) *types.JobDetail {
	return func(d time.Duration) *types.JobDetail {
		job := state(d)
		if job != nil && job.Status != types.JobStatusRunnable {
			job.Container = &types.ContainerDetail{LogStreamName: &stream}
		}
		return job
	}
}

func texts(ctx context.Context, c *Client, follow bool) (all []string, err error) {
	for l, err := range c.Logs(ctx, "1", LogOptions{Follow: follow}) {
		if err != nil {
			return all, err
		}
		all = append(all, l.Text)
	}
	return all, nil
}

func TestLogs(t *testing.T) {
	f, c := newFake(t)
	f.Jobs["1"] = withLogs("s", clienttest.Life("a", clienttest.At(0, "RUNNING", "")))
	f.Events["s"] = written("one", "two\n", "three\nfour\r\n", "", "five")
	got, err := collect(c.Logs(t.Context(), "1", LogOptions{}))
	var want []Line
	for i, text := range []string{"one", "two", "three\nfour", "", "five"} {
		// two events make a page here
		want = append(want, Line{Time: time.UnixMilli(int64(i)), Text: text, Job: "1", Stream: "s", More: i == 0 || i == 2})
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
	if f.Groups[0] != "/aws/batch/job" {
		t.Errorf("group %s", f.Groups[0])
	}
}

func TestLogsFollow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, c := newFake(t)
		f.Jobs["1"] = withLogs("s", clienttest.Life("a", clienttest.At(10*time.Second, "RUNNABLE", ""), clienttest.At(20*time.Second, "RUNNING", ""),
			clienttest.At(40*time.Second, "SUCCEEDED", "")))
		f.Events["s"] = growing("line ", 22*time.Second, 20) // the last lines arrive after the end
		got, err := texts(t.Context(), c, true)
		if err != nil || len(got) < 18 {
			t.Errorf("%d lines: %q, %v", len(got), got, err)
		}
		for i, l := range got {
			if want := fmt.Sprint("line ", i); l != want {
				t.Errorf("got %s, want %s", l, want)
			}
		}
	})
}

// TestLogsFollowRetries checks that each new attempt is read after the one before, including one
// that started and ended between two polls. Attempts before the first poll are not read.
func TestLogsFollowRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, c := newFake(t)
		f.Jobs["1"] = func(d time.Duration) *types.JobDetail {
			job := &types.JobDetail{JobName: aws.String("a"), Status: types.JobStatusRunning, Attempts: []types.AttemptDetail{attemptOf("s0")}}
			switch {
			case d < 30*time.Second:
				job.Container = &types.ContainerDetail{LogStreamName: aws.String("s1")}
			case d < time.Minute:
				job.Attempts = append(job.Attempts, attemptOf("s1"), attemptOf("s2"))
				job.Container = &types.ContainerDetail{LogStreamName: aws.String("s3")}
			default:
				job.Attempts = append(job.Attempts, attemptOf("s1"), attemptOf("s2"), attemptOf("s3"))
				job.Container = &types.ContainerDetail{LogStreamName: aws.String("s3")}
				job.Status = types.JobStatusFailed
			}
			return job
		}
		for _, s := range []string{"s0", "s1", "s2", "s3"} {
			f.Events[s] = written(s+" begins", s+" ends")
		}
		got, err := texts(t.Context(), c, true)
		want := "s1 begins,s1 ends,s2 begins,s2 ends,s3 begins,s3 ends"
		if strings.Join(got, ",") != want || err != nil {
			t.Errorf("%q, %v", got, err)
		}
		if asked := strings.Join(f.Asked, " "); strings.LastIndex(asked, "s1") > strings.Index(asked, "s3") {
			t.Errorf("s1 was asked for after its end: %s", asked)
		}
	})
}

// TestLogsDrained checks that lines that arrive after the end of the job are read as long as each
// poll finds some.
func TestLogsDrained(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, c := newFake(t)
		f.Jobs["1"] = withLogs("s", clienttest.Life("a", clienttest.At(0, "SUCCEEDED", "")))
		f.Events["s"] = func(elapsed time.Duration) []string {
			if elapsed == 0 {
				return []string{"one"}
			}
			return []string{"one", "two"}
		}
		got, err := texts(t.Context(), c, true)
		if diff := cmp.Diff([]string{"one", "two"}, got); diff != "" || err != nil {
			t.Error(diff, err)
		}
	})
}

func TestLogsOfContainersAndGroups(t *testing.T) {
	f, c := newFake(t)
	logTo := func(group string) *types.LogConfiguration {
		return &types.LogConfiguration{LogDriver: types.LogDriverAwslogs, Options: map[string]string{"awslogs-group": group}}
	}
	f.Jobs["1"] = func(time.Duration) *types.JobDetail {
		return &types.JobDetail{JobName: aws.String("a"), Status: types.JobStatusRunning, EcsProperties: &types.EcsPropertiesDetail{
			TaskProperties: []types.EcsTaskDetails{{Containers: []types.TaskContainerDetails{
				{Name: aws.String("main"), LogStreamName: aws.String("m"), LogConfiguration: logTo("mine")},
				{Name: aws.String("side"), LogStreamName: aws.String("s")},
			}}}}}
	}
	f.Events["m"], f.Events["s"] = written("main"), written("side")
	got, err := texts(t.Context(), c, false)
	if diff := cmp.Diff([]string{"main", "side"}, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
	if diff := cmp.Diff([]string{"mine", "mine", "/aws/batch/job", "mine", "/aws/batch/job"}, f.Groups); diff != "" {
		t.Error(diff)
	}
}

// TestLogsOfContainersInSequence checks that the log of a container comes before that of one which started after it,
// also if the first one writes between the reads of the two logs.
func TestLogsOfContainersInSequence(t *testing.T) {
	f, c := newFake(t)
	f.Jobs["1"] = func(time.Duration) *types.JobDetail {
		return &types.JobDetail{JobName: aws.String("a"), Status: types.JobStatusRunning, EcsProperties: &types.EcsPropertiesDetail{
			TaskProperties: []types.EcsTaskDetails{{Containers: []types.TaskContainerDetails{
				{Name: aws.String("fetch"), LogStreamName: aws.String("f")}, {Name: aws.String("main"), LogStreamName: aws.String("m")},
			}}}}}
	}
	var fetched []string
	f.Events["f"] = func(time.Duration) []string { return fetched }
	f.Events["m"] = func(time.Duration) []string {
		fetched = []string{"fetched"}
		return []string{"main"}
	}
	got, err := texts(t.Context(), c, false)
	if diff := cmp.Diff([]string{"fetched", "main"}, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
}

func TestLogsElsewhere(t *testing.T) {
	for _, c := range []struct {
		job  types.JobDetail
		want string
	}{
		{types.JobDetail{ArrayProperties: &types.ArrayPropertiesDetail{Size: aws.Int32(2)}}, "choose one, such as 1:0"},
		{types.JobDetail{NodeProperties: &types.NodeProperties{}}, "choose one, such as 1#0"},
		{types.JobDetail{EksProperties: &types.EksPropertiesDetail{}}, "kubectl logs"},
		{types.JobDetail{Container: &types.ContainerDetail{LogConfiguration: &types.LogConfiguration{LogDriver: "splunk"}}}, "driver splunk"},
	} {
		synctest.Test(t, func(t *testing.T) {
			f, client := newFake(t)
			f.Jobs["1"] = func(time.Duration) *types.JobDetail {
				job := c.job
				job.JobName, job.Status = aws.String("a"), types.JobStatusSucceeded
				return &job
			}
			if got, err := texts(t.Context(), client, true); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%q, %v, want %s", got, err, c.want)
			}
			// Among other jobs it is also reported at once, and not as a problem of the service.
			client.Warn = func(err error) { t.Errorf("warning: %v", err) }
			began := time.Now()
			var warnings []string
			for _, err := range client.MergedLogs(t.Context(), []string{"1"}, LogOptions{}) {
				warnings = append(warnings, fmt.Sprint(err))
			}
			if waited := time.Since(began); len(warnings) != 1 || !strings.Contains(warnings[0], c.want) || waited > time.Minute {
				t.Errorf("%q after %v, want %s", warnings, waited, c.want)
			}
		})
	}
}

// TestLogsNeverWritten checks that a job that ended without a stream has an empty log, which is
// not an error.
func TestLogsNeverWritten(t *testing.T) {
	for _, stream := range []string{"", "gone"} {
		synctest.Test(t, func(t *testing.T) {
			f, c := newFake(t)
			f.Jobs["1"] = withLogs(stream, clienttest.Life("a", clienttest.At(0, "FAILED", "image not found")))
			if got, err := texts(t.Context(), c, true); len(got) > 0 || err != nil {
				t.Error(got, err)
			}
			if waited := time.Since(f.Start); (waited >= lateLogs) != (stream == "gone") {
				t.Errorf("stream %q: waited %v", stream, waited)
			}
		})
	}
}

func TestLogsFollowThroughFaults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, c := newFake(t)
		f.Jobs["1"] = withLogs("s", clienttest.Life("a", clienttest.At(0, "RUNNING", ""), clienttest.At(time.Minute, "SUCCEEDED", "")))
		f.Events["s"] = growing("", 0, 50)
		f.Faults["GetLogEvents"] = clienttest.Times(10, clienttest.Reply(400, "ThrottlingException", `{"__type":"ThrottlingException","message":"Rate exceeded"}`))
		got, err := texts(t.Context(), c, true)
		if len(got) != 50 || got[49] != "49" || err != nil {
			t.Errorf("%q, %v", got, err)
		}
	})
}

func TestLogsMissingJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, c := newFake(t)
		for _, follow := range []bool{false, true} {
			_, err := texts(t.Context(), c, follow)
			if _, ok := errors.AsType[*MissingError](err); !ok || (time.Since(f.Start) >= JustNow) != follow {
				t.Errorf("follow %v: %v after %v", follow, err, time.Since(f.Start))
			}
		}
	})
}

func TestLogsBreak(t *testing.T) {
	f, c := newFake(t)
	f.Jobs["1"] = withLogs("s", clienttest.Life("a", clienttest.At(0, "RUNNING", "")))
	f.Events["s"] = written("one", "two", "three")
	for range c.Logs(t.Context(), "1", LogOptions{Follow: true}) {
		break
	}
	if n := f.Count("GetLogEvents"); n != 1 {
		t.Errorf("%d calls after break", n)
	}
}

// retried returns a job whose attempts wrote s1, nothing, and s3.
func retried(status types.JobStatus) func(time.Duration) *types.JobDetail {
	return func(time.Duration) *types.JobDetail {
		return &types.JobDetail{JobName: aws.String("a"), Status: status, Container: &types.ContainerDetail{LogStreamName: aws.String("s3")},
			Attempts: []types.AttemptDetail{attemptOf("s1"), {Container: &types.AttemptContainerDetail{}}, attemptOf("s3")}}
	}
}

func TestLogOptions(t *testing.T) {
	for _, c := range []struct {
		name    string
		options LogOptions
		want    string
		err     string
	}{
		{"the latest attempt", LogOptions{}, "a b c d e", ""},
		{"an earlier attempt", LogOptions{Attempt: 1}, "one", ""},
		{"an attempt that never started", LogOptions{Attempt: 2}, "", ""},
		{"the latest by number", LogOptions{Attempt: 3}, "a b c d e", ""},
		{"an attempt that never was", LogOptions{Attempt: 4}, "", "no attempt 4: it has had 3"},
		{"the last lines", LogOptions{Tail: 2}, "d e", ""},
		{"more last lines than there are", LogOptions{Tail: 9}, "a b c d e", ""},
		{"from a moment on", LogOptions{Since: time.UnixMilli(3)}, "d e", ""},
		{"the last lines, and on to the end", LogOptions{Tail: 1, Follow: true}, "e f", ""},
		{"one attempt until it ends", LogOptions{Attempt: 1, Follow: true}, "one", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f, client := newFake(t)
				f.Jobs["1"] = retried("FAILED")
				f.Events["s1"] = written("one")
				f.Events["s3"] = func(elapsed time.Duration) []string {
					all := []string{"a", "b", "c", "d", "e", "f"}
					return all[:min(6, 5+int(elapsed/time.Second))]
				}
				var got []string
				var failed error
				for l, err := range client.Logs(t.Context(), "1", c.options) {
					if failed = err; err == nil {
						got = append(got, l.Text)
					}
				}
				if strings.Join(got, " ") != c.want || (failed == nil) != (c.err == "") || failed != nil && !strings.Contains(failed.Error(), c.err) {
					t.Errorf("got %q, %v; want %q, %s", got, failed, c.want, c.err)
				}
			})
		})
	}
}

// TestLogsLate checks that events are read that arrive up to five seconds after the end of the
// job, after a pause. Where logs are complete at the end, the client does not wait.
func TestLogsLate(t *testing.T) {
	for _, atOnce := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			f, c := newFake(t)
			c.LogsAtOnce = atOnce
			f.Jobs["1"] = withLogs("s", clienttest.Life("a", clienttest.At(0, "RUNNING", ""), clienttest.At(10*time.Second, "SUCCEEDED", "")))
			f.Events["s"] = func(elapsed time.Duration) []string {
				if elapsed < 15*time.Second {
					return []string{"one"}
				}
				return []string{"one", "late"}
			}
			got, err := texts(t.Context(), c, true)
			want := "one late"
			if atOnce {
				want = "one"
			}
			if strings.Join(got, " ") != want || err != nil || time.Since(f.Start) > time.Minute {
				t.Errorf("at once %v: %q, %v after %v", atOnce, got, err, time.Since(f.Start))
			}
		})
	}
}

// TestLogsTrouble checks that a follow reports each kind of problem once.
func TestLogsTrouble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, c := newFake(t)
		var messages []error
		c.Warn = func(err error) { messages = append(messages, err) }
		f.Jobs["1"] = withLogs("s", clienttest.Life("a", clienttest.At(0, "RUNNING", ""), clienttest.At(time.Hour, "SUCCEEDED", "")))
		f.Events["s"] = growing("", 0, 50)
		throttles := clienttest.Times(30, clienttest.Reply(400, "ThrottlingException", `{"__type":"ThrottlingException","message":"Rate exceeded"}`))
		broken := clienttest.Times(12, clienttest.Reply(500, "InternalFailure", `{"__type":"InternalFailure","message":"oops"}`))
		healthy := func(serve func() *http.Response) (*http.Response, error) { return serve(), nil }
		f.Faults["GetLogEvents"] = append(append(append(throttles, healthy), broken...), append([]clienttest.Fault{healthy}, throttles...)...)
		got, err := texts(t.Context(), c, true)
		if len(got) != 50 || err != nil {
			t.Errorf("%d lines, %v", len(got), err)
		}
		if len(messages) != 2 || !Throttled(messages[0]) || Throttled(messages[1]) {
			t.Errorf("warnings %v", messages)
		}
	})
}
