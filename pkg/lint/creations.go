package lint

import (
	"cmp"
	"iter"
	"slices"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/stable"
)

// resources holds the resources that the files of a run create, by name. References may
// be names or ARNs.
type resources struct {
	// Several files may create a resource of the same name, such as versions for test and
	// production. resolve chooses one.
	queues, environments, policies, consumables namedSites
	// platform is the platform file, with the queues of the files added.
	platform *document.Platform
}

// namedSites maps the names of resources to the requests that create them.
type namedSites map[string][]Site

// find returns the request for the resource to which a job or queue refers by name or ARN.
func (n namedSites) find(ref string, from Job) (Site, bool) {
	return resolve(n[batch.Name(ref)], from)
}

// creations holds the resources that the files create.
var creations = newFact(func(p *Pass, _ resources) resources {
	byName := func(list []Site, member string) namedSites {
		if len(list) == 0 {
			return nil
		}
		m := namedSites{}
		for _, s := range list {
			if name := s.Node.Get(member).Str(); name != "" {
				m[name] = append(m[name], s)
			}
		}
		return m
	}
	r := resources{
		queues:       byName(queues(p), "jobQueueName"),
		environments: byName(environments(p), "computeEnvironmentName"),
		policies:     byName(policies(p), "name"),
		consumables:  byName(consumables(p), "consumableResourceName"),
		platform:     p.Platform,
	}
	if len(queues(p)) == 0 {
		return r
	}
	// The caller's platform is shared, so the queues of the files go into a copy.
	r.platform = &document.Platform{}
	if p.Platform != nil { // its policy and catalogue too
		*r.platform = *p.Platform
		r.platform.Queues = slices.Clone(p.Platform.Queues)
	}
	for _, q := range queues(p) {
		r.platform.Queues = append(r.platform.Queues, r.queue(q))
	}
	return r
})

// queue returns a queue of the files in the form for placement. If the files do not
// create all of its environments, it has none and is not checked.
func (r resources) queue(q Site) document.Queue {
	out := document.Queue{Name: q.Node.Get("jobQueueName").Str(), Node: q.Node}
	for e := range r.environmentsOf(q) {
		if e.Node == nil || e.Node.Get("computeResources") == nil {
			out.Environments = nil
			return out
		}
		out.Environments = append(out.Environments, asEnvironment(e.Node))
	}
	return out
}

// asEnvironment returns a CreateComputeEnvironment request in the form of a platform file,
// so that placement treats both alike. An absent maxvCpus becomes 0, which means unknown.
func asEnvironment(n *jsontree.Node) document.Environment {
	c := n.Get("computeResources")
	most, _ := c.Get("maxvCpus").Int()
	return document.Environment{Name: n.Get("computeEnvironmentName").Str(), Type: c.Get("type").Str(),
		InstanceTypes: entriesOf(c.Get("instanceTypes")), MaxvCpus: int(min(most, 1<<30)), Node: c}
}

// environmentsOf yields the environments of a queue. An environment that the files do not create
// has no Node.
func (r resources) environmentsOf(queue Site) iter.Seq[Site] {
	return func(yield func(Site) bool) {
		for o := range queue.Node.Get("computeEnvironmentOrder").Children() {
			ref := o.Get("computeEnvironment").Str()
			if e, _ := r.environments.find(ref, queue.Job); ref != "" && !yield(e) {
				return
			}
		}
	}
}

// queueOf returns the queue that a submission names, if the files create it.
func (s Site) queueOf() (Site, bool) {
	return creations.of(s.pass).queues.find(s.Submit.Get("jobQueue").Str(), s.Job)
}

// environmentsFor yields the environments on which a job may run, according to the files:
// those of its queue. For a definition that no file submits, these are all environments in
// its directory, unless the files have queues.
func (p *Pass) environmentsFor(j Job) iter.Seq[Site] {
	return func(yield func(Site) bool) {
		// A definition has no queue of its own: the submissions that run it have.
		submits := runs.of(p)[j.Register]
		if j.Submit != nil && len(submits) == 0 {
			submits = []Job{j}
		}
		for _, run := range submits {
			if q, ok := (Site{Job: run}).queueOf(); ok {
				for e := range creations.of(p).environmentsOf(q) {
					if e.Node != nil && !yield(e) {
						return
					}
				}
			}
		}
		if len(submits) > 0 || len(queues(p)) > 0 {
			return
		}
		for _, e := range environmentsIn.of(p)[j.directory()] {
			if !yield(e) {
				return
			}
		}
	}
}

// environmentsIn holds the environments of each directory, sorted by their place: a message that names several must not
// depend on the order of the files.
var environmentsIn = newFact(func(p *Pass, _ map[string][]Site) map[string][]Site {
	in := inDirectories(environments(p))
	for _, list := range in {
		stable.Sort(list, func(a, b Site) int {
			return cmp.Or(cmp.Compare(a.Node.Source.Name, b.Node.Source.Name), cmp.Compare(a.Node.Span.Start, b.Node.Span.Start))
		})
	}
	return in
})

// inDirectories groups sites by the directory of their file. In a run over many
// directories, files of one directory belong together and others do not.
func inDirectories(list []Site) map[string][]Site {
	in := map[string][]Site{}
	for _, s := range list {
		in[s.directory()] = append(in[s.directory()], s)
	}
	return in
}

// unsubmittedIn holds the definitions of each directory that no file submits.
var unsubmittedIn = newFact(func(p *Pass, _ map[string][]Site) map[string][]Site {
	return inDirectories(where(definitions, func(d Site) bool { return len(runs.of(p)[d.Register]) == 0 })(p))
})

// definitionsByEnvironment inverts environmentsFor if the files create queues: it holds the definitions that may
// run on an environment.
var definitionsByEnvironment = newFact(func(p *Pass, _ map[*jsontree.Node][]Site) map[*jsontree.Node][]Site {
	by := map[*jsontree.Node][]Site{}
	for _, d := range definitions(p) {
		for e := range p.environmentsFor(d.Job) {
			on := by[e.Node]
			if len(on) == 0 || on[len(on)-1].Node != d.Node {
				by[e.Node] = append(on, d)
			}
		}
	}
	return by
})

// definitionsOn returns the definitions that may run on an environment.
func (p *Pass) definitionsOn(environment Site) []Site {
	if len(queues(p)) == 0 { // all that no file submits
		return unsubmittedIn.of(p)[environment.directory()]
	}
	return definitionsByEnvironment.of(p)[environment.Node]
}

// multinode yields the multinode definitions that run on an environment.
func (p *Pass) multinode(environment Site) iter.Seq[Site] {
	return func(yield func(Site) bool) {
		for _, d := range p.definitionsOn(environment) {
			if (d.Register.Get("nodeProperties") != nil || d.Register.Get("type").Str() == "multinode") && !yield(d) {
				return
			}
		}
	}
}

// environmentsOfNodes returns the environments on which multinode jobs may run.
func environmentsOfNodes(p *Pass) []Site {
	return where(environments, func(s Site) bool {
		for range p.multinode(s) {
			return true
		}
		return false
	})(p)
}

// someEnvironment reports whether the job has environments, and none of them has
// suitable instance types.
func (p *Pass) someEnvironment(s Site, will func(types []string) bool) bool {
	some := false
	for e := range p.environmentsFor(s.Job) {
		some = true
		if will(entriesOf(e.Node.Get("computeResources").Get("instanceTypes"))) {
			return false
		}
	}
	return some
}

// typeOf returns the type of an environment's resources, such as FARGATE.
func typeOf(environment Site) string {
	return cmp.Or(environment.Node.Get("computeResources").Get("type").Str(), "EC2")
}
