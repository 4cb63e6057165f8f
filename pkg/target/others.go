package target

import (
	"cmp"
	"context"
	"errors"
	"sync"

	"github.com/batchctl/batchctl/pkg/client/once"
	"github.com/batchctl/batchctl/pkg/explain"
)

// opened are the other targets that a command has opened.
type opened struct {
	mu   sync.Mutex
	open func(ctx context.Context, name string, why Need) (*Target, error)
	all  map[string]*Target // by name and Need
}

// At returns another target of the platform file, to which a rung has moved a job. The target itself
// is "". It stays open until t is closed.
func (t *Target) At(ctx context.Context, name string, why Need) (*Target, error) {
	if name == "" {
		return t, nil
	}
	key := name
	if why != ToRead {
		key += " changes"
	}
	t.others.mu.Lock()
	defer t.others.mu.Unlock()
	if known := t.others.all[key]; known != nil {
		return known, nil
	}
	other, err := t.others.open(ctx, name, why)
	if err != nil {
		return nil, err
	}
	if t.others.all == nil {
		t.others.all = map[string]*Target{}
	}
	t.others.all[key] = other
	return other, nil
}

// clientAt returns the client of another target, for rungs.
func (t *Target) clientAt(ctx context.Context, name string) (*once.Client, error) {
	other, err := t.At(ctx, name, ToChange)
	if err != nil {
		return nil, err
	}
	return other.Client, nil
}

// close closes the targets that were opened.
func (o *opened) close() (err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, t := range o.all {
		err = errors.Join(err, t.Close())
	}
	o.all = nil
	return err
}

// elsewhere returns the options for another target of the platform file. The settings of the command
// line for this target do not apply there.
func (o Options) elsewhere(name string) Options {
	o.Name, o.Profile, o.Region, o.EndpointURL = name, "", "", ""
	o.Executor = ExecutorOptions{}
	return o
}

// RecallAt is Recall for jobs of several targets: at has the name of the target of each job that is
// not at t.
func (t *Target) RecallAt(ctx context.Context, ids []string,
	at map[string]string) (jobs []once.Recalled, failed error) {
	byName := map[string][]string{}
	for _, id := range ids {
		byName[at[id]] = append(byName[at[id]], id)
	}
	for name, ids := range byName {
		other, err := t.At(ctx, name, ToRead)
		if err != nil {
			failed = cmp.Or(failed, err)
			continue
		}
		known, err := other.Client.Recall(ctx, ids...)
		jobs, failed = append(jobs, known...), cmp.Or(failed, err)
	}
	return jobs, failed
}

// whyWaiting returns why a job waits, for rungs. A cause with a low confidence counts as unknown.
func (t *Target) whyWaiting(ctx context.Context, id string) (cause, summary string) {
	b, err := explain.NewGatherer(t.Config, t.Label, t.IsLocal()).Gather(ctx, id)
	if err != nil {
		return "", ""
	}
	v := explain.Explain(b).Verdict
	if v == nil || v.Confidence == explain.Low {
		return "", ""
	}
	return v.Cause, v.Summary
}
