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

	"github.com/batchctl/batchctl/pkg/stable"
)

// Severity is how much a finding matters.
type Severity string

// The severities of findings, the gravest first.
const (
	// Problem means that jobs fail or never start while it lasts.
	Problem Severity = "problem"
	// Warning means that jobs may fail, or that it will become a problem.
	Warning Severity = "warning"
	// Note means that it is worth knowing, and may be intended.
	Note Severity = "note"
	// OK means that it was checked and is as it should be.
	OK Severity = "ok"
)

// Severities returns all severities, the most severe first.
func Severities() []Severity { return []Severity{Problem, Warning, Note, OK} }

// Evidence is an observation and its source. Credentials in it are masked.
type Evidence struct {
	// From is a file, a command, an address or a variable.
	From string `json:"from"`
	Text string `json:"text"`
}

// Finding is the result of one check.
type Finding struct {
	// ID is stable, such as docker-runtime-missing.
	ID string `json:"id"`
	// Topic is the topic of the check.
	Topic    string   `json:"topic"`
	Severity Severity `json:"severity"`
	// Summary is the finding in one sentence.
	Summary  string     `json:"summary"`
	Evidence []Evidence `json:"evidence,omitempty"`
	// Why tells the consequence; "" for a finding that is OK.
	Why string `json:"why,omitempty"`
	// Remedy is a command or a change.
	Remedy string `json:"remedy,omitempty"`
}

// Unread is something that could not be checked, so the report has no finding about it.
type Unread struct {
	What string `json:"what"`
	Why  string `json:"why"`
	// Denied means that root has the permission.
	Denied bool `json:"denied,omitempty"`
}

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

// Space is the size and the free space of a file system.
type Space struct {
	// Bytes is the size. FreeBytes is the space that users other than root can use. Files and
	// FreeFiles count inodes; they are 0 if the file system does not limit them.
	Bytes, FreeBytes, Files, FreeFiles uint64
}

// Request is an HTTP request to this machine or its metadata services.
type Request struct {
	Method, URL string
	Header      map[string]string
}

// Asker queries a running machine for facts that its files do not show. Its methods change
// nothing and end when ctx does.
type Asker interface {
	// Run runs a program and returns the output of both streams. The error is fs.ErrNotExist if
	// there is no such program.
	Run(ctx context.Context, program string, args ...string) (string, error)
	// HTTP returns the status and the first 64 KiB of the body. It uses no proxy and follows no
	// redirection.
	HTTP(ctx context.Context, r Request) (status int, body string, err error)
	// Space returns the space of the file system with a path.
	Space(path string) (Space, error)
}

// Host is the system to examine.
type Host struct {
	// FS is the root file system.
	FS fs.FS
	// Root is the directory of FS, if that is not the root of the local machine.
	Root string
	// Env returns an environment variable; nil means that there are none.
	Env func(name string) string
	// Ask is nil for files of a system that is not running: then only files are read.
	Ask Asker
	// Limit is the time limit of each check; 0 means 40 seconds. All checks run concurrently.
	Limit time.Duration
}

// Check examines one topic.
type Check struct {
	// Topic is Finding.Topic; Doc describes the check.
	Topic, Doc string

	// in are the kinds of hosts that the check is for; nil means all.
	in []HostKind
	// gpu limits the check to hosts that have a GPU or should have one.
	gpu bool
	run func(*inspection)
}

// Checks returns all checks in their order.
func Checks() []Check {
	hosts := []HostKind{ECSInstance, EC2Instance, Machine}
	instances := []HostKind{ECSInstance, EC2Instance}
	return []Check{
		{"system", "the machine image and the kernel", nil, false, (*inspection).system},
		{"driver", "NVIDIA's driver and its device nodes", hosts, true, (*inspection).driver},
		{"gpu", "the state of the GPUs, from nvidia-smi", nil, true, (*inspection).smi},
		{"kernel log", "Xid errors of the driver, and processes killed for memory", hosts, false, (*inspection).kernelLog},
		{"docker", "daemon.json, the runtime nvidia, and whether the daemon answers", hosts, false, (*inspection).docker},
		{"ecs.config", "the configuration of the ECS agent", []HostKind{ECSInstance}, false, (*inspection).ecsConfig},
		{"agent", "the ECS agent: running, registered, and its last errors", []HostKind{ECSInstance}, false, (*inspection).agent},
		{"cloud-init", "whether user data ran, still runs, or failed", instances, false, (*inspection).cloudInit},
		{"disk", "space and inodes of the root's and Docker's file systems", nil, false, (*inspection).disk},
		{"memory", "memory, and /dev/shm in a container", nil, false, (*inspection).memory},
		{"metadata", "the instance metadata service, its hop limit, and the instance's role", nil, false, (*inspection).metadata},
		{"devices", "the GPUs and libraries of a container", []HostKind{Container}, false, (*inspection).devices},
		{"task", "the task's metadata, AWS Batch's variables, and credentials", []HostKind{Container}, false, (*inspection).task},
	}
}

// defaultLimit is the default of Host.Limit.
const defaultLimit = 40 * time.Second

// Examine runs the checks on a host. It returns within about twice the host's limit, even if a
// file, a program or an address never answers.
func Examine(ctx context.Context, h Host) Report {
	h.Limit = cmp.Or(h.Limit, defaultLimit)
	if h.Env == nil {
		h.Env = func(string) string { return "" }
	}
	r := Report{Root: h.Root, Findings: []Finding{}}
	// The facts decide which checks run, so they are gathered first.
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
	// The checks run concurrently; their findings keep the order of Checks.
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
	stable.Sort(r.Findings, func(a, b Finding) int {
		return slices.Index(Severities(), a.Severity) - slices.Index(Severities(), b.Severity)
	})
	return r
}

// once removes repeated entries: several checks may fail to read the same file.
func once(all []Unread) (out []Unread) {
	for _, u := range all {
		if !slices.Contains(out, u) {
			out = append(out, u)
		}
	}
	return out
}

// started is a check in progress.
type started struct {
	topic  string
	ctx    context.Context
	cancel context.CancelFunc
	done   chan *inspection
	limit  time.Duration
}

// begin starts a check in its own goroutine. A read from a dead file system or a broken driver
// cannot be ended, only abandoned.
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

// end waits for a check; nil if it did not end in time.
func (s *started) end() *inspection {
	defer s.cancel()
	select {
	case l := <-s.done:
		return l
	case <-s.ctx.Done():
	}
	select { // both may be ready: then the result counts
	case l := <-s.done:
		return l
	case <-time.After(s.limit / 10): // time for the check to notice that its queries have ended
		return nil
	}
}

// hung returns the entry for a check that did not end.
func (s *started) hung(what string) Unread {
	return Unread{What: what, Why: fmt.Sprintf("no answer within %v", s.limit)}
}
