package local

import (
	"fmt"
	"log/slog"
	"math"
	"path/filepath"
	"slices"
	"sync"

	"github.com/batchctl/batchctl/pkg/buildinfo"
	"github.com/batchctl/batchctl/pkg/local/api/call"
	"github.com/batchctl/batchctl/pkg/local/attempt"
	"github.com/batchctl/batchctl/pkg/local/events"
	"github.com/batchctl/batchctl/pkg/local/hardware"
	"github.com/batchctl/batchctl/pkg/local/model"
	"github.com/batchctl/batchctl/pkg/local/process"
	"github.com/batchctl/batchctl/pkg/local/secretsource"
)

// BrokenRules is an error of Options.Check.
type BrokenRules = call.BrokenRules

// Options configure an engine. Only Dir is required.
type Options struct {
	// Dir is the state directory, which is created with mode 0700. Everything that the engine keeps
	// is below it.
	Dir string
	// VCPUs is the capacity of the one compute environment; 0 means all CPUs of the local
	// machine.
	VCPUs float64
	// MemoryMiB is its memory; 0 means all memory of the local machine, or the limit of the
	// cgroup.
	MemoryMiB int
	// GPUs are the ids of its devices, as in CUDA_VISIBLE_DEVICES. nil means the NVIDIA devices on
	// this machine; empty means none.
	GPUs []string
	// Queues are the queues; none means one named "default".
	Queues []model.QueueSpec
	// Executor runs the attempts; nil means as processes on this machine.
	Executor attempt.Executor
	// Secrets has the values of jobs' secrets that the jobs' clients did not send; nil means none.
	Secrets *secretsource.Source
	// Program is the argv prefix that runs the shipped workloads, for jobs whose
	// image is batchctl-workloads.
	Program []string
	// Check rejects a request body that passed the engine's own checks; it may be nil. It names rules in a *BrokenRules.
	Check func(operation string, body []byte) error
	// ProcessesForBatchctlOnly accepts a job that would run as a process only from batchctl's own
	// commands (see Config), and rejects it from every other client that has the key. Use it for an
	// engine that runs as root: a job from the API must not become a root process by accident.
	ProcessesForBatchctlOnly bool
	// ReadOnly opens a state directory only to read it: nothing is scheduled or written, and
	// another engine may be using it. Dir may then be "", for an engine without jobs.
	ReadOnly bool
	// LogLimit is how many bytes are kept of an attempt's log, or of each container's log if it has
	// several. A stream of CreateLogStream accepts no more events when its file would be larger.
	// 0 means DefaultLogLimit, a negative value no limit.
	LogLimit int64
	// Events are the destinations of the engine's events. A destination that the engine was once
	// opened without starts again with the events from then on.
	Events []events.Destination
	// Build is the build of this program, for the journal and for commands that join the engine. The
	// journal of a zero value does not name its writer.
	Build buildinfo.Build
	// Background are the arguments that start this program as a background engine with the same
	// options; nil for an engine that belongs to a command. A newer batchctl may replace a background
	// engine.
	Background []string
	// Command is the batchctl command that started the engine, such as "submit", for messages.
	Command string
	// Log receives the engine's own messages; it may be nil.
	Log *slog.Logger

	forgetFrom int64 // 0: forgetFrom
	maxHeld    int64 // 0: the default of package events
	// attempts limits the concurrent attempts, counting each node or container; 0 means as many as
	// there are files for.
	attempts int
}

// DefaultLogLimit is the default of Options.LogLimit.
const DefaultLogLimit = 1 << 30

// fill checks the options and sets the defaults. It measures the machine.
func (o *Options) fill() error {
	if o.Dir == "" && !o.ReadOnly {
		return fmt.Errorf("open engine: no state directory given")
	}
	if o.Dir != "" {
		dir, err := filepath.Abs(o.Dir)
		if err != nil {
			return fmt.Errorf("open engine: %w", err)
		}
		o.Dir = dir
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Executor == nil {
		o.Executor = process.New(o.Program, "")
	}
	o.Queues = slices.Clone(o.Queues)
	if len(o.Queues) == 0 {
		o.Queues = []model.QueueSpec{{Name: "default", Priority: 1}}
	}
	for i := range o.Queues {
		if len(o.Queues[i].Environments) == 0 {
			o.Queues[i].Environments = []string{model.ComputeEnvironment}
		}
	}
	if o.LogLimit == 0 {
		o.LogLimit = DefaultLogLimit
	}
	if o.forgetFrom == 0 {
		o.forgetFrom = forgetFrom
	}
	return o.measure()
}

// measure sets the capacity of the local machine for everything that the options leave open. It leaves the GPUs of a
// read-only engine to devices: nvidia-smi is slow, and most readers do not ask for them.
func (o *Options) measure() error {
	if o.VCPUs == 0 {
		o.VCPUs = hardware.VCPUs()
	}
	if o.MemoryMiB == 0 {
		mib, err := hardware.MemoryMiB()
		if err != nil && !o.ReadOnly {
			return fmt.Errorf("find this machine's memory: %w; set it: batchctl serve --memory MIB", err)
		}
		o.MemoryMiB = mib
	}
	if o.GPUs == nil && !o.ReadOnly {
		o.GPUs = hardware.GPUs()
	}
	if o.attempts == 0 {
		o.attempts = attemptsFor(hardware.OpenFiles())
	}
	return nil
}

// The files that an attempt keeps open (its log, the log's times, its process, two of its control
// group), and those of the engine itself: journal, directories, clients.
const (
	filesOfAttempt = 5
	filesOfEngine  = 48
)

// attemptsFor returns how many concurrent attempts fit into a limit of open files (0: unknown), so
// that files are left for the connections of clients.
func attemptsFor(files uint64) int {
	switch {
	case files == 0 || files > math.MaxInt32:
		return math.MaxInt32
	case files <= filesOfEngine+filesOfAttempt:
		return 1
	}
	return int(files-filesOfEngine) / filesOfAttempt
}

// capacity is the size of the machine as the model counts it.
func (o *Options) capacity() model.Amount {
	return model.Amount{MilliCPU: int64(o.VCPUs*1000 + 0.5), MemoryMiB: int64(o.MemoryMiB), GPUs: int64(len(o.GPUs))}
}

// devices returns a function that returns the ids of the GPUs. It finds them at its first call, unless the options have
// them.
func (o *Options) devices() func() []string {
	if o.GPUs != nil {
		return func() []string { return o.GPUs }
	}
	return sync.OnceValue(hardware.GPUs)
}
