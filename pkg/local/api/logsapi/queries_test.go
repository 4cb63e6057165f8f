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
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs/types"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/batchctl/batchctl/pkg/local/model"
	"github.com/batchctl/batchctl/pkg/local/model/modeltest"
)

// TestPagesOfQueries pages through more results than one answer has, and through the list of queries.
func TestPagesOfQueries(t *testing.T) {
	c := newLogs(t, 0)
	c.Create("/app", "s")
	messages := make([]string, 9999)
	for i := range messages {
		messages[i] = fmt.Sprint(i)
	}
	for batch := range 2 {
		_, err := c.Put("/app", "s", time.Now().Add(time.Duration(batch-2)*time.Minute), messages...)
		c.Must(err)
	}
	for limit, want := range map[int32]int{0: 10000, 15000: 15000, 20000: 19998, 7: 7} {
		in := &cloudwatchlogs.StartQueryInput{LogGroupName: aws.String("/app"), QueryString: aws.String("fields @message | limit 30000")}
		if limit == 0 {
			in.QueryString = aws.String("fields @message")
		} else {
			in.Limit = &limit
		}
		results, _ := c.Query(in, 4000)
		if len(results) != want || results[0] != "9998" || len(results) > 9999 && (results[9998] != "0" || results[9999] != "9998") {
			t.Errorf("limit %d: %d results, want %d", limit, len(results), want)
		}
	}
	var listed []string
	in := &cloudwatchlogs.DescribeQueriesInput{MaxResults: aws.Int32(3), Status: types.QueryStatusComplete, LogGroupName: aws.String("/app")}
	for {
		out := modeltest.Must(t, c.DescribeQueries, in)
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
	c.Failed("stop a query that has ended", err, "InvalidParameterException")
	_, err = c.GetQueryResults(t.Context(), &cloudwatchlogs.GetQueryResultsInput{QueryId: aws.String("another")})
	c.Failed("an unknown query", err, "ResourceNotFoundException")
	_, err = c.GetQueryResults(t.Context(), &cloudwatchlogs.GetQueryResultsInput{QueryId: &listed[0], NextToken: aws.String("x")})
	c.Failed("an unknown token", err, "InvalidParameterException")
}

// TestRejectedQueries checks the errors of StartQuery, and that the SDK reads where the error is.
func TestRejectedQueries(t *testing.T) {
	c := newLogs(t, 0)
	valid := func(edit func(*cloudwatchlogs.StartQueryInput)) *cloudwatchlogs.StartQueryInput {
		in := &cloudwatchlogs.StartQueryInput{LogGroupName: aws.String(model.DefaultLogGroup), QueryString: aws.String("fields @message"), StartTime: aws.Int64(1), EndTime: aws.Int64(1)}
		edit(in)
		return in
	}
	modeltest.Must(t, c.StartQuery, valid(func(*cloudwatchlogs.StartQueryInput) {}))
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
		c.Failed(name, err, k.code)
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
	c := newLogs(t, 0)
	c.Create("/app", "s")
	_, err := c.Put("/app", "s", time.Now(), "a message")
	c.Must(err)
	files, err := filepath.Glob(filepath.Join(c.dir, "logs", "*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("files %q, %v", files, err)
	}
	c.Must(errors.Join(os.Remove(files[0]), os.Mkdir(files[0], 0o700)))
	_, out := c.Query(&cloudwatchlogs.StartQueryInput{LogGroupName: aws.String("/app"), QueryString: aws.String("fields @message")}, 1)
	raw := noticeOf(out.ResultMetadata)
	if out.Status != types.QueryStatusFailed || !strings.Contains(raw, "the%20query%20failed:%20read%20log:") {
		t.Errorf("%s, notice %q", out.Status, raw)
	}
}

const testLimit = 1 << 20

// TestPutLimit checks that a stream accepts no events over the limit, and keeps those that it has.
func TestPutLimit(t *testing.T) {
	c := newLogs(t, testLimit)
	c.Create("/app", "s")
	part := strings.Repeat("x", testLimit/4)
	var err error
	stored := 0
	for ; err == nil && stored < 9; stored++ {
		_, err = c.Put("/app", "s", time.Now(), part)
	}
	c.Failed("a full stream", err, "InvalidParameterException")
	if got := c.Read("/app", "s"); stored != 4 || len(got) != 3 || !strings.Contains(err.Error(), "the local engine's limit of 1 MiB (batchctl serve --log-limit)") {
		t.Errorf("%d events after %d calls: %v", len(got), stored, err)
	}
	_, err = c.Put("/app", "s", time.Now(), "a small one fits")
	c.Must(err)
}

// noticeOf returns the notice in an answer, percent-encoded.
func noticeOf(m middleware.Metadata) string {
	r, ok := awsmiddleware.GetRawResponse(m).(*smithyhttp.Response)
	if !ok {
		return ""
	}
	return r.Header.Get("X-Batchctl-Notice")
}
