package model

import (
	"errors"
	"fmt"
	"slices"
	"unique"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// Model is the complete state of the engine. Only Apply changes it, so replaying the journal
// leads to the same model.
type Model struct {
	// Queues are the queues of the options, then those of CreateJobQueue.
	Queues       []*Queue
	Environments map[string]*Environment
	// GoneClusters are the clusters of deleted environments.
	GoneClusters []string
	Policies     map[string]*Policy
	Consumables  map[string]*Consumable
	// ServiceEnvironments are by name, QuotaShares by resource.
	ServiceEnvironments map[string]*Environment
	QuotaShares         map[Resource]*QuotaShare
	// Tags has the tags of every resource that has any.
	Tags map[Resource]map[string]string

	Definitions  map[string][]*Definition // by name; revision r at r-1
	Jobs         map[string]*Job
	BySubmission []*Job // by submission
	Lines        map[string]*QueueJobs
	streams      map[string]*Task // by the UUID of a log stream
	active       map[*Task]bool   // have an attempt that has not ended
	// instances are the container instances on which attempts have run.
	instances map[Instance]bool
	// former are environments of attempts that the options of this engine do not configure.
	former map[string]*Environment
	// LogStreams are all streams, by their starts or creations. The list only grows: a deleted stream
	// leaves an empty entry, so that positions in the list stay valid.
	LogStreams []LogStream
	// LogDeletions counts the deletions of log groups and streams.
	LogDeletions int
	LogGroups    map[string]*LogGroup
	// whole is the whole machine as an environment, for jobs of deleted queues.
	whole       *Environment
	used        Amount
	busy        map[string]bool // devices in use
	Active      int             // jobs that have not ended
	invocations invocations
	tokens      map[string]*Job // service jobs, by their client tokens
	// due are the tasks whose next move may have become possible. The list is derived: next returns
	// the same for any task at any time.
	due []*Task
}

// New returns a model with the queues that the options of an engine configure.
func New(configured []QueueSpec) *Model {
	m := &Model{
		Environments: map[string]*Environment{},
		Policies:     map[string]*Policy{},
		Consumables:  map[string]*Consumable{},
		Tags:         map[Resource]map[string]string{},
		Definitions:  map[string][]*Definition{},
		Jobs:         map[string]*Job{},
		Lines:        map[string]*QueueJobs{},
		streams:      map[string]*Task{},
		active:       map[*Task]bool{},
		instances:    map[Instance]bool{},
		former:       map[string]*Environment{},
		LogGroups:    map[string]*LogGroup{DefaultLogGroup: {}},
		busy:         map[string]bool{},
		whole:        &Environment{Name: ComputeEnvironment},

		ServiceEnvironments: map[string]*Environment{},
		QuotaShares:         map[Resource]*QuotaShare{},
		tokens:              map[string]*Job{},
	}
	for _, q := range configured {
		m.addQueue(&Queue{QueueSpec: q, Configured: true})
	}
	return m
}

// QueueJobs returns the jobs of a queue, and adds an empty list if there is none.
func (m *Model) QueueJobs(queue string) *QueueJobs {
	l := m.Lines[queue]
	if l == nil {
		l = NewLine()
		m.Lines[queue] = l
	}
	return l
}

// Task returns the task with an id or id:index; nil if it does not exist.
func (m *Model) Task(id string) *Task {
	name, index, ok := SplitID(id)
	j := m.Jobs[name]
	switch {
	case j == nil || !ok:
		return nil
	case index < 0:
		return &j.Task
	case int(index) < len(j.Children):
		return &j.Children[index]
	}
	return nil
}

// Definition returns the revision name:revision; nil if it does not exist.
func (m *Model) Definition(id string) *Definition {
	name, revision, ok := SplitID(id)
	if revisions := m.Definitions[name]; ok && revision >= 1 && int(revision) <= len(revisions) {
		return revisions[revision-1]
	}
	return nil
}

// errUnknownEvent is the error of an event that this program does not know.
var errUnknownEvent = errors.New("unknown event: written by a newer batchctl; use that version, or a new state directory")

// Apply adds an event to the model. An event that does not fit is an error and changes nothing: the
// journal is damaged or from a newer program.
func (m *Model) Apply(at int64, e Event) error {
	if ok, err := m.applyResource(at, e); ok {
		return err
	}
	switch {
	case e.Registered != nil:
		return m.register(at, e.Registered)
	case e.Deregistered != nil:
		d := m.Definition(e.Deregistered.Definition)
		if d == nil {
			return fmt.Errorf("deregister %s: no such job definition", e.Deregistered.Definition)
		}
		d.Inactive = true
		return nil
	case e.Submitted != nil:
		return m.submit(at, e.Submitted)
	case e.ServiceSubmitted != nil:
		return m.submitService(at, e.ServiceSubmitted)
	}
	id := e.job()
	if id == "" {
		return errUnknownEvent
	}
	t := m.Task(id)
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
	case e.Prioritized != nil:
		return m.prioritize(t, e.Prioritized)
	case e.Preempted != nil:
		return m.preempt(at, t, e.Preempted)
	}
	return nil
}

// job returns the id of the task that an event is about; "" for events about resources.
func (e Event) job() string {
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
	case e.Prioritized != nil:
		return e.Prioritized.Job
	case e.Preempted != nil:
		return e.Preempted.Job
	case e.Tagged != nil:
		if kind, name := e.Tagged.Resource.Split(); kind == KindJob || kind == KindServiceJob {
			return name
		}
	}
	return ""
}

// register adds a revision, which must have the next number.
func (m *Model) register(at int64, r *Registration) error {
	d := &Definition{Revision: r.Revision, Request: r.Request.V}
	if aws.ToString(d.Request.JobDefinitionName) == "" || d.Request.ContainerProperties == nil && d.Request.EcsProperties == nil &&
		d.Request.NodeProperties == nil && d.Request.EksProperties == nil {
		return fmt.Errorf("register job definition: name or containers missing")
	}
	revisions := m.Definitions[d.Name()]
	if int(r.Revision) != len(revisions)+1 {
		return fmt.Errorf("register %s: revision %d follows %d", d.Name(), r.Revision, len(revisions))
	}
	m.Definitions[d.Name()] = append(revisions, d)
	m.invocations.remember(at, r.Invocation, d.ID())
	m.tag(ResourceOf(KindDefinition, d.ID()), d.Request.Tags)
	return nil
}

// submit adds a job with its children, as SUBMITTED or in the state that the event names.
func (m *Model) submit(at int64, s *Submission) error {
	d, request := m.Definition(s.Definition), s.Request.V
	if d == nil || s.ID == "" || m.Jobs[s.ID] != nil {
		return fmt.Errorf("submit job %q: unknown job definition %q, or the job exists", s.ID, s.Definition)
	}
	w := s.Work
	if w == nil {
		var err error
		if w, err = WorkOf(d, request); err != nil {
			return fmt.Errorf("submit job %s: %w", s.ID, err)
		}
	}
	j := &Job{ID: s.ID, Seq: int64(len(m.BySubmission)), CreatedAt: at, TallyAt: at, Definition: d, Request: request,
		Directory: s.Directory, Work: *w}
	j.class = classOf(j)
	j.Task = Task{Job: j, Index: -1}
	if request.ArrayProperties != nil {
		j.Children = make([]Task, aws.ToInt32(request.ArrayProperties.Size))
		for i := range j.Children {
			j.Children[i] = Task{Job: j, Index: int32(i)}
		}
	}
	m.add(at, j, s.Invocation)
	if s.To != NoState {
		return m.moveOne(at, &j.Task, s.To, "")
	}
	return nil
}

// add adds a new job as SUBMITTED.
func (m *Model) add(at int64, j *Job, invocation string) {
	m.invocations.remember(at, invocation, j.ID)
	m.Jobs[j.ID] = j
	m.BySubmission = append(m.BySubmission, j)
	m.Active++
	m.index(j)
	for _, dep := range j.Request.DependsOn {
		if on := m.Task(aws.ToString(dep.JobId)); on != nil && !slices.Contains(on.Job.dependents, j) {
			on.Job.dependents = append(on.Job.dependents, j)
		}
	}
	m.set(at, &j.Task, Submitted, "")
	for i := range j.Children {
		m.set(at, &j.Children[i], Submitted, "")
	}
	m.due = append(m.due, &j.Task)
}

// stop records the request to end a task. Tasks of an array read it from their parent. The moves
// that follow are other events.
func (m *Model) stop(t *Task, s *Stop) {
	if s.Terminate {
		t.Terminated = true
	} else {
		t.Cancelled = true
	}
	t.stopReason = s.Reason
	m.due = append(m.due, t)
}

// moveAll moves a task, or all children of an array if the event is for all.
func (m *Model) moveAll(at int64, t *Task, v *move) error {
	if !v.All {
		return m.moveOne(at, t, v.To, v.Reason)
	}
	for i := range t.Job.Children {
		if err := m.moveOne(at, &t.Job.Children[i], v.To, v.Reason); err != nil {
			return err
		}
	}
	return nil
}

// moveOne moves one task. A move that the states do not allow is an error.
func (m *Model) moveOne(at int64, t *Task, to State, reason string) error {
	if !t.State.mayBecome(to) {
		return fmt.Errorf("job %s may not go from %s to %s", t.ID(), t.State, to)
	}
	m.set(at, t, to, reason)
	return nil
}

// set changes the state of t and updates the lists.
func (m *Model) set(at int64, t *Task, to State, reason string) {
	j, l, waited := t.Job, m.QueueJobs(*t.Job.Request.JobQueue), t.State.Waits()
	if t.State == Runnable {
		l.leave(t)
		l.leftAt = at
	}
	if t.IsChild() {
		if t.State != NoState {
			j.Tally[t.State]--
		}
		j.Tally[to]++
		j.TallyAt = at
	} else {
		l.Jobs[t.State].remove(t)
		l.Jobs[to].insert(t)
	}
	t.State, t.Reason, t.since, t.reasonAt, t.parked = to, reason, at, at, false
	switch {
	case to == Runnable:
		l.enter(t)
		m.due = append(m.due, t)
		if t.IsChild() && j.Tally[Runnable] == 1 {
			m.due = append(m.due, &j.Task) // it shows why its children wait
		}
	case to.Ended():
		t.StoppedAt = at
		if t.IsChild() { // its array may be stopped later
			t.Cancelled = t.Cancelled || j.Cancelled && waited
			t.Terminated = t.Terminated || j.Terminated
		}
		m.afterEnd(t)
	}
}

// explain records why a RUNNABLE task waits, and takes it out of its queue's order if it can
// never start.
func (m *Model) explain(at int64, t *Task, x *Explanation) {
	l := m.QueueJobs(*t.Job.Request.JobQueue)
	listed := t.State == Runnable && !t.IsParent()
	if listed {
		l.leave(t)
	}
	t.Reason, t.reasonAt, t.parked = x.Reason, at, x.Reason != "" && !x.Waits
	if listed {
		l.enter(t)
	}
}

// start adds an attempt and reserves what it requests.
func (m *Model) start(at int64, t *Task, s *Start) error {
	to, environment := Starting, m.ServiceEnvironments[s.Environment]
	if t.Job.Service != nil {
		to, t.Job.Service.ScheduledAt = Scheduled, at
	} else {
		environment = m.environmentOfAttempt(s.Environment)
	}
	if err := m.moveOne(at, t, to, ""); err != nil {
		return err
	}
	a := Attempt{Stream: s.Stream, GPUs: s.GPUs, Environment: environment, Executor: s.Executor, CreatedAt: at}
	t.Attempts = append(t.Attempts, a)
	m.active[t] = true
	m.noteInstance(t, &a)
	for _, r := range t.streams(len(t.Attempts) - 1) {
		m.streams[streamID(r.Name)] = t
		m.LogStreams = append(m.LogStreams, r)
		m.logGroup(at, r.Group).Attempts++
	}
	m.used = m.used.plus(t.Job.Need)
	m.occupy(at, t, a.Environment, 1)
	for _, d := range s.GPUs {
		m.busy[d] = true
	}
	return nil
}

// launch records that the command of the task's attempt runs.
func (m *Model) launch(at int64, t *Task, l *Launch) error {
	if err := m.moveOne(at, t, Running, ""); err != nil {
		return err
	}
	a := t.Last()
	a.Handle, a.StartedAt, t.StartedAt = l.Handle, at, at
	if l.ImageDigest != "" {
		a.ImageDigest = unique.Make(l.ImageDigest).Value() // many attempts have the same
	}
	return nil
}

// end records how the attempt ended and releases what it used.
func (m *Model) end(at int64, t *Task, e *end) error {
	a := t.Active()
	if a == nil || !t.State.mayBecome(e.To) {
		return fmt.Errorf("attempt of job %s ended, but the job is %s", t.ID(), t.State)
	}
	a.StoppedAt, a.Exit, a.Reason, a.StatusReason, a.Containers = at, e.Exit, e.Reason, e.StatusReason, e.Containers
	if e.Executor != "" { // older engines recorded it only at the end
		a.Executor = e.Executor
		m.noteInstance(t, a)
	}
	delete(m.active, t)
	if v := t.Job.Service; v != nil {
		a.Preempted, v.Preempting = e.Preempted, ""
	}
	m.used = m.used.minus(t.Job.Need)
	m.occupy(at, t, a.Environment, -1)
	for _, d := range a.GPUs {
		delete(m.busy, d)
	}
	reason := e.StatusReason
	if e.To == Runnable {
		reason = ""
	}
	m.set(at, t, e.To, reason)
	return nil
}

// occupy reserves (sign 1) or releases (sign -1) everything that an attempt uses besides the
// machine.
func (m *Model) occupy(at int64, t *Task, environment *Environment, sign int64) {
	name, decay := *t.Job.Request.JobQueue, int64(0)
	l := m.QueueJobs(name)
	if len(l.shares) > 0 {
		decay = m.Decay(name)
	}
	m.occupyOf(l, decay, at, t, environment, sign)
}

// occupyOf is occupy for a task of a queue whose jobs and decay period are known.
func (m *Model) occupyOf(l *QueueJobs, decay, at int64, t *Task, environment *Environment, sign int64) {
	j, milli := t.Job, sign*t.Job.load()
	l.inUse += milli
	switch {
	case j.Service != nil:
		l.occupyInstances(j, environment, sign)
	case environment != nil:
		environment.used += milli
	}
	if s := l.shares[j.class.share]; s != nil {
		s.use(at, milli, decay)
	}
	m.hold(j.Consumes, sign)
}

// index adds a job to the indexes of its queue and of its consumable resources, and records its
// tags.
func (m *Model) index(j *Job) {
	for _, r := range j.Consumes {
		if v := m.Consumables[r.Name]; v != nil {
			v.Jobs = append(v.Jobs, j)
		}
	}
	if len(j.Request.Tags) > 0 {
		m.tag(j.Resource(), j.Request.Tags)
	}
	m.QueueJobs(*j.Request.JobQueue).index(j)
}

// classOf returns the class of a job: its position in the queue depends only on it and the order
// of submission.
func classOf(j *Job) class {
	c := class{platform: j.Definition.Platform()}
	for _, r := range j.Consumes {
		c.consumes += fmt.Sprintf("%s=%d,", r.Name, r.Quantity)
	}
	if j.Service != nil {
		c.unit = j.Service.Training.Unit()
	}
	if j.Request.ShareIdentifier != nil {
		c.share, c.priority = *j.Request.ShareIdentifier, aws.ToInt32(j.SchedulingPriority())
	}
	return c
}

// HasActiveAttempt reports whether an attempt has started and not ended.
func (m *Model) HasActiveAttempt() bool { return len(m.active) > 0 }
