package logsapi

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/batchctl/batchctl/pkg/local/api/call"
	"github.com/batchctl/batchctl/pkg/local/insights"
	"github.com/batchctl/batchctl/pkg/local/model"
	"github.com/batchctl/batchctl/pkg/wire"
)

// still is an engine without jobs.
type still struct{ model *model.Model }

func (s still) View() (m *model.Model, done func())                      { return s.model, func() {} }
func (s still) Change(func(m *model.Model) ([]model.Event, error)) error { return call.ErrReadOnly }

// start starts a query over the default group.
func start(a *API) (id string, err error) {
	out, err := a.queries.startQuery(nil, &wire.StartQueryInput{LogGroupName: aws.String(model.DefaultLogGroup), QueryString: aws.String("fields @message"),
		StartTime: aws.Int64(0), EndTime: aws.Int64(1)})
	if err != nil {
		return "", err
	}
	return *out.QueryId, nil
}

// states counts the queries by their status.
func (x *queryList) states() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	counts := map[string]int{}
	for _, q := range x.all {
		counts[q.status]++
	}
	return fmt.Sprint(counts)
}

// TestConcurrentQueries checks the limit of concurrent queries, and that queries wait, are cancelled and time out.
func TestConcurrentQueries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := New(still{model.New(nil)}, nil)
		for range queriesAtOnce { // two others run
			a.queries.list.slots <- struct{}{}
		}
		var first string
		for range maxConcurrentQueries {
			id, err := start(a)
			if err != nil {
				t.Fatal(err)
			}
			first = id
		}
		_, err := start(a)
		if f, ok := errors.AsType[*wire.Fault](err); !ok || f.Type != "LimitExceededException" {
			t.Errorf("one more: %v", err)
		}
		if out, err := a.queries.stopQuery(nil, &wire.StopQueryInput{QueryId: &first}); err != nil || !*out.Success {
			t.Errorf("stop: %v", err)
		}
		synctest.Wait()
		if got := a.queries.list.states(); got != "map[Cancelled:1 Scheduled:99]" {
			t.Errorf("states %s", got)
		}
		if _, err := start(a); err != nil {
			t.Errorf("after one was stopped: %v", err)
		}
		<-a.queries.list.slots
		synctest.Wait()
		if got := a.queries.list.states(); got != "map[Cancelled:1 Complete:100]" {
			t.Errorf("states %s", got)
		}
		a.queries.list.slots <- struct{}{}
		for range 2 {
			if _, err := start(a); err != nil {
				t.Fatal(err)
			}
			time.Sleep(maxQueryTime / 2)
		}
		synctest.Wait()
		if got := a.queries.list.states(); got != "map[Cancelled:1 Complete:100 Scheduled:1 Timeout:1]" {
			t.Errorf("states %s", got)
		}
		a.Close()
		synctest.Wait()
		if got := a.queries.list.states(); got != "map[Cancelled:2 Complete:100 Timeout:1]" {
			t.Errorf("states %s", got)
		}
	})
}

// TestForgottenQueries checks that the newest queries are remembered, by their number and by the size of the results.
func TestForgottenQueries(t *testing.T) {
	x := newQueryList()
	for i := range maxFinishedQueries + 5 {
		q := &query{id: fmt.Sprint(i), status: queryScheduled, stop: func() {}}
		if err := x.add(q); err != nil {
			t.Fatal(err)
		}
		x.end(q, [][]insights.Field{}, 1, nil)
	}
	if len(x.all) != maxFinishedQueries || x.all[0].id != "5" {
		t.Errorf("%d queries, the first is %s", len(x.all), x.all[0].id)
	}
	large := &query{id: "large", status: queryRunning, stop: func() {}}
	if err := x.add(large); err != nil {
		t.Fatal(err)
	}
	x.end(large, nil, maxFinishedBytes+1, nil)
	if len(x.all) != 1 || x.all[0] != large {
		t.Errorf("%d queries, want the large one alone", len(x.all))
	}
}
