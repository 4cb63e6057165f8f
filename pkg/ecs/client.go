package ecs

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	"github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/batchctl/batchctl/pkg/rpc"
)

// Client calls ECS. It is safe for concurrent use.
type Client struct {
	api *awsecs.Client
	// Progress is called with a message when a call is repeated; it may be nil.
	Progress func(text string)
}

// New returns a client for the account and Region of cfg.
func New(cfg aws.Config) *Client { return &Client{api: awsecs.NewFromConfig(rpc.SDK(cfg))} }

func (c *Client) progress(format string, args ...any) {
	if c.Progress != nil {
		c.Progress(fmt.Sprintf(format, args...))
	}
}

// attempts is the most attempts of a call whose answer is missing or that was throttled.
// firstPause is the pause before the second attempt; it doubles each time.
const (
	attempts   = 6
	firstPause = time.Second
)

// call sends an idempotent request until ECS accepts or rejects it. The error is
// an *UnclearError if an attempt may have had an effect.
func call[In, Out any](ctx context.Context, c *Client, operation func(context.Context, In,
	...func(*awsecs.Options)) (Out, error), in In) (Out, error) {
	isUnclear := false
	for n, pause := 1, firstPause; ; n, pause = n+1, 2*pause {
		out, err := rpc.Attempt(ctx, operation, in)
		if err == nil {
			return out, nil
		}
		isUnclear = isUnclear || !Refused(err) && !Busy(err) && !unsent(err)
		if Refused(err) || !repeats(err) || ctx.Err() != nil || n == attempts || rpc.Sleep(ctx, pause) != nil {
			if isUnclear {
				err = &UnclearError{err}
			}
			return out, err
		}
		if n == 1 {
			c.progress("note: %v; sending the request again", err)
		}
	}
}

// UnclearError is a call that may have had its effect, because an answer is
// missing.
type UnclearError struct{ Err error }

// Error names the last error.
func (e *UnclearError) Error() string { return "no clear answer: " + e.Err.Error() }

// Unwrap returns the last error.
func (e *UnclearError) Unwrap() error { return e.Err }

// Refused reports whether ECS rejected a call, so that repeating it is useless.
func Refused(err error) bool {
	e, ok := errors.AsType[*rpc.Error](err)
	return ok && e.Status/100 == 4 && !busy(e)
}

// Busy reports whether ECS rejected a call because of its rate.
func Busy(err error) bool {
	e, ok := errors.AsType[*rpc.Error](err)
	return ok && busy(e)
}

// busy reports whether an answer means throttling.
func busy(e *rpc.Error) bool {
	return e.Status == http.StatusTooManyRequests || strings.Contains(e.Code, "Throttl") ||
		e.Code == "TooManyRequestsException" || e.Code == "RequestLimitExceeded"
}

// unsent reports whether a request cannot have reached ECS.
func unsent(err error) bool {
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" {
		return true
	}
	_, isName := errors.AsType[*net.DNSError](err)
	_, isCertificate := errors.AsType[*tls.CertificateVerificationError](err)
	return isName || isCertificate || rpc.Login(err) != nil && !Refused(err)
}

// repeats reports whether the same call may succeed later.
func repeats(err error) bool {
	if e, ok := errors.AsType[*rpc.Error](err); ok {
		return busy(e) || e.Status/100 == 5
	}
	_, isNetwork := errors.AsType[net.Error](err)
	return isNetwork || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, context.DeadlineExceeded)
}

// Stopped reports whether a task has ended.
func Stopped(t *types.Task) bool { return aws.ToString(t.LastStatus) == "STOPPED" }

// GPUs returns the ids of the GPUs of all containers of a task.
func GPUs(t *types.Task) (ids []string) {
	for _, c := range t.Containers {
		ids = append(ids, c.GpuIds...)
	}
	return ids
}

// FailedError is a RunTask for which ECS placed no task.
type FailedError struct{ Failures []types.Failure }

// Error explains each distinct failure.
func (e *FailedError) Error() string {
	var reasons []string
	for _, f := range e.Failures {
		reason, detail := aws.ToString(f.Reason), aws.ToString(f.Detail)
		text := reason + ": " + Meaning(reason)
		if detail != "" {
			text += " (" + detail + ")"
		}
		if !slices.Contains(reasons, text) {
			reasons = append(reasons, text)
		}
	}
	return "ECS did not start the task: " + strings.Join(reasons, "; ")
}

// Run sends RunTask, repeatedly with the same token while answers are missing.
// After an *UnclearError the task may exist. After any other error it does not,
// and a *FailedError says why ECS did not place it.
func (c *Client) Run(ctx context.Context, in *awsecs.RunTaskInput) (*types.Task, error) {
	out, err := call(ctx, c, c.api.RunTask, in)
	if err != nil {
		return nil, err
	}
	if len(out.Tasks) == 0 {
		if len(out.Failures) == 0 { // an answer of moto; AWS gives reasons
			out.Failures = []types.Failure{{Reason: aws.String("RESOURCE:?")}}
		}
		return nil, &FailedError{out.Failures}
	}
	return &out.Tasks[0], nil
}

// MissingError is a task that ECS does not know, or has forgotten.
type MissingError struct{ Task, Cluster string }

// Error names the task and its cluster.
func (e *MissingError) Error() string {
	return fmt.Sprintf("cluster %s has no task %s: it does not exist, or it stopped more than about an hour ago and ECS has deleted it", e.Cluster, ID(e.Task))
}

// Describe describes one task, by its id or ARN. If ECS does not know it, the
// error is a *MissingError.
func (c *Client) Describe(ctx context.Context, cluster, task string) (*types.Task, error) {
	out, err := call(ctx, c, c.api.DescribeTasks, &awsecs.DescribeTasksInput{Cluster: &cluster, Tasks: []string{task}})
	if err != nil {
		return nil, err
	}
	if len(out.Tasks) == 0 {
		return nil, &MissingError{task, cluster}
	}
	return &out.Tasks[0], nil
}

// Stop sends StopTask: the containers get SIGTERM, and SIGKILL after their stop
// timeout, 30 seconds by default.
func (c *Client) Stop(ctx context.Context, cluster, task, reason string) error {
	_, err := call(ctx, c, c.api.StopTask, &awsecs.StopTaskInput{Cluster: &cluster, Task: &task, Reason: &reason})
	return err
}

// ID returns the id of a task: the last part of its ARN.
func ID(task string) string { return task[strings.LastIndexByte(task, '/')+1:] }

// ClusterOf returns the cluster in a task's ARN
// (arn:aws:ecs:us-east-1:123456789012:task/cluster/id); "" if the ARN has the old
// format without one.
func ClusterOf(task string) string {
	if parts := strings.Split(task, "/"); strings.HasPrefix(task, "arn:") && len(parts) == 3 {
		return parts[1]
	}
	return ""
}
