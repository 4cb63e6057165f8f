package ecs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/batchctl/batchctl/pkg/client"
	"github.com/batchctl/batchctl/pkg/rpc"
)

const (
	// firstPoll is the pause after the first query of a task. It grows to lastPoll, to save
	// the account's request quota.
	firstPoll, lastPoll = 250 * time.Millisecond, 5 * time.Second
	// lateLogs is how long after the end of a task log lines may arrive: the log driver sends
	// its buffer every five seconds.
	lateLogs = 6 * time.Second
	// longAgo is the age of an end after which the log is certainly complete.
	longAgo = 10 * time.Minute
	// settles is how long a new task may be unknown: ECS is eventually consistent (API
	// reference of RunTask).
	settles = 30 * time.Second
)

// Watcher has the functions that Follow calls. Any of them may be nil.
type Watcher struct {
	// State is called when status, GPUs or reasons have changed.
	State func(*types.Task)
	// Open returns the reader of a container's log. Line is called with each line; its error
	// ends Follow.
	Open func(Log) *client.StreamReader
	Line func(Log, client.Line) error
	// LogTrouble is called with the reason why a log cannot be read. Follow continues.
	LogTrouble func(error)
}

// Follow watches a task until it has ended and its log is read. It returns the
// task's last state and where its logs are. Each call is repeated for about a
// minute while the service fails.
func (c *Client) Follow(ctx context.Context, cluster, task string, w Watcher) (*types.Task, []Log, error) {
	f := &follower{Watcher: w, client: c, cluster: cluster, task: task, began: time.Now(),
		readers: map[string]*client.StreamReader{}}
	for pause := firstPoll; ; pause = min(pause*3/2, lastPoll) {
		isOver, err := f.poll(ctx)
		if isOver || err != nil {
			return f.state, f.logs, err
		}
		if rpc.Sleep(ctx, pause) != nil {
			return f.state, f.logs, context.Cause(ctx)
		}
	}
}

// follower is one Follow.
type follower struct {
	Watcher
	client        *Client
	cluster, task string
	began, over   time.Time   // over is when the task was first seen to have ended
	state         *types.Task // nil before ECS knows it
	logs          []Log
	readers       map[string]*client.StreamReader
}

// poll queries the task once, and reports whether it has ended and its log is
// complete.
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
		case Refused(err): // watching needs no permission to read the definition
			f.logs = []Log{}
			f.blind(fmt.Errorf("cannot find it without the task definition: %w", err))
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

// blind reports that the logs are unknown, and which containers are essential.
func (f *follower) blind(err error) {
	if f.LogTrouble != nil {
		f.LogTrouble(err)
		return
	}
	f.client.progress("note: %v; every container is treated as essential", err)
}

// changed reports whether two states of a task differ in what State shows.
func changed(a, b *types.Task) bool {
	return a == nil || aws.ToString(a.LastStatus) != aws.ToString(b.LastStatus) ||
		aws.ToString(a.StoppedReason) != aws.ToString(b.StoppedReason) || len(GPUs(a)) != len(GPUs(b))
}

// read passes on the new lines of all logs. fresh reports whether there were any.
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
		found, err := r.Read(ctx, func(line client.Line) bool {
			stopped = f.Line(l, line)
			return stopped == nil
		})
		fresh = fresh || found
		if stopped != nil {
			return fresh, stopped
		}
		if err != nil && ctx.Err() == nil && f.LogTrouble != nil {
			f.LogTrouble(err)
		}
	}
	return fresh, nil
}
