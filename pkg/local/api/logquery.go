package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/batchctl/batchctl/pkg/local/api/call"
	"github.com/batchctl/batchctl/pkg/local/insights"
	"github.com/batchctl/batchctl/pkg/local/model"
	"github.com/batchctl/batchctl/pkg/wire"
)

const (
	// The limits of StartQuery, GetQueryResults and DescribeQueries (CloudWatch Logs API reference): concurrent
	// queries, groups of a query, characters of its text, results of a page, queries of a page, and the time of a run.
	maxConcurrentQueries = 100
	maxQueryGroups       = 50
	maxQueryText         = 10000
	maxResults           = 10000
	maxQueries           = 1000
	maxQueryTime         = time.Hour

	// The engine's own limits: queries that run at once, while others are Scheduled, and the finished queries that it
	// remembers, by their number and by the bytes of their results.
	queriesAtOnce      = 2
	maxFinishedQueries = 1000
	maxFinishedBytes   = 256 << 20

	// queryLanguage is the only query language here.
	queryLanguage = "CWLI"
)

// The states of a query.
const (
	queryScheduled = "Scheduled"
	queryRunning   = "Running"
	queryComplete  = "Complete"
	queryFailed    = "Failed"
	queryCancelled = "Cancelled"
	queryTimeout   = "Timeout"
)

// queryStates are all states, with the one that only CloudWatch has.
var queryStates = []string{queryScheduled, queryRunning, queryComplete, queryFailed, queryCancelled, queryTimeout, "Unknown"}

// queries are the queries of an API. They end with it: the journal does not have them.
type queries struct {
	mu sync.Mutex
	// all are the queries in the order of their starts.
	all []*query
	// slots has an element for each query that runs.
	slots chan struct{}
}

func newQueries() queries { return queries{slots: make(chan struct{}, queriesAtOnce)} }

// query is a query. The mutex of queries protects the members after stop.
type query struct {
	id, text string
	groups   []string
	from, to int64 // epoch milliseconds, inclusive
	limit    int
	compiled *insights.Query
	created  time.Time
	stop     context.CancelFunc

	status                  string
	duration                time.Duration
	scanned, matched, bytes int64
	results                 [][]insights.Field
	size                    int
	failure                 error
}

// runs reports whether the query has not ended.
func (q *query) runs() bool { return q.status == queryScheduled || q.status == queryRunning }

// cancel stops all queries.
func (x *queries) cancel() {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, q := range x.all {
		q.stop()
	}
}

// add adds a query.
func (x *queries) add(q *query) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	running := 0
	for _, other := range x.all {
		if other.runs() {
			running++
		}
	}
	if running >= maxConcurrentQueries {
		return &wire.Fault{Type: "LimitExceededException", Message: fmt.Sprintf("Account maximum query concurrency limit of [%d] reached.", maxConcurrentQueries)}
	}
	x.all = append(x.all, q)
	x.forget()
	return nil
}

// forget removes the oldest ended queries when there are too many, or their results are too large. The newest one
// stays. The caller holds the mutex.
func (x *queries) forget() {
	ended, size := 0, 0
	for i := len(x.all) - 1; i >= 0; i-- {
		q := x.all[i]
		if q.runs() {
			continue
		}
		ended++
		size += q.size
		if ended > 1 && (ended > maxFinishedQueries || size > maxFinishedBytes) {
			x.all = slices.Delete(x.all, i, i+1)
		}
	}
}

// find returns a query. The caller holds the mutex.
func (x *queries) find(id *string) (*query, error) {
	for _, q := range x.all {
		if q.id == aws.ToString(id) {
			return q, nil
		}
	}
	return nil, &wire.Fault{Type: "ResourceNotFoundException", Message: "Query with ID " + aws.ToString(id) + " does not exist."}
}

// startQuery compiles a query and starts it.
func (a *API) startQuery(_ *call.Call, in *wire.StartQueryInput) (*wire.StartQueryOutput, error) {
	groups, err := checkQuery(in)
	if err != nil {
		return nil, err
	}
	compiled, err := insights.Parse(*in.QueryString)
	if e, ok := errors.AsType[*insights.SyntaxError](err); ok {
		return nil, malformed(e)
	}
	m, done := a.backend.View()
	for _, g := range groups {
		if m.LogGroups[g] == nil {
			err = &wire.Fault{Type: "ResourceNotFoundException", Message: fmt.Sprintf("Log group '%s' does not exist for account ID '%s'", g, model.Account)}
		}
	}
	done()
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithTimeout(context.Background(), maxQueryTime)
	q := &query{id: call.NewID(), text: *in.QueryString, groups: groups, from: *in.StartTime * 1000, to: *in.EndTime*1000 + 999,
		limit: int(aws.ToInt32(in.Limit)), compiled: compiled, created: time.Now(), stop: stop, status: queryScheduled}
	if err := a.queries.add(q); err != nil {
		stop()
		return nil, err
	}
	go a.runQuery(ctx, q)
	return &wire.StartQueryOutput{QueryId: &q.id}, nil
}

// malformed returns the error of CloudWatch Logs for a query that cannot be run.
func malformed(e *insights.SyntaxError) error {
	return &wire.Fault{Type: "MalformedQueryException", Message: e.Message, QueryCompileError: &wire.QueryCompileError{Message: &e.Message,
		Location: &wire.QueryCompileErrorLocation{StartCharOffset: aws.Int32(int32(e.Start)), EndCharOffset: aws.Int32(int32(e.End))}}}
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
func (a *API) runQuery(ctx context.Context, q *query) {
	defer q.stop()
	select {
	case a.queries.slots <- struct{}{}:
		defer func() { <-a.queries.slots }()
	case <-ctx.Done():
		a.queries.end(q, nil, 0, ctx.Err())
		return
	}
	a.queries.mu.Lock()
	if q.status == queryScheduled {
		q.status = queryRunning
	}
	a.queries.mu.Unlock()
	run := q.compiled.Start(q.limit, model.Account, q.created.UnixMilli())
	err := a.scan(ctx, scan{groups: q.groups, from: q.from, to: q.to, each: run.Add, page: func(events, bytes int64) bool {
		a.queries.mu.Lock()
		defer a.queries.mu.Unlock()
		q.scanned, q.bytes, q.matched = q.scanned+events, q.bytes+bytes, run.Matched
		return true
	}})
	var results [][]insights.Field
	if err == nil {
		results, err = run.Finish()
	}
	a.queries.end(q, results, run.Size(), err)
}

// end records the end of a query.
func (x *queries) end(q *query, results [][]insights.Field, size int, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	q.duration = time.Since(q.created)
	switch {
	case q.status == queryCancelled:
	case errors.Is(err, context.DeadlineExceeded):
		q.status = queryTimeout
	case errors.Is(err, context.Canceled):
		q.status = queryCancelled
	case err != nil:
		q.status, q.failure = queryFailed, err
	default:
		q.status, q.results, q.size = queryComplete, results, size
	}
	x.forget()
}

// scan is a pass over the events of log groups.
type scan struct {
	groups   []string
	from, to int64 // epoch milliseconds, inclusive
	each     func(*insights.Event) error
	// page is called after each page with what it added. It reports false to end the pass.
	page func(events, bytes int64) bool
}

// scan reads the streams one after the other, in the order of their starts. It holds the engine's lock only to list and
// find them, and has one page of a log in memory.
func (a *API) scan(ctx context.Context, s scan) error {
	var streams []model.LogStream
	m, done := a.backend.View()
	for _, stream := range m.LogStreams {
		if !slices.Contains(s.groups, stream.Group) {
			continue
		}
		if stream.Task != nil {
			// The times of lines are recorded a moment after the attempt begins, and can be as much after its end.
			at := stream.Task.Attempts[stream.Attempt]
			if at.StoppedAt > 0 && at.StoppedAt+1000 < s.from || at.StartedAt > s.to {
				continue
			}
		}
		streams = append(streams, stream)
	}
	done()
	for _, stream := range streams {
		if more, err := a.scanStream(ctx, s, stream.Group, stream.Name); err != nil || !more {
			return err
		}
	}
	return nil
}

// scanStream reads one stream.
func (a *API) scanStream(ctx context.Context, s scan, group, name string) (more bool, err error) {
	log, err := a.openStream(group, name)
	if errors.Is(err, errNoStream) || errors.Is(err, errNoGroup) {
		return true, ctx.Err() // deleted meanwhile, or the attempt ended before it had a log
	}
	if err != nil {
		return false, err
	}
	defer log.Close()
	at, err := log.FirstSince(s.from)
	if err != nil {
		return false, fmt.Errorf("read log: %w", err)
	}
	e := insights.Event{Group: group, Stream: name}
	for {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		lines, next, err := log.Forward(at, maxEvents)
		if err != nil {
			return false, fmt.Errorf("read log: %w", err)
		}
		var events, bytes int64
		late := false
		for _, l := range lines {
			if e.Timestamp = log.Time(l.End); e.Timestamp < s.from || e.Timestamp > s.to {
				late = late || e.Timestamp > s.to
				continue
			}
			e.Ingestion, e.Position, e.Message = log.Ingested(l.End), l.Start, strings.ToValidUTF8(string(l.Text), "\uFFFD")
			events, bytes = events+1, bytes+int64(len(l.Text))
			if err := s.each(&e); err != nil {
				return false, err
			}
		}
		if !s.page(events, bytes) {
			return false, nil
		}
		if at = next; len(lines) == 0 || late && !log.IsPut() {
			return true, nil
		}
	}
}

// getQueryResults returns a page of the results of a query. A query that still runs has none yet.
func (a *API) getQueryResults(c *call.Call, in *wire.GetQueryResultsInput) (*wire.GetQueryResultsOutput, error) {
	if in.MaxItems != nil && (*in.MaxItems < 0 || *in.MaxItems > maxResults) {
		return nil, call.Invalid("maxItems must be between 0 and %d.", maxResults)
	}
	a.queries.mu.Lock()
	defer a.queries.mu.Unlock()
	q, err := a.queries.find(in.QueryId)
	if err != nil {
		return nil, err
	}
	from := 0
	if in.NextToken != nil {
		text, err := call.ReadToken(*in.NextToken)
		id, number, _ := strings.Cut(text, "/")
		if from, _ = strconv.Atoi(number); err != nil || id != q.id || from < 1 || from > len(q.results) {
			return nil, errLogToken
		}
	}
	to := min(from+int(cmp.Or(aws.ToInt32(in.MaxItems), maxResults)), len(q.results))
	out := &wire.GetQueryResultsOutput{QueryLanguage: queryLanguage, Status: q.status, Results: make([][]wire.ResultField, 0, to-from),
		Statistics: &wire.QueryStatistics{RecordsMatched: count(q.matched), RecordsScanned: count(q.scanned), BytesScanned: count(q.bytes),
			EstimatedRecordsSkipped: count(0), EstimatedBytesSkipped: count(0), LogGroupsScanned: count(int64(len(q.groups)))}}
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
func (a *API) stopQuery(_ *call.Call, in *wire.StopQueryInput) (*wire.StopQueryOutput, error) {
	a.queries.mu.Lock()
	defer a.queries.mu.Unlock()
	q, err := a.queries.find(in.QueryId)
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
func (a *API) describeQueries(_ *call.Call, in *wire.DescribeQueriesInput) (*wire.DescribeQueriesOutput, error) {
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
			return nil, errLogToken
		}
	}
	a.queries.mu.Lock()
	defer a.queries.mu.Unlock()
	out := &wire.DescribeQueriesOutput{Queries: []wire.QueryInfo{}}
	skip := last != ""
	for _, q := range slices.Backward(a.queries.all) {
		if skip {
			skip = q.id != last
			continue
		}
		if in.Status != "" && in.Status != q.status || in.LogGroupName != nil && !slices.Contains(q.groups, *in.LogGroupName) ||
			in.QueryLanguage != "" && in.QueryLanguage != queryLanguage {
			continue
		}
		if len(out.Queries) == int(cmp.Or(aws.ToInt32(in.MaxResults), maxQueries)) {
			out.NextToken = aws.String(call.NewToken(*out.Queries[len(out.Queries)-1].QueryId))
			break
		}
		d := wire.QueryInfo{QueryId: &q.id, QueryString: &q.text, QueryLanguage: queryLanguage, Status: q.status,
			CreateTime: aws.Int64(q.created.UnixMilli()), BytesScanned: count(q.bytes), QueryDuration: aws.Int64(q.duration.Milliseconds())}
		if len(q.groups) == 1 {
			d.LogGroupName = &q.groups[0]
		}
		out.Queries = append(out.Queries, d)
	}
	return out, nil
}

// getLogRecord returns all fields of the event of a @ptr. Its times are epoch milliseconds.
func (a *API) getLogRecord(_ *call.Call, in *wire.GetLogRecordInput) (*wire.GetLogRecordOutput, error) {
	unknown := call.Invalid("logRecordPointer %q is not the @ptr of a log event.", aws.ToString(in.LogRecordPointer))
	group, name, at, err := insights.ParsePointer(aws.ToString(in.LogRecordPointer))
	if err != nil {
		return nil, unknown
	}
	log, err := a.openStream(group, name)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	lines, _, err := log.Forward(at, 1)
	if err != nil {
		return nil, fmt.Errorf("read log: %w", err)
	}
	if len(lines) == 0 {
		return nil, unknown
	}
	message := strings.ToValidUTF8(string(lines[0].Text), "\uFFFD")
	record := map[string]string{}
	for _, f := range insights.Discovered(message) {
		record[f.Name] = f.Value
	}
	for name, value := range map[string]string{"@message": message, "@logStream": name, "@log": model.Account + ":" + group, "@ptr": *in.LogRecordPointer,
		"@timestamp": strconv.FormatInt(log.Time(lines[0].End), 10), "@ingestionTime": strconv.FormatInt(log.Ingested(lines[0].End), 10)} {
		record[name] = value
	}
	return &wire.GetLogRecordOutput{LogRecord: record}, nil
}

// getLogGroupFields returns the fields of the events around a time, or of the last 15 minutes (API reference). It reads
// at most maxScanned bytes.
func (a *API) getLogGroupFields(c *call.Call, in *wire.GetLogGroupFieldsInput) (*wire.GetLogGroupFieldsOutput, error) {
	if (in.LogGroupName == nil) == (in.LogGroupIdentifier == nil) {
		return nil, call.Invalid("Exactly one of logGroupName and logGroupIdentifier is required.")
	}
	group := groupName(in.LogGroupName, in.LogGroupIdentifier)
	m, done := a.backend.View()
	exists := m.LogGroups[group] != nil
	done()
	if !exists {
		return nil, errNoGroup
	}
	to := time.Now().UnixMilli()
	from := to - 15*time.Minute.Milliseconds()
	if in.Time != nil {
		from, to = *in.Time*1000-8*time.Minute.Milliseconds(), *in.Time*1000+8*time.Minute.Milliseconds()
	}
	var events, bytes int64
	having := map[string]int64{}
	err := a.scan(c.Request.Context(), scan{groups: []string{group}, from: from, to: to, each: func(e *insights.Event) error {
		for _, f := range insights.Discovered(e.Message) {
			having[f.Name]++
		}
		return nil
	}, page: func(n, size int64) bool {
		events, bytes = events+n, bytes+size
		return bytes < maxScanned
	}})
	if err != nil {
		return nil, err
	}
	out := &wire.GetLogGroupFieldsOutput{LogGroupFields: []wire.LogGroupField{}}
	if events > 0 {
		for _, name := range []string{"@timestamp", "@message", "@logStream", "@log", "@ingestionTime"} {
			having[name] = events
		}
	}
	for _, name := range call.SortedKeys(having) {
		out.LogGroupFields = append(out.LogGroupFields, wire.LogGroupField{Name: &name, Percent: aws.Int32(int32(min(having[name]*100/events, 100)))})
	}
	return out, nil
}
