package model

import (
	"slices"
)

// Free returns what a new attempt could still use in an environment of a machine.
func (m *Model) Free(v *Environment, machine Amount) Amount {
	free := machine.less(m.used)
	free.MilliCPU = max(min(free.MilliCPU, v.limit(nil)-v.used), 0)
	return free
}

// FreeGPUs returns the devices that no attempt uses.
func (m *Model) FreeGPUs(all []string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(d string) bool { return m.busy[d] })
}

// Pin returns the devices for an attempt of j: the first that are free. There are always enough:
// Schedule has counted them.
func (m *Model) Pin(all []string, j *Job) []string {
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
