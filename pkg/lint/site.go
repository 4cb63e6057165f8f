package lint

import (
	"cmp"
	"strings"

	"github.com/batchctl/batchctl/pkg/catalog"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/plan"
)

// sites holds every object that rules read, by kind.
type sites struct {
	// definitions and submits hold the RegisterJobDefinition and SubmitJob requests.
	definitions, submits []Site
	// containers holds those on ECS; wholes those that are a whole job or node;
	// tasks the elements of ecsProperties.taskProperties.
	containers, wholes, tasks []Site
	// nodes holds nodeProperties, groups the elements of their nodeRangeProperties.
	nodes, groups []Site // nodeProperties and its ranges
	// pods holds podProperties; podContainers their containers and init containers.
	pods, podContainers []Site
	// overrides holds the overrides of containers in submissions, podOverrides those of
	// containers in pods.
	overrides, podOverrides []Site // containers of ECS and of EKS
	// retries holds every retryStrategy, of definitions and of submissions.
	retries []Site
	// The requests that create something other than a job, one list for each kind.
	environments, queues             []Site
	policies, consumables            []Site
	serviceEnvironments, quotaShares []Site

	// Unions of the above.
	bodies, requirers, podParts, jobs, requests, creates  []Site
	allContainers, allParts, withVariables, jobsAndQueues []Site
}

// emptied returns the same memory without sites.
func (s sites) emptied() sites {
	for _, list := range [...]*[]Site{
		&s.definitions, &s.submits, &s.containers, &s.wholes, &s.tasks, &s.nodes, &s.groups, &s.pods, &s.podContainers,
		&s.overrides, &s.podOverrides, &s.retries, &s.environments, &s.queues, &s.policies, &s.consumables,
		&s.serviceEnvironments, &s.quotaShares,
		&s.bodies, &s.requirers, &s.podParts, &s.jobs, &s.requests, &s.creates,
		&s.allContainers, &s.allParts, &s.withVariables, &s.jobsAndQueues,
	} {
		*list = (*list)[:0]
	}
	return s
}

// scope selects the sites of one kind.
type scope func(*Pass) []Site

// The scopes of one kind of site each. A scope may be called often: the sites are
// collected once for each run.
func definitions(p *Pass) []Site   { return allSites.of(p).definitions }
func submits(p *Pass) []Site       { return allSites.of(p).submits }
func containers(p *Pass) []Site    { return allSites.of(p).containers }
func wholes(p *Pass) []Site        { return allSites.of(p).wholes }
func tasks(p *Pass) []Site         { return allSites.of(p).tasks }
func nodes(p *Pass) []Site         { return allSites.of(p).nodes }
func groups(p *Pass) []Site        { return allSites.of(p).groups }
func pods(p *Pass) []Site          { return allSites.of(p).pods }
func podContainers(p *Pass) []Site { return allSites.of(p).podContainers }
func overrides(p *Pass) []Site     { return allSites.of(p).overrides }
func retries(p *Pass) []Site       { return allSites.of(p).retries }
func environments(p *Pass) []Site  { return allSites.of(p).environments }
func queues(p *Pass) []Site        { return allSites.of(p).queues }
func policies(p *Pass) []Site      { return allSites.of(p).policies }
func consumables(p *Pass) []Site   { return allSites.of(p).consumables }
func quotaShares(p *Pass) []Site   { return allSites.of(p).quotaShares }

// bodies returns the objects that can have volumes: whole containers, and tasks.
func bodies(p *Pass) []Site { return allSites.of(p).bodies }

// requirers returns the objects that can have resourceRequirements.
func requirers(p *Pass) []Site { return allSites.of(p).requirers }

// podParts returns the containers of pods and their overrides in submissions.
func podParts(p *Pass) []Site { return allSites.of(p).podParts }

// jobs returns definitions and submissions.
func jobs(p *Pass) []Site { return allSites.of(p).jobs }

// creates returns every request that creates something.
func creates(p *Pass) []Site { return allSites.of(p).creates }

// where returns the scope of the sites that satisfy a condition. It must not be called during a run.
func where(of scope, keep func(Site) bool) scope {
	return newFact(func(p *Pass, out []Site) []Site {
		out = out[:0]
		for _, s := range of(p) {
			if keep(s) {
				out = append(out, s)
			}
		}
		return out
	}).of
}

// onFargate, onEC2 and onWindows restrict a scope to one platform.
func onFargate(of scope) scope { return where(of, func(s Site) bool { return s.Fargate }) }
func onEC2(of scope) scope     { return where(of, func(s Site) bool { return s.ownDefinition().onEC2() }) }
func onWindows(of scope) scope { return where(of, Site.windows) }

// windows reports whether the site's task or container is for Windows, in any case. The
// rule about operatingSystemFamily reports the wrong case.
func (s Site) windows() bool {
	family := s.Task.Get("runtimePlatform").Get("operatingSystemFamily").Str()
	return strings.HasPrefix(strings.ToUpper(family), "WINDOWS")
}

// allSites holds every object that rules read.
var allSites = newFact(func(p *Pass, old *sites) *sites {
	if old == nil {
		old = &sites{}
	}
	*old = old.emptied()
	collect(p, old)
	return old
})

// collect finds all sites.
func collect(p *Pass, s *sites) {
	for _, j := range p.Jobs() {
		if j.Register != nil {
			s.collectDefinition(j)
		}
		if j.Submit != nil {
			s.collectSubmit(j)
		}
	}
	for _, f := range p.Files {
		for _, r := range f.Requests {
			if r.Is(jsontree.Object) {
				s.collectRequest(r.Kind,
					Site{Job: Job{Job: &document.Job{Node: r.Node}, userFile: userFile{f}, pass: p}, Node: r.Node})
			}
		}
	}
	s.bodies = append(append(s.bodies, s.wholes...), s.tasks...)
	s.requirers = append(append(s.requirers, s.containers...), s.overrides...)
	s.podParts = append(append(s.podParts, s.podContainers...), s.podOverrides...)
	s.jobs = append(append(s.jobs, s.definitions...), s.submits...)
	s.requests = append(append(append(append(s.requests, s.environments...), s.queues...), s.policies...),
		s.consumables...)
	s.creates = append(append(s.creates, s.jobs...), s.requests...)
	s.allContainers = append(append(s.allContainers, s.containers...), s.podContainers...)
	s.allParts = append(append(s.allParts, s.wholes...), s.overrides...)
	s.withVariables = append(append(s.withVariables, s.requirers...), s.podParts...)
	s.jobsAndQueues = append(append(s.jobsAndQueues, s.jobs...), s.queues...)
}

// collectRequest adds a request that creates something other than a job.
func (s *sites) collectRequest(kind document.Kind, site Site) {
	switch kind {
	case document.KindComputeEnvironment:
		s.environments = append(s.environments, site)
	case document.KindJobQueue:
		s.queues = append(s.queues, site)
	case document.KindSchedulingPolicy:
		s.policies = append(s.policies, site)
	case document.KindConsumableResource:
		s.consumables = append(s.consumables, site)
	case document.KindServiceEnvironment:
		s.serviceEnvironments = append(s.serviceEnvironments, site)
	case document.KindQuotaShare:
		s.quotaShares = append(s.quotaShares, site)
	}
}

// collectDefinition adds the objects of a job's RegisterJobDefinition request. Objects of
// the wrong JSON type are left out, so that rules need not check for them.
func (s *sites) collectDefinition(j Job) {
	fargate, before := plan.IsFargate(j.Register), len(s.containers)
	// A Site outside of a container has no Task.
	site := func(n, task *jsontree.Node) Site { return Site{Job: j, Node: n, Task: task, Fargate: fargate} }
	s.definitions = append(s.definitions, site(j.Register, nil))
	if r := j.Register.Get("retryStrategy"); r.Is(jsontree.Object) {
		s.retries = append(s.retries, site(r, nil))
	}
	s.containers = j.appendContainers(s.containers)
	for _, c := range s.containers[before:] {
		if c.Node == c.Task {
			s.wholes = append(s.wholes, c)
		}
	}
	// body adds the tasks and pods of a definition, or of a range of its nodes.
	body := func(n *jsontree.Node) {
		for t := range n.Get("ecsProperties").Get("taskProperties").Children() {
			if t.Is(jsontree.Object) {
				s.tasks = append(s.tasks, site(t, t))
			}
		}
		if pod := n.Get("eksProperties").Get("podProperties"); pod.Is(jsontree.Object) {
			s.pods = append(s.pods, site(pod, pod))
			for _, c := range each(pod, "initContainers", "containers") {
				s.podContainers = append(s.podContainers, site(c, pod))
			}
		}
	}
	body(j.Register)
	if n := j.Register.Get("nodeProperties"); n.Is(jsontree.Object) {
		s.nodes = append(s.nodes, site(n, nil))
		for g := range n.Get("nodeRangeProperties").Children() {
			if g.Is(jsontree.Object) {
				s.groups = append(s.groups, site(g, n))
				body(g)
			}
		}
	}
}

// collectSubmit adds the objects of a job's SubmitJob request. Their Fargate is that of
// the definition if it is known.
func (s *sites) collectSubmit(j Job) {
	fargate := plan.IsFargate(j.Known())
	site := func(n *jsontree.Node) Site { return Site{Job: j, Node: n, Fargate: fargate} }
	s.submits = append(s.submits, site(j.Submit))
	if r := j.Own("retryStrategy"); r.Is(jsontree.Object) {
		s.retries = append(s.retries, site(r))
	}
	for _, o := range overridesOf(j.Submit) {
		if o.Is(jsontree.Object) {
			s.overrides = append(s.overrides, site(o))
		}
	}
	body := func(n *jsontree.Node) {
		pod := n.Get("eksPropertiesOverride").Get("podProperties")
		for _, c := range each(pod, "initContainers", "containers") {
			s.podOverrides = append(s.podOverrides, site(c))
		}
	}
	body(j.Submit)
	for g := range j.Submit.Get("nodeOverrides").Get("nodePropertyOverrides").Children() {
		body(g)
	}
}

// resourcesOf is the member of an environment that most rules about environments read.
const resourcesOf = "computeResources"

// Containers returns the containers of all job definitions, except those of EKS,
// which have another shape.
func (p *Pass) Containers() []Site { return allSites.of(p).containers }

// appendContainers appends the containers of a job's definition to a list.
func (j Job) appendContainers(list []Site) []Site {
	fargate := plan.IsFargate(j.Register)
	add := func(body *jsontree.Node, member string) {
		if n := body.Get(member); n.Is(jsontree.Object) {
			list = append(list, Site{Job: j, Node: n, Task: n, Fargate: fargate,
				Single: member == "containerProperties"})
		}
		for task := range body.Get("ecsProperties").Get("taskProperties").Children() {
			for n := range task.Get("containers").Children() {
				if n.Is(jsontree.Object) {
					list = append(list, Site{Job: j, Node: n, Task: task, Fargate: fargate})
				}
			}
		}
	}
	add(j.Register, "containerProperties")
	for group := range j.Register.Get("nodeProperties").Get("nodeRangeProperties").Children() {
		add(group, "container")
	}
	return list
}

// allParts returns the containers that are a whole job, and overrides in submissions.
func allParts(p *Pass) []Site { return allSites.of(p).allParts }

// runsWindows reports whether the site's job has Windows containers.
func (s Site) runsWindows() bool {
	return s.windows() || Site{Task: s.Known().Get("containerProperties")}.windows()
}

// meantForEC2 returns the sites of definitions for EC2, except those that only lack
// platformCapabilities for Fargate: they need the members that a rule would remove.
func meantForEC2(of scope) scope {
	return where(onEC2(of), func(s Site) bool { return s.meantForFargate() == "" })
}

// meantForFargate returns a member that exists on Fargate only, of a body whose
// definition has no platformCapabilities, or "". A fraction of a vCPU counts only
// together with the role that Fargate requires. Otherwise vcpu-min-ec2 reports it.
func (s Site) meantForFargate() string {
	if s.Register.Get("nodeProperties") != nil || !s.lacks(s.Register, "platformCapabilities") {
		return ""
	}
	for _, m := range []string{"networkConfiguration", "fargatePlatformConfiguration", "runtimePlatform",
		"platformVersion"} {
		if s.Node.Get(m) != nil || s.Task.Get(m) != nil {
			return m
		}
	}
	role := cmp.Or(s.Task, s.Node).Get("executionRoleArn")
	if v, ok := number(requirementOf(s.Node, "VCPU")); ok && v > 0 && v < 1 && catalog.FargateMemory(v) != nil &&
		role != nil {
		return "a fraction of a vCPU"
	}
	return ""
}
