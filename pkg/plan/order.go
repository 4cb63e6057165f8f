package plan

import (
	"slices"

	"github.com/batchctl/batchctl/pkg/document"
)

// Order sorts the jobs of one file so that each comes after those it depends
// on, and otherwise keeps their order. Dependencies on names that are not there
// are ignored. On a cycle it returns the cycle's members instead, from the job
// that comes first in the file.
func Order(jobs []*document.Job) (ordered, cycle []*document.Job) {
	if !slices.ContainsFunc(jobs, func(j *document.Job) bool { return len(j.DependsOn) > 0 }) {
		return slices.Clone(jobs), nil // most files
	}
	byName := map[string]*document.Job{}
	for _, j := range slices.Backward(jobs) {
		byName[j.Name] = j
	}
	done := map[*document.Job]bool{}
	var path []*document.Job
	var visit func(*document.Job) bool
	visit = func(j *document.Job) bool {
		if j == nil || done[j] {
			return true
		}
		if i := slices.Index(path, j); i >= 0 {
			cycle = path[i:]
			return false
		}
		path = append(path, j)
		for _, d := range j.DependsOn {
			if !visit(byName[d.Job]) {
				return false
			}
		}
		path = path[:len(path)-1]
		done[j] = true
		ordered = append(ordered, j)
		return true
	}
	for _, j := range jobs {
		if !visit(j) {
			return nil, fromFirst(cycle, jobs)
		}
	}
	return ordered, nil
}

func fromFirst(cycle, jobs []*document.Job) []*document.Job {
	first := slices.IndexFunc(jobs, func(j *document.Job) bool { return slices.Contains(cycle, j) })
	i := slices.Index(cycle, jobs[first])
	return slices.Concat(cycle[i:], cycle[:i])
}
