package model

import (
	"slices"
)

// Machine is the part of the local machine that attempts use now.
type Machine struct {
	used Amount
	busy map[string]bool // devices in use
}

// reserve takes what an attempt requests, and its devices.
func (m *Machine) reserve(need Amount, devices []string) {
	m.used = m.used.plus(need)
	for _, d := range devices {
		m.busy[d] = true
	}
}

// release gives back what an attempt took.
func (m *Machine) release(need Amount, devices []string) {
	m.used = m.used.minus(need)
	for _, d := range devices {
		delete(m.busy, d)
	}
}

// Free returns what a new attempt could still use in an environment of a machine.
func (m *Machine) Free(v *Environment, machine Amount) Amount {
	free := machine.less(m.used)
	free.MilliCPU = max(min(free.MilliCPU, v.limit("")-v.used), 0)
	return free
}

// FreeGPUs returns the devices that no attempt uses.
func (m *Machine) FreeGPUs(all []string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(d string) bool { return m.busy[d] })
}

// Pin returns the devices for an attempt of j: the first that are free. There are always enough:
// Schedule has counted them.
func (m *Machine) Pin(all []string, j *Job) []string {
	var free []string
	for _, d := range all {
		if int64(len(free)) == j.Need.GPUs {
			break
		}
		if !m.busy[d] {
			free = append(free, d)
		}
	}
	return free
}
