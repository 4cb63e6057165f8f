package local

import (
	"fmt"
	"log/slog"
	"math"
	"path/filepath"
	"slices"

	"github.com/batchctl/batchctl/pkg/local/attempt"
	"github.com/batchctl/batchctl/pkg/local/hardware"
	"github.com/batchctl/batchctl/pkg/local/model"
	"github.com/batchctl/batchctl/pkg/local/process"
)

// Options say what an engine is. Only Dir is required.
type Options struct {
	// Dir is the state directory; it is made with mode 0700 and everything that
	// the engine keeps is below it.
	Dir string
	// VCPUs is the capacity of the one compute environment; 0: what this machine has.
	VCPUs float64
	// MemoryMiB is its memory; 0: this machine's, or less where a cgroup says so.
	MemoryMiB int
	// GPUs are the ids of its devices, as CUDA_VISIBLE_DEVICES takes them. nil:
	// the NVIDIA devices found on this machine; empty: none.
	GPUs []string
	// Queues; none stands for one named "default".
	Queues []model.QueueSpec
	// Executor runs the attempts; nil: as processes of this machine.
	Executor attempt.Executor
	// Program is the argv prefix that runs the shipped workloads, for jobs whose
	// image is batchctl-workloads.
	Program []string
	// Check refuses a request body that passed the engine's own checks; nil: none.
	Check func(operation string, body []byte) error
	// Lenient takes what moto takes and AWS Batch refuses, as far as it can be carried
	// out here, for test suites that were written against moto. What Check refuses is
	// then said in the answer only.
	Lenient bool
	// ProcessesForBatchctlOnly accepts a job that would run as a process only from batchctl's own
	// commands (see Config), and rejects it from every other client that has the key. An
	// engine of root is opened so: what reaches it through the API must not become root's by accident.
	ProcessesForBatchctlOnly bool
	// ReadOnly opens a state directory only to answer what is in it: nothing is
	// scheduled or written, and another engine may be at work there.
	ReadOnly bool
	// LogLimit is how many bytes of an attempt's log are kept, of each container's where it has several; 0: DefaultLogLimit, negative: all.
	LogLimit int64
	// Log takes what the engine has to say about itself; nil: nothing.
	Log *slog.Logger

	forgetFrom int64 // 0: forgetFrom
	// attempts is how many may be under way at once, a node or container each; 0: as
	// many as there are files for.
	attempts int
}

// DefaultLogLimit is how many bytes of an attempt's log an engine keeps that is not told otherwise.
const DefaultLogLimit = 1 << 30

func (o *Options) fill() error {
	if o.Dir == "" {
		return fmt.Errorf("open engine: no state directory given")
	}
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return fmt.Errorf("open engine: %w", err)
	}
	o.Dir = dir
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
	if o.ReadOnly {
		return nil
	}
	return o.measure()
}

// measure fills in what this machine has.
func (o *Options) measure() error {
	if o.VCPUs == 0 {
		o.VCPUs = hardware.VCPUs()
	}
	if o.MemoryMiB == 0 {
		mib, err := hardware.MemoryMiB()
		if err != nil {
			return fmt.Errorf("find the machine's memory: %w; give it as an option", err)
		}
		o.MemoryMiB = mib
	}
	if o.GPUs == nil {
		o.GPUs = hardware.GPUs()
	}
	if o.attempts == 0 {
		o.attempts = attemptsFor(hardware.OpenFiles())
	}
	return nil
}

// What an attempt keeps open (its log, the log's times, its process, and one more while
// it begins), and what the engine itself does: journal, directories, clients.
const (
	filesOfAttempt = 4
	filesOfEngine  = 48
)

// attemptsFor is how many attempts may be under way where so many files can be open
// (0: not known), so that clients always find one for their connections.
func attemptsFor(files uint64) int {
	switch {
	case files == 0 || files > math.MaxInt32:
		return math.MaxInt32
	case files <= filesOfEngine+filesOfAttempt:
		return 1
	}
	return int(files-filesOfEngine) / filesOfAttempt
}

func (o *Options) capacity() model.Amount {
	return model.Amount{MilliCPU: int64(o.VCPUs*1000 + 0.5), MemoryMiB: int64(o.MemoryMiB), GPUs: int64(len(o.GPUs))}
}
