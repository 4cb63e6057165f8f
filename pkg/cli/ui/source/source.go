package source

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/cli/jobs"
	"github.com/batchctl/batchctl/pkg/target"
)

// Source is where all pages get what they show: from commands, and from the observer.
type Source struct {
	Commands *Commander
	Observer *Observer
	// Options are the options of commands about jobs.
	Options jobs.Options
	// target is the name of the target.
	target string
}

// New returns the source of pages about the target with this name. Its commands end with ctx.
func New(ctx context.Context, o jobs.Options, name string) *Source {
	c := newCommander(ctx, o.Target)
	return &Source{Commands: c, Observer: newObserver(c, o, name == target.Local), Options: o, target: name}
}

// Label names the target for people.
func (s *Source) Label() string {
	s.Observer.mu.Lock()
	defer s.Observer.mu.Unlock()
	if s.Observer.snapshot != nil {
		return s.Observer.snapshot.Target
	}
	return s.target
}

// Age returns how old a description may be that a page shows.
func (s *Source) Age() time.Duration { return s.Observer.Live() / 2 }

// Describe returns the description of one job. It may be as old as age.
func (s *Source) Describe(ctx context.Context, age time.Duration, id string) (types.JobDetail, error) {
	found, err := Ask(ctx, s.Commands, age, s.Status(id))
	if err != nil {
		return types.JobDetail{}, err
	}
	for _, job := range found { // with the jobs that run it again
		if strings.HasPrefix(aws.ToString(job.JobId), id) {
			return job.JobDetail, nil
		}
	}
	if len(found) == 0 {
		return types.JobDetail{}, fmt.Errorf("no job has the id %s", id)
	}
	return found[0].JobDetail, nil // the newest of a name
}

// HasJobs reports whether the list has been read.
func (s *Source) HasJobs() bool {
	select {
	case <-s.Observer.jobsRead:
		return true
	default:
		return false
	}
}

// firstPaint is how long a page waits for data that may also follow later.
const firstPaint = 150 * time.Millisecond

// AwaitJobs begins to read the list, and waits a moment for it: a short list is in the first page.
func (s *Source) AwaitJobs(r *http.Request) error {
	s.Observer.startReading()
	timer := time.NewTimer(firstPaint)
	defer timer.Stop()
	select {
	case <-s.Observer.jobsRead:
	case <-timer.C:
	case <-r.Context().Done():
	}
	if s.HasJobs() {
		return nil
	}
	s.Observer.mu.Lock()
	defer s.Observer.mu.Unlock()
	return s.Observer.jobsErr
}

// Forget drops all answers, so that the next page asks again.
func (s *Source) Forget() {
	s.Commands.mu.Lock()
	clear(s.Commands.known)
	s.Commands.mu.Unlock()
	s.Observer.mu.Lock()
	defer s.Observer.mu.Unlock()
	s.Observer.asked, s.Observer.snapshot = time.Time{}, nil
	clear(s.Observer.history)
}
