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
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs/types"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/batchctl/batchctl/pkg/local/api/logsapi/logstest"
	"github.com/batchctl/batchctl/pkg/local/model"
	"github.com/batchctl/batchctl/pkg/local/model/modeltest"
	"github.com/batchctl/batchctl/pkg/local/process"
)

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
	c.Create("/app", "s", "empty")
	latest := time.Now().Truncate(time.Second).Add(-time.Minute) // of the batches, but for half a second
	for _, at := range []time.Duration{0, -time.Minute} {        // the times of batches are in no order
		_, err := c.Put("/app", "s", latest.Add(at+time.Second/2), `{"level": "INFO", "n": 1}`, `{"level": "ERROR", "n": 2}`)
		c.Must(err)
	}
	results, out := c.Query(&cloudwatchlogs.StartQueryInput{LogGroupName: aws.String("jobs"), QueryString: aws.String("fields @message, @logStream, @log | limit 3")}, 2)
	if want := []string{"\uFFFD no line break", "epoch 3 loss=0.3", "epoch 2 loss=0.2"}; len(results) != 3 || !slices.Equal(results, []string{want[0] + " " + stream + " 000000000000:jobs",
		want[1] + " " + stream + " 000000000000:jobs", want[2] + " " + stream + " 000000000000:jobs"}) {
		t.Errorf("results %q", results)
	}
	if s := out.Statistics; s.RecordsScanned != 4 || s.RecordsMatched != 4 || s.BytesScanned != 63 || s.LogGroupsScanned != 1 || out.Status != types.QueryStatusComplete {
		t.Errorf("%s, statistics %+v", out.Status, s)
	}
	both := []string{"arn:aws:logs:local:000000000000:log-group:/app", "jobs"}
	results, out = c.Query(&cloudwatchlogs.StartQueryInput{LogGroupIdentifiers: both, QueryString: aws.String(
		"parse @message 'loss=*' as loss | filter level = 'ERROR' or loss >= 0.2 | stats count(*) as n by @log, coalesce(level, '-') as l")}, 100)
	if !slices.Equal(results, []string{"000000000000:/app ERROR 2", "000000000000:jobs - 2"}) || out.Statistics.RecordsMatched != 4 || out.Statistics.RecordsScanned != 8 {
		t.Errorf("results %q, statistics %+v", results, out.Statistics)
	}
	// The time range is inclusive: here the second of the first batch alone.
	second := aws.Int64(latest.Unix())
	_, err := c.Put("/app", "s", time.Unix(*second, 0), "first")
	c.Must(err)
	_, err = c.Put("/app", "s", time.Unix(*second+1, 0), "too late")
	c.Must(err)
	results, _ = c.Query(&cloudwatchlogs.StartQueryInput{LogGroupNames: []string{"/app"}, StartTime: second, EndTime: second, Limit: aws.Int32(1),
		QueryString: aws.String("fields @message | sort @timestamp asc")}, 100)
	if !slices.Equal(results, []string{"first"}) {
		t.Errorf("results %q, want those of one second", results)
	}
	checkRecord(c, out)
	fields := modeltest.Must(t, c.GetLogGroupFields, &cloudwatchlogs.GetLogGroupFieldsInput{LogGroupName: aws.String("/app")})
	var text []string
	for _, f := range fields.LogGroupFields {
		text = append(text, fmt.Sprint(*f.Name, " ", f.Percent))
	}
	if want := "@ingestionTime 100, @log 100, @logStream 100, @message 100, @timestamp 100, level 66, n 66"; strings.Join(text, ", ") != want {
		t.Errorf("fields %s, want %s", strings.Join(text, ", "), want)
	}
}

// checkRecord reads the event of a @ptr.
func checkRecord(c logstest.Client, _ *cloudwatchlogs.GetQueryResultsOutput) {
	c.T.Helper()
	_, out := c.Query(&cloudwatchlogs.StartQueryInput{LogGroupName: aws.String("/app"), QueryString: aws.String("filter n = 2 | limit 1")}, 1)
	row := out.Results[0]
	pointer := row[len(row)-1]
	if *pointer.Field != "@ptr" {
		c.T.Fatalf("the last field is %s", *pointer.Field)
	}
	record := modeltest.Must(c.T, c.GetLogRecord, &cloudwatchlogs.GetLogRecordInput{LogRecordPointer: pointer.Value})
	if r := record.LogRecord; r["@message"] != `{"level": "ERROR", "n": 2}` || r["n"] != "2" || r["@logStream"] != "s" || r["@log"] != "000000000000:/app" || r["@ptr"] != *pointer.Value || len(r["@timestamp"]) != 13 {
		c.T.Errorf("record %v", r)
	}
	_, err := c.GetLogRecord(c.T.Context(), &cloudwatchlogs.GetLogRecordInput{LogRecordPointer: aws.String("nonsense")})
	c.Failed("another pointer", err, "InvalidParameterException")
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
	c.Create("/app", "s", "other")
	_, err := c.Put("/app", "s", time.Now(), "before the session")
	c.Must(err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	c.Must(err)
	ctx, stop := context.WithCancel(t.Context())
	ready, ended := make(chan Connection, 1), make(chan error, 1)
	go func() { ended <- w.engine.Serve(ctx, l, func(c Connection) { ready <- c }) }()
	config := (<-ready).Config()
	streaming := cloudwatchlogs.NewFromConfig(config, noPrefix)
	arn := "arn:aws:logs:local:000000000000:log-group:"
	tail := func(in *cloudwatchlogs.StartLiveTailInput) *cloudwatchlogs.StartLiveTailEventStream {
		t.Helper()
		out, err := streaming.StartLiveTail(t.Context(), in)
		c.Must(err)
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

	modeltest.Must(t, c.CreateLogStream, &cloudwatchlogs.CreateLogStreamInput{LogGroupName: aws.String("/app"), LogStreamName: aws.String("new-1")})
	for _, s := range []string{"s", "new-1"} {
		_, err = c.Put("/app", s, time.Now(), "yes "+s, "no "+s)
		c.Must(err)
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
	_, err = c.Put("/app", "other", time.Now(), messages...)
	c.Must(err)
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
	c.Must(<-ended)
	for range all.Events() {
	}
	_, err = c.StartLiveTail(t.Context(), &cloudwatchlogs.StartLiveTailInput{LogGroupIdentifiers: []string{"/app"}}, noPrefix)
	c.Failed("a name", err, "InvalidParameterException")
	_, err = c.StartLiveTail(t.Context(), &cloudwatchlogs.StartLiveTailInput{LogGroupIdentifiers: []string{arn + "none"}}, noPrefix)
	c.Failed("an unknown group", err, "ResourceNotFoundException")
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
func tagOlder(c logstest.Client, group string, tags map[string]string) error {
	//lint:ignore SA1019 see above
	_, err := c.TagLogGroup(c.T.Context(), &cloudwatchlogs.TagLogGroupInput{LogGroupName: &group, Tags: tags})
	return err
}

func untagOlder(c logstest.Client, group string, keys ...string) error {
	//lint:ignore SA1019 see above
	_, err := c.UntagLogGroup(c.T.Context(), &cloudwatchlogs.UntagLogGroupInput{LogGroupName: &group, Tags: keys})
	return err
}

func tagsOlder(c logstest.Client, group string) map[string]string {
	//lint:ignore SA1019 see above
	out := modeltest.Must(c.T, c.ListTagsLogGroup, &cloudwatchlogs.ListTagsLogGroupInput{LogGroupName: &group})
	return out.Tags
}

// TestTagsAndDeletedStreams tags a group in both ways and deletes streams, before and after a restart.
func TestTagsAndDeletedStreams(t *testing.T) {
	o := Options{Dir: filepath.Join(t.TempDir(), "state")}
	w := open(t, o)
	c := logsOf(w)
	group, arn := aws.String("/app"), aws.String("arn:aws:logs:local:000000000000:log-group:/app")
	modeltest.Must(t, c.CreateLogGroup, &cloudwatchlogs.CreateLogGroupInput{LogGroupName: group, Tags: map[string]string{"a": "1", "b": "2"}})
	modeltest.Must(t, c.TagResource, &cloudwatchlogs.TagResourceInput{ResourceArn: arn, Tags: map[string]string{"b": "3", "c": "4"}})
	modeltest.Must(t, c.UntagResource, &cloudwatchlogs.UntagResourceInput{ResourceArn: arn, TagKeys: []string{"a", "none"}})
	c.Must(tagOlder(c, "/app", map[string]string{"d": "5"}))
	c.Must(untagOlder(c, "/app", "c"))
	_, err := c.TagResource(t.Context(), &cloudwatchlogs.TagResourceInput{ResourceArn: group, Tags: map[string]string{"x": ""}})
	c.Failed("a name", err, "InvalidParameterException")
	c.Failed("an unknown group", tagOlder(c, "none", map[string]string{"x": ""}), "ResourceNotFoundException")
	c.Failed("a reserved key", tagOlder(c, "/app", map[string]string{"aws:x": ""}), "InvalidParameterException")

	for _, s := range []string{"kept", "gone"} {
		modeltest.Must(t, c.CreateLogStream, &cloudwatchlogs.CreateLogStreamInput{LogGroupName: group, LogStreamName: &s})
		_, err = c.Put("/app", s, time.Now(), "in "+s)
		c.Must(err)
	}
	modeltest.Must(t, c.DeleteLogStream, &cloudwatchlogs.DeleteLogStreamInput{LogGroupName: group, LogStreamName: aws.String("gone")})
	_, err = c.DeleteLogStream(t.Context(), &cloudwatchlogs.DeleteLogStreamInput{LogGroupName: group, LogStreamName: aws.String("gone")})
	c.Failed("deleted twice", err, "ResourceNotFoundException")
	if files, err := os.ReadDir(filepath.Join(o.Dir, "logs")); err != nil || len(files) != 1 {
		t.Errorf("%d files are left, want 1: %v", len(files), err)
	}
	w.register("work", "1", "64")
	id := w.submit("work")
	w.idle()
	_, err = c.DeleteLogStream(t.Context(), &cloudwatchlogs.DeleteLogStreamInput{LogGroupName: aws.String(model.DefaultLogGroup), LogStreamName: w.job(id).Container.LogStreamName})
	c.Failed("the log of a job", err, "InvalidParameterException")
	for _, when := range []string{"before", "after"} {
		tags := modeltest.Must(t, c.ListTagsForResource, &cloudwatchlogs.ListTagsForResourceInput{ResourceArn: arn})
		if got := fmt.Sprint(tags.Tags, tagsOlder(c, "/app")); got != "map[b:3 d:5] map[b:3 d:5]" {
			t.Errorf("%s the restart: tags %s", when, got)
		}
		if got := c.Describe(); strings.Count(got, "\n") != 2 || !strings.Contains(got, `["in kept"]`) {
			t.Errorf("%s the restart:\n%s", when, got)
		}
		w = w.restart(o.Dir, o)
		c = logsOf(w)
	}
	// A deleted stream can be created again, and is empty.
	modeltest.Must(t, c.CreateLogStream, &cloudwatchlogs.CreateLogStreamInput{LogGroupName: group, LogStreamName: aws.String("gone")})
	if got := c.Read("/app", "gone"); len(got) != 0 {
		t.Errorf("the new stream has %q", got)
	}
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
	logs.Create("/app", "s")
	cmd := exec.CommandContext(t.Context(), path, "logs", "start-live-tail", "--log-group-identifiers", "arn:aws:logs:local:000000000000:log-group:/app")
	cmd.Env = append(toolEnvironment(t, c), "AWS_DISABLE_HOST_PREFIX_INJECTION=true", "PYTHONUNBUFFERED=1")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	stdout, err := cmd.StdoutPipe()
	logs.Must(err)
	logs.Must(cmd.Start())
	ended := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(stdout).ReadString('\n')
		ended <- line
	}()
	for i := 0; ; i++ { // until the session has begun
		_, err := logs.Put("/app", "s", time.Now(), "hello")
		logs.Must(err)
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
	c := logstest.Client{Client: cloudwatchlogs.NewFromConfig(e.Config()), T: b}
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
