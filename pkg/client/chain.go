package client

import (
	"cmp"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/sweep"
)

// Chain is a job of a plan and the jobs that ran it, or some of its cells, again: by a step of onFailure or by retry.
// The newest comes first, and the job of the plan last. A Chain is never empty.
type Chain []Known

// ChainsOf returns the chains of jobs, in the order of the jobs and each once. known are the jobs that may belong to
// them, in the order in which they were recorded.
func ChainsOf(jobs, known []Known) (chains []Chain) {
	byID, again := map[string]Known{}, map[string][]Known{}
	for _, k := range slices.Concat(known, jobs) {
		if _, seen := byID[k.ID]; seen {
			continue
		}
		byID[k.ID] = k
		if k.Again != "" {
			again[k.Again] = append(again[k.Again], k)
		}
	}
	placed := map[string]bool{}
	for _, k := range jobs {
		k = byID[k.ID]
		// The count ends the walk if damaged lines make a circle.
		for n := 0; n < len(byID); n++ {
			earlier, ok := byID[k.Again]
			if !ok {
				break
			}
			k = earlier
		}
		if placed[k.ID] {
			continue
		}
		chain := Chain{k}
		placed[k.ID] = true
		for i := 0; i < len(chain); i++ {
			for _, next := range again[chain[i].ID] {
				if !placed[next.ID] {
					placed[next.ID] = true
					chain = append(chain, next)
				}
			}
		}
		slices.SortStableFunc(chain[1:], func(a, b Known) int { return a.Submitted.Compare(b.Submitted) })
		slices.Reverse(chain)
		chains = append(chains, chain)
	}
	return chains
}

// Root returns the job of the plan.
func (c Chain) Root() Known { return c[len(c)-1] }

// cells returns the cells of a job by the index of its n children. A job that is not an array has one child.
func (k Known) cells() (at func(index int) (cell int, ok bool), n int) {
	if cells, err := sweep.ParseCells(k.Cells); err == nil && cells.Len() > 0 {
		return cells.At, cells.Len()
	}
	n = max(k.Size, 1)
	return func(index int) (int, bool) { return index, index >= 0 && index < n }, n
}

// described adds what a job's description has about its place in a chain, where a memory lacks it.
func (k Known) described(d types.JobDetail) Known {
	k.Again = cmp.Or(k.Again, d.Tags[RetryTag])
	k.Size = cmp.Or(k.Size, batch.ArraySize(d))
	if k.Cells == "" && d.Container != nil {
		for _, v := range d.Container.Environment {
			if aws.ToString(v.Name) == sweep.CellsVariable {
				k.Cells = aws.ToString(v.Value)
			}
		}
	}
	return k
}

// Described adds what the descriptions of the chain's jobs have about their cells, where a memory lacks it.
func (c Chain) Described(details map[string]types.JobDetail) Chain {
	c = slices.Clone(c)
	for i, k := range c {
		if d, ok := details[k.ID]; ok {
			c[i] = k.described(d)
		}
	}
	return c
}

// newest returns the position of the newest job of each cell.
func (c Chain) newest() map[int]int {
	newest := map[int]int{}
	for i, k := range c {
		at, n := k.cells()
		for index := range n {
			if cell, ok := at(index); ok {
				if _, known := newest[cell]; !known {
					newest[cell] = i
				}
			}
		}
	}
	return newest
}

// Replaced returns the indexes of the children of each job that a newer job of the chain runs again, in the order of
// the chain. For a job that is not an array, the index is 0.
func (c Chain) Replaced() []map[int]bool {
	newest := c.newest()
	replaced := make([]map[int]bool, len(c))
	for i, k := range c {
		replaced[i] = map[int]bool{}
		at, n := k.cells()
		for index := range n {
			if cell, ok := at(index); ok && newest[cell] < i {
				replaced[i][index] = true
			}
		}
	}
	return replaced
}

// Part returns the chain of a child of one of the jobs: that child, and the children and jobs that have the same cell.
// job is the id of the array, and index the child's index.
func (c Chain) Part(job string, index int) Chain {
	own := slices.IndexFunc(c, func(k Known) bool { return k.ID == job })
	if own < 0 {
		return c
	}
	at, _ := c[own].cells()
	cell, ok := at(index)
	if !ok {
		cell = index // the service reports that there is no such child
	}
	var part Chain
	for i, k := range c {
		at, n := k.cells()
		for j := range n {
			if i == own && j != index {
				continue
			}
			if other, ok := at(j); i != own && (!ok || other != cell) {
				continue
			}
			child := k
			if k.Size > 0 || i == own {
				child.ID = batch.ChildID(k.ID, j)
			}
			child.Size, child.Cells = 0, sweep.FormatCells([]int{cell})
			part = append(part, child)
		}
		if i == own && index >= n {
			part = append(part, Known{ID: batch.ChildID(k.ID, index), Name: k.Name})
		}
	}
	return part
}

// failures returns in how many cells a job FAILED that no newer job runs again. Only failed cells run again.
func failures(d types.JobDetail, replaced map[int]bool) int32 {
	failed := int32(0)
	switch {
	case batch.ArraySize(d) > 0:
		failed = d.ArrayProperties.StatusSummary[string(types.JobStatusFailed)]
	case d.Status == types.JobStatusFailed:
		failed = 1
	}
	return max(0, failed-int32(len(replaced)))
}

// Current returns the positions of the jobs whose result counts: all but those that FAILED only in cells that a newer
// job runs again. details are the descriptions of the jobs, in the order of the chain.
func (c Chain) Current(details []types.JobDetail) (current []int) {
	replaced := c.Replaced()
	for i, d := range details {
		if d.Status != types.JobStatusFailed || len(replaced[i]) == 0 || failures(d, replaced[i]) > 0 {
			current = append(current, i)
		}
	}
	return current
}

// Sum returns the chain as one job. details are the descriptions of its jobs, in the order of the chain. For an array
// it is the job of the plan, and the children of all jobs are counted; each cell counts once. Otherwise it is the
// newest job. The status is FAILED only if a cell FAILED and no newer job runs it again. healed is how many cells
// FAILED before a newer job ran them and SUCCEEDED.
func (c Chain) Sum(details []types.JobDetail) (sum types.JobDetail, healed int) {
	root := details[len(details)-1]
	if len(c) == 1 {
		return root, 0
	}
	isArray := batch.ArraySize(root) > 0
	if sum = details[0]; isArray {
		sum = root
	}
	sum.JobName = root.JobName
	for _, d := range details {
		for _, on := range d.DependsOn {
			if !slices.ContainsFunc(sum.DependsOn,
				func(o types.JobDependency) bool { return aws.ToString(o.JobId) == aws.ToString(on.JobId) }) {
				sum.DependsOn = append(slices.Clip(sum.DependsOn), on)
			}
		}
	}
	if !isArray {
		if sum.Status == types.JobStatusSucceeded {
			healed = 1
		}
		return sum, healed
	}
	total, replaced := map[string]int32{}, c.Replaced()
	sum.Status = types.JobStatusSucceeded
	for i, d := range slices.Backward(details) {
		counts := map[string]int32{string(d.Status): 1}
		if batch.ArraySize(d) > 0 {
			counts = maps.Clone(d.ArrayProperties.StatusSummary)
		}
		failed := string(types.JobStatusFailed)
		counts[failed] = failures(d, replaced[i])
		for status, n := range counts {
			total[status] += n
		}
		if i < len(details)-1 {
			healed += int(counts[string(types.JobStatusSucceeded)])
		}
		switch {
		case !batch.HasEnded(d.Status): // the newest of them
			sum.Status = d.Status
		case total[failed] > 0 && batch.HasEnded(sum.Status):
			sum.Status = types.JobStatusFailed
		}
	}
	maps.DeleteFunc(total, func(_ string, n int32) bool { return n == 0 })
	properties := *root.ArrayProperties
	properties.StatusSummary, sum.ArrayProperties = total, &properties
	return sum, healed
}
