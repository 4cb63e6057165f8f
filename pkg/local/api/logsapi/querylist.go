package logsapi

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/batchctl/batchctl/pkg/local/insights"
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

// queryList has the queries of an API. They end with it: the journal does not have them.
type queryList struct {
	mu sync.Mutex
	// all are the queries in the order of their starts.
	all []*query
	// slots has an element for each query that runs.
	slots chan struct{}
}

func newQueryList() queryList { return queryList{slots: make(chan struct{}, queriesAtOnce)} }

// query is a query. The mutex of the list protects the members after stop.
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
func (x *queryList) cancel() {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, q := range x.all {
		q.stop()
	}
}

// add adds a query.
func (x *queryList) add(q *query) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	running := 0
	for _, other := range x.all {
		if other.runs() {
			running++
		}
	}
	if running >= maxConcurrentQueries {
		return &wire.Fault{Type: "LimitExceededException",
			Message: fmt.Sprintf("Account maximum query concurrency limit of [%d] reached.", maxConcurrentQueries)}
	}
	x.all = append(x.all, q)
	x.forget()
	return nil
}

// forget removes the oldest ended queries when there are too many, or their results are too large. The newest one
// stays. The caller holds the mutex.
func (x *queryList) forget() {
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
func (x *queryList) find(id *string) (*query, error) {
	for _, q := range x.all {
		if q.id == aws.ToString(id) {
			return q, nil
		}
	}
	return nil, &wire.Fault{Type: "ResourceNotFoundException", Message: "Query with ID " + aws.ToString(id) +
		" does not exist."}
}

// end records the end of a query.
func (x *queryList) end(q *query, results [][]insights.Field, size int, err error) {
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
var queryStates = []string{queryScheduled, queryRunning, queryComplete, queryFailed, queryCancelled, queryTimeout,
	"Unknown"}
