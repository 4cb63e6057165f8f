package ecsapi

import (
	"github.com/batchctl/batchctl/pkg/local/model"
)

// State is the state of an engine, which the operations read.
type State interface {
	// View returns the model. It does not change until done is called; do not keep parts of it
	// longer.
	View() (m *model.Model, done func())
	// AbsentSince returns 0 if an engine runs now. Call it only within View.
	AbsentSince() int64
}

// Machine is the local machine, which is the only container instance.
type Machine struct {
	// Capacity returns everything that it offers to jobs.
	Capacity func() model.Amount
	// GPUs returns the names of its GPUs.
	GPUs func() []string
	// Executor is the name of the executor of jobs that choose none; "" if it has no name.
	Executor string
}

// API answers requests of ECS.
type API struct {
	state   State
	machine Machine
}

// New returns the ECS of an engine.
func New(s State, m Machine) *API { return &API{state: s, machine: m} }
