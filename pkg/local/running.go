package local

import (
	"context"
	"sync"

	"github.com/batchctl/batchctl/pkg/local/attempt"
	"github.com/batchctl/batchctl/pkg/local/model"
)

// runningAttempts are the attempts in progress in this process.
type runningAttempts struct {
	mu sync.Locker // the engine's lock, which guards running and ready
	// most is how many may run at once, counting each node or container.
	most int
	// running has what ends each attempt.
	running map[*model.Task]context.CancelCauseFunc
	// ready are the attempts that were started and are not carried out yet.
	ready []ready
	// goroutines carry out attempts.
	goroutines sync.WaitGroup
	// hurry is closed when attempts must be killed at once.
	hurry chan struct{}
}

// ready is an attempt that may be carried out. It returns the attempt that took its place, if any:
// the goroutine that ended an attempt continues with the next, without waking another.
type ready func() ready

// fits reports whether another attempt fits into the number of files that this process may open. A
// single attempt always may. The caller holds the engine's lock.
func (s *runningAttempts) fits(t *model.Task) bool {
	n := max(len(t.Job.Parts), 1)
	for other := range s.running {
		n += max(len(other.Job.Parts), 1)
	}
	return n <= s.most || len(s.running) == 0
}

// begin adds an attempt of t. The caller holds the engine's lock.
func (s *runningAttempts) begin(t *model.Task) (context.Context, context.CancelCauseFunc) {
	ctx, end := context.WithCancelCause(context.Background())
	s.running[t] = end
	return ctx, end
}

// remove removes the attempt of t, which has ended. The caller holds the engine's lock.
func (s *runningAttempts) remove(t *model.Task) { delete(s.running, t) }

// end ends the attempt of t, if there is one. The caller holds the engine's lock.
func (s *runningAttempts) end(t *model.Task, cause error) {
	if end := s.running[t]; end != nil {
		end(cause)
	}
}

// endTerminated ends the attempts of a terminated job or array. The caller holds the engine's lock.
func (s *runningAttempts) endTerminated(t *model.Task) {
	if !t.Terminated {
		return
	}
	for running, end := range s.running {
		if running == t || running.Job == t.Job && t.IsParent() {
			end(attempt.ErrTerminated)
		}
	}
}

// endAll ends every attempt. The caller holds the engine's lock.
func (s *runningAttempts) endAll(cause error) {
	for _, end := range s.running {
		end(cause)
	}
}

// queue adds an attempt to those that may be carried out. The caller holds the engine's lock.
func (s *runningAttempts) queue(r ready) { s.ready = append(s.ready, r) }

// next removes an attempt from those that are ready, and returns it; nil if there is none. The
// caller holds the engine's lock.
func (s *runningAttempts) next() (next ready) {
	if len(s.ready) > 0 {
		next, s.ready = s.ready[0], s.ready[1:]
	}
	return next
}

// carryOutReady starts goroutines for the attempts that were started. The caller holds the engine's
// lock.
func (s *runningAttempts) carryOutReady() {
	for _, r := range s.ready {
		s.goroutines.Go(func() {
			for r != nil {
				r = r()
			}
		})
	}
	s.ready = nil
}

// othersRun reports whether the command of another task is running.
func (s *runningAttempts) othersRun(t *model.Task) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for other := range s.running {
		if other != t && other.State == model.Running {
			return true
		}
	}
	return false
}

// wait returns when all attempts have ended. When ctx ends, they are killed at once.
func (s *runningAttempts) wait(ctx context.Context) {
	ended := make(chan struct{})
	go func() {
		s.goroutines.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-ctx.Done():
		close(s.hurry)
		<-ended
	}
}
