package client

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/rpc"
)

// readAhead is how many logs are read concurrently: GetLogEvents has a quota of 25 requests/s in an
// account and Region, which other programs use too.
const readAhead = 8

// MergedLogs yields the logs of several jobs, one after the other in the order of the ids. It keeps
// only a few pages in memory, and its result is the same each time. It reads a few logs ahead
// concurrently. With Follow, lines arrive while they are written, until all jobs have ended. If the
// log of one job fails, its error comes with a Line that names the job, and the other logs
// continue. An error without a job ends the sequence.
func (l *JobLogs) MergedLogs(ctx context.Context, ids []string, o LogOptions) iter.Seq2[Line, error] {
	if o.Follow {
		return func(yield func(Line, error) bool) { l.followLogs(ctx, ids, o, yield) }
	}
	return func(yield func(Line, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		for some := range slices.Chunk(ids, describeLimit) {
			var jobs map[string]types.JobDetail
			err := l.polling.patiently(ctx, func() (err error) { jobs, err = l.jobs.ByID(ctx, some); return err })
			if err != nil {
				yield(Line{}, err)
				return
			}
			if !l.mergeSome(ctx, some, jobs, o, yield) {
				return
			}
		}
	}
}

// piece is a line of a log, or the error of reading it.
type piece struct {
	line Line
	err  error
}

// mergeSome yields the logs of some jobs in order. It returns false if the caller has stopped the
// sequence.
func (l *JobLogs) mergeSome(ctx context.Context, ids []string, jobs map[string]types.JobDetail, o LogOptions,
	yield func(Line, error) bool) bool {
	logs := make(chan chan piece, readAhead-2) // one is being read here, one is about to be queued
	go func() {
		defer close(logs)
		for _, id := range ids {
			log := make(chan piece, 1)
			select {
			case logs <- log:
			case <-ctx.Done():
				return
			}
			go l.readLog(ctx, id, jobs, o, log)
		}
	}()
	for log := range logs {
		for p := range log {
			if !yield(p.line, p.err) {
				return false
			}
		}
	}
	if ctx.Err() != nil {
		yield(Line{}, context.Cause(ctx))
		return false
	}
	return true
}

// readLog sends one job's log, and closes the channel at its end.
func (l *JobLogs) readLog(ctx context.Context, id string, jobs map[string]types.JobDetail, o LogOptions,
	to chan<- piece) {
	defer close(to)
	send := func(p piece) bool {
		select {
		case to <- p:
			return true
		case <-ctx.Done():
			return false
		}
	}
	job, ok := jobs[id]
	if !ok {
		send(piece{Line{Job: id}, &MissingError{[]string{id}}})
		return
	}
	t := newTail(l, id, o)
	// Lines that were read before a fault are not read again: the tail has the position.
	err := l.polling.patiently(ctx, func() error {
		_, err := t.Take(ctx, job, func(l Line) bool { return send(piece{line: l}) })
		return err
	})
	if err != nil && !errors.Is(err, errStopped) && ctx.Err() == nil {
		send(piece{Line{Job: id}, err})
	}
}

// followLogs reads the logs of several jobs in rounds until all have ended. It keeps at most a
// window of them open.
func (l *JobLogs) followLogs(ctx context.Context, ids []string, o LogOptions, yield func(Line, error) bool) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	window := cmp.Or(o.Window, len(ids))
	var tails []*tail
	pace := Pace{Polling: l.polling}
	for {
		for len(tails) < window && len(ids) > 0 {
			tails = append(tails, newTail(l, ids[0], o))
			ids = ids[1:]
		}
		if len(tails) == 0 {
			return
		}
		pending := make([]string, len(tails))
		for i, t := range tails {
			pending[i] = t.id
		}
		jobs, err := l.jobs.ByID(ctx, pending)
		fresh := false
		if err == nil {
			var answered bool
			if tails, fresh, answered = followTurn(ctx, tails, jobs, yield); !answered {
				return
			}
		}
		if ctx.Err() != nil { // the caller's context, not a fault of the service
			yield(Line{}, context.Cause(ctx))
			return
		}
		pause, err := pace.Next(err)
		if fresh {
			pause = pace.reset()
		}
		// The next log starts as soon as one has ended.
		if err == nil && (len(tails) == window || len(ids) == 0) && len(tails) > 0 {
			err = rpc.Sleep(ctx, pause)
		}
		if err != nil {
			yield(Line{}, err)
			return
		}
	}
}

// followTurn reads the new lines of each log, a few logs concurrently, and returns the tails that
// may have more.
func followTurn(ctx context.Context, tails []*tail, jobs map[string]types.JobDetail,
	yield func(Line, error) bool) (left []*tail, fresh, heard bool) {
	pieces := make(chan piece)
	send := func(p piece) bool {
		select {
		case pieces <- p:
			return true
		case <-ctx.Done():
			return false
		}
	}
	done := make([]bool, len(tails))
	go func() {
		defer close(pieces)
		var readers sync.WaitGroup
		defer readers.Wait()
		free := make(chan struct{}, readAhead)
		for i, t := range tails {
			free <- struct{}{}
			readers.Go(func() {
				defer func() { <-free }()
				done[i] = t.Next(ctx, jobs, send)
			})
		}
	}()
	for p := range pieces {
		fresh = fresh || p.err == nil
		if !yield(p.line, p.err) {
			return nil, false, false
		}
	}
	for i, t := range tails {
		if !done[i] {
			left = append(left, t)
		}
	}
	return left, fresh, true
}

// Next reads the new lines of a tail among others; done means that the tail has ended.
func (t *tail) Next(ctx context.Context, jobs map[string]types.JobDetail, send func(piece) bool) (done bool) {
	job, ok := jobs[t.id]
	if !ok {
		missing := &MissingError{[]string{t.id}}
		if t.maySettle(missing) {
			return false
		}
		send(piece{Line{Job: t.id}, missing})
		return true
	}
	lines := false
	err := t.logs.polling.patiently(ctx, func() error {
		fresh, err := t.Take(ctx, job, func(l Line) bool { return send(piece{line: l}) })
		lines = lines || fresh
		return err
	})
	if err != nil {
		if !errors.Is(err, errStopped) && ctx.Err() == nil {
			send(piece{Line{Job: t.id}, err})
		}
		return true
	}
	return t.drained(lines)
}
