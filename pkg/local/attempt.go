package local

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/stage"
)

// stopTimeout is how long a command may take to end after SIGTERM. It is ECS's
// default, which Batch uses.
const stopTimeout = 30 * time.Second

var (
	errTimeout    = errors.New("attempt timed out")
	errTerminated = errors.New("job terminated")
)

// runner is an attempt that is under way in this process.
type runner struct {
	end context.CancelCauseFunc
}

// run carries out the attempt that was just started, once that stands in the journal's
// file up to noted, where the next engine finds it however this one ends; it need not
// be on disk yet, since an attempt does not outlive its machine. The caller holds
// e.mu.
func (e *Engine) run(t *task, noted int64) {
	ctx, end := context.WithCancelCause(context.Background())
	e.runners[t] = &runner{end: end}
	a, prepared := e.prepare(t)
	stream := t.last().stream
	e.ready = append(e.ready, func() ready {
		defer end(nil)
		var o outcome
		if err := cmp.Or(prepared, e.journal.Written(noted)); err != nil {
			o = notStarted(err)
		} else {
			o = e.inDirectory(ctx, t, a, func(a Attempt) outcome {
				if len(t.job.parts) > 0 {
					return e.carryOutTask(ctx, t, a, func(handle string) { e.begun(ctx, end, t, handle) })
				}
				return e.carryOut(ctx, end, t, a, stream)
			})
		}
		o.Executor = e.executorName(t.job)
		return e.conclude(t, o, context.Cause(ctx))
	})
}

// ready is an attempt that may be carried out. It returns the one that came into its
// place, if there is one: the goroutine that ended an attempt goes on with the next,
// without waking another.
type ready func() ready

// conclude keeps how t's attempt ended, and why the engine ended it, if it did; then it
// starts what may start. It returns one of those attempts and leaves the others to
// goroutines of their own.
func (e *Engine) conclude(t *task, o outcome, cause error) (next ready) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.runners, t)
	ended := e.concluded(t, o, cause)
	if o.LogCut { // the retry strategy has matched the reason that AWS Batch would give
		ended.Ended.StatusReason += "; the log was cut at its limit of " + bytesText(e.options.LogLimit)
	}
	e.facts = append(e.facts, fact{event: ended})
	e.advance()
	if len(e.ready) > 0 {
		next, e.ready = e.ready[0], e.ready[1:]
	}
	e.carryOutReady()
	e.notify()
	return next
}

// carryOutReady hands the attempts that were started to goroutines. The caller holds
// e.mu.
func (e *Engine) carryOutReady() {
	for _, r := range e.ready {
		e.running.Go(func() {
			for r != nil {
				r = r()
			}
		})
	}
	e.ready = nil
}

// prepare is what the executor needs of t's newest attempt, but for the directory.
// The caller holds e.mu.
func (e *Engine) prepare(t *task) (Attempt, error) {
	command, err := substitute(t.job.container.Command, t.job.parameters())
	if t.job.pod != nil {
		err = errPods
	}
	return Attempt{ID: t.last().stream, Job: t.id(), Container: t.job.container, Command: command, Environment: e.environment(t),
		Directory: t.workingDirectory(), GPUs: t.last().gpus}, err
}

// workingDirectory is where the task's command runs; empty: in a directory of its own. That is
// said for commands that need something beside the job file. A job with inputs gets what
// it needs, and what it gets must not come to lie there.
func (t *task) workingDirectory() string {
	has := func(v types.KeyValuePair) bool { return aws.ToString(v.Name) == stage.Variable }
	if t.job.container != nil && slices.ContainsFunc(t.job.container.Environment, has) {
		return ""
	}
	return t.job.directory
}

// inDirectory calls run with the directory of the attempt, which the job said or which
// is made.
func (e *Engine) inDirectory(ctx context.Context, t *task, a Attempt, run func(Attempt) outcome) outcome {
	var err error
	if a.Directory == "" {
		var dir string
		err = e.inTime(ctx, t, func() (err error) {
			dir, err = e.scratch.take(t)
			return err
		})
		if err != nil {
			return notStarted(err)
		}
		defer e.scratch.leave(dir)
		a.Directory = filepath.Join(e.root.Name(), dir)
	}
	if a.Directory, err = filepath.Abs(a.Directory); err != nil {
		return notStarted(err)
	}
	return run(a)
}

func notStarted(err error) outcome {
	return outcome{Reason: "CannotStartContainerError: " + err.Error(), StatusReason: reasonNotStarted}
}

// environment is the job's environment with the variables that Batch sets.
func (e *Engine) environment(t *task) []types.KeyValuePair {
	queue := *t.job.request.JobQueue
	place := ComputeEnvironment
	if v := t.last().place; v != nil {
		place = v.name
	}
	set := []types.KeyValuePair{
		variable("AWS_BATCH_JOB_ID", t.id()),
		variable("AWS_BATCH_JOB_ATTEMPT", strconv.Itoa(len(t.attempts))),
		variable("AWS_BATCH_JQ_NAME", queue),
		variable("AWS_BATCH_CE_NAME", place),
	}
	if t.isChild() {
		set = append(set, variable("AWS_BATCH_JOB_ARRAY_INDEX", strconv.Itoa(int(t.index))),
			variable("AWS_BATCH_JOB_ARRAY_SIZE", strconv.Itoa(len(t.job.children))))
	}
	if len(t.job.parts) > 0 {
		return set // each container has variables of its own
	}
	return mergedBy(t.job.container.Environment, set, func(v types.KeyValuePair) string { return aws.ToString(v.Name) })
}

func variable(name, value string) types.KeyValuePair {
	return types.KeyValuePair{Name: &name, Value: &value}
}

// carryOut runs the attempt with its log, its timeout and its grace at the end.
func (e *Engine) carryOut(ctx context.Context, end context.CancelCauseFunc, t *task, a Attempt, stream string) outcome {
	log, err := e.openLog(ctx, t, stream)
	if err != nil {
		return notStarted(err)
	}
	kill, over := KillAfter(ctx, e.hurry)
	defer over()
	a.Kill = kill
	a.Started = func(handle string) { e.begun(ctx, end, t, handle) }
	x, err := e.executorOf(ctx, t.job)
	if err != nil {
		log.close()
		return notStarted(err)
	}
	exit, launched, err := e.execute(ctx, x, t, a, log.file)
	o := outcome{StatusReason: reasonExited, LogCut: log.close()}
	if exit >= 0 {
		o.Exit = aws.Int32(int32(exit))
	}
	if err != nil {
		o.Reason = err.Error()
	}
	switch {
	case !launched && err == nil:
		a.Started("") // an executor that forgot to; its word that the command ran is its exit code
	case !launched:
		o.StatusReason = reasonNotStarted
	}
	return o
}

// execute is x.Run, and reports whether the command ran.
func (e *Engine) execute(ctx context.Context, x Executor, t *task, a Attempt, log *os.File) (exit int, launched bool, err error) {
	started := a.Started
	a.Started = func(handle string) {
		launched = true
		started(handle)
	}
	_ = e.inTime(ctx, t, func() error {
		if exit, err = x.Run(ctx, a, log); launched {
			return nil
		}
		return err
	})
	return exit, launched, err
}

// patience is how long an attempt that finds the machine too full to begin waits for
// what no other attempt can give back.
const patience = 10 * time.Second

// inTime carries out a step of an attempt's begin, anew for as long as the machine is
// too full for it and others run, whose end makes room: one full moment would fail
// all that is queued, each in the place of the one before.
func (e *Engine) inTime(ctx context.Context, t *task, begin func() error) error {
	for first, last := true, time.Now().Add(patience); ; first = false {
		err := begin()
		switch {
		case !tooFull(err) || ctx.Err() != nil:
			return err
		case e.othersRun(t):
			last = time.Now().Add(patience)
		case time.Now().After(last):
			return err
		}
		if first {
			e.options.Log.Warn("the machine is too full for an attempt, which waits", "job", t.id(), "error", err)
		}
		select {
		case <-time.After(patience / 40):
		case <-ctx.Done():
		}
	}
}

// tooFull reports whether an error says that there are no more files, processes, memory
// or room on a disk.
func tooFull(err error) bool {
	is := func(full syscall.Errno) bool { return errors.Is(err, full) }
	return slices.ContainsFunc([]syscall.Errno{syscall.EMFILE, syscall.ENFILE, syscall.EAGAIN, syscall.ENOMEM, syscall.ENOSPC, syscall.EDQUOT}, is)
}

// othersRun reports whether the command of another task runs.
func (e *Engine) othersRun(t *task) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	for other := range e.runners {
		if other != t && other.state == running {
			return true
		}
	}
	return false
}

// begun keeps that the command runs; from now on its time counts.
func (e *Engine) begun(ctx context.Context, end context.CancelCauseFunc, t *task, handle string) {
	e.launched(t, handle)
	if s := t.job.timeout(); s > 0 {
		timer := time.AfterFunc(time.Duration(s)*time.Second, func() { end(errTimeout) })
		context.AfterFunc(ctx, func() { timer.Stop() })
	}
}

// KillAfter returns the channel for Attempt.Kill: it is closed 30 seconds after ctx's end,
// which is how long a command may take to end after SIGTERM, or when hurry is closed
// after that end. The caller says when the attempt is over.
func KillAfter(ctx context.Context, hurry <-chan struct{}) (kill <-chan struct{}, over func()) {
	killed, done := make(chan struct{}), make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		grace := time.NewTimer(stopTimeout)
		defer grace.Stop()
		select {
		case <-done:
		case <-grace.C:
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

func (e *Engine) launched(t *task, handle string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.facts = append(e.facts, fact{event: event{Launched: &launch{Job: t.id(), Handle: handle}}})
	e.step()
}

// concluded is the end of t's attempt, given why the engine ended it, if it did.
func (e *Engine) concluded(t *task, o outcome, cause error) event {
	to := failed
	switch {
	case errors.Is(cause, errTimeout):
		o.StatusReason = reasonTimeout
	case errors.Is(cause, errTerminated):
		o.StatusReason, _ = t.stopped()
	case errors.Is(cause, errClosed):
		o.StatusReason = reasonHost
		return ending(t, o)
	case o.Exit != nil && *o.Exit == 0 && o.Reason == "":
		to = succeeded
	default:
		return ending(t, o)
	}
	return ended(t, o, to)
}

// ending is the end of an attempt that failed: the retry strategy decides what
// becomes of the job.
func ending(t *task, o outcome) event {
	if retries(t.job.retry(), len(t.attempts), o) {
		return ended(t, o, runnable)
	}
	return ended(t, o, failed)
}

func ended(t *task, o outcome, to state) event {
	return event{Ended: &end{Job: t.id(), Exit: o.Exit, Reason: o.Reason, StatusReason: o.StatusReason, To: to, Executor: o.Executor, Containers: o.Containers}}
}

// endStopped ends the attempts of a terminated job or array. The caller holds e.mu.
func (e *Engine) endStopped(t *task) {
	if !t.terminated {
		return
	}
	for running, r := range e.runners {
		if running == t || running.job == t.job && t.isParent() {
			r.end(errTerminated)
		}
	}
}
