package logsapi_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs/types"

	"github.com/batchctl/batchctl/pkg/local/api/logsapi"
	"github.com/batchctl/batchctl/pkg/local/api/logsapi/logstest"
	"github.com/batchctl/batchctl/pkg/local/logs"
	"github.com/batchctl/batchctl/pkg/local/model"
	"github.com/batchctl/batchctl/pkg/local/model/modeltest"
)

// testLogs is an API without an engine, whose logs are in a directory.
type testLogs struct {
	logstest.Client
	engine *modeltest.Engine
	dir    string
}

// newLogs returns an API without logs.
func newLogs(t *testing.T, limit int64) testLogs {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "logs"), 0o700); err != nil {
		t.Fatal(err)
	}
	return logsIn(t, dir, modeltest.New(t, modeltest.Options{}), limit)
}

// logsIn returns an API on a directory.
func logsIn(t *testing.T, dir string, engine *modeltest.Engine, limit int64) testLogs {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return testLogs{logstest.On(t, logsapi.New(engine, logs.NewStore(root, limit)).Operations()), engine, dir}
}

// TestPutLogEvents creates groups and streams, puts events into them, and reads them in every way, before and after a
// crash of the engine.
func TestPutLogEvents(t *testing.T) {
	c := newLogs(t, 0)
	began := time.Now()
	c.Create("/app/a", "one", "two/with blank")
	c.Create("/app/b", "one")
	modeltest.Must(t, c.CreateLogStream, &cloudwatchlogs.CreateLogStreamInput{LogGroupName: aws.String(model.DefaultLogGroup), LogStreamName: aws.String("mine")})
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
		out, err := c.Put(p.group, p.stream, p.from, p.messages...)
		c.Must(err)
		if out.RejectedLogEventsInfo != nil || aws.ToString(out.NextSequenceToken) == "" {
			t.Errorf("%s: %+v", p.stream, out)
		}
	}
	modeltest.Must(t, c.PutRetentionPolicy, &cloudwatchlogs.PutRetentionPolicyInput{LogGroupName: aws.String("/app/a"), RetentionInDays: aws.Int32(7)})
	check := func(c testLogs) string {
		t.Helper()
		page := modeltest.Must(t, c.GetLogEvents, &cloudwatchlogs.GetLogEventsInput{LogGroupName: aws.String("/app/a"), LogStreamName: aws.String("one")})
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
			out := modeltest.Must(t, c.FilterLogEvents, &f.in)
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
		page = modeltest.Must(t, c.GetLogEvents, &cloudwatchlogs.GetLogEventsInput{LogGroupName: aws.String("/app/a"), LogStreamName: aws.String("one"),
			EndTime: aws.Int64(at.UnixMilli()), Limit: aws.Int32(1)})
		if len(page.Events) != 1 || *page.Events[0].Message != "earlier" {
			t.Errorf("the latest event before %d: %+v", at.UnixMilli(), page.Events)
		}
		if got := c.Read(model.DefaultLogGroup, "mine"); !slices.Equal(got, []string{"beside jobs"}) {
			t.Errorf("a stream in the group of jobs has %q", got)
		}
		byTime := modeltest.Must(t, c.DescribeLogStreams, &cloudwatchlogs.DescribeLogStreamsInput{LogGroupName: aws.String("/app/a"), OrderBy: types.OrderByLastEventTime, Descending: aws.Bool(true)})
		if len(byTime.LogStreams) != 2 || *byTime.LogStreams[0].LogStreamName != "two/with blank" {
			t.Errorf("the stream with the latest event is not first: %+v", byTime.LogStreams)
		}
		return c.Describe()
	}
	before := check(c)
	if !strings.Contains(before, "/app/a STANDARD 7 ") || !strings.Contains(before, fmt.Sprintf("%d %d ", at.Add(-time.Minute).UnixMilli(), at.UnixMilli()+2)) {
		t.Errorf("described as\n%s", before)
	}
	// What the disk has if the engine is killed now.
	left := t.TempDir()
	c.Must(os.CopyFS(left, os.DirFS(c.dir)))
	again := logsIn(t, left, c.engine.Restart(modeltest.Options{}), 0)
	if after := check(again); after != before {
		t.Errorf("after the crash\n%s\nwant\n%s", after, before)
	}
	if _, err := again.Put("/app/a", "one", time.Now(), "after the crash"); err != nil {
		t.Error(err)
	}
	if got := again.Read("/app/a", "one"); len(got) != 5 || got[4] != "after the crash" {
		t.Errorf("read %q", got)
	}
}

// TestRejectedLogEvents puts events at the limits of time, with and without a retention.
func TestRejectedLogEvents(t *testing.T) {
	c := newLogs(t, 0)
	c.Create("g", "s")
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
			modeltest.Must(t, c.PutRetentionPolicy, &cloudwatchlogs.PutRetentionPolicyInput{LogGroupName: aws.String("g"), RetentionInDays: &r.days})
		} else {
			modeltest.Must(t, c.DeleteRetentionPolicy, &cloudwatchlogs.DeleteRetentionPolicyInput{LogGroupName: aws.String("g")})
		}
		out := modeltest.Must(t, c.PutLogEvents, in(r.ages...))
		got := "none"
		if i := out.RejectedLogEventsInfo; i != nil {
			got = fmt.Sprint(aws.ToInt32(i.TooOldLogEventEndIndex), aws.ToInt32(i.ExpiredLogEventEndIndex), aws.ToInt32(i.TooNewLogEventStartIndex))
		}
		if got != r.want {
			t.Errorf("%d days, %v: rejected %s, want %s", r.days, r.ages, got, r.want)
		}
	}
	want := []string{"312h0m0s", "1h0m0s", "-1h0m0s", "1h0m0s", "48h0m0s"}
	if got := c.Read("g", "s"); len(got) != len(want) || !slices.Equal(slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want))) {
		t.Errorf("stored %q, want %q", got, want)
	}
	if !strings.Contains(c.Describe(), "g STANDARD 0 ") {
		t.Errorf("the retention was not deleted: %s", c.Describe())
	}
	_, err := c.PutLogEvents(t.Context(), in(2*day, time.Hour))
	c.Failed("more than 24 hours", err, "InvalidParameterException")
	_, err = c.PutLogEvents(t.Context(), in(time.Hour, 2*time.Hour))
	c.Failed("not in chronological order", err, "InvalidParameterException")
}

// TestLogPutErrors checks the documented errors, and the sizes of batches at their limits.
func TestLogPutErrors(t *testing.T) {
	c := newLogs(t, 0)
	c.Create("g", "s")
	group := func(name string) error {
		_, err := c.CreateLogGroup(t.Context(), &cloudwatchlogs.CreateLogGroupInput{LogGroupName: &name})
		return err
	}
	stream := func(group, name string) error {
		_, err := c.CreateLogStream(t.Context(), &cloudwatchlogs.CreateLogStreamInput{LogGroupName: &group, LogStreamName: &name})
		return err
	}
	put := func(group, stream string, messages ...string) error {
		_, err := c.Put(group, stream, time.Now(), messages...)
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
		c.Failed(f.what, f.err, f.code)
	}
	if got := c.Read("g", "s"); len(got) != 0 {
		t.Errorf("rejected batches have left %d events", len(got))
	}
	// Most bytes of the second batch are escaped in JSON.
	c.Must(errors.Join(group(strings.Repeat("g", 512)), stream("g", strings.Repeat("s", 512)), put("g", "s", full...), put("g", "s", strings.Repeat("\x01", 1<<20-26))))
	out := modeltest.Must(t, c.GetLogEvents, &cloudwatchlogs.GetLogEventsInput{LogGroupName: aws.String("g"), LogStreamName: aws.String("s"), Limit: aws.Int32(1)})
	if len(out.Events) != 1 || len(*out.Events[0].Message) != 1<<20-26 {
		t.Errorf("the largest event was not read back")
	}
}
