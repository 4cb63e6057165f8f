package lint

import (
	"cmp"
	"slices"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// resources holds the resources that the files of a run create, by name. References may
// be names or ARNs.
type resources struct {
	// Several files may create a resource of the same name, such as versions for test and
	// production. resolve chooses one.
	queues, environments, serviceEnvironments, policies, consumables namedSites
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

		serviceEnvironments: byName(allSites.of(p).serviceEnvironments, "serviceEnvironmentName"),
		consumables:         byName(consumables(p), "consumableResourceName"),
		platform:            p.Platform,
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
func (r resources) environmentsOf(queue Site) func(yield func(environment) bool) {
	return func(yield func(environment) bool) {
		for o := range queue.Node.Get("computeEnvironmentOrder").Children() {
			ref := o.Get("computeEnvironment").Str()
			if e, _ := r.environments.find(ref, queue.Job); ref != "" && !yield(environment{e}) {
				return
			}
		}
	}
}

// createdQueue returns the queue that a submission names, if the files create it.
func (j Job) createdQueue() (Site, bool) {
	return creations.of(j.pass).queues.find(j.Submit.Get("jobQueue").Str(), j)
}

// environments yields the environments on which a job may run, according to the files:
// those of its queue. For a definition that no file submits, these are all environments in
// its directory, unless the files have queues.
func (j Job) environments() func(yield func(environment) bool) {
	return func(yield func(environment) bool) {
		// A definition has no queue of its own: the submissions that run it have.
		submits := runs.of(j.pass)[j.Register]
		if j.Submit != nil && len(submits) == 0 {
			submits = []Job{j}
		}
		for _, run := range submits {
			if q, ok := run.createdQueue(); ok {
				for e := range creations.of(j.pass).environmentsOf(q) {
					if e.Node != nil && !yield(e) {
						return
					}
				}
			}
		}
		if len(submits) > 0 || len(queues(j.pass)) > 0 {
			return
		}
		for _, e := range environmentsIn.of(j.pass)[j.directory()] {
			if !yield(environment{e}) {
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
		slices.SortStableFunc(list, func(a, b Site) int {
			return cmp.Or(cmp.Compare(a.Node.Source.Name, b.Node.Source.Name),
				cmp.Compare(a.Node.Span.Start, b.Node.Span.Start))
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
	isSubmitted := func(d Site) bool { return len(runs.of(p)[d.Register]) > 0 }
	return inDirectories(slices.DeleteFunc(slices.Clone(definitions(p)), isSubmitted))
})
