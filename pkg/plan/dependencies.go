package plan

import (
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// dependencies connects the jobs of one file.
type dependencies struct {
	*joins
	// groups are the jobs of the file, by their names in it.
	groups map[string]*group
}

// newDependencies returns the dependencies of a file, without any yet. Generated jobs get other names than those.
func newDependencies(qs *queues, names taken) *dependencies {
	return &dependencies{&joins{joints{qs.converter, qs}, names, map[*Job][]wait{}}, map[string]*group{}}
}

// connect says of each job of a group what it waits for, with steps in between
// where that is too much for one. It returns those steps.
func (ds *dependencies) connect(g *group) (steps []*Job) {
	waits := make([][]wait, len(g.parts))
	most := 0
	for i := range g.parts {
		waits[i] = ds.waitsOf(g, i)
		most = max(most, len(waits[i]))
	}
	if most > maxWaits && g.When == "" {
		waits, steps = ds.shorten(g, waits)
	}
	for i, p := range g.parts {
		p.wait(waits[i])
		ds.waits[p] = waits[i]
	}
	ds.groups[g.Name] = g
	return steps
}

// waitsOf is what job number i of a group waits for, in the order of a request's
// dependsOn: ids first.
func (ds *dependencies) waitsOf(g *group, i int) (list []wait) {
	isChained := false
	for k, d := range g.parts[i].Submit.DependsOn {
		w := wait{isID: true, Dependency: document.Dependency{Job: aws.ToString(d.JobId), Type: string(d.Type),
			Node: g.Submit.Get("dependsOn").Index(k)}}
		isChained = isChained || w.isItself()
		if w.isItself() && g.parts[i].size() == 0 && g.Sweep != nil {
			continue // a single child has no predecessor
		}
		list = append(list, ds.outside(g, i, w))
	}
	if isChained && i > 0 {
		before := g.parts[i-1]
		list = append(list, wait{Dependency: document.Dependency{Job: before.Name, Node: g.Array}, on: before,
			isOwn: true})
		if g.When != "" {
			g.parts[i].When = "" // the first of them is held back, and the others come after it
			return slices.DeleteFunc(list, func(w wait) bool { return !w.isItself() && !w.isOwn })
		}
	}
	for _, d := range g.Earlier {
		list = append(list, ds.outside(g, i, wait{Dependency: d}))
	}
	for _, d := range g.DependsOn {
		list = append(list, ds.inside(g, i, d)...)
	}
	return list
}

// outside is a dependency on a job that this plan does not submit.
func (ds *dependencies) outside(g *group, i int, w wait) wait {
	switch {
	case w.isItself() || w.Type == "":
	case g.When != "" || g.isOneCell():
		w.Type = ""
	case len(g.parts) > 1 && i == 0:
		ds.refusePairs(w.Node, fmt.Sprintf("the array waits for another job, and it is split into %d arrays, because AWS Batch limits the children of one array", len(g.parts)))
	}
	return w
}

// inside is a dependency on a job of the file: on all jobs that it became.
func (ds *dependencies) inside(g *group, i int, d document.Dependency) (list []wait) {
	target := ds.groups[d.Job]
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
			list = append(list, ds.on(p, d))
		}
		return list
	case !g.isSplitLike(target):
		if i == 0 {
			ds.refusePairs(d.Node, fmt.Sprintf("N_TO_N needs arrays of the same size: this one has %d children, %s has %d", g.children(), d.Job, target.children()))
		}
		return nil
	}
	w := ds.on(target.parts[i], d)
	w.isOwn = true
	if g.parts[i].size() == 0 {
		w.Type = ""
	}
	return []wait{w}
}

func (ds *dependencies) on(p *Job, d document.Dependency) wait {
	d.Job = p.Name
	return wait{Dependency: d, on: p}
}

func (ds *dependencies) refusePairs(n *jsontree.Node, message string) {
	ds.fail(n, "dep-n-to-n-same-size", message, "make the arrays the same size, or leave out the type")
}
