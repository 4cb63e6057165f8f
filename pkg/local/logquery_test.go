//go:build unix

package local

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs/types"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/batchctl/batchctl/pkg/local/model"
	"github.com/batchctl/batchctl/pkg/local/process"
)

// query runs a query over the hour around now and returns all of its results, in pages of a size.
func (c logClient) query(in *cloudwatchlogs.StartQueryInput, page int32) (results []string, last *cloudwatchlogs.GetQueryResultsOutput) {
	c.t.Helper()
	if in.StartTime == nil {
		in.StartTime, in.EndTime = aws.Int64(time.Now().Add(-time.Hour).Unix()), aws.Int64(time.Now().Add(time.Hour).Unix())
	}
	started := must(c.t, c.StartQuery, in)
	ask := &cloudwatchlogs.GetQueryResultsInput{QueryId: started.QueryId, MaxItems: &page}
	for {
		last = must(c.t, c.GetQueryResults, ask)
		if last.Status == types.QueryStatusScheduled || last.Status == types.QueryStatusRunning {
			runtime.Gosched()
			continue
		}
		for _, row := range last.Results {
			var fields []string
			for _, f := range row {
				if *f.Field != "@ptr" {
					fields = append(fields, *f.Value)
				}
			}
			results = append(results, strings.Join(fields, " "))
		}
		if ask.NextToken = last.NextToken; ask.NextToken == nil {
			return results, last
		}
	}
}

// TestQueries runs queries over the logs of jobs and over streams of clients.
func TestQueries(t *testing.T) {
	w := open(t, Options{Executor: process.New(nil, "")})
	w.register("work", "1", "64", func(in *awsbatch.RegisterJobDefinitionInput) {
		in.ContainerProperties.Command = []string{"sh", "-c", `for i in 1 2 3; do echo "epoch $i loss=0.$i"; done; printf '\377 no line break'`}
		in.ContainerProperties.LogConfiguration = logsTo("group=jobs")
	})
	id := w.submit("work")
	w.idle()
	stream := *w.job(id).Container.LogStreamName
	c := logsOf(w)
	c.create("/app", "s", "empty")
	latest := time.Now().Truncate(time.Second).Add(-time.Minute) // of the batches, but for half a second
	for _, at := range []time.Duration{0, -time.Minute} {        // the times of batches are in no order
		_, err := c.put("/app", "s", latest.Add(at+time.Second/2), `{"level": "INFO", "n": 1}`, `{"level": "ERROR", "n": 2}`)
		c.must(err)
	}
	results, out := c.query(&cloudwatchlogs.StartQueryInput{LogGroupName: aws.String("jobs"), QueryString: aws.String("fields @message, @logStream, @log | limit 3")}, 2)
	if want := []string{"\uFFFD no line break", "epoch 3 loss=0.3", "epoch 2 loss=0.2"}; len(results) != 3 || !slices.Equal(results, []string{want[0] + " " + stream + " 000000000000:jobs",
		want[1] + " " + stream + " 000000000000:jobs", want[2] + " " + stream + " 000000000000:jobs"}) {
		t.Errorf("results %q", results)
	}
	if s := out.Statistics; s.RecordsScanned != 4 || s.RecordsMatched != 4 || s.BytesScanned != 63 || s.LogGroupsScanned != 1 || out.Status != types.QueryStatusComplete {
		t.Errorf("%s, statistics %+v", out.Status, s)
	}
	both := []string{"arn:aws:logs:local:000000000000:log-group:/app", "jobs"}
	results, out = c.query(&cloudwatchlogs.StartQueryInput{LogGroupIdentifiers: both, QueryString: aws.String(
		"parse @message 'loss=*' as loss | filter level = 'ERROR' or loss >= 0.2 | stats count(*) as n by @log, coalesce(level, '-') as l")}, 100)
	if !slices.Equal(results, []string{"000000000000:/app ERROR 2", "000000000000:jobs - 2"}) || out.Statistics.RecordsMatched != 4 || out.Statistics.RecordsScanned != 8 {
		t.Errorf("results %q, statistics %+v", results, out.Statistics)
	}
	// The time range is inclusive: here the second of the first batch alone.
	second := aws.Int64(latest.Unix())
	_, err := c.put("/app", "s", time.Unix(*second, 0), "first")
	c.must(err)
	_, err = c.put("/app", "s", time.Unix(*second+1, 0), "too late")
	c.must(err)
	results, _ = c.query(&cloudwatchlogs.StartQueryInput{LogGroupNames: []string{"/app"}, StartTime: second, EndTime: second, Limit: aws.Int32(1),
		QueryString: aws.String("fields @message | sort @timestamp asc")}, 100)
	if !slices.Equal(results, []string{"first"}) {
		t.Errorf("results %q, want those of one second", results)
	}
	checkRecord(c, out)
	fields := must(t, c.GetLogGroupFields, &cloudwatchlogs.GetLogGroupFieldsInput{LogGroupName: aws.String("/app")})
	var text []string
	for _, f := range fields.LogGroupFields {
		text = append(text, fmt.Sprint(*f.Name, " ", f.Percent))
	}
	if want := "@ingestionTime 100, @log 100, @logStream 100, @message 100, @timestamp 100, level 66, n 66"; strings.Join(text, ", ") != want {
		t.Errorf("fields %s, want %s", strings.Join(text, ", "), want)
	}
}

// checkRecord reads the event of a @ptr.
func checkRecord(c logClient, _ *cloudwatchlogs.GetQueryResultsOutput) {
	c.t.Helper()
	_, out := c.query(&cloudwatchlogs.StartQueryInput{LogGroupName: aws.String("/app"), QueryString: aws.String("filter n = 2 | limit 1")}, 1)
	row := out.Results[0]
	pointer := row[len(row)-1]
	if *pointer.Field != "@ptr" {
		c.t.Fatalf("the last field is %s", *pointer.Field)
	}
	record := must(c.t, c.GetLogRecord, &cloudwatchlogs.GetLogRecordInput{LogRecordPointer: pointer.Value})
	if r := record.LogRecord; r["@message"] != `{"level": "ERROR", "n": 2}` || r["n"] != "2" || r["@logStream"] != "s" || r["@log"] != "000000000000:/app" || r["@ptr"] != *pointer.Value || len(r["@timestamp"]) != 13 {
		c.t.Errorf("record %v", r)
	}
	_, err := c.GetLogRecord(c.t.Context(), &cloudwatchlogs.GetLogRecordInput{LogRecordPointer: aws.String("nonsense")})
	c.failed("another pointer", err, "InvalidParameterException")
}

// TestPagesOfQueries pages through more results than one answer has, and through the list of queries.
func TestPagesOfQueries(t *testing.T) {
	w := open(t, Options{})
	c := logsOf(w)
	c.create("/app", "s")
	messages := make([]string, 9999)
	for i := range messages {
		messages[i] = fmt.Sprint(i)
	}
	for batch := range 2 {
		_, err := c.put("/app", "s", time.Now().Add(time.Duration(batch-2)*time.Minute), messages...)
		c.must(err)
	}
	for limit, want := range map[int32]int{0: 10000, 15000: 15000, 20000: 19998, 7: 7} {
		in := &cloudwatchlogs.StartQueryInput{LogGroupName: aws.String("/app"), QueryString: aws.String("fields @message | limit 30000")}
		if limit == 0 {
			in.QueryString = aws.String("fields @message")
		} else {
			in.Limit = &limit
		}
		results, _ := c.query(in, 4000)
		if len(results) != want || results[0] != "9998" || len(results) > 9999 && (results[9998] != "0" || results[9999] != "9998") {
			t.Errorf("limit %d: %d results, want %d", limit, len(results), want)
		}
	}
	var listed []string
	in := &cloudwatchlogs.DescribeQueriesInput{MaxResults: aws.Int32(3), Status: types.QueryStatusComplete, LogGroupName: aws.String("/app")}
	for {
		out := must(t, c.DescribeQueries, in)
		for _, q := range out.Queries {
			listed = append(listed, *q.QueryId)
			if *q.LogGroupName != "/app" || !strings.HasPrefix(*q.QueryString, "fields @message") || q.Status != types.QueryStatusComplete {
				t.Errorf("query %+v", q)
			}
		}
		if in.NextToken = out.NextToken; in.NextToken == nil {
			break
		}
	}
	if slices.Sort(listed); len(slices.Compact(listed)) != 4 {
		t.Errorf("%d queries, want 4", len(listed))
	}
	_, err := c.StopQuery(t.Context(), &cloudwatchlogs.StopQueryInput{QueryId: &listed[0]})
	c.failed("stop a query that has ended", err, "InvalidParameterException")
	_, err = c.GetQueryResults(t.Context(), &cloudwatchlogs.GetQueryResultsInput{QueryId: aws.String("another")})
	c.failed("an unknown query", err, "ResourceNotFoundException")
	_, err = c.GetQueryResults(t.Context(), &cloudwatchlogs.GetQueryResultsInput{QueryId: &listed[0], NextToken: aws.String("x")})
	c.failed("an unknown token", err, "InvalidParameterException")
}

// TestRejectedQueries checks the errors of StartQuery, and that the SDK reads where the error is.
func TestRejectedQueries(t *testing.T) {
	c := logsOf(open(t, Options{}))
	valid := func(edit func(*cloudwatchlogs.StartQueryInput)) *cloudwatchlogs.StartQueryInput {
		in := &cloudwatchlogs.StartQueryInput{LogGroupName: aws.String(model.DefaultLogGroup), QueryString: aws.String("fields @message"), StartTime: aws.Int64(1), EndTime: aws.Int64(1)}
		edit(in)
		return in
	}
	must(t, c.StartQuery, valid(func(*cloudwatchlogs.StartQueryInput) {}))
	for name, k := range map[string]struct {
		edit func(in *cloudwatchlogs.StartQueryInput)
		code string
	}{
		"no group":        {func(in *cloudwatchlogs.StartQueryInput) { in.LogGroupName = nil }, "InvalidParameterException"},
		"two lists":       {func(in *cloudwatchlogs.StartQueryInput) { in.LogGroupNames = []string{"a"} }, "InvalidParameterException"},
		"many groups":     {func(in *cloudwatchlogs.StartQueryInput) { in.LogGroupName, in.LogGroupNames = nil, make([]string, 51) }, "InvalidParameterException"},
		"an unknown one":  {func(in *cloudwatchlogs.StartQueryInput) { in.LogGroupName = aws.String("none") }, "ResourceNotFoundException"},
		"times":           {func(in *cloudwatchlogs.StartQueryInput) { in.EndTime = aws.Int64(0) }, "InvalidParameterException"},
		"limit 0":         {func(in *cloudwatchlogs.StartQueryInput) { in.Limit = aws.Int32(0) }, "InvalidParameterException"},
		"limit 100001":    {func(in *cloudwatchlogs.StartQueryInput) { in.Limit = aws.Int32(100001) }, "InvalidParameterException"},
		"a long query":    {func(in *cloudwatchlogs.StartQueryInput) { in.QueryString = aws.String(strings.Repeat("#", 10001)) }, "InvalidParameterException"},
		"another dialect": {func(in *cloudwatchlogs.StartQueryInput) { in.QueryLanguage = types.QueryLanguageSql }, "InvalidParameterException"},
	} {
		_, err := c.StartQuery(t.Context(), valid(k.edit))
		c.failed(name, err, k.code)
	}
	_, err := c.StartQuery(t.Context(), valid(func(in *cloudwatchlogs.StartQueryInput) { in.QueryString = aws.String("fields ä | unnest b") }))
	e, ok := errors.AsType[*types.MalformedQueryException](err)
	if !ok || e.QueryCompileError == nil || *e.QueryCompileError.Location.StartCharOffset != 11 || *e.QueryCompileError.Location.EndCharOffset != 17 ||
		*e.QueryCompileError.Message != "the local engine does not implement the command unnest" {
		t.Errorf("%v, %+v", err, e)
	}
}

// TestFailedQuery checks that a query over a log that cannot be read fails, with the reason in the notice.
func TestFailedQuery(t *testing.T) {
	w := open(t, Options{})
	c := logsOf(w)
	c.create("/app", "s")
	_, err := c.put("/app", "s", time.Now(), "a message")
	c.must(err)
	files, err := filepath.Glob(filepath.Join(w.engine.options.Dir, "logs", "*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("files %q, %v", files, err)
	}
	c.must(errors.Join(os.Remove(files[0]), os.Mkdir(files[0], 0o700)))
	_, out := c.query(&cloudwatchlogs.StartQueryInput{LogGroupName: aws.String("/app"), QueryString: aws.String("fields @message")}, 1)
	raw := noticeOf(out.ResultMetadata)
	if out.Status != types.QueryStatusFailed || !strings.Contains(raw, "the%20query%20failed:%20read%20log:") {
		t.Errorf("%s, notice %q", out.Status, raw)
	}
}

// noticeOf returns the notice in an answer, percent-encoded.
func noticeOf(m middleware.Metadata) string {
	r, ok := awsmiddleware.GetRawResponse(m).(*smithyhttp.Response)
	if !ok {
		return ""
	}
	return r.Header.Get("X-Batchctl-Notice")
}

// noPrefix is the option that StartLiveTail needs: the SDK puts stream- before the host.
func noPrefix(o *cloudwatchlogs.Options) {
	o.APIOptions = append(o.APIOptions, func(s *middleware.Stack) error {
		return s.Initialize.Add(middleware.InitializeMiddlewareFunc("NoHostPrefix", func(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (
			middleware.InitializeOutput, middleware.Metadata, error) {
			return next.HandleInitialize(smithyhttp.DisableEndpointHostPrefix(ctx, true), in)
		}), middleware.Before)
	})
}

// TestLiveTail follows streams that exist, that are created later and that a job writes.
func TestLiveTail(t *testing.T) {
	w := open(t, Options{Executor: process.New(nil, "")})
	c := logsOf(w)
	c.create("/app", "s", "other")
	_, err := c.put("/app", "s", time.Now(), "before the session")
	c.must(err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	c.must(err)
	ctx, stop := context.WithCancel(t.Context())
	ready, ended := make(chan Connection, 1), make(chan error, 1)
	go func() { ended <- w.engine.Serve(ctx, l, func(c Connection) { ready <- c }) }()
	config := (<-ready).Config()
	streaming := cloudwatchlogs.NewFromConfig(config, noPrefix)
	arn := "arn:aws:logs:local:000000000000:log-group:"
	tail := func(in *cloudwatchlogs.StartLiveTailInput) *cloudwatchlogs.StartLiveTailEventStream {
		t.Helper()
		out, err := streaming.StartLiveTail(t.Context(), in)
		c.must(err)
		s := out.GetStream()
		t.Cleanup(func() { _ = s.Close() })
		start, ok := (<-s.Events()).(*types.StartLiveTailResponseStreamMemberSessionStart)
		if !ok || aws.ToString(start.Value.SessionId) == "" || !slices.Equal(start.Value.LogGroupIdentifiers, in.LogGroupIdentifiers) {
			t.Fatalf("the session starts with %+v, %v", start, s.Err())
		}
		return s
	}
	all := tail(&cloudwatchlogs.StartLiveTailInput{LogGroupIdentifiers: []string{arn + "/app", arn + model.DefaultLogGroup}})
	some := tail(&cloudwatchlogs.StartLiveTailInput{LogGroupIdentifiers: []string{arn + "/app"}, LogEventFilterPattern: aws.String("yes"), LogStreamNamePrefixes: []string{"new"}})

	must(t, c.CreateLogStream, &cloudwatchlogs.CreateLogStreamInput{LogGroupName: aws.String("/app"), LogStreamName: aws.String("new-1")})
	for _, s := range []string{"s", "new-1"} {
		_, err = c.put("/app", s, time.Now(), "yes "+s, "no "+s)
		c.must(err)
	}
	w.register("work", "1", "64", func(in *awsbatch.RegisterJobDefinitionInput) {
		in.ContainerProperties.Command = []string{"sh", "-c", "echo from a job; printf 'without a line break'"}
	})
	w.submit("work")
	want := []string{"from a job", "no new-1", "no s", "without a line break", "yes new-1", "yes s"}
	if got := tailed(t, all, len(want)); !slices.Equal(got, want) {
		t.Errorf("received %q, want %q", got, want)
	}
	if got := tailed(t, some, 1); !slices.Equal(got, []string{"yes new-1"}) {
		t.Errorf("received %q", got)
	}
	// More than an update may have is sampled.
	messages := make([]string, 2000)
	for i := range messages {
		messages[i] = fmt.Sprint(i)
	}
	_, err = c.put("/app", "other", time.Now(), messages...)
	c.must(err)
	for sampled := false; !sampled; {
		update, ok := (<-all.Events()).(*types.StartLiveTailResponseStreamMemberSessionUpdate)
		if !ok {
			t.Fatalf("the stream ends: %v", all.Err())
		}
		if sampled = update.Value.SessionMetadata.Sampled; sampled && (len(update.Value.SessionResults) != 500 || *update.Value.SessionResults[499].Message != "1996") {
			t.Errorf("%d events", len(update.Value.SessionResults))
		}
	}
	// A session is no client, and ends with the engine.
	if err := w.engine.Drain(t.Context()); err != nil {
		t.Error(err)
	}
	stop()
	c.must(<-ended)
	for range all.Events() {
	}
	_, err = c.StartLiveTail(t.Context(), &cloudwatchlogs.StartLiveTailInput{LogGroupIdentifiers: []string{"/app"}}, noPrefix)
	c.failed("a name", err, "InvalidParameterException")
	_, err = c.StartLiveTail(t.Context(), &cloudwatchlogs.StartLiveTailInput{LogGroupIdentifiers: []string{arn + "none"}}, noPrefix)
	c.failed("an unknown group", err, "ResourceNotFoundException")
}

// tailed returns the messages of updates until there are n, sorted.
func tailed(t *testing.T, s *cloudwatchlogs.StartLiveTailEventStream, n int) (messages []string) {
	t.Helper()
	for len(messages) < n {
		update, ok := (<-s.Events()).(*types.StartLiveTailResponseStreamMemberSessionUpdate)
		if !ok {
			t.Fatalf("the stream ends after %q: %v", messages, s.Err())
		}
		for _, e := range update.Value.SessionResults {
			messages = append(messages, *e.Message)
		}
	}
	slices.Sort(messages)
	return messages
}

// TestLiveTailTimeout checks that a session ends after three hours.
func TestLiveTailTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := open(t, Options{})
		handler := w.engine.Handler()
		config := w.engine.Config()
		reader, writer := io.Pipe()
		config.HTTPClient = smithyhttp.ClientDoFunc(func(r *http.Request) (*http.Response, error) {
			in := r.Clone(r.Context())
			in.Host = "localhost"
			body, err := io.ReadAll(r.Body) // the SDK closes it after this call
			if err != nil {
				return nil, err
			}
			in.Body = io.NopCloser(bytes.NewReader(body))
			out := &streamed{header: http.Header{}, body: writer}
			go func() {
				handler.ServeHTTP(out, in)
				writer.Close()
			}()
			return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"application/vnd.amazon.eventstream"}}, Body: reader, Request: r}, nil
		})
		began := time.Now()
		out, err := cloudwatchlogs.NewFromConfig(config, noPrefix).StartLiveTail(t.Context(), &cloudwatchlogs.StartLiveTailInput{
			LogGroupIdentifiers: []string{"arn:aws:logs:local:000000000000:log-group:" + model.DefaultLogGroup}})
		if err != nil {
			t.Fatal(err)
		}
		updates := 0
		for range out.GetStream().Events() {
			updates++
		}
		if _, ok := errors.AsType[*types.SessionTimeoutException](out.GetStream().Err()); !ok || time.Since(began) != 3*time.Hour || updates < 3*3600-1 {
			t.Errorf("%v after %s and %d updates", out.GetStream().Err(), time.Since(began), updates)
		}
	})
}

// streamed is an answer that is read while it is written.
type streamed struct {
	header http.Header
	body   io.Writer
}

func (s *streamed) Header() http.Header             { return s.header }
func (s *streamed) WriteHeader(int)                 {}
func (s *streamed) Write(data []byte) (int, error)  { return s.body.Write(data) }
func (s *streamed) Flush()                          {}
func (s *streamed) SetReadDeadline(time.Time) error { return nil }

// The older operations for tags, which scripts still use and the SDK marks as deprecated.
func (c logClient) tagOlder(group string, tags map[string]string) error {
	//lint:ignore SA1019 see above
	_, err := c.TagLogGroup(c.t.Context(), &cloudwatchlogs.TagLogGroupInput{LogGroupName: &group, Tags: tags})
	return err
}

func (c logClient) untagOlder(group string, keys ...string) error {
	//lint:ignore SA1019 see above
	_, err := c.UntagLogGroup(c.t.Context(), &cloudwatchlogs.UntagLogGroupInput{LogGroupName: &group, Tags: keys})
	return err
}

func (c logClient) tagsOlder(group string) map[string]string {
	//lint:ignore SA1019 see above
	out := must(c.t, c.ListTagsLogGroup, &cloudwatchlogs.ListTagsLogGroupInput{LogGroupName: &group})
	return out.Tags
}

// TestTagsAndDeletedStreams tags a group in both ways and deletes streams, before and after a restart.
func TestTagsAndDeletedStreams(t *testing.T) {
	o := Options{Dir: filepath.Join(t.TempDir(), "state")}
	w := open(t, o)
	c := logsOf(w)
	group, arn := aws.String("/app"), aws.String("arn:aws:logs:local:000000000000:log-group:/app")
	must(t, c.CreateLogGroup, &cloudwatchlogs.CreateLogGroupInput{LogGroupName: group, Tags: map[string]string{"a": "1", "b": "2"}})
	must(t, c.TagResource, &cloudwatchlogs.TagResourceInput{ResourceArn: arn, Tags: map[string]string{"b": "3", "c": "4"}})
	must(t, c.UntagResource, &cloudwatchlogs.UntagResourceInput{ResourceArn: arn, TagKeys: []string{"a", "none"}})
	c.must(c.tagOlder("/app", map[string]string{"d": "5"}))
	c.must(c.untagOlder("/app", "c"))
	_, err := c.TagResource(t.Context(), &cloudwatchlogs.TagResourceInput{ResourceArn: group, Tags: map[string]string{"x": ""}})
	c.failed("a name", err, "InvalidParameterException")
	c.failed("an unknown group", c.tagOlder("none", map[string]string{"x": ""}), "ResourceNotFoundException")
	c.failed("a reserved key", c.tagOlder("/app", map[string]string{"aws:x": ""}), "InvalidParameterException")

	for _, s := range []string{"kept", "gone"} {
		must(t, c.CreateLogStream, &cloudwatchlogs.CreateLogStreamInput{LogGroupName: group, LogStreamName: &s})
		_, err = c.put("/app", s, time.Now(), "in "+s)
		c.must(err)
	}
	must(t, c.DeleteLogStream, &cloudwatchlogs.DeleteLogStreamInput{LogGroupName: group, LogStreamName: aws.String("gone")})
	_, err = c.DeleteLogStream(t.Context(), &cloudwatchlogs.DeleteLogStreamInput{LogGroupName: group, LogStreamName: aws.String("gone")})
	c.failed("deleted twice", err, "ResourceNotFoundException")
	if files, err := os.ReadDir(filepath.Join(o.Dir, "logs")); err != nil || len(files) != 1 {
		t.Errorf("%d files are left, want 1: %v", len(files), err)
	}
	w.register("work", "1", "64")
	id := w.submit("work")
	w.idle()
	_, err = c.DeleteLogStream(t.Context(), &cloudwatchlogs.DeleteLogStreamInput{LogGroupName: aws.String(model.DefaultLogGroup), LogStreamName: w.job(id).Container.LogStreamName})
	c.failed("the log of a job", err, "InvalidParameterException")
	for _, when := range []string{"before", "after"} {
		tags := must(t, c.ListTagsForResource, &cloudwatchlogs.ListTagsForResourceInput{ResourceArn: arn})
		if got := fmt.Sprint(tags.Tags, c.tagsOlder("/app")); got != "map[b:3 d:5] map[b:3 d:5]" {
			t.Errorf("%s the restart: tags %s", when, got)
		}
		if got := c.describe(); strings.Count(got, "\n") != 2 || !strings.Contains(got, `["in kept"]`) {
			t.Errorf("%s the restart:\n%s", when, got)
		}
		w = w.restart(o.Dir, o)
		c = logsOf(w)
	}
	// A deleted stream can be created again, and is empty.
	must(t, c.CreateLogStream, &cloudwatchlogs.CreateLogStreamInput{LogGroupName: group, LogStreamName: aws.String("gone")})
	if got := c.read("/app", "gone"); len(got) != 0 {
		t.Errorf("the new stream has %q", got)
	}
}

// TestPutLimit checks that a stream accepts no events over the limit, and keeps those that it has.
func TestPutLimit(t *testing.T) {
	c := logsOf(open(t, Options{LogLimit: testLimit}))
	c.create("/app", "s")
	part := strings.Repeat("x", testLimit/4)
	var err error
	stored := 0
	for ; err == nil && stored < 9; stored++ {
		_, err = c.put("/app", "s", time.Now(), part)
	}
	c.failed("a full stream", err, "InvalidParameterException")
	if got := c.read("/app", "s"); stored != 4 || len(got) != 3 || !strings.Contains(err.Error(), "the local engine's limit of 1 MiB (batchctl serve --log-limit)") {
		t.Errorf("%d events after %d calls: %v", len(got), stored, err)
	}
	_, err = c.put("/app", "s", time.Now(), "a small one fits")
	c.must(err)
}

// roundOfQueries tags a log group, and runs and describes queries of Logs Insights.
func roundOfQueries(t *testing.T, cli func(out any, args ...string) error, must func(out any, args ...string)) {
	t.Helper()
	arn := "arn:aws:logs:local:000000000000:log-group:/app"
	must(nil, "logs", "tag-resource", "--resource-arn", arn, "--tags", "team=a,cost=low")
	must(nil, "logs", "untag-resource", "--resource-arn", arn, "--tag-keys", "cost")
	var tagged struct{ Tags map[string]string }
	must(&tagged, "logs", "list-tags-for-resource", "--resource-arn", arn)
	if len(tagged.Tags) != 1 || tagged.Tags["team"] != "a" {
		t.Errorf("tags %v, want team=a alone", tagged.Tags)
	}
	now := time.Now().Unix()
	var query struct{ QueryID string }
	must(&query, "logs", "start-query", "--log-group-names", "/app", "--start-time", strconv.FormatInt(now-60, 10), "--end-time", strconv.FormatInt(now, 10),
		"--query-string", "fields @timestamp, @message | filter @message like /^h/ | sort @timestamp desc")
	var answer struct {
		Status     string
		Results    [][]struct{ Field, Value string }
		Statistics struct{ RecordsScanned, RecordsMatched float64 }
	}
	for answer.Status == "" || answer.Status == "Scheduled" || answer.Status == "Running" {
		must(&answer, "logs", "get-query-results", "--query-id", query.QueryID)
	}
	if answer.Status != "Complete" || len(answer.Results) != 1 || len(answer.Results[0]) != 3 || answer.Results[0][1].Value != "hello" || answer.Statistics.RecordsScanned != 2 {
		t.Fatalf("answer %+v", answer)
	}
	var record struct{ LogRecord map[string]string }
	must(&record, "logs", "get-log-record", "--log-record-pointer", answer.Results[0][2].Value)
	if record.LogRecord["@message"] != "hello" {
		t.Errorf("record %v", record.LogRecord)
	}
	var queries struct {
		Queries []struct{ QueryID, Status string }
	}
	must(&queries, "logs", "describe-queries", "--status", "Complete")
	if len(queries.Queries) != 1 || queries.Queries[0].QueryID != query.QueryID {
		t.Errorf("queries %+v", queries)
	}
	if err := cli(nil, "logs", "stop-query", "--query-id", query.QueryID); err == nil || !strings.Contains(err.Error(), "(InvalidParameterException)") {
		t.Errorf("stop a query that has ended: %v", err)
	}
	err := cli(nil, "logs", "start-query", "--log-group-name", "/app", "--start-time", "0", "--end-time", "1", "--query-string", "fields a | pattern @message")
	if err == nil || !strings.Contains(err.Error(), "(MalformedQueryException)") || !strings.Contains(err.Error(), "the command pattern") {
		t.Errorf("another command: %v", err)
	}
}

// TestLiveTailCLI follows a log group with the aws CLI, with the environment of batchctl env.
func TestLiveTailCLI(t *testing.T) {
	path := tool(t, "aws", "--version")
	w, c, _ := served(t)
	logs := logsOf(w)
	logs.create("/app", "s")
	cmd := exec.CommandContext(t.Context(), path, "logs", "start-live-tail", "--log-group-identifiers", "arn:aws:logs:local:000000000000:log-group:/app")
	cmd.Env = append(toolEnvironment(t, c), "AWS_DISABLE_HOST_PREFIX_INJECTION=true", "PYTHONUNBUFFERED=1")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	stdout, err := cmd.StdoutPipe()
	logs.must(err)
	logs.must(cmd.Start())
	ended := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(stdout).ReadString('\n')
		ended <- line
	}()
	for i := 0; ; i++ { // until the session has begun
		_, err := logs.put("/app", "s", time.Now(), "hello")
		logs.must(err)
		select {
		case line := <-ended:
			if !strings.Contains(line, "hello") {
				t.Errorf("the CLI prints %q, %s", line, stderr.String())
			}
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			return
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// BenchmarkLogQuery runs queries over the log of a job with a million lines.
func BenchmarkLogQuery(b *testing.B) {
	e := bench(b, Options{})
	client := awsbatch.NewFromConfig(e.Config())
	submit(b, client, 0)
	finish(b, e)
	var stream string
	for _, s := range e.model.LogStreams {
		stream = s.File
	}
	var text strings.Builder
	for i := range 1_000_000 {
		level := "INFO"
		if i%1000 == 0 {
			level = "ERROR"
		}
		fmt.Fprintf(&text, `{"time": "2026-01-02T03:04:05Z", "level": %q, "step": %d, "text": "the loss is 0.%d"}`+"\n", level, i, i)
	}
	if err := e.directory.root.WriteFile("logs/"+stream+".log", []byte(text.String()), 0o600); err != nil {
		b.Fatal(err)
	}
	size := int64(text.Len())
	text.Reset()
	c := logClient{cloudwatchlogs.NewFromConfig(e.Config()), nil}
	for _, query := range []string{"filter @message like /ERROR/ | stats count(*)", "filter level = 'ERROR' | sort step desc | limit 20", "fields @timestamp, @message",
		"stats count(*) by bin(5m), level", "stats pct(step, 99), count_distinct(step)"} {
		b.Run(strings.NewReplacer(" ", "_", "/", "|").Replace(query), func(b *testing.B) {
			b.SetBytes(size)
			var peak uint64
			for b.Loop() {
				in := &cloudwatchlogs.StartQueryInput{LogGroupName: aws.String(model.DefaultLogGroup), QueryString: &query, StartTime: aws.Int64(0), EndTime: aws.Int64(time.Now().Unix() + 1)}
				started, err := c.StartQuery(b.Context(), in)
				if err != nil {
					b.Fatal(err)
				}
				for status := types.QueryStatusRunning; status != types.QueryStatusComplete; {
					out, err := c.GetQueryResults(b.Context(), &cloudwatchlogs.GetQueryResultsInput{QueryId: started.QueryId, MaxItems: aws.Int32(1)})
					if err != nil || out.Status == types.QueryStatusFailed {
						b.Fatal(out, err)
					}
					status = out.Status
					var m runtime.MemStats
					runtime.ReadMemStats(&m)
					peak = max(peak, m.HeapAlloc)
					<-time.After(5 * time.Millisecond)
				}
			}
			b.ReportMetric(float64(peak)/(1<<20), "MiB-heap")
		})
	}
}
