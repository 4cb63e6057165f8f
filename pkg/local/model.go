package local

import (
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// model is everything that the engine knows. Only apply changes it, so replaying
// the journal leads to the same model.
type model struct {
	// known are the queues: those of the options, then those made by CreateJobQueue.
	known        []*queue
	environments map[string]*environment
	goneClusters []string // of environments that were deleted
	policies     map[string]*policy
	consumables  map[string]*consumable
	tags         map[resource]map[string]string // of what has any

	definitions map[string][]*definition // by name; revision r at r-1
	jobs        map[string]*job
	order       []*job // by submission
	queues      map[string]*line
	streams     map[string]*task // by the UUID of a log stream
	logs        []logRef         // all streams, by their starts
	whole       *environment     // the machine, for jobs of queues that are gone
	used        amount
	busy        map[string]bool // devices in use
	active      int             // jobs that have not ended
	invocations invocations
	// due are the tasks whose next move apply may have made possible. It is
	// derived: asking next about any task at any time gives the same answer.
	due []*task
}

func newModel(configured []Queue) *model {
	m := &model{
		environments: map[string]*environment{},
		policies:     map[string]*policy{},
		consumables:  map[string]*consumable{},
		tags:         map[resource]map[string]string{},
		definitions:  map[string][]*definition{},
		jobs:         map[string]*job{},
		queues:       map[string]*line{},
		streams:      map[string]*task{},
		busy:         map[string]bool{},
		whole:        &environment{name: ComputeEnvironment},
	}
	for _, q := range configured {
		m.addQueue(&queue{Queue: q, configured: true})
	}
	return m
}

func (m *model) line(queue string) *line {
	l := m.queues[queue]
	if l == nil {
		l = newLine()
		m.queues[queue] = l
	}
	return l
}

// task returns the task of an id or id:index; nil when there is none.
func (m *model) task(id string) *task {
	name, index, ok := splitID(id)
	j := m.jobs[name]
	switch {
	case j == nil || !ok:
		return nil
	case index < 0:
		return &j.task
	case int(index) < len(j.children):
		return &j.children[index]
	}
	return nil
}

// definition returns the revision name:revision; nil when there is none.
func (m *model) definition(id string) *definition {
	name, revision, ok := splitID(id)
	if revisions := m.definitions[name]; ok && revision >= 1 && int(revision) <= len(revisions) {
		return revisions[revision-1]
	}
	return nil
}

// apply makes the model know what happened. An event that does not fit the model
// is an error and changes nothing: the journal is damaged or written by a newer
// program.
func (m *model) apply(at int64, e event) error {
	if ok, err := m.applyResource(at, e); ok {
		return err
	}
	switch {
	case e.Registered != nil:
		return m.register(at, e.Registered)
	case e.Deregistered != nil:
		d := m.definition(e.Deregistered.Definition)
		if d == nil {
			return fmt.Errorf("deregister %s: no such job definition", e.Deregistered.Definition)
		}
		d.inactive = true
		return nil
	case e.Submitted != nil:
		return m.submit(at, e.Submitted)
	}
	id := e.job()
	t := m.task(id)
	if t == nil {
		return fmt.Errorf("job %q does not exist", id)
	}
	switch {
	case e.Stopped != nil:
		m.stop(t, e.Stopped)
	case e.Moved != nil:
		return m.moveAll(at, t, e.Moved)
	case e.Explained != nil:
		m.explain(at, t, e.Explained)
	case e.Started != nil:
		return m.start(at, t, e.Started)
	case e.Launched != nil:
		return m.launch(at, t, e.Launched)
	case e.Ended != nil:
		return m.end(at, t, e.Ended)
	}
	return nil
}

// job is the id of the task that an event is about.
func (e event) job() string {
	switch {
	case e.Stopped != nil:
		return e.Stopped.Job
	case e.Moved != nil:
		return e.Moved.Job
	case e.Explained != nil:
		return e.Explained.Job
	case e.Started != nil:
		return e.Started.Job
	case e.Launched != nil:
		return e.Launched.Job
	case e.Ended != nil:
		return e.Ended.Job
	case e.Tagged != nil:
		if kind, name := e.Tagged.Resource.split(); kind == kindJob {
			return name
		}
	}
	return ""
}

func (m *model) register(at int64, r *registration) error {
	d := &definition{revision: r.Revision, request: r.Request.V}
	if aws.ToString(d.request.JobDefinitionName) == "" || d.request.ContainerProperties == nil && d.request.EcsProperties == nil &&
		d.request.NodeProperties == nil && d.request.EksProperties == nil {
		return fmt.Errorf("register job definition: name or containers missing")
	}
	revisions := m.definitions[d.name()]
	if int(r.Revision) != len(revisions)+1 {
		return fmt.Errorf("register %s: revision %d follows %d", d.name(), r.Revision, len(revisions))
	}
	m.definitions[d.name()] = append(revisions, d)
	m.invocations.remember(at, r.Invocation, d.id())
	m.tag(resourceOf(kindDefinition, d.id()), d.request.Tags)
	return nil
}

func (m *model) submit(at int64, s *submission) error {
	d, request := m.definition(s.Definition), s.Request.V
	if d == nil || s.ID == "" || m.jobs[s.ID] != nil {
		return fmt.Errorf("submit job %q: unknown job definition %q, or the job exists", s.ID, s.Definition)
	}
	w := s.work
	if w == nil {
		var err error
		if w, err = workOf(d, request); err != nil {
			return fmt.Errorf("submit job %s: %w", s.ID, err)
		}
	}
	j := &job{id: s.ID, seq: int64(len(m.order)), createdAt: at, tallyAt: at, definition: d, request: request,
		directory: s.Directory, work: *w}
	j.class = classOf(j)
	j.task = task{job: j, index: -1}
	if request.ArrayProperties != nil {
		j.children = make([]task, aws.ToInt32(request.ArrayProperties.Size))
		for i := range j.children {
			j.children[i] = task{job: j, index: int32(i)}
		}
	}
	m.invocations.remember(at, s.Invocation, j.id)
	m.jobs[j.id] = j
	m.order = append(m.order, j)
	m.active++
	m.index(j)
	for _, dep := range j.request.DependsOn {
		if on := m.task(aws.ToString(dep.JobId)); on != nil && !slices.Contains(on.job.dependents, j) {
			on.job.dependents = append(on.job.dependents, j)
		}
	}
	m.set(at, &j.task, submitted, "")
	for i := range j.children {
		m.set(at, &j.children[i], submitted, "")
	}
	m.due = append(m.due, &j.task)
	if s.To != none {
		return m.moveOne(at, &j.task, s.To, "")
	}
	return nil
}

func (m *model) stop(t *task, s *stop) {
	if s.Terminate {
		t.terminated = true
	} else {
		t.cancelled = true
	}
	t.stopReason = s.Reason
	m.due = append(m.due, t)
}

func (m *model) moveAll(at int64, t *task, v *move) error {
	if !v.All {
		return m.moveOne(at, t, v.To, v.Reason)
	}
	for i := range t.job.children {
		if err := m.moveOne(at, &t.job.children[i], v.To, v.Reason); err != nil {
			return err
		}
	}
	return nil
}

func (m *model) moveOne(at int64, t *task, to state, reason string) error {
	if !t.state.mayBecome(to) {
		return fmt.Errorf("job %s may not go from %s to %s", t.id(), t.state, to)
	}
	m.set(at, t, to, reason)
	return nil
}

// set puts t into a state that it may go to, and keeps the lists right.
func (m *model) set(at int64, t *task, to state, reason string) {
	j, l, waited := t.job, m.line(*t.job.request.JobQueue), t.state.waits()
	if t.state == runnable {
		l.leave(t)
		l.leftAt = at
	}
	if t.isChild() {
		if t.state != none {
			j.tally[t.state]--
		}
		j.tally[to]++
		j.tallyAt = at
	} else {
		l.jobs[t.state].remove(t)
		l.jobs[to].insert(t)
	}
	t.state, t.reason, t.since, t.reasonAt, t.parked = to, reason, at, at, false
	switch {
	case to == runnable:
		l.enter(t)
		m.due = append(m.due, t)
		if t.isChild() && j.tally[runnable] == 1 {
			m.due = append(m.due, &j.task) // it says why its children wait
		}
	case to.ended():
		t.stoppedAt = at
		if t.isChild() { // its array may be stopped later
			t.cancelled = t.cancelled || j.cancelled && waited
			t.terminated = t.terminated || j.terminated
		}
		m.afterEnd(t)
	}
}

func (m *model) explain(at int64, t *task, x *explanation) {
	l := m.line(*t.job.request.JobQueue)
	listed := t.state == runnable && !t.isParent()
	if listed {
		l.leave(t)
	}
	t.reason, t.reasonAt, t.parked = x.Reason, at, x.Reason != "" && !x.Waits
	if listed {
		l.enter(t)
	}
}

func (m *model) start(at int64, t *task, s *start) error {
	if err := m.moveOne(at, t, starting, ""); err != nil {
		return err
	}
	a := attempt{stream: s.Stream, gpus: s.GPUs, place: m.environments[s.Environment]}
	t.attempts = append(t.attempts, a)
	for _, r := range t.streams() {
		m.streams[r.name[strings.LastIndexByte(r.name, '/')+1:]] = t
		m.logs = append(m.logs, r)
	}
	m.used = m.used.plus(t.job.need)
	m.occupy(at, t, a.place, 1)
	for _, d := range s.GPUs {
		m.busy[d] = true
	}
	return nil
}

func (m *model) launch(at int64, t *task, l *launch) error {
	if err := m.moveOne(at, t, running, ""); err != nil {
		return err
	}
	a := t.last()
	a.handle, a.startedAt, t.startedAt = l.Handle, at, at
	return nil
}

func (m *model) end(at int64, t *task, e *end) error {
	a := t.active()
	if a == nil || !t.state.mayBecome(e.To) {
		return fmt.Errorf("attempt of job %s ended, but the job is %s", t.id(), t.state)
	}
	a.stoppedAt, a.exit, a.reason, a.statusReason, a.containers = at, e.Exit, e.Reason, e.StatusReason, e.Containers
	a.executor = e.Executor
	m.used = m.used.minus(t.job.need)
	m.occupy(at, t, a.place, -1)
	for _, d := range a.gpus {
		delete(m.busy, d)
	}
	reason := e.StatusReason
	if e.To == runnable {
		reason = ""
	}
	m.set(at, t, e.To, reason)
	return nil
}

// occupy takes (sign 1) or gives back (sign -1) all that an attempt holds beside
// the machine itself.
func (m *model) occupy(at int64, t *task, place *environment, sign int64) {
	j, milli := t.job, sign*t.job.need.MilliCPU
	l := m.line(*j.request.JobQueue)
	l.inUse += milli
	if place != nil {
		place.used += milli
	}
	if s := l.shares[j.class.share]; s != nil {
		s.use(at, milli, m.decay(*j.request.JobQueue))
	}
	m.hold(j.consumes, sign)
}

// index puts a job where lookups find it.
func (m *model) index(j *job) {
	for _, r := range j.consumes {
		if v := m.consumables[r.name]; v != nil {
			v.jobs = append(v.jobs, j)
		}
	}
	if len(j.request.Tags) > 0 {
		m.tag(resourceOf(kindJob, j.id), j.request.Tags)
	}
	m.line(*j.request.JobQueue).index(j)
}

// classOf is the line in which a job stands.
func classOf(j *job) class {
	c := class{fargate: j.definition.fargate()}
	for _, r := range j.consumes {
		c.consumes += fmt.Sprintf("%s=%d,", r.name, r.quantity)
	}
	if j.request.ShareIdentifier != nil {
		c.share, c.priority = *j.request.ShareIdentifier, aws.ToInt32(j.schedulingPriority())
	}
	return c
}

// runs reports whether an attempt has started and not ended.
func (m *model) runs() bool {
	for _, j := range m.order {
		if j.task.active() != nil {
			return true
		}
		for i := range j.children {
			if j.children[i].active() != nil {
				return true
			}
		}
	}
	return false
}
