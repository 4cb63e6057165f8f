package local

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs/types"

	"github.com/batchctl/batchctl/pkg/local/api/call"
	"github.com/batchctl/batchctl/pkg/local/attempt"
)

func (w *testEngine) events(in *cloudwatchlogs.GetLogEventsInput) *cloudwatchlogs.GetLogEventsOutput {
	w.t.Helper()
	in.LogGroupName = aws.String("/aws/batch/job")
	out, err := cloudwatchlogs.NewFromConfig(w.engine.Config()).GetLogEvents(w.t.Context(), in)
	if err != nil {
		w.t.Fatal(err)
	}
	return out
}

func messages(out *cloudwatchlogs.GetLogEventsOutput) []string {
	var all []string
	for _, e := range out.Events {
		all = append(all, *e.Message)
	}
	return all
}

// logs returns the lines of a stream, read as the aws CLI does it: from the head until the same
// token is returned.
func (w *testEngine) logs(stream string) []string {
	w.t.Helper()
	var all []string
	in := &cloudwatchlogs.GetLogEventsInput{LogStreamName: &stream, StartFromHead: aws.Bool(true)}
	for {
		out := w.events(in)
		all = append(all, messages(out)...)
		if in.NextToken != nil && *in.NextToken == *out.NextForwardToken {
			return all
		}
		in.NextToken = out.NextForwardToken
	}
}

// writes returns an executor whose jobs print the given pieces, a second before each.
func writes(pieces ...string) *script {
	return &script{run: func(ctx context.Context, a attempt.Attempt, log *os.File) (int, error) {
		for _, p := range pieces {
			time.Sleep(time.Second)
			if _, err := log.WriteString(p); err != nil {
				return -1, err
			}
		}
		time.Sleep(time.Second)
		return 0, nil
	}}
}

func TestLogOfAShortJobHasTheTimeOfItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := open(t, Options{Executor: &script{run: func(_ context.Context, _ attempt.Attempt, log *os.File) (int, error) {
			_, err := log.WriteString("only\n")
			return 0, err
		}}})
		w.register("work", "1", "64")
		id := w.submit("work")
		w.idle()
		d := w.job(id)
		out := w.events(&cloudwatchlogs.GetLogEventsInput{LogStreamName: d.Container.LogStreamName})
		if len(out.Events) != 1 || *out.Events[0].Timestamp != *d.StoppedAt {
			t.Errorf("events %v, the job ended at %d", messages(out), *d.StoppedAt)
		}
	})
}

func TestLogLinesHaveTheTimeAtWhichTheyWereWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := open(t, Options{Executor: writes("one\n", "two\nthree\n", "half", " line\n", "end")})
		w.register("work", "1", "64")
		id := w.submit("work")
		synctest.Wait()
		d := w.job(id)
		stream := *d.Container.LogStreamName
		if got := w.logs(stream); len(got) != 0 {
			t.Errorf("before the first line, the log has %q", got)
		}
		time.Sleep(3500 * time.Millisecond)
		if got := strings.Join(w.logs(stream), "|"); got != "one|two|three" {
			t.Errorf("while it runs: %q", got)
		}
		w.idle()
		out := w.events(&cloudwatchlogs.GetLogEventsInput{LogStreamName: &stream, StartFromHead: aws.Bool(true)})
		if got := strings.Join(messages(out), "|"); got != "one|two|three|half line|end" {
			t.Errorf("at the end: %q", got)
		}
		for i, want := range []int64{1000, 2000, 2000, 4000, 5000} {
			got := *out.Events[i].Timestamp - *d.StartedAt
			if got < want || got > want+250 {
				t.Errorf("line %d at %d ms, want %d", i, got, want)
			}
		}
		from := *out.Events[1].Timestamp
		part := w.events(&cloudwatchlogs.GetLogEventsInput{LogStreamName: &stream, StartTime: &from, EndTime: out.Events[3].Timestamp})
		if got := strings.Join(messages(part), "|"); got != "two|three" {
			t.Errorf("by time: %q", got)
		}
	})
}

func TestLogLimitCountsTheEventsOfTheTimeAskedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := open(t, Options{Executor: writes("one\n", "two\nthree\n", "half", " line\n", "end")})
		w.register("work", "1", "64")
		id := w.submit("work")
		w.idle()
		stream := *w.job(id).Container.LogStreamName
		all := w.events(&cloudwatchlogs.GetLogEventsInput{LogStreamName: &stream, StartFromHead: aws.Bool(true)}).Events
		late := aws.Int64(*all[4].Timestamp + 1)
		for _, test := range []struct {
			from, to *int64
			head     bool
			want     string
		}{
			{all[1].Timestamp, nil, true, "two"},
			{all[3].Timestamp, nil, true, "half line"},
			{all[4].Timestamp, nil, true, "end"},
			{late, nil, true, ""},
			{nil, all[1].Timestamp, false, "one"},
			{nil, all[3].Timestamp, false, "three"},
			{all[1].Timestamp, all[4].Timestamp, false, "half line"},
			{nil, all[0].Timestamp, false, ""},
			{nil, late, false, "end"},
		} {
			out := w.events(&cloudwatchlogs.GetLogEventsInput{LogStreamName: &stream, Limit: aws.Int32(1),
				StartTime: test.from, EndTime: test.to, StartFromHead: &test.head})
			if got := strings.Join(messages(out), "|"); got != test.want {
				t.Errorf("from %v to %v, head %v: %q, want %q", aws.ToInt64(test.from), aws.ToInt64(test.to), test.head, got, test.want)
			}
		}
	})
}

func TestLogTokens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := open(t, Options{Executor: writes("1\n2\n3\n4\n5\n")})
		w.register("work", "1", "64")
		id := w.submit("work")
		w.idle()
		stream := *w.job(id).Container.LogStreamName
		page := func(token *string, head bool) *cloudwatchlogs.GetLogEventsOutput {
			return w.events(&cloudwatchlogs.GetLogEventsInput{LogStreamName: &stream, Limit: aws.Int32(2), NextToken: token, StartFromHead: &head})
		}
		check := func(out *cloudwatchlogs.GetLogEventsOutput, want string) {
			t.Helper()
			if got := strings.Join(messages(out), ""); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		}
		tail := page(nil, false)
		check(tail, "45")
		check(page(tail.NextForwardToken, true), "")
		if again := page(tail.NextForwardToken, true); *again.NextForwardToken != *tail.NextForwardToken {
			t.Error("at the end of the log, the token changes")
		}
		older := page(tail.NextBackwardToken, false)
		check(older, "23")
		oldest := page(older.NextBackwardToken, false)
		check(oldest, "1")
		none := page(oldest.NextBackwardToken, false)
		check(none, "")
		if *none.NextBackwardToken != *oldest.NextBackwardToken {
			t.Error("at the beginning of the log, the token changes")
		}
		check(page(oldest.NextForwardToken, true), "23")
		check(page(nil, true), "12")
	})
}

func TestLogErrors(t *testing.T) {
	w := open(t, Options{})
	w.register("work", "1", "64")
	id := w.submit("work")
	w.idle()
	stream := *w.job(id).Container.LogStreamName
	logs := cloudwatchlogs.NewFromConfig(w.engine.Config())
	for _, c := range []struct{ group, stream string }{
		{"/other", stream},
		{"/aws/batch/job", "work/default/" + call.NewID()},
		{"/aws/batch/job", "other/default/" + stream[strings.LastIndexByte(stream, '/')+1:]},
		{"/aws/batch/job", "../../lock"},
		{"/aws/batch/job", "x"},
	} {
		_, err := logs.GetLogEvents(t.Context(), &cloudwatchlogs.GetLogEventsInput{LogGroupName: &c.group, LogStreamName: &c.stream})
		if _, ok := errors.AsType[*types.ResourceNotFoundException](err); !ok {
			t.Errorf("%s %s: %v", c.group, c.stream, err)
		}
	}
	for _, in := range []*cloudwatchlogs.GetLogEventsInput{{NextToken: aws.String("f/-1")}, {NextToken: aws.String("x")}, {Limit: aws.Int32(0)}} {
		in.LogGroupName, in.LogStreamName = aws.String("/aws/batch/job"), &stream
		_, err := logs.GetLogEvents(t.Context(), in)
		if _, ok := errors.AsType[*types.InvalidParameterException](err); !ok {
			t.Errorf("%v %v: %v", aws.ToString(in.NextToken), aws.ToInt32(in.Limit), err)
		}
	}
	// The answer to an operation that the engine does not have names it.
	_, err := logs.DeleteMetricFilter(t.Context(), &cloudwatchlogs.DeleteMetricFilterInput{LogGroupName: aws.String("/aws/batch/job"), FilterName: aws.String("f")})
	if err == nil || !strings.Contains(err.Error(), "DeleteMetricFilter: the local engine does not implement this operation") {
		t.Errorf("DeleteMetricFilter: %v", err)
	}
}
