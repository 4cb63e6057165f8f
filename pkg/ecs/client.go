package ecs

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/batchctl/batchctl/pkg/rpc"
	"github.com/batchctl/batchctl/pkg/wire"
)

// Client asks ECS.
type Client struct {
	calls *rpc.Client
	// Tell is told what a call meets that its user should know; it may be nil.
	Tell func(text string)
}

// New returns a client for the account and Region of calls.
func New(calls *rpc.Client) *Client { return &Client{calls: calls} }

func (c *Client) tell(format string, args ...any) {
	if c.Tell != nil {
		c.Tell(fmt.Sprintf(format, args...))
	}
}

// attempts is how often a call is sent whose answer is missing or that was throttled;
// firstPause is before the second, and doubles.
const (
	attempts   = 6
	firstPause = time.Second
)

// call sends a request that may be repeated until ECS says yes or no.
func (c *Client) call(ctx context.Context, operation string, in, out any) error {
	var body json.RawMessage
	body, err := wire.Marshal(in)
	if err != nil {
		return err
	}
	isUnclear := false
	for n, pause := 1, firstPause; ; n, pause = n+1, 2*pause {
		err := c.calls.JSON(ctx, rpc.ECS, operation, body, out)
		if err == nil {
			return nil
		}
		isUnclear = isUnclear || !Refused(err) && !Busy(err) && !unsent(err)
		if Refused(err) || !repeats(err) || ctx.Err() != nil || n == attempts || !sleep(ctx, pause) {
			if isUnclear {
				err = &UnclearError{err}
			}
			return err
		}
		if n == 1 {
			c.tell("note: %v; it is sent again", err)
		}
	}
}

// sleep waits, and reports whether ctx let it.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// UnclearError is a call that may have done what it was to do: an answer of it is
// missing, whatever was said later.
type UnclearError struct{ Err error }

func (e *UnclearError) Error() string { return "no clear answer: " + e.Err.Error() }
func (e *UnclearError) Unwrap() error { return e.Err }

// Refused reports whether ECS itself said no to a call, so that sending it again would
// help nobody.
func Refused(err error) bool {
	e, ok := errors.AsType[*rpc.Error](err)
	return ok && e.Status/100 == 4 && !busy(e)
}

// Busy reports whether ECS did not take a call because it is asked too often.
func Busy(err error) bool {
	e, ok := errors.AsType[*rpc.Error](err)
	return ok && busy(e)
}

func busy(e *rpc.Error) bool {
	return e.Status == http.StatusTooManyRequests || strings.Contains(e.Code, "Throttl") || e.Code == "TooManyRequestsException" || e.Code == "RequestLimitExceeded"
}

// unsent reports whether a request never left.
func unsent(err error) bool {
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" {
		return true
	}
	_, isName := errors.AsType[*net.DNSError](err)
	_, isCertificate := errors.AsType[*tls.CertificateVerificationError](err)
	return isName || isCertificate || strings.Contains(err.Error(), "credentials") && !Refused(err)
}

// repeats reports whether the same call may do better in a moment.
func repeats(err error) bool {
	if e, ok := errors.AsType[*rpc.Error](err); ok {
		return busy(e) || e.Status/100 == 5
	}
	_, isNetwork := errors.AsType[net.Error](err)
	return isNetwork || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, context.DeadlineExceeded)
}

// State is a task as ECS describes it. Times are in seconds since the epoch.
type State struct {
	TaskArn, ClusterArn, TaskDefinitionArn string
	LastStatus, DesiredStatus              string
	LaunchType, CapacityProviderName       string
	StopCode, StoppedReason                string
	StartedBy                              string
	CreatedAt, StartedAt, StoppedAt        float64
	Containers                             []ContainerState
}

// ContainerState is a container of a task.
type ContainerState struct {
	Name, LastStatus, Reason string
	ExitCode                 *int
	// GpuIds are the GPUs of the machine that are this container's.
	GpuIds []string
}

// Stopped reports whether the task has ended.
func (s State) Stopped() bool { return s.LastStatus == "STOPPED" }

// GPUs are the ids of the GPUs of all containers.
func (s State) GPUs() (ids []string) {
	for _, c := range s.Containers {
		ids = append(ids, c.GpuIds...)
	}
	return ids
}

// Failure is why ECS did not do something to a thing.
type Failure struct{ Arn, Reason, Detail string }

// FailedError is a RunTask that placed no task.
type FailedError struct{ Failures []Failure }

func (e *FailedError) Error() string {
	var reasons []string
	for _, f := range e.Failures {
		text := f.Reason + ": " + Meaning(f.Reason)
		if f.Detail != "" {
			text += " (" + f.Detail + ")"
		}
		if !slices.Contains(reasons, text) {
			reasons = append(reasons, text)
		}
	}
	return "ECS placed no task: " + strings.Join(reasons, "; ")
}

// Run sends RunTask, again and again with the same token while answers are missing. A
// *UnclearError leaves open whether there is a task; after any other error there is none,
// and a *FailedError says why it was not placed.
func (c *Client) Run(ctx context.Context, in RunTask) (State, error) {
	var out struct {
		Tasks    []State
		Failures []Failure
	}
	if err := c.call(ctx, "RunTask", in, &out); err != nil {
		return State{}, err
	}
	if len(out.Tasks) == 0 {
		if len(out.Failures) == 0 { // as moto answers; AWS says why
			out.Failures = []Failure{{Reason: "RESOURCE:?"}}
		}
		return State{}, &FailedError{out.Failures}
	}
	return out.Tasks[0], nil
}

// MissingError is a task that ECS does not know, or no more.
type MissingError struct{ Task, Cluster string }

func (e *MissingError) Error() string {
	return fmt.Sprintf("cluster %s has no task %s: ECS forgets a task about an hour after it has stopped", e.Cluster, ID(e.Task))
}

// Describe asks for one task, by its id or ARN. One that ECS does not know is a
// *MissingError.
func (c *Client) Describe(ctx context.Context, cluster, task string) (State, error) {
	var out struct{ Tasks []State }
	if err := c.call(ctx, "DescribeTasks", describeTasks{cluster, []string{task}}, &out); err != nil {
		return State{}, err
	}
	if len(out.Tasks) == 0 {
		return State{}, &MissingError{task, cluster}
	}
	return out.Tasks[0], nil
}

type describeTasks struct {
	Cluster string
	Tasks   []string
}

// Stop sends StopTask: the containers get SIGTERM, and SIGKILL after their stop
// timeout, 30 seconds by default.
func (c *Client) Stop(ctx context.Context, cluster, task, reason string) (State, error) {
	var out struct{ Task State }
	err := c.call(ctx, "StopTask", stopTask{cluster, task, reason}, &out)
	return out.Task, err
}

type stopTask struct{ Cluster, Task, Reason string }

// ID is the id of a task: the last part of its ARN.
func ID(task string) string { return task[strings.LastIndexByte(task, '/')+1:] }

// ClusterOf is the cluster of a task, by its ARN
// (arn:aws:ecs:us-east-1:123456789012:task/cluster/id); "" if that does not say.
func ClusterOf(task string) string {
	if parts := strings.Split(task, "/"); strings.HasPrefix(task, "arn:") && len(parts) == 3 {
		return parts[1]
	}
	return ""
}
