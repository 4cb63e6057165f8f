package ui

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/target"
)

// core is what all groups of pages share: the commands whose output they show, the observer, and the options.
type core struct {
	options  options
	commands *commander
	observer *observer
	// target is the name of the target.
	target string
}

// newCore returns what the pages for a target share. Its commands end with ctx.
func newCore(ctx context.Context, run Run, o options, name string) *core {
	c := newCommander(ctx, run, o.Target)
	return &core{options: o, commands: c, observer: newObserver(c, o.Options, name == target.Local), target: name}
}

// label names the target for people.
func (s *core) label() string {
	s.observer.mu.Lock()
	defer s.observer.mu.Unlock()
	if s.observer.snapshot != nil {
		return s.observer.snapshot.Target
	}
	return s.target
}

// FilesDirectory is the directory of --files, for the pages.
func (s *core) FilesDirectory() string {
	if s.options.files == "." {
		return "this directory"
	}
	return shown(s.options.files)
}

// age returns how old a description may be that a page shows.
func (s *core) age() time.Duration { return s.observer.live() / 2 }

// describe returns the description of one job. It may be as old as age.
func (s *core) describe(ctx context.Context, age time.Duration, id string) (types.JobDetail, error) {
	found, err := askJSON[[]types.JobDetail](ctx, s.commands, age, "status", id, "--output", "json")
	if err != nil {
		return types.JobDetail{}, err
	}
	if len(found) != 1 {
		return types.JobDetail{}, fmt.Errorf("%d jobs have the id %s", len(found), id)
	}
	return found[0], nil
}

// hasJobs reports whether the list has been read.
func (s *core) hasJobs() bool {
	select {
	case <-s.observer.jobsRead:
		return true
	default:
		return false
	}
}

// firstPaint is how long a page waits for data that may also follow later.
const firstPaint = 150 * time.Millisecond

// awaitJobs begins to read the list, and waits a moment for it: a short list is in the first page.
func (s *core) awaitJobs(r *http.Request) error {
	s.observer.startReading()
	timer := time.NewTimer(firstPaint)
	defer timer.Stop()
	select {
	case <-s.observer.jobsRead:
	case <-timer.C:
	case <-r.Context().Done():
	}
	if s.hasJobs() {
		return nil
	}
	s.observer.mu.Lock()
	defer s.observer.mu.Unlock()
	return s.observer.jobsErr
}
