// Package doctor looks at a GPU host of AWS Batch or Amazon ECS, or at a job's
// container, and says what is wrong with it: the evidence, why it matters, and
// what to do. It reads a file system and asks through a small interface; it
// changes nothing and needs no root.
//
// Each topic of Checks has a file: checkDocker is in docker.go. A check reads the host through a
// probe and reports through findings. The facts that several checks need are gathered first.
package doctor

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"
)

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
		{"system", "the machine image and the kernel", nil, false, checkSystem},
		{"driver", "NVIDIA's driver and its device nodes", hosts, true, checkDriver},
		{"gpu", "the state of the GPUs, from nvidia-smi", nil, true, checkGPUs},
		{"kernel log", "Xid errors of the driver, and processes killed for memory", hosts, false, checkKernelLog},
		{"docker", "daemon.json, the runtime nvidia, and whether the daemon answers", hosts, false, checkDocker},
		{"ecs.config", "the configuration of the ECS agent", []HostKind{ECSInstance}, false, checkECSConfig},
		{"agent", "the ECS agent: running, registered, and its last errors", []HostKind{ECSInstance}, false,
			checkAgent},
		{"cloud-init", "whether user data ran, still runs, or failed", instances, false, checkCloudInit},
		{"disk", "space and inodes of the root's and Docker's file systems", nil, false, checkDisk},
		{"memory", "memory, and /dev/shm in a container", nil, false, checkMemory},
		{"metadata", "the instance metadata service, its hop limit, and the instance's role", nil, false,
			checkMetadata},
		{"devices", "the GPUs and libraries of a container", []HostKind{Container}, false, checkDevices},
		{"task", "the task's metadata, AWS Batch's variables, and credentials", []HostKind{Container}, false,
			checkTask},
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
	first := begin(ctx, &h, &facts{}, func(in *inspection) { *in.facts = gatherFacts(in.host) })
	in := first.end()
	if in == nil {
		r.Kind, r.GPU, r.Unread = Machine, Unknown, []Unread{first.hung("the file system")}
		return r
	}
	f := in.facts
	r.Kind, r.System, r.Image, r.Kernel, r.GPU = f.kind, f.system, f.image, f.kernel, f.presence()
	var running []*started
	for _, c := range Checks() {
		if (c.in == nil || slices.Contains(c.in, f.kind)) && (!c.gpu || f.gpu) {
			s := begin(ctx, &h, f, c.run)
			s.topic = c.Topic
			running = append(running, s)
		}
	}
	r.Unread = in.host.unread.list
	// The checks run concurrently; their findings keep the order of Checks.
	for _, s := range running {
		in := s.end()
		if in == nil {
			r.Unread = append(r.Unread, s.hung(s.topic))
			continue
		}
		for _, found := range in.report.list {
			found.Topic = s.topic
			r.Findings = append(r.Findings, found)
		}
		r.Unread = append(r.Unread, in.host.unread.list...)
	}
	r.Unread = once(r.Unread)
	slices.SortStableFunc(r.Findings, func(a, b Finding) int {
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
		in := &inspection{&probe{Host: h, ctx: s.ctx}, &findings{}, f}
		run(in)
		s.done <- in
	}()
	return s
}

// end waits for a check; nil if it did not end in time.
func (s *started) end() *inspection {
	defer s.cancel()
	select {
	case in := <-s.done:
		return in
	case <-s.ctx.Done():
	}
	select { // both may be ready: then the result counts
	case in := <-s.done:
		return in
	case <-time.After(s.limit / 10): // time for the check to notice that its queries have ended
		return nil
	}
}

// hung returns the entry for a check that did not end.
func (s *started) hung(what string) Unread {
	return Unread{What: what, Why: fmt.Sprintf("no answer within %v", s.limit)}
}
