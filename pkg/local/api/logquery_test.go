package api

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/local/api/call"
	"github.com/batchctl/batchctl/pkg/local/attempt"
	"github.com/batchctl/batchctl/pkg/local/insights"
	"github.com/batchctl/batchctl/pkg/local/model"
	"github.com/batchctl/batchctl/pkg/local/secretsource"
	"github.com/batchctl/batchctl/pkg/wire"
)

// still is an engine without jobs.
type still struct{ model *model.Model }

func (s still) View() (m *model.Model, done func())                                 { return s.model, func() {} }
func (s still) Change(func(m *model.Model) ([]model.Event, error)) error            { return call.ErrReadOnly }
func (s still) Subscribe() (changed <-chan struct{}, cancel func())                 { return nil, func() {} }
func (s still) AbsentSince() int64                                                  { return 0 }
func (s still) Accepting() error                                                    { return nil }
func (s still) ProvideSecrets(string, []secretsource.Value, []types.Secret) []error { return nil }
func (s still) Executor(context.Context, string) (attempt.Executor, error) {
	return nil, errors.ErrUnsupported
}

// start starts a query over the default group.
func start(a *API) (id string, err error) {
	out, err := a.startQuery(nil, &wire.StartQueryInput{LogGroupName: aws.String(model.DefaultLogGroup), QueryString: aws.String("fields @message"),
		StartTime: aws.Int64(0), EndTime: aws.Int64(1)})
	if err != nil {
		return "", err
	}
	return *out.QueryId, nil
}

// states counts the queries by their status.
func (x *queries) states() string {
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
		a := New(still{model.New(nil)}, Settings{})
		for range queriesAtOnce { // two others run
			a.queries.slots <- struct{}{}
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
		if out, err := a.stopQuery(nil, &wire.StopQueryInput{QueryId: &first}); err != nil || !*out.Success {
			t.Errorf("stop: %v", err)
		}
		synctest.Wait()
		if got := a.queries.states(); got != "map[Cancelled:1 Scheduled:99]" {
			t.Errorf("states %s", got)
		}
		if _, err := start(a); err != nil {
			t.Errorf("after one was stopped: %v", err)
		}
		<-a.queries.slots
		synctest.Wait()
		if got := a.queries.states(); got != "map[Cancelled:1 Complete:100]" {
			t.Errorf("states %s", got)
		}
		a.queries.slots <- struct{}{}
		for range 2 {
			if _, err := start(a); err != nil {
				t.Fatal(err)
			}
			time.Sleep(maxQueryTime / 2)
		}
		synctest.Wait()
		if got := a.queries.states(); got != "map[Cancelled:1 Complete:100 Scheduled:1 Timeout:1]" {
			t.Errorf("states %s", got)
		}
		a.CloseStreams()
		synctest.Wait()
		if got := a.queries.states(); got != "map[Cancelled:2 Complete:100 Timeout:1]" {
			t.Errorf("states %s", got)
		}
	})
}

// TestForgottenQueries checks that the newest queries are remembered, by their number and by the size of the results.
func TestForgottenQueries(t *testing.T) {
	x := newQueries()
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

// TestLiveTails checks the limit of sessions.
func TestLiveTails(t *testing.T) {
	a := New(still{model.New(nil)}, Settings{})
	if got := a.tails.Add(maxTails); got != maxTails {
		t.Fatal(got)
	}
	w := httptest.NewRecorder()
	a.streamTail(w, nil, &liveTail{})
	if w.Code != 400 || w.Header().Get("X-Amzn-ErrorType") != "LimitExceededException" || a.tails.Load() != maxTails {
		t.Errorf("status %d, %v, %d sessions", w.Code, w.Header(), a.tails.Load())
	}
}
