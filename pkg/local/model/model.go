package model

// Model is the complete state of the engine. Only Apply changes it, so replaying the journal
// leads to the same model.
type Model struct {
	ControlPlane
	JobTable
	Machine
	Logs
	invocations
}

// New returns a model with the queues that the options of an engine configure.
func New(configured []QueueSpec) *Model {
	m := &Model{ControlPlane: newControlPlane(), JobTable: newJobTable(), Machine: Machine{busy: map[string]bool{}},
		Logs: newLogs()}
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
		return m.ServiceJob(name) != nil
	}
	return m.exists(r)
}
