package local

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	batchtypes "github.com/aws/aws-sdk-go-v2/service/batch/types"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs/types"
	"github.com/aws/smithy-go"

	"github.com/batchctl/batchctl/pkg/local/model"
)

// logClient is the SDK's client of an engine, with a test that fails at each unexpected error.
type logClient struct {
	*cloudwatchlogs.Client
	t *testing.T
}

func logsOf(w *testEngine) logClient {
	return logClient{cloudwatchlogs.NewFromConfig(w.engine.Config()), w.t}
}

// must fails the test for an error.
func (c logClient) must(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
}

// create creates a group, and streams in it.
func (c logClient) create(group string, streams ...string) {
	c.t.Helper()
	must(c.t, c.CreateLogGroup, &cloudwatchlogs.CreateLogGroupInput{LogGroupName: &group})
	for _, s := range streams {
		must(c.t, c.CreateLogStream, &cloudwatchlogs.CreateLogStreamInput{LogGroupName: &group, LogStreamName: &s})
	}
}

// put puts messages into a stream, one millisecond apart.
func (c logClient) put(group, stream string, from time.Time, messages ...string) (*cloudwatchlogs.PutLogEventsOutput, error) {
	in := &cloudwatchlogs.PutLogEventsInput{LogGroupName: &group, LogStreamName: &stream, SequenceToken: aws.String("ignored")}
	for i, m := range messages {
		in.LogEvents = append(in.LogEvents, types.InputLogEvent{Message: &m, Timestamp: aws.Int64(from.UnixMilli() + int64(i))})
	}
	return c.PutLogEvents(c.t.Context(), in)
}

// read returns the messages of a stream, from its head and in pages of 2 events.
func (c logClient) read(group, stream string) (messages []string) {
	c.t.Helper()
	in := &cloudwatchlogs.GetLogEventsInput{LogGroupName: &group, LogStreamName: &stream, Limit: aws.Int32(2), StartFromHead: aws.Bool(true)}
	for {
		out := must(c.t, c.GetLogEvents, in)
		for _, e := range out.Events {
			messages = append(messages, *e.Message)
		}
		if in.NextToken != nil && *in.NextToken == *out.NextForwardToken {
			return messages
		}
		in.NextToken = out.NextForwardToken
	}
}

// describe returns everything that the engine describes of its groups and streams, without the default group.
func (c logClient) describe() string {
	c.t.Helper()
	var text strings.Builder
	groups := must(c.t, c.DescribeLogGroups, &cloudwatchlogs.DescribeLogGroupsInput{})
	for _, g := range groups.LogGroups {
		if *g.LogGroupName == model.DefaultLogGroup {
			continue
		}
		fmt.Fprintf(&text, "%s %s %d %v\n", *g.LogGroupName, g.LogGroupClass, aws.ToInt32(g.RetentionInDays), aws.ToInt64(g.CreationTime))
		streams := must(c.t, c.DescribeLogStreams, &cloudwatchlogs.DescribeLogStreamsInput{LogGroupName: g.LogGroupName})
		for _, s := range streams.LogStreams {
			fmt.Fprintf(&text, "  %s %d %d %d %d: %q\n", *s.LogStreamName, aws.ToInt64(s.CreationTime), aws.ToInt64(s.FirstEventTimestamp),
				aws.ToInt64(s.LastEventTimestamp), aws.ToInt64(s.LastIngestionTime), c.read(*g.LogGroupName, *s.LogStreamName))
		}
	}
	return text.String()
}

// failed checks the type of an error of CloudWatch Logs.
func (c logClient) failed(what string, err error, code string) {
	c.t.Helper()
	e, ok := errors.AsType[smithy.APIError](err)
	if !ok || e.ErrorCode() != code {
		c.t.Errorf("%s: %v, want %s", what, err, code)
	}
}

// TestPutLogEvents creates groups and streams, puts events into them, and reads them in every way, before and after a
// crash of the engine.
func TestPutLogEvents(t *testing.T) {
	o := Options{Dir: filepath.Join(t.TempDir(), "state")}
	w := open(t, o)
	c := logsOf(w)
	began := time.Now()
	c.create("/app/a", "one", "two/with blank")
	c.create("/app/b", "one")
	must(t, c.CreateLogStream, &cloudwatchlogs.CreateLogStreamInput{LogGroupName: aws.String(model.DefaultLogGroup), LogStreamName: aws.String("mine")})
	at := began.Add(-time.Hour)
	for _, p := range []struct {
		group, stream string
		from          time.Time
		messages      []string
	}{
		{"/app/a", "one", at, []string{"first", "two\nlines\n", "<ümlaut> \x01 \u2028"}},
		{"/app/a", "two/with blank", at.Add(time.Second), []string{"later"}},
		{"/app/a", "one", at.Add(-time.Minute), []string{"earlier"}}, // the times of batches can overlap
		{"/app/b", "one", at, []string{"other group"}},
		{model.DefaultLogGroup, "mine", at, []string{"beside jobs"}},
	} {
		out, err := c.put(p.group, p.stream, p.from, p.messages...)
		c.must(err)
		if out.RejectedLogEventsInfo != nil || aws.ToString(out.NextSequenceToken) == "" {
			t.Errorf("%s: %+v", p.stream, out)
		}
	}
	must(t, c.PutRetentionPolicy, &cloudwatchlogs.PutRetentionPolicyInput{LogGroupName: aws.String("/app/a"), RetentionInDays: aws.Int32(7)})
	check := func(w *testEngine) string {
		t.Helper()
		c := logsOf(w)
		page := must(t, c.GetLogEvents, &cloudwatchlogs.GetLogEventsInput{LogGroupName: aws.String("/app/a"), LogStreamName: aws.String("one")})
		var got []string
		for _, e := range page.Events {
			got = append(got, fmt.Sprintf("%d %s", *e.Timestamp-at.UnixMilli(), *e.Message))
			if *e.IngestionTime < began.UnixMilli() {
				t.Errorf("%s was ingested at %d, before the test", *e.Message, *e.IngestionTime)
			}
		}
		if want := []string{"-60000 earlier", "0 first", "1 two\nlines\n", "2 <ümlaut> \x01 \u2028"}; !slices.Equal(got, want) {
			t.Errorf("a page has %q, want %q", got, want)
		}
		for _, f := range []struct {
			name string
			in   cloudwatchlogs.FilterLogEventsInput
			want []string
		}{
			{"all", cloudwatchlogs.FilterLogEventsInput{}, []string{"earlier", "first", "two\nlines\n", "<ümlaut> \x01 \u2028", "later"}},
			{"pattern", cloudwatchlogs.FilterLogEventsInput{FilterPattern: aws.String("lines")}, []string{"two\nlines\n"}},
			{"stream", cloudwatchlogs.FilterLogEventsInput{LogStreamNames: []string{"two/with blank"}}, []string{"later"}},
			{"from", cloudwatchlogs.FilterLogEventsInput{StartTime: aws.Int64(at.UnixMilli() + 2)}, []string{"<ümlaut> \x01 \u2028", "later"}},
			{"until", cloudwatchlogs.FilterLogEventsInput{EndTime: aws.Int64(at.UnixMilli())}, []string{"earlier"}},
		} {
			f.in.LogGroupName = aws.String("/app/a")
			out := must(t, c.FilterLogEvents, &f.in)
			got, ids := []string{}, map[string]bool{}
			for _, e := range out.Events {
				got = append(got, *e.Message)
				ids[*e.EventId] = true
			}
			if !slices.Equal(got, f.want) || len(ids) != len(got) {
				t.Errorf("%s: found %q with %d ids, want %q", f.name, got, len(ids), f.want)
			}
		}
		// The latest events before a time, although later batches have earlier ones.
		page = must(t, c.GetLogEvents, &cloudwatchlogs.GetLogEventsInput{LogGroupName: aws.String("/app/a"), LogStreamName: aws.String("one"),
			EndTime: aws.Int64(at.UnixMilli()), Limit: aws.Int32(1)})
		if len(page.Events) != 1 || *page.Events[0].Message != "earlier" {
			t.Errorf("the latest event before %d: %+v", at.UnixMilli(), page.Events)
		}
		if got := c.read(model.DefaultLogGroup, "mine"); !slices.Equal(got, []string{"beside jobs"}) {
			t.Errorf("a stream in the group of jobs has %q", got)
		}
		byTime := must(t, c.DescribeLogStreams, &cloudwatchlogs.DescribeLogStreamsInput{LogGroupName: aws.String("/app/a"), OrderBy: types.OrderByLastEventTime, Descending: aws.Bool(true)})
		if len(byTime.LogStreams) != 2 || *byTime.LogStreams[0].LogStreamName != "two/with blank" {
			t.Errorf("the stream with the latest event is not first: %+v", byTime.LogStreams)
		}
		return c.describe()
	}
	before := check(w)
	if !strings.Contains(before, "/app/a STANDARD 7 ") || !strings.Contains(before, fmt.Sprintf("%d %d ", at.Add(-time.Minute).UnixMilli(), at.UnixMilli()+2)) {
		t.Errorf("described as\n%s", before)
	}
	// What the disk has if the engine is killed now.
	killed := Options{Dir: filepath.Join(t.TempDir(), "state")}
	if err := errors.Join(os.Mkdir(killed.Dir, 0o700), os.CopyFS(killed.Dir, os.DirFS(o.Dir))); err != nil {
		t.Fatal(err)
	}
	again := open(t, killed)
	if after := check(again); after != before {
		t.Errorf("after the crash\n%s\nwant\n%s", after, before)
	}
	if _, err := logsOf(again).put("/app/a", "one", time.Now(), "after the crash"); err != nil {
		t.Error(err)
	}
	if got := logsOf(again).read("/app/a", "one"); len(got) != 5 || got[4] != "after the crash" {
		t.Errorf("read %q", got)
	}
}

// TestRejectedLogEvents puts events at the limits of time, with and without a retention.
func TestRejectedLogEvents(t *testing.T) {
	c := logsOf(open(t, Options{}))
	c.create("g", "s")
	now, day := time.Now(), 24*time.Hour
	in := func(ages ...time.Duration) *cloudwatchlogs.PutLogEventsInput {
		in := &cloudwatchlogs.PutLogEventsInput{LogGroupName: aws.String("g"), LogStreamName: aws.String("s")}
		for _, age := range ages {
			in.LogEvents = append(in.LogEvents, types.InputLogEvent{Message: aws.String(age.String()), Timestamp: aws.Int64(now.Add(-age).UnixMilli())})
		}
		return in
	}
	for _, r := range []struct {
		days int32
		ages []time.Duration
		want string // tooOldLogEventEndIndex, expiredLogEventEndIndex, tooNewLogEventStartIndex
	}{
		{0, []time.Duration{13 * day}, "none"},
		{0, []time.Duration{15 * day, 14*day + time.Minute, time.Hour, -time.Hour, -3 * time.Hour, -4 * time.Hour}, "2 0 4"},
		{3, []time.Duration{15 * day, 4 * day, time.Hour}, "1 2 0"},
		{3, []time.Duration{2 * day}, "none"},
		{0, []time.Duration{15 * day, -3 * time.Hour}, "1 0 1"},
	} {
		if r.days > 0 {
			must(t, c.PutRetentionPolicy, &cloudwatchlogs.PutRetentionPolicyInput{LogGroupName: aws.String("g"), RetentionInDays: &r.days})
		} else {
			must(t, c.DeleteRetentionPolicy, &cloudwatchlogs.DeleteRetentionPolicyInput{LogGroupName: aws.String("g")})
		}
		out := must(t, c.PutLogEvents, in(r.ages...))
		got := "none"
		if i := out.RejectedLogEventsInfo; i != nil {
			got = fmt.Sprint(aws.ToInt32(i.TooOldLogEventEndIndex), aws.ToInt32(i.ExpiredLogEventEndIndex), aws.ToInt32(i.TooNewLogEventStartIndex))
		}
		if got != r.want {
			t.Errorf("%d days, %v: rejected %s, want %s", r.days, r.ages, got, r.want)
		}
	}
	want := []string{"312h0m0s", "1h0m0s", "-1h0m0s", "1h0m0s", "48h0m0s"}
	if got := c.read("g", "s"); len(got) != len(want) || !slices.Equal(slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want))) {
		t.Errorf("stored %q, want %q", got, want)
	}
	if !strings.Contains(c.describe(), "g STANDARD 0 ") {
		t.Errorf("the retention was not deleted: %s", c.describe())
	}
	_, err := c.PutLogEvents(t.Context(), in(2*day, time.Hour))
	c.failed("more than 24 hours", err, "InvalidParameterException")
	_, err = c.PutLogEvents(t.Context(), in(time.Hour, 2*time.Hour))
	c.failed("not in chronological order", err, "InvalidParameterException")
}

// TestLogPutErrors checks the documented errors, and the sizes of batches at their limits.
func TestLogPutErrors(t *testing.T) {
	c := logsOf(open(t, Options{}))
	c.create("g", "s")
	group := func(name string) error {
		_, err := c.CreateLogGroup(t.Context(), &cloudwatchlogs.CreateLogGroupInput{LogGroupName: &name})
		return err
	}
	stream := func(group, name string) error {
		_, err := c.CreateLogStream(t.Context(), &cloudwatchlogs.CreateLogStreamInput{LogGroupName: &group, LogStreamName: &name})
		return err
	}
	put := func(group, stream string, messages ...string) error {
		_, err := c.put(group, stream, time.Now(), messages...)
		return err
	}
	retain := func(group string, days int32) error {
		_, err := c.PutRetentionPolicy(t.Context(), &cloudwatchlogs.PutRetentionPolicyInput{LogGroupName: &group, RetentionInDays: &days})
		return err
	}
	remove := func(group string) error {
		_, err := c.DeleteLogGroup(t.Context(), &cloudwatchlogs.DeleteLogGroupInput{LogGroupName: &group})
		return err
	}
	_, forever := c.DeleteRetentionPolicy(t.Context(), &cloudwatchlogs.DeleteRetentionPolicyInput{LogGroupName: aws.String("none")})
	_, class := c.CreateLogGroup(t.Context(), &cloudwatchlogs.CreateLogGroupInput{LogGroupName: aws.String("classy"), LogGroupClass: "FIRST"})
	const exists, unknown, invalid = "ResourceAlreadyExistsException", "ResourceNotFoundException", "InvalidParameterException"
	full := slices.Repeat([]string{"m"}, 10000)
	for _, f := range []struct {
		what string
		err  error
		code string
	}{
		{"group exists", group("g"), exists}, {"default group exists", group(model.DefaultLogGroup), exists},
		{"group aws/", group("aws/g"), invalid}, {"group with blank", group("a b"), invalid}, {"long group", group(strings.Repeat("g", 513)), invalid},
		{"class", class, invalid},
		{"stream exists", stream("g", "s"), exists}, {"stream without group", stream("none", "s"), unknown},
		{"stream with colon", stream("g", "a:b"), invalid}, {"stream with asterisk", stream("g", "*"), invalid}, {"long stream", stream("g", strings.Repeat("s", 513)), invalid},
		{"put without group", put("none", "s", "m"), unknown}, {"put without stream", put("g", "none", "m"), unknown},
		{"empty message", put("g", "s", "m", ""), invalid},
		{"many events", put("g", "s", append(full, "m")...), invalid}, {"large batch", put("g", "s", "m", strings.Repeat("x", 1<<20-2*26)), invalid},
		{"retention of 2 days", retain("g", 2), invalid}, {"retention without group", retain("none", 7), unknown}, {"no retention without group", forever, unknown},
		{"delete no group", remove("none"), unknown}, {"delete the default group", remove(model.DefaultLogGroup), invalid},
	} {
		c.failed(f.what, f.err, f.code)
	}
	if got := c.read("g", "s"); len(got) != 0 {
		t.Errorf("rejected batches have left %d events", len(got))
	}
	// Most bytes of the second batch are escaped in JSON.
	c.must(errors.Join(group(strings.Repeat("g", 512)), stream("g", strings.Repeat("s", 512)), put("g", "s", full...), put("g", "s", strings.Repeat("\x01", 1<<20-26))))
	out := must(t, c.GetLogEvents, &cloudwatchlogs.GetLogEventsInput{LogGroupName: aws.String("g"), LogStreamName: aws.String("s"), Limit: aws.Int32(1)})
	if len(out.Events) != 1 || len(*out.Events[0].Message) != 1<<20-26 {
		t.Errorf("the largest event was not read back")
	}
}

// TestDeleteLogGroup deletes a group with its streams, and keeps groups with logs of jobs.
func TestDeleteLogGroup(t *testing.T) {
	o := Options{Dir: filepath.Join(t.TempDir(), "state")}
	w := open(t, o)
	c := logsOf(w)
	c.create("gone", "s", "t")
	c.create("kept", "s")
	for _, g := range []string{"gone", "kept"} {
		_, err := c.put(g, "s", time.Now(), "of "+g)
		c.must(err)
	}
	stored := c.describe() // fills the index of streams
	remove := func(group string) error {
		_, err := c.DeleteLogGroup(t.Context(), &cloudwatchlogs.DeleteLogGroupInput{LogGroupName: &group})
		return err
	}
	c.must(remove("gone"))
	if want := stored[strings.Index(stored, "kept"):]; c.describe() != want {
		t.Errorf("after the deletion:\n%swant\n%s", c.describe(), want)
	}
	if files, err := filepath.Glob(filepath.Join(o.Dir, "logs", "*.events")); err != nil || len(files) != 1 {
		t.Errorf("files %q, %v", files, err)
	}
	_, err := c.put("gone", "s", time.Now(), "late")
	c.failed("put into a deleted group", err, "ResourceNotFoundException")
	// A new group has nothing of the deleted one. The streams are as many as before, in another order.
	c.create("gone", "t", "s")
	if got := c.read("gone", "s"); len(got) != 0 {
		t.Errorf("a new stream has %q", got)
	}
	w.register("work", "1", "64", func(in *awsbatch.RegisterJobDefinitionInput) {
		in.ContainerProperties.LogConfiguration = logsTo("group=jobs")
	})
	id := w.submit("work")
	w.idle()
	c.failed("delete a group with logs of jobs", remove("jobs"), "InvalidParameterException")
	_, err = c.put("jobs", *w.job(id).Container.LogStreamName, time.Now(), "m")
	c.failed("put into the log of a job", err, "InvalidParameterException")
	_, err = c.CreateLogGroup(t.Context(), &cloudwatchlogs.CreateLogGroupInput{LogGroupName: aws.String("jobs")})
	c.failed("create the group of a job", err, "ResourceAlreadyExistsException")
	before := c.describe()
	if after := logsOf(w.restart(o.Dir, o)).describe(); after != before {
		t.Errorf("after a restart\n%swant\n%s", after, before)
	}
}

// TestForgottenJobsAndCreatedLogs checks that created groups, streams and retentions remain when the jobs are forgotten
// that the group was first created for. It also checks that a read-only engine reads them and changes nothing.
func TestForgottenJobsAndCreatedLogs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := Options{Dir: filepath.Join(t.TempDir(), "state")}
		w := open(t, o)
		w.register("work", "1", "64", func(in *awsbatch.RegisterJobDefinitionInput) {
			in.ContainerProperties.LogConfiguration = logsTo("group=jobs")
		})
		id := w.submit("work")
		w.idle()
		w.want(id, batchtypes.JobStatusSucceeded, model.ReasonExited)
		c := logsOf(w)
		must(t, c.PutRetentionPolicy, &cloudwatchlogs.PutRetentionPolicyInput{LogGroupName: aws.String("jobs"), RetentionInDays: aws.Int32(1)})
		must(t, c.CreateLogStream, &cloudwatchlogs.CreateLogStreamInput{LogGroupName: aws.String("jobs"), LogStreamName: aws.String("mine")})
		_, err := c.put("jobs", "mine", time.Now(), "kept")
		c.must(err)
		time.Sleep(8 * 24 * time.Hour)
		if err := w.engine.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		o.forgetFrom = 1
		w = open(t, o)
		if len(w.engine.model.BySubmission) != 0 {
			t.Fatal("the job was not forgotten")
		}
		// Also the event that is older than the retention is kept.
		before := logsOf(w).describe()
		if !strings.Contains(before, `["kept"]`) || strings.Count(before, "\n") != 2 || !strings.HasPrefix(before, "jobs STANDARD 1 ") {
			t.Errorf("after the jobs are forgotten:\n%s", before)
		}
		o.ReadOnly = true
		w = w.restart(o.Dir, o)
		if after := logsOf(w).describe(); after != before {
			t.Errorf("a read-only engine has\n%swant\n%s", after, before)
		}
		if _, err := logsOf(w).put("jobs", "mine", time.Now(), "no"); err == nil || !strings.Contains(err.Error(), "read-only") {
			t.Errorf("put on a read-only engine: %v", err)
		}
		o.ReadOnly = false
		w = w.restart(o.Dir, o)
		c = logsOf(w)
		must(t, c.DeleteLogGroup, &cloudwatchlogs.DeleteLogGroupInput{LogGroupName: aws.String("jobs")})
		if got := logsOf(w.restart(o.Dir, o)).describe(); got != "" {
			t.Errorf("after the deletion:\n%s", got)
		}
	})
}
