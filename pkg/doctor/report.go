package doctor

import (
	"slices"
)

// HostKind is the kind of the examined system.
type HostKind string

// The kinds of hosts.
const (
	// Container: inside a container, such as a job's.
	Container HostKind = "container"
	// ECSInstance: an instance that has the ECS agent or its configuration.
	ECSInstance HostKind = "ECS container instance"
	// EC2Instance: an instance without the ECS agent.
	EC2Instance HostKind = "EC2 instance"
	// Machine: any other machine.
	Machine HostKind = "machine"
)

// Presence tells whether something exists.
type Presence string

// The answers to whether something is there.
const (
	// The values of Presence.
	Present Presence = "present"
	Absent  Presence = "none"
	// Unknown means that the root does not have the files that would show it.
	Unknown Presence = "unknown"
)

// Report has all findings about a host.
type Report struct {
	Kind HostKind `json:"kind"`
	// Root is the directory that was examined instead of the local machine.
	Root string `json:"root,omitempty"`
	// System is the name of the operating system, Image that of Amazon's machine image, and
	// Kernel the release of the kernel; "" if unknown.
	System string `json:"system,omitempty"`
	Image  string `json:"image,omitempty"`
	Kernel string `json:"kernel,omitempty"`
	// GPU tells whether there is an NVIDIA GPU, or whether one is expected.
	GPU Presence `json:"gpu"`
	// Findings are sorted: the most severe first, then in the order of Checks.
	Findings []Finding `json:"findings"`
	Unread   []Unread  `json:"notChecked,omitempty"`
}

// Count returns the number of findings of a severity.
func (r *Report) Count(s Severity) int {
	n := 0
	for _, f := range r.Findings {
		if f.Severity == s {
			n++
		}
	}
	return n
}

// Empty reports whether nothing could be checked.
func (r *Report) Empty() bool {
	return !slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Severity == OK || len(f.Evidence) > 0 })
}
