package attempt

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/local/logs"
	"github.com/batchctl/batchctl/pkg/local/model"
)

// StopTimeout is how long a command may take to end after SIGTERM. It is the default of ECS, which
// Batch uses.
const StopTimeout = 30 * time.Second

// trainingStopTimeout is the same for training jobs (SageMaker's developer guide, "How Amazon SageMaker AI
// runs your training image").
const trainingStopTimeout = 120 * time.Second

// Causes for which the engine ends an attempt.
var (
	ErrTimeout       = errors.New("attempt timed out")
	ErrTerminated    = errors.New("job terminated")
	ErrPreempted     = errors.New("job preempted")
	ErrEngineClosing = errors.New("the engine is closing; nothing was changed")
)

// Life runs one attempt: it creates its directory and logs, starts again while the machine is too
// full, runs the command of each container through an executor, and ends it in time.
type Life struct {
	Task    *model.Task
	Scratch *Scratch
	Logs    *logs.Store
	Log     *slog.Logger // gets warnings
	// Executor returns the executor of the job.
	Executor func(context.Context) (Executor, error)
	// Secret returns the value of a secret of the job, or why it has none.
	Secret func(types.Secret) (string, error)
	// Hurry is closed when commands that were asked to end must end at once.
	Hurry <-chan struct{}
	// End ends the context of Run with one of the causes.
	End context.CancelCauseFunc
	// OthersRun reports whether the command of another attempt runs.
	OthersRun func() bool
	// Preparing is called before anything is done for a service job.
	Preparing func()
	// Launched is called once when a command of the attempt runs, with the executor's handle, and the digest of the
	// image if the attempt has only one container.
	Launched func(handle, imageDigest string)
}

// Run carries out the attempt and returns how it ended.
func (l *Life) Run(ctx context.Context, a Attempt) model.Outcome {
	return l.inDirectory(ctx, a, func(a Attempt) model.Outcome {
		switch {
		case a.Training != nil:
			return l.train(ctx, a)
		case l.Task.Job.IsPod():
			return l.carryOutPod(ctx, a)
		case len(l.Task.Job.Parts) > 0:
			return l.carryOutTask(ctx, a)
		}
		return l.carryOut(ctx, a)
	})
}

// createLog creates the log of a stream, and waits while the machine is too full.
func (l *Life) createLog(ctx context.Context, stream string) (log *logs.Log, err error) {
	err = l.inTime(ctx, func() error {
		log, err = l.Logs.Create(stream)
		return err
	})
	return log, err
}

// inDirectory calls run with the directory of the attempt, which the job names or which is created.
func (l *Life) inDirectory(ctx context.Context, a Attempt, run func(Attempt) model.Outcome) model.Outcome {
	var err error
	if a.Directory == "" {
		var dir string
		err = l.inTime(ctx, func() (err error) {
			dir, err = l.Scratch.take(DirectoryName(l.Task))
			return err
		})
		if err != nil {
			return NotStarted(err)
		}
		defer func() {
			if isDrill(context.Cause(ctx)) {
				l.Scratch.clear(dir)
			}
			l.Scratch.leave(dir)
		}()
		a.Directory = filepath.Join(l.Scratch.root.Name(), dir)
	}
	if a.Directory, err = filepath.Abs(a.Directory); err != nil {
		return NotStarted(err)
	}
	return run(a)
}

// NotStarted is the outcome of an attempt whose command could not start.
func NotStarted(err error) model.Outcome {
	if e, ok := errors.AsType[*UnprovidedError](err); ok {
		return model.Outcome{Reason: e.Error(), StatusReason: model.ReasonNotStarted, Unrunnable: true}
	}
	return model.Outcome{Reason: "CannotStartContainerError: " + err.Error(), StatusReason: model.ReasonNotStarted}
}

// carryOut runs the attempt with its log, its timeout and its grace period.
func (l *Life) carryOut(ctx context.Context, a Attempt) model.Outcome {
	log, err := l.createLog(ctx, a.ID)
	if err != nil {
		return NotStarted(err)
	}
	grace := StopTimeout
	if a.Training != nil {
		grace = trainingStopTimeout
	}
	kill, over := KillAfter(ctx, grace, l.Hurry)
	defer over()
	a.Kill = kill
	digest := ""
	a.Pulled = func(d string) { digest = d }
	a.Started = func(handle string) { l.begun(ctx, handle, digest) }
	x, err := l.Executor(ctx)
	if err != nil {
		log.Close()
		return NotStarted(err)
	}
	if a.Training != nil && !Contained(x) {
		log.Close()
		return NotStarted(&UnprovidedError{[]string{NeedsContainer}})
	}
	if err := l.provide(x, &a); err != nil {
		log.Close()
		return lacking(err)
	}
	exit, launched, without, err := l.execute(ctx, x, measured(a, "", log), log.File)
	o := model.Outcome{StatusReason: model.ReasonExited, LogCut: log.Close(), Without: without}
	if exit >= 0 {
		o.Exit = aws.Int32(int32(exit))
	}
	if err != nil {
		o.Reason = err.Error()
	}
	switch {
	case !launched && err == nil:
		a.Started("") // for an executor that did not call it; the exit code shows that the command ran
	case !launched:
		o.StatusReason = model.ReasonNotStarted
	}
	return o
}

// provide adds the secrets to a. The error is the reason of a container that cannot start here.
func (l *Life) provide(x Executor, a *Attempt) error {
	if m := Prevented(x.Unhonoured(a.Container)); m != nil {
		return errors.New(m.Reason())
	}
	secrets := SecretsOf(a.Container)
	if len(secrets) == 0 {
		return nil
	}
	var variables []types.KeyValuePair
	for i, s := range secrets {
		value, err := l.Secret(s)
		if err != nil {
			return MissingSecret(s, err)
		}
		if i < len(a.Container.Secrets) { // the others are for a log driver
			variables = append(variables, Variable(aws.ToString(s.Name), value))
			a.Secrets = append(a.Secrets, aws.ToString(s.Name))
		}
	}
	a.Environment = model.MergedBy(a.Environment, variables,
		func(v types.KeyValuePair) string { return aws.ToString(v.Name) })
	return nil
}

// without returns the names of the members without which a container may have another result than on AWS.
func without(x Executor, c *types.ContainerProperties) []string {
	var names []string
	for _, m := range x.Unhonoured(c) {
		if m.Effect == Differs {
			names = append(names, m.Name)
		}
	}
	return names
}

// lacking is the outcome of an attempt that did not start because this machine cannot provide
// something. err is the container's reason.
func lacking(err error) model.Outcome {
	return model.Outcome{Reason: err.Error(), StatusReason: model.ReasonNotStarted}
}

// execute calls x.Run, and reports whether the command ran, and without what.
func (l *Life) execute(ctx context.Context, x Executor, a Attempt,
	log *os.File) (exit int, launched bool, lacks []string, err error) {
	started := a.Started
	lacks = without(x, a.Container)
	a.Differed = func(phrase string) { lacks = append(lacks, phrase) }
	a.Started = func(handle string) {
		launched = true
		started(handle)
	}
	_ = l.inTime(ctx, func() error {
		if exit, err = x.Run(ctx, a, log); launched {
			return nil
		}
		return err
	})
	return exit, launched, lacks, err
}

// patience is how long an attempt waits on a full machine if no other attempt could free anything.
const patience = 10 * time.Second

// inTime carries out a step of an attempt's start. It repeats the step while the machine is too
// full and other attempts run, whose end frees resources. Otherwise one full moment would fail
// every queued job, one after the other.
func (l *Life) inTime(ctx context.Context, begin func() error) error {
	for first, last := true, time.Now().Add(patience); ; first = false {
		err := begin()
		switch {
		case !TooFull(err) || ctx.Err() != nil:
			return err
		case l.OthersRun():
			last = time.Now().Add(patience)
		case time.Now().After(last):
			return err
		}
		if first {
			l.Log.Warn("this machine is too busy to start an attempt, so it waits", "job", l.Task.ID(), "error", err)
		}
		select {
		case <-time.After(patience / 40):
		case <-ctx.Done():
		}
	}
}

// TooFull reports whether an error means that files, processes, memory or disk space have run
// out.
func TooFull(err error) bool {
	is := func(full syscall.Errno) bool { return errors.Is(err, full) }
	return slices.ContainsFunc([]syscall.Errno{syscall.EMFILE, syscall.ENFILE, syscall.EAGAIN, syscall.ENOMEM,
		syscall.ENOSPC, syscall.EDQUOT}, is)
}

// begun records that the command runs; its time counts from now on.
func (l *Life) begun(ctx context.Context, handle, imageDigest string) {
	l.Launched(handle, imageDigest)
	if s := l.Task.Job.Timeout(); s > 0 {
		timer := time.AfterFunc(time.Duration(s)*time.Second, func() { l.End(ErrTimeout) })
		context.AfterFunc(ctx, func() { timer.Stop() })
	}
}

// KillAfter returns the channel for Attempt.Kill. It is closed when grace is over after ctx has ended, the
// time that a command has to end after SIGTERM, or when hurry is closed after that. The caller reports
// when the attempt has ended.
func KillAfter(ctx context.Context, grace time.Duration, hurry <-chan struct{}) (kill <-chan struct{}, over func()) {
	killed, done := make(chan struct{}), make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		if errors.Is(context.Cause(ctx), ErrOutOfMemory) {
			grace = 0 // the kernel does not ask
		}
		timer := time.NewTimer(grace)
		defer timer.Stop()
		select {
		case <-done:
		case <-timer.C:
			close(killed)
		case <-hurry:
			close(killed)
		}
	})
	return killed, func() {
		stop()
		close(done)
	}
}

// Succeeded reports whether an attempt that nothing else ended succeeded.
func Succeeded(o model.Outcome) bool { return o.Exit != nil && *o.Exit == 0 && o.Reason == "" }

// Concluded returns the event of the end of t's attempt, given why the engine ended it, if it did.
func Concluded(t *model.Task, o model.Outcome, cause error) model.Event {
	to := model.Failed
	switch {
	case errors.Is(cause, ErrTimeout):
		o.StatusReason = model.ReasonTimeout
	case errors.Is(cause, ErrPreempted):
		return model.Preempted(t, o)
	case errors.Is(cause, ErrTerminated):
		o.StatusReason, _ = t.Stopped()
	case errors.Is(cause, ErrEngineClosing):
		o.StatusReason = model.ReasonHost
		return model.Ending(t, o)
	case Succeeded(o):
		to = model.Succeeded
	case isDrill(cause):
		return model.Ending(t, drilled(o, cause))
	default:
		return model.Ending(t, o)
	}
	return model.Ended(t, o, to)
}
