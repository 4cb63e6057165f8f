// Package doctor looks at a GPU host of AWS Batch or Amazon ECS, or at a job's
// container, and says what is wrong with it: the evidence, why it matters, and
// what to do. It reads a file system and asks through a small interface; it
// changes nothing and needs no root.
package doctor

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"slices"
	"time"
)

// Severity says how much a finding matters.
type Severity string

// The severities of findings, the gravest first.
const (
	// Problem: jobs fail or never start while it is so.
	Problem Severity = "problem"
	// Warning: jobs may fail, or it will become a problem.
	Warning Severity = "warning"
	// Note: worth knowing, and possibly meant so.
	Note Severity = "note"
	// OK: it was looked at and is as it should be.
	OK Severity = "ok"
)

// Severities returns all severities, the gravest first.
func Severities() []Severity { return []Severity{Problem, Warning, Note, OK} }

// Evidence is what was seen, and where. Credentials in it are masked.
type Evidence struct {
	// From is a file, a command, an address or a variable.
	From string `json:"from"`
	Text string `json:"text"`
}

// Finding is one thing that was found out.
type Finding struct {
	// ID is stable, such as docker-runtime-missing.
	ID       string   `json:"id"`
	Topic    string   `json:"topic"`
	Severity Severity `json:"severity"`
	// Summary is the finding in one sentence.
	Summary  string     `json:"summary"`
	Evidence []Evidence `json:"evidence,omitempty"`
	// Why says what comes of it; "" for what is as it should be.
	Why string `json:"why,omitempty"`
	// Remedy is a command or a change.
	Remedy string `json:"remedy,omitempty"`
}

// Unread is what could not be looked at, so nothing is reported about it.
type Unread struct {
	What string `json:"what"`
	Why  string `json:"why"`
	// Denied says that root would have been let in.
	Denied bool `json:"denied,omitempty"`
}

// HostKind is what was looked at.
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

// Presence says whether something is there.
type Presence string

// The answers to whether something is there.
const (
	Present Presence = "present"
	Absent  Presence = "none"
	// Unknown: the files that would say so are not in the root.
	Unknown Presence = "unknown"
)

// Report is all that was found out about a host.
type Report struct {
	Kind HostKind `json:"kind"`
	// Root is the directory that was looked at in place of this machine.
	Root string `json:"root,omitempty"`
	// System is the operating system's name for itself, Image that of Amazon's
	// machine image, Kernel the release of the kernel; "" where not known.
	System string `json:"system,omitempty"`
	Image  string `json:"image,omitempty"`
	Kernel string `json:"kernel,omitempty"`
	// GPU says whether there is an NVIDIA GPU, or is meant to be one.
	GPU Presence `json:"gpu"`
	// Findings are sorted: the gravest first, then in the order of Checks.
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

// Empty reports whether nothing could be looked at.
func (r *Report) Empty() bool {
	return !slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Severity == OK || len(f.Evidence) > 0 })
}

// Space is how full a file system is.
type Space struct {
	// Bytes and FreeBytes, the latter for others than root; Files and FreeFiles
	// are inodes, 0 where the file system has no bound on them.
	Bytes, FreeBytes, Files, FreeFiles uint64
}

// Request is a question over HTTP to this machine or its metadata services.
type Request struct {
	Method, URL string
	Header      map[string]string
}

// Asker asks a running machine what its files do not say. Its methods change
// nothing and end when ctx does.
type Asker interface {
	// Run runs a program and returns what it printed, on both streams. The error is
	// fs.ErrNotExist where there is no such program.
	Run(ctx context.Context, program string, args ...string) (string, error)
	// HTTP returns the status and the first 64 KiB of the answer's body. It goes
	// through no proxy and follows no redirection.
	HTTP(ctx context.Context, r Request) (status int, body string, err error)
	// Space looks at the file system that holds a path.
	Space(path string) (Space, error)
}

// Host is what is looked at.
type Host struct {
	// FS is the root file system.
	FS fs.FS
	// Root is the directory that FS is, where it is not this machine's own root.
	Root string
	// Env returns a variable of the environment; nil for none.
	Env func(name string) string
	// Ask is nil for a root that does not run: files alone are read then.
	Ask Asker
	// Limit bounds each check; 0 is 40 seconds. All run at the same time.
	Limit time.Duration
}

// Check is one thing that is looked at.
type Check struct {
	// Topic is Finding.Topic; Doc says what is looked at.
	Topic, Doc string

	in  []HostKind // nil: everywhere
	gpu bool       // only where there is a GPU, or should be
	run func(*inspection)
}

// Checks returns all checks in their order.
func Checks() []Check {
	hosts := []HostKind{ECSInstance, EC2Instance, Machine}
	instances := []HostKind{ECSInstance, EC2Instance}
	return []Check{
		{"system", "the machine image and the kernel", nil, false, (*inspection).system},
		{"driver", "NVIDIA's driver and its device nodes", hosts, true, (*inspection).driver},
		{"gpu", "what nvidia-smi says of the GPUs", nil, true, (*inspection).smi},
		{"kernel log", "Xid errors of the driver, and processes killed for memory", hosts, false, (*inspection).kernelLog},
		{"docker", "daemon.json, the runtime nvidia, and whether the daemon answers", hosts, false, (*inspection).docker},
		{"ecs.config", "the configuration of the ECS agent", []HostKind{ECSInstance}, false, (*inspection).ecsConfig},
		{"agent", "the ECS agent: up, registered, and what it last complained of", []HostKind{ECSInstance}, false, (*inspection).agent},
		{"cloud-init", "whether user data ran, still runs, or failed", instances, false, (*inspection).cloudInit},
		{"disk", "space and inodes of the root's and Docker's file systems", nil, false, (*inspection).disk},
		{"memory", "memory, and /dev/shm in a container", nil, false, (*inspection).memory},
		{"metadata", "the instance metadata service, its hop limit, and the instance's role", nil, false, (*inspection).metadata},
		{"devices", "the GPUs and libraries that a container is given", []HostKind{Container}, false, (*inspection).devices},
		{"task", "the task's metadata, AWS Batch's variables, and credentials", []HostKind{Container}, false, (*inspection).task},
	}
}

const defaultLimit = 40 * time.Second

// Examine looks at a host. It returns within about twice the host's limit, even
// where a file, a program or an address never answers.
func Examine(ctx context.Context, h Host) Report {
	h.Limit = cmp.Or(h.Limit, defaultLimit)
	if h.Env == nil {
		h.Env = func(string) string { return "" }
	}
	r := Report{Root: h.Root, Findings: []Finding{}}
	first := begin(ctx, &h, &facts{}, func(l *inspection) { *l.facts = l.gather() })
	l := first.end()
	if l == nil {
		r.Kind, r.GPU, r.Unread = Machine, Unknown, []Unread{first.hung("the file system")}
		return r
	}
	f := l.facts
	r.Kind, r.System, r.Image, r.Kernel, r.GPU = f.kind, f.system, f.image, f.kernel, f.presence()
	var running []*started
	for _, c := range Checks() {
		if (c.in == nil || slices.Contains(c.in, f.kind)) && (!c.gpu || f.gpu) {
			s := begin(ctx, &h, f, c.run)
			s.topic = c.Topic
			running = append(running, s)
		}
	}
	r.Unread = l.unread
	for _, s := range running {
		l := s.end()
		if l == nil {
			r.Unread = append(r.Unread, s.hung(s.topic))
			continue
		}
		for _, found := range l.findings {
			found.Topic = s.topic
			r.Findings = append(r.Findings, found)
		}
		r.Unread = append(r.Unread, l.unread...)
	}
	r.Unread = once(r.Unread)
	slices.SortStableFunc(r.Findings, func(a, b Finding) int {
		return slices.Index(Severities(), a.Severity) - slices.Index(Severities(), b.Severity)
	})
	return r
}

// once drops what was met a second time.
func once(all []Unread) (out []Unread) {
	for _, u := range all {
		if !slices.Contains(out, u) {
			out = append(out, u)
		}
	}
	return out
}

// started is a check that runs.
type started struct {
	topic  string
	ctx    context.Context
	cancel context.CancelFunc
	done   chan *inspection
	limit  time.Duration
}

// begin starts a check in a goroutine of its own: a read from a dead file system or
// a broken driver cannot be ended, only left behind.
func begin(ctx context.Context, h *Host, f *facts, run func(*inspection)) *started {
	s := &started{done: make(chan *inspection, 1), limit: h.Limit}
	s.ctx, s.cancel = context.WithTimeout(ctx, h.Limit)
	go func() {
		l := &inspection{Host: h, ctx: s.ctx, facts: f}
		run(l)
		s.done <- l
	}()
	return s
}

// end waits for a check; nil where it did not end in time.
func (s *started) end() *inspection {
	defer s.cancel()
	select {
	case l := <-s.done:
		return l
	case <-s.ctx.Done():
	}
	select { // both at once: what was found counts
	case l := <-s.done:
		return l
	case <-time.After(s.limit / 10): // the time to hear that its own questions have ended
		return nil
	}
}

func (s *started) hung(what string) Unread {
	return Unread{What: what, Why: fmt.Sprintf("no answer within %v", s.limit)}
}
