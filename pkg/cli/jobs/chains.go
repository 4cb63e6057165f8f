package jobs

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/client"
	"github.com/batchctl/batchctl/pkg/client/once"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/target"
	"github.com/batchctl/batchctl/pkg/text"
)

// described are the jobs of a chain that could be described, with their descriptions.
type described struct {
	client.Chain
	known []once.Recalled
}

// describedChains returns chains with the descriptions of their jobs.
func describedChains(chains []client.Chain, known []once.Recalled) (all []described) {
	byID := map[string]once.Recalled{}
	for _, job := range known {
		byID[aws.ToString(job.JobId)] = job
	}
	for _, chain := range chains {
		var d described
		for _, k := range chain {
			if job, ok := byID[k.ID]; ok {
				d.Chain, d.known = append(d.Chain, k), append(d.known, job)
			}
		}
		if d.Chain != nil {
			all = append(all, d)
		}
	}
	return all
}

// sum returns the chain as one job with the id of its oldest one, and how many cells were healed.
func (d described) sum() (once.Recalled, int) {
	job, healed := d.Sum(details(d.known))
	return once.Recalled{JobDetail: job, Forgotten: d.known[0].Forgotten}, healed
}

// note describes the jobs that ran the first one of the chain again: "healed by train-try2", or how many cells were.
func (d described) note() string {
	if len(d.known) == 1 {
		return ""
	}
	job, healed := d.sum()
	by := aws.ToString(d.known[0].JobName) + " " + batch.ShortID(aws.ToString(d.known[0].JobId))
	if len(d.known) > 2 {
		by += fmt.Sprintf(" and %d before it", len(d.known)-2)
	}
	switch {
	case healed == 0:
		return "run again by " + by
	case batch.ArraySize(job.JobDetail) > 0:
		return text.Count(healed, "cell") + " healed by " + by
	}
	return "healed by " + by
}

// current returns the jobs of chains whose result counts: see client.Chain.Current. Without failed, a chain that
// SUCCEEDED in the end has none.
func current(chains []described) (all []once.Recalled) {
	for _, d := range chains {
		for _, i := range d.Current(details(d.known)) {
			all = append(all, d.known[i])
		}
	}
	return all
}

// Current returns the call's jobs whose result counts: all but those that FAILED only in cells that a newer job of
// their chain runs again.
func (call *Call) Current() []once.Recalled { return current(describedChains(call.Chains, call.Known)) }

// Summed returns each chain of the call as one job, with the id and the name of its oldest one.
func (call *Call) Summed() []once.Recalled {
	jobs, _ := summed(describedChains(call.Chains, call.Known))
	return jobs
}

// Replaced returns the indexes of the children of each job, by its id, that a newer job of its chain runs again. For a
// job that is not an array, the index is 0.
func (call *Call) Replaced() map[string]map[int]bool {
	all := map[string]map[int]bool{}
	for _, chain := range call.Chains {
		for i, replaced := range chain.Replaced() {
			all[chain[i].ID] = replaced
		}
	}
	return all
}

// Recall describes the jobs of the call again, with those that run them again since. It returns the jobs whose result
// counts, and the exit status of the result.
func (call *Call) recall(ctx context.Context) (jobs []once.Recalled, code int, err error) {
	chains := call.Chains
	if call.Client.Ledger != nil {
		chains = nil
		for _, chain := range call.Chains {
			if chain.Root().Size == 0 && isPart(chain.Root().ID) {
				chains = append(chains, chain) // children: nothing else belongs to them
				continue
			}
			grown, err := call.Client.Ledger.Chains(chain[len(chain)-1:])
			if err != nil {
				return nil, exit.NotDone, err
			}
			chains = append(chains, grown...)
		}
	}
	var ids []string
	for _, chain := range chains {
		for _, k := range chain {
			if k.At == "" {
				ids = append(ids, k.ID)
			}
		}
	}
	known, err := call.Client.Recall(ctx, client.Distinct(ids)...)
	if _, missing := errors.AsType[*client.MissingError](err); err != nil && !missing {
		return nil, exit.NotDone, err
	}
	for i, chain := range chains {
		chains[i] = chain.Described(byID(known))
	}
	all := describedChains(chains, known)
	for _, d := range all {
		job, _ := d.sum()
		switch job.Status {
		case types.JobStatusSucceeded:
		case types.JobStatusFailed:
			code = max(code, exit.Problem)
		default:
			code = exit.NotDone
		}
	}
	return current(all), code, nil
}

// isPart reports whether an id is that of a child or a node.
func isPart(id string) bool {
	_, part := batch.SplitID(id)
	return part != ""
}

// chainsOf returns the chains of described jobs, from their tags.
func chainsOf(jobs []once.Recalled) []client.Chain {
	var known []client.Known
	for _, job := range jobs {
		known = append(known, client.KnownOf(job.JobDetail))
	}
	return client.ChainsOf(known, known)
}

// healedIDs returns the ids of the jobs that FAILED and whose every cell SUCCEEDED in newer jobs of their chain.
func healedIDs(chains []described) (ids []string) {
	for _, d := range chains {
		if job, _ := d.sum(); job.Status != types.JobStatusSucceeded {
			continue
		}
		for _, job := range d.known {
			if job.Status == types.JobStatusFailed {
				ids = append(ids, aws.ToString(job.JobId))
			}
		}
	}
	return ids
}

// summed returns each chain as one job, with the id of its oldest one. notes are about the jobs that run it again, by
// that id.
func summed(chains []described) (jobs []once.Recalled, notes map[string]string) {
	notes, oldest := map[string]string{}, map[string]*string{}
	for _, d := range chains {
		root := d.known[len(d.known)-1].JobId
		for _, k := range d.Chain {
			oldest[k.ID] = root
		}
	}
	for _, d := range chains {
		job, _ := d.sum()
		root := d.known[len(d.known)-1].JobId
		job.JobId = root
		job.DependsOn = slices.Clone(job.DependsOn)
		for i, on := range job.DependsOn {
			if id := oldest[aws.ToString(on.JobId)]; id != nil {
				job.DependsOn[i].JobId = id
			}
		}
		jobs = append(jobs, job)
		notes[aws.ToString(root)] = d.note()
	}
	return jobs, notes
}

// elsewhereHint is how to reach a job at another target.
func elsewhereHint(command string, k client.Known) string {
	flag := "the target of " + k.At
	if k.At == target.Local {
		flag = "--target " + target.Local
	}
	return fmt.Sprintf("batchctl %s %s, with %s", command, batch.ShortID(k.ID), flag)
}
