package model

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

// Exists reports whether r can be tagged or deleted. The children of arrays have
// no tags of their own.
func (m *Model) Exists(r Resource) bool {
	switch kind, name := r.Split(); kind {
	case KindJob:
		j := m.Jobs[name]
		return j != nil && j.Service == nil
	case KindServiceJob:
		j := m.Jobs[name]
		return j != nil && j.Service != nil
	case KindServiceEnvironment:
		return m.ServiceEnvironments[name] != nil
	case KindQuotaShare:
		return m.QuotaShares[r] != nil
	case KindDefinition:
		return m.Definition(name) != nil
	case KindQueue:
		_, ok := m.Queue(name)
		return ok
	case KindEnvironment:
		return m.Environments[name] != nil
	case KindPolicy:
		return m.Policies[name] != nil
	case KindConsumable:
		return m.Consumables[name] != nil
	}
	return false
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
