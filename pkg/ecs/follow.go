package ecs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/batchctl/batchctl/pkg/client"
)

const (
	// firstPoll is the pause after the first look at a task; it grows to lastPoll, which
	// is kind to the account's quota.
	firstPoll, lastPoll = 250 * time.Millisecond, 5 * time.Second
	// lateLogs is how long after the end of a task more of its log may come: the log
	// driver sends what it has every five seconds.
	lateLogs = 6 * time.Second
	// longAgo is how old an end is whose log is certainly complete.
	longAgo = 10 * time.Minute
	// settles is how long a task may be unknown that was accepted a moment ago: ECS is
	// consistent in the end (API reference of RunTask).
	settles = 30 * time.Second
)

// Watcher is told what becomes of a task. Any of its functions may be nil.
type Watcher struct {
	// State is called when status, GPUs or reasons have changed.
	State func(*types.Task)
	// Open returns the reader of a container's log, and Line takes what it reads.
	Open func(Log) *client.StreamReader
	Line func(Log, client.Line) error
	// LogTrouble is told why a log cannot be read; the task is watched on.
	LogTrouble func(error)
}

// Follow watches a task until it has ended and its log is read, and returns how it ended,
// with where its logs are. Each call is repeated for about a minute while the service fails.
func (c *Client) Follow(ctx context.Context, cluster, task string, w Watcher) (*types.Task, []Log, error) {
	f := &follower{Watcher: w, client: c, cluster: cluster, task: task, began: time.Now(), readers: map[string]*client.StreamReader{}}
	for pause := firstPoll; ; pause = min(pause*3/2, lastPoll) {
		isOver, err := f.poll(ctx)
		if isOver || err != nil {
			return f.state, f.logs, err
		}
		if !sleep(ctx, pause) {
			return f.state, f.logs, context.Cause(ctx)
		}
	}
}

type follower struct {
	Watcher
	client        *Client
	cluster, task string
	began, over   time.Time   // over is when the task was first seen to have ended
	state         *types.Task // nil before ECS knows it
	logs          []Log
	readers       map[string]*client.StreamReader
}

// poll asks once, and reports whether all is over.
func (f *follower) poll(ctx context.Context) (isOver bool, err error) {
	now, err := f.client.Describe(ctx, f.cluster, f.task)
	if _, missing := errors.AsType[*MissingError](err); missing && f.state == nil && time.Since(f.began) < settles {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if changed(f.state, now) && f.State != nil {
		f.State(now)
	}
	f.state = now
	if f.logs == nil {
		switch f.logs, err = f.client.Logs(ctx, aws.ToString(now.TaskArn), aws.ToString(now.TaskDefinitionArn)); {
		case Refused(err): // who may not read the definition may watch the task all the same
			f.logs = []Log{}
			f.blind(fmt.Errorf("the task definition, which names it, cannot be read: %w", err))
		case err != nil:
			return false, err
		}
	}
	fresh, err := f.read(ctx)
	if err != nil || !Stopped(now) {
		return false, err
	}
	if f.over.IsZero() || fresh {
		f.over = time.Now()
	}
	isOld := now.StoppedAt != nil && time.Since(*now.StoppedAt) > longAgo
	return f.Open == nil || isOld || time.Since(f.over) >= lateLogs, nil
}

// blind tells that no container's log is known, nor which containers are essential.
func (f *follower) blind(err error) {
	if f.LogTrouble != nil {
		f.LogTrouble(err)
		return
	}
	f.client.progress("note: %v; every container counts as essential", err)
}

// changed reports whether two looks at a task differ in what people are told.
func changed(a, b *types.Task) bool {
	return a == nil || aws.ToString(a.LastStatus) != aws.ToString(b.LastStatus) || aws.ToString(a.StoppedReason) != aws.ToString(b.StoppedReason) || len(GPUs(a)) != len(GPUs(b))
}

// read hands on what is new in the logs.
func (f *follower) read(ctx context.Context) (fresh bool, err error) {
	for _, l := range f.logs {
		if f.Open == nil || l.Stream == "" {
			continue
		}
		r := f.readers[l.Container]
		if r == nil {
			r = f.Open(l)
			f.readers[l.Container] = r
		}
		var stopped error
		some, err := r.Read(ctx, func(line client.Line) bool {
			stopped = f.Line(l, line)
			return stopped == nil
		})
		fresh = fresh || some
		if stopped != nil {
			return fresh, stopped
		}
		if err != nil && ctx.Err() == nil && f.LogTrouble != nil {
			f.LogTrouble(err)
		}
	}
	return fresh, nil
}
