package logsapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/batchctl/batchctl/pkg/local/api/call"
	"github.com/batchctl/batchctl/pkg/local/insights"
	"github.com/batchctl/batchctl/pkg/local/model"
	"github.com/batchctl/batchctl/pkg/wire"
)

// queries has the operations on queries of Logs Insights.
type queries struct {
	*service
	list queryList
}

// startQuery compiles a query and starts it.
func (qs *queries) startQuery(_ *call.Call, in *wire.StartQueryInput) (*wire.StartQueryOutput, error) {
	groups, err := checkQuery(in)
	if err != nil {
		return nil, err
	}
	compiled, err := insights.Parse(*in.QueryString)
	if e, ok := errors.AsType[*insights.SyntaxError](err); ok {
		return nil, malformed(e)
	}
	m, done := qs.state.View()
	for _, g := range groups {
		if m.LogGroups[g] == nil {
			err = &wire.Fault{Type: "ResourceNotFoundException",
				Message: fmt.Sprintf("Log group '%s' does not exist for account ID '%s'", g, model.Account)}
		}
	}
	done()
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithTimeout(context.Background(), maxQueryTime)
	q := &query{id: call.NewID(), text: *in.QueryString, groups: groups, from: *in.StartTime * 1000,
		to:    *in.EndTime*1000 + 999,
		limit: int(aws.ToInt32(in.Limit)), compiled: compiled, created: time.Now(), stop: stop, status: queryScheduled}
	if err := qs.list.add(q); err != nil {
		stop()
		return nil, err
	}
	go qs.runQuery(ctx, q)
	return &wire.StartQueryOutput{QueryId: &q.id}, nil
}

// malformed returns the error of CloudWatch Logs for a query that cannot be run.
func malformed(e *insights.SyntaxError) error {
	return &wire.Fault{Type: "MalformedQueryException", Message: e.Message,
		QueryCompileError: &wire.QueryCompileError{Message: &e.Message,
			Location: &wire.QueryCompileErrorLocation{StartCharOffset: aws.Int32(int32(e.Start)),
				EndCharOffset: aws.Int32(int32(e.End))}}}
}

// checkQuery checks a request apart from the text of its query, and returns the names of its log groups.
func checkQuery(in *wire.StartQueryInput) (groups []string, err error) {
	given := 0
	if in.LogGroupName != nil {
		given++
		groups = []string{*in.LogGroupName}
	}
	if len(in.LogGroupNames) > 0 {
		given++
		groups = in.LogGroupNames
	}
	if len(in.LogGroupIdentifiers) > 0 {
		given++
		groups = nil
		for _, id := range in.LogGroupIdentifiers {
			groups = append(groups, groupName(nil, &id))
		}
	}
	const latest = math.MaxInt64 / 1000000
	switch {
	case in.QueryString == nil:
		return nil, call.Invalid("queryString is required.")
	case utf8.RuneCountInString(*in.QueryString) > maxQueryText:
		return nil, call.Invalid("queryString can have at most %d characters.", maxQueryText)
	case in.StartTime == nil || in.EndTime == nil || *in.StartTime < 0 || *in.EndTime > latest:
		return nil, call.Invalid("startTime and endTime are required, in seconds since 1970.")
	case *in.StartTime > *in.EndTime:
		return nil, call.Invalid("endTime must not be before startTime.")
	case in.QueryLanguage != "" && in.QueryLanguage != queryLanguage:
		return nil, call.Invalid("queryLanguage %s is not supported: the local engine implements %s, the language of Logs Insights.", in.QueryLanguage, queryLanguage)
	case in.Limit != nil && (*in.Limit < 1 || *in.Limit > insights.MaxLimit):
		return nil, call.Invalid("limit must be between 1 and %d.", insights.MaxLimit)
	case given != 1:
		return nil, call.Invalid("A query needs exactly one of logGroupName, logGroupNames and logGroupIdentifiers.")
	case len(groups) > maxQueryGroups:
		return nil, call.Invalid("A query can have at most %d log groups.", maxQueryGroups)
	}
	slices.Sort(groups)
	return slices.Compact(groups), nil
}

// runQuery runs a query until it finishes or is stopped.
func (qs *queries) runQuery(ctx context.Context, q *query) {
	defer q.stop()
	select {
	case qs.list.slots <- struct{}{}:
		defer func() { <-qs.list.slots }()
	case <-ctx.Done():
		qs.list.end(q, nil, 0, ctx.Err())
		return
	}
	qs.list.mu.Lock()
	if q.status == queryScheduled {
		q.status = queryRunning
	}
	qs.list.mu.Unlock()
	run := q.compiled.Start(q.limit, model.Account, q.created.UnixMilli())
	err := qs.scan(ctx, scan{groups: q.groups, from: q.from, to: q.to, each: run.Add,
		page: func(events, bytes int64) bool {
			qs.list.mu.Lock()
			defer qs.list.mu.Unlock()
			q.scanned, q.bytes, q.matched = q.scanned+events, q.bytes+bytes, run.Matched
			return true
		}})
	var results [][]insights.Field
	if err == nil {
		results, err = run.Finish()
	}
	qs.list.end(q, results, run.Size(), err)
}

// getQueryResults returns a page of the results of a query. A query that still runs has none yet.
func (qs *queries) getQueryResults(c *call.Call, in *wire.GetQueryResultsInput) (*wire.GetQueryResultsOutput, error) {
	if in.MaxItems != nil && (*in.MaxItems < 0 || *in.MaxItems > maxResults) {
		return nil, call.Invalid("maxItems must be between 0 and %d.", maxResults)
	}
	qs.list.mu.Lock()
	defer qs.list.mu.Unlock()
	q, err := qs.list.find(in.QueryId)
	if err != nil {
		return nil, err
	}
	from := 0
	if in.NextToken != nil {
		text, err := call.ReadToken(*in.NextToken)
		id, number, _ := strings.Cut(text, "/")
		if from, _ = strconv.Atoi(number); err != nil || id != q.id || from < 1 || from > len(q.results) {
			return nil, errToken
		}
	}
	to := min(from+int(cmp.Or(aws.ToInt32(in.MaxItems), maxResults)), len(q.results))
	out := &wire.GetQueryResultsOutput{QueryLanguage: queryLanguage, Status: q.status,
		Results: make([][]wire.ResultField, 0, to-from),
		Statistics: &wire.QueryStatistics{RecordsMatched: count(q.matched), RecordsScanned: count(q.scanned),
			BytesScanned:            count(q.bytes),
			EstimatedRecordsSkipped: count(0), EstimatedBytesSkipped: count(0),
			LogGroupsScanned: count(int64(len(q.groups)))}}
	for _, row := range q.results[from:to] {
		fields := make([]wire.ResultField, len(row))
		for i := range row {
			fields[i] = wire.ResultField{Field: &row[i].Name, Value: &row[i].Value}
		}
		out.Results = append(out.Results, fields)
	}
	if to < len(q.results) {
		out.NextToken = aws.String(call.NewToken(q.id + "/" + strconv.Itoa(to)))
	}
	if q.failure != nil { // CloudWatch's answer has no member for it
		c.Remark("the query failed", []string{q.failure.Error()})
	}
	return out, nil
}

// count returns a number as the shapes of queries have it.
func count(n int64) *float64 { return aws.Float64(float64(n)) }

// stopQuery cancels a query.
func (qs *queries) stopQuery(_ *call.Call, in *wire.StopQueryInput) (*wire.StopQueryOutput, error) {
	qs.list.mu.Lock()
	defer qs.list.mu.Unlock()
	q, err := qs.list.find(in.QueryId)
	switch {
	case err != nil:
		return nil, err
	case !q.runs():
		return nil, call.Invalid("Query with ID %s is not running: its status is %s.", q.id, q.status)
	}
	q.status = queryCancelled
	q.stop()
	return &wire.StopQueryOutput{Success: aws.Bool(true)}, nil
}

// describeQueries returns a page of the queries, the newest first.
func (qs *queries) describeQueries(_ *call.Call, in *wire.DescribeQueriesInput) (*wire.DescribeQueriesOutput, error) {
	switch {
	case in.MaxResults != nil && (*in.MaxResults < 1 || *in.MaxResults > maxQueries):
		return nil, call.Invalid("maxResults must be between 1 and %d.", maxQueries)
	case in.Status != "" && !slices.Contains(queryStates, in.Status):
		return nil, call.Invalid("status %s is not valid. Valid states: %v", in.Status, queryStates)
	}
	last := ""
	if in.NextToken != nil {
		var err error
		if last, err = call.ReadToken(*in.NextToken); err != nil {
			return nil, errToken
		}
	}
	qs.list.mu.Lock()
	defer qs.list.mu.Unlock()
	out := &wire.DescribeQueriesOutput{Queries: []wire.QueryInfo{}}
	skip := last != ""
	for _, q := range slices.Backward(qs.list.all) {
		if skip {
			skip = q.id != last
			continue
		}
		if in.Status != "" && in.Status != q.status || in.LogGroupName != nil &&
			!slices.Contains(q.groups, *in.LogGroupName) ||
			in.QueryLanguage != "" && in.QueryLanguage != queryLanguage {
			continue
		}
		if len(out.Queries) == int(cmp.Or(aws.ToInt32(in.MaxResults), maxQueries)) {
			out.NextToken = aws.String(call.NewToken(*out.Queries[len(out.Queries)-1].QueryId))
			break
		}
		d := wire.QueryInfo{QueryId: &q.id, QueryString: &q.text, QueryLanguage: queryLanguage, Status: q.status,
			CreateTime: aws.Int64(q.created.UnixMilli()), BytesScanned: count(q.bytes),
			QueryDuration: aws.Int64(q.duration.Milliseconds())}
		if len(q.groups) == 1 {
			d.LogGroupName = &q.groups[0]
		}
		out.Queries = append(out.Queries, d)
	}
	return out, nil
}
