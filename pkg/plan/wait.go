package plan

import (
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// wait is one thing that a job waits for: a job of the plan, one that was submitted
// before, or one whose id the file gives.
type wait struct {
	// Dependency names the job, or gives its id; with neither it is the job itself
	// (SEQUENTIAL).
	document.Dependency
	// on is the job of the plan; nil for any other.
	on   *Job
	isID bool
	// isOwn is for what only this one of a group's jobs waits for.
	isOwn bool
}

// isCommon reports whether another job can wait in this one's place: it is waited for
// as a whole, and by all jobs of the group.
func (w wait) isCommon() bool { return w.Type == "" && !w.isOwn }

// isSame reports whether both are on the same job.
func (w wait) isSame(o wait) bool { return w.on == o.on && w.isID == o.isID && w.Job == o.Job }

// isItself is a job's SEQUENTIAL dependency on itself, which names no job.
func (w wait) isItself() bool { return w.isID && w.Job == "" }

const (
	nToN       = string(types.ArrayJobDependencyNToN)
	sequential = string(types.ArrayJobDependencySequential)
)

// connect says of each job of a group what it waits for, with steps in between
// where that is too much for one.
func (b *builder) connect(g *group) {
	waits := make([][]wait, len(g.parts))
	most := 0
	for i := range g.parts {
		waits[i] = b.waitsOf(g, i)
		most = max(most, len(waits[i]))
	}
	if most > maxWaits && g.When == "" {
		waits = b.shorten(g, waits)
	}
	for i, p := range g.parts {
		p.wait(waits[i])
		b.waits[p] = waits[i]
	}
}

// waitsOf is what job number i of a group waits for, in the order of a request's
// dependsOn: ids first.
func (b *builder) waitsOf(g *group, i int) (list []wait) {
	isChained := false
	for k, d := range g.parts[i].Submit.DependsOn {
		w := wait{isID: true, Dependency: document.Dependency{Job: aws.ToString(d.JobId), Type: string(d.Type), Node: g.Submit.Get("dependsOn").Index(k)}}
		isChained = isChained || w.isItself()
		if w.isItself() && g.parts[i].size() == 0 && g.Sweep != nil {
			continue // a single child has no predecessor
		}
		list = append(list, b.outside(g, i, w))
	}
	if isChained && i > 0 {
		before := g.parts[i-1]
		list = append(list, wait{Dependency: document.Dependency{Job: before.Name, Node: g.Array}, on: before, isOwn: true})
		if g.When != "" {
			g.parts[i].When = "" // the first of them is held back, and the others come after it
			return slices.DeleteFunc(list, func(w wait) bool { return !w.isItself() && !w.isOwn })
		}
	}
	for _, d := range g.Earlier {
		list = append(list, b.outside(g, i, wait{Dependency: d}))
	}
	for _, d := range g.DependsOn {
		list = append(list, b.inside(g, i, d)...)
	}
	return list
}

// outside is a dependency on a job that this plan does not submit.
func (b *builder) outside(g *group, i int, w wait) wait {
	switch {
	case w.isItself() || w.Type == "":
	case g.When != "" || g.isOneCell():
		w.Type = ""
	case len(g.parts) > 1 && i == 0:
		b.refusePairs(w.Node, fmt.Sprintf("the array is split into %d arrays, since AWS Batch accepts no more children in one, and it waits for another job", len(g.parts)))
	}
	return w
}

// inside is a dependency on a job of the file: on all jobs that it became.
func (b *builder) inside(g *group, i int, d document.Dependency) (list []wait) {
	target := b.groups[d.Job]
	if target == nil {
		return nil // it has been reported
	}
	if g.When != "" || g.isOneCell() || target.isOneCell() {
		d.Type = ""
	}
	isSplit := len(g.parts) > 1 || len(target.parts) > 1
	switch {
	case d.Type != nToN || !isSplit:
		for _, p := range target.parts {
			list = append(list, b.on(p, d))
		}
		return list
	case !g.isSplitLike(target):
		if i == 0 {
			b.refusePairs(d.Node, fmt.Sprintf("N_TO_N needs arrays of the same size: this one has %d children, %s has %d", g.children(), d.Job, target.children()))
		}
		return nil
	}
	w := b.on(target.parts[i], d)
	w.isOwn = true
	if g.parts[i].size() == 0 {
		w.Type = ""
	}
	return []wait{w}
}

func (b *builder) on(p *Job, d document.Dependency) wait {
	d.Job = p.Name
	return wait{Dependency: d, on: p}
}

func (b *builder) refusePairs(n *jsontree.Node, message string) {
	b.fail(n, "dep-n-to-n-same-size", message, "make the arrays the same size, or leave out the type")
}

// children is the number of an array's children; 1 for any other job.
func (g *group) children() (sum int) {
	for _, p := range g.parts {
		sum += max(1, p.size())
	}
	return sum
}

// wait writes down what the job waits for. A job that the client holds back has no
// ids in its request: AWS Batch would end it as soon as one of those jobs fails.
func (j *Job) wait(list []wait) {
	var ids []types.JobDependency
	for _, w := range list {
		switch {
		case w.on != nil:
			j.After = append(j.After, w.Dependency)
		case w.isID && (j.When == "" || w.isItself()):
			id := types.JobDependency{Type: types.ArrayJobDependency(w.Type)}
			if w.Job != "" {
				id.JobId = aws.String(w.Job)
			}
			ids = append(ids, id)
		default:
			j.Earlier = append(j.Earlier, w.Dependency)
		}
	}
	if !slices.EqualFunc(ids, j.Submit.DependsOn, isSameDependency) {
		j.Submit.DependsOn = ids
	}
}

func isSameDependency(a, b types.JobDependency) bool {
	return aws.ToString(a.JobId) == aws.ToString(b.JobId) && a.Type == b.Type
}
