package stage

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/batchctl/batchctl/pkg/checkpoint"
)

// Checkpoint is the directory from which a later attempt of a job continues.
type Checkpoint struct {
	// Path is the directory in the container, as Input.To.
	Path string `json:"path"`
	// To is the location below which each job and child has its own place, as Output.To. ${AWS_BATCH_JOB_ID} is the
	// id of the first job of a chain of retries.
	To string `json:"to"`
	// Every is the time between two checkpoints, in seconds; 0 is the default.
	Every int `json:"every,omitempty"`
}

// check rejects a checkpoint without locations, or with an interval out of bounds.
func (c *Checkpoint) check() error {
	if c.Path == "" || c.To == "" {
		return errors.New(`"path" and "to" are required`)
	}
	if every := c.interval(); every < checkpoint.MinEvery || every > checkpoint.MaxEvery {
		return fmt.Errorf("every is %d seconds: want %v to %v", c.Every, checkpoint.MinEvery, checkpoint.MaxEvery)
	}
	return nil
}

// interval is Every or its default.
func (c *Checkpoint) interval() time.Duration {
	if c.Every == 0 {
		return checkpoint.DefaultEvery
	}
	return time.Duration(c.Every) * time.Second
}

// IsStaged reports whether batchctl stage has to run the job's program.
func (d *Document) IsStaged() bool { return d.Checkpoint != nil || len(d.Inputs)+len(d.Outputs) > 0 }

// expanded returns the checkpoint with the absolute path of its directory, and with the place of this job or child
// as To.
func (c Checkpoint) expanded(look func(name string) (string, bool), dir string) (*Checkpoint, error) {
	origin, cell := originOf(look)
	names, err := Variables(c.To)
	if err != nil {
		return nil, err
	}
	to, err := remote(c.To, func(name string) (string, bool) {
		if name != jobIDVariable || origin == "" {
			return look(name)
		}
		if cell == "" {
			return origin, true
		}
		return origin + ":" + cell, true
	})
	if err != nil {
		return nil, err
	}
	if origin == "" && !slices.Contains(names, jobIDVariable) {
		return nil, fmt.Errorf("%s is not set, so jobs would share their checkpoints", jobIDVariable)
	}
	if !isPlain(origin) {
		return nil, fmt.Errorf("%s is %q, which is not a job id", checkpoint.OriginVariable, origin)
	}
	c.To = checkpoint.Place(to, names, origin, cell)
	c.Path, err = local(c.Path, look, dir)
	c.Path = strings.TrimSuffix(c.Path, "/")
	return &c, err
}

// PlaceOf returns the place of a job's checkpoint. environ is the environment of its container.
func PlaceOf(c Checkpoint, environ []string) (string, error) {
	s := &Stager{Environ: environ}
	expanded, err := c.expanded(s.expansion, "/")
	if err != nil {
		return "", err
	}
	return expanded.To, nil
}

// originOf returns the id of the first job of a chain of retries, and the cell of an array's child; "" for other
// jobs. Attempts of the same job or child, and of the jobs that replace it, have the same.
func originOf(look func(name string) (string, bool)) (origin, cell string) {
	id, _ := look(jobIDVariable)
	origin, _, _ = strings.Cut(id, ":")
	if first, _ := look(checkpoint.OriginVariable); first != "" {
		origin = first
	}
	cell, _ = look(indexVariable)
	return origin, cell
}

// isPlain reports whether an id is only one element of a path.
func isPlain(id string) bool { return id != "." && id != ".." && !strings.ContainsAny(id, "/\\\x00") }

// beforeEnd is how long SIGTERM is held back from the program at most, while its state is saved. AWS Batch sends
// SIGKILL 30 seconds after SIGTERM (user guide, "Job timeouts"), and the program needs some of them.
const beforeEnd = 10 * time.Second

// keeping is a checkpoint while the program runs.
type keeping struct {
	*Keeper
	environ []string
	signals chan os.Signal // for the program
	end     func()         // ends the periodic saves and the forwarding of signals
}

// keep restores the checkpoint of a job, and starts to save it; nil without one.
func (s *Stager) keep(ctx context.Context, c *Checkpoint) (*keeping, error) {
	if c == nil {
		return nil, nil
	}
	if s.Checkpoints == nil {
		return nil, failed(ExitInputs, "this batchctl cannot store checkpoints")
	}
	job, _ := s.expansion(jobIDVariable)
	attempt, _ := s.expansion(attemptVariable)
	k := &keeping{signals: make(chan os.Signal, 8),
		Keeper: &Keeper{Store: s.Checkpoints, Place: c.To, Dir: filepath.FromSlash(c.Path), Every: c.interval(),
			Job: job, Attempt: attempt, Say: s.say}}
	restored, err := s.restore(ctx, k)
	if err != nil {
		return nil, err
	}
	flag := "0"
	if restored {
		flag = "1"
	}
	k.environ = append(slices.Clone(s.Environ), checkpoint.PathVariable+"="+k.Dir, checkpoint.RestoredVariable+"="+flag,
		checkpoint.NoticeVariable+"="+filepath.Join(k.Dir, checkpoint.NoticeName))
	return k, nil
}

// restore restores a checkpoint, unless a signal ends it.
func (s *Stager) restore(ctx context.Context, k *keeping) (bool, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stopped := s.untilSignal(func(os.Signal) bool { return true }, cancel)
	defer stopped()
	restored, err := k.Restore(ctx)
	if asked, ok := errors.AsType[*askedToEnd](context.Cause(ctx)); ok {
		return false, failed(asked.exit(), "%v: the checkpoint is not complete, so the program was not started", asked)
	}
	if err != nil {
		return false, failed(ExitInputs, "%v", strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	return restored, nil
}

// begin starts the periodic saves, the wait for a notice, and the forwarding of signals.
func (s *Stager) begin(ctx context.Context, k *keeping) {
	ctx, cancel := context.WithCancel(ctx)
	notice := make(chan string, 1)
	done := make(chan struct{}, 3)
	go func() { k.Run(ctx, notice); done <- struct{}{} }()
	go func() {
		defer func() { done <- struct{}{} }()
		if s.Reclaim == nil {
			return
		}
		if text := s.Reclaim(ctx); text != "" {
			notice <- text
		}
	}()
	go func() { s.forward(ctx, k); done <- struct{}{} }()
	k.end = func() {
		cancel()
		for range cap(done) {
			<-done
		}
	}
}

// forward passes signals on to the program until ctx ends. Before the first SIGTERM it saves the state.
func (s *Stager) forward(ctx context.Context, k *keeping) {
	for first := true; ; {
		select {
		case <-ctx.Done():
			return
		case sig := <-s.Signals:
			if sig == syscall.SIGTERM && first {
				first = false
				k.Announce(sig.String())
				s.saveInTime(ctx, k)
			}
			select {
			case k.signals <- sig:
			default: // the program has not taken the last ones
			}
		}
	}
}

// saveInTime saves the state before the program gets SIGTERM. It waits at most beforeEnd; the save continues after
// that.
func (s *Stager) saveInTime(ctx context.Context, k *keeping) {
	saved := make(chan struct{})
	go func() {
		defer close(saved)
		if _, err := k.Save(ctx, settle); err != nil && ctx.Err() == nil {
			s.say("no checkpoint was saved before the program got the signal to stop: %v", err)
		}
	}()
	select {
	case <-saved:
	case <-time.After(beforeEnd):
	case <-ctx.Done():
	}
}

// last saves the state that the program left.
func (s *Stager) last(ctx context.Context, k *keeping) {
	if k == nil {
		return
	}
	if _, err := k.Save(context.WithoutCancel(ctx), 0); err != nil {
		s.say("the program's last state was not saved: %v", err)
	}
}
