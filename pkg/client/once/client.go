package once

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/batchctl/batchctl/pkg/client"
)

// Client submits jobs, each once, and keeps them in a ledger. What it does not change it
// takes from the client that looks.
type Client struct {
	*client.Client
	// Ledger is told of every accepted job and asked first for ids and names.
	// It may be nil.
	Ledger *Ledger
	// Settle is how long a job that may have been accepted is looked for; 0 stands
	// for DefaultSettle.
	Settle time.Duration
	// TakesOnce says that the service knows a SubmitJob again by its
	// Amz-Sdk-Invocation-Id, as the local engine does, and makes no second job of
	// it. Then jobs keep their users' own names.
	TakesOnce bool
	// Replayable says that something between this process and the service can deliver a
	// request twice, see CanReplay. Then jobs are checked for duplicates even after clear answers.
	Replayable bool
	// LeaveLook has Submit and SubmitNow return without waiting for the last look for
	// duplicates. The caller makes it with CheckDuplicates, where OpenRun.Unchecked is not 0.
	LeaveLook bool
	// Attached says that the jobs are to end with this process, so that nothing is
	// left to resume after it.
	Attached bool
	// SubmitAgain has Resume submit jobs again that the service may have forgotten.
	SubmitAgain bool
	// AtOnce is how many jobs may be on their way to the service together; 0 stands
	// for 32.
	AtOnce int
	// StopOnFailure has a submission that is refused in its middle stop what was
	// accepted and give up the rest, in place of leaving the run open for Resume.
	StopOnFailure bool
	// Stage puts a text at its place, an s3:// URL or the absolute path of a file, before
	// the first job that needs it is submitted (plan.Job.Staged). It may be called again
	// for the same, and concurrently for others; nil refuses plans that need it.
	Stage func(ctx context.Context, url, text string) error
	// Accepted is told of each job when it has an id, or is not needed, while Submit or
	// Resume goes on. It may be nil, and may be called concurrently.
	Accepted func(Submitted)
	// Tell is told what a submission meets on its way that its user should know, in
	// one clause. It may be nil, and may be called concurrently.
	Tell func(text string)
}

// New returns a client for the account, Region or engine that cfg leads to.
func New(cfg aws.Config) *Client {
	c := &Client{Client: client.New(cfg)}
	c.Memory = known{c}
	return c
}

// known is the client's ledger, for what the looking client asks of it.
type known struct{ c *Client }

// Jobs returns the jobs of the ledger's target. Damaged lines do not matter here: what
// they hid is found at the service.
func (k known) Jobs() ([]client.Known, error) {
	if k.c.Ledger == nil {
		return nil, nil
	}
	entries, err := k.c.Ledger.Entries()
	if _, damaged := errors.AsType[*DamageError](err); err != nil && !damaged {
		return nil, err
	}
	var jobs []client.Known
	for _, e := range entries {
		if k.c.Ledger.Covers(e.Target) {
			jobs = append(jobs, client.Known{ID: e.ID, Name: e.Name, Submitted: e.Time})
		}
	}
	return jobs, nil
}

// Children returns the size of an array, as it was submitted or as its end was seen.
func (k known) Children(id string) (int, error) {
	m, err := k.c.memory(memory{})
	if err != nil {
		return 0, err
	}
	if e := m.entries[id]; e.ArraySize > 0 {
		return e.ArraySize, nil
	}
	return int(m.outcomes[id].Size), nil
}

func (c *Client) tell(format string, args ...any) {
	if c.Tell != nil {
		c.Tell(fmt.Sprintf(format, args...))
	}
}
