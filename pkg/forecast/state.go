package forecast

import (
	"cmp"

	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/catalog"
	"github.com/batchctl/batchctl/pkg/local/model"
)

// State is what a simulation starts from. Times are epoch milliseconds, durations milliseconds.
type State struct {
	Now          int64
	Queues       []Queue
	Environments []Environment
	// Jobs are those that run, wait or come later, in the order of submission.
	Jobs []Job
	// Past are jobs that ended lately, for the usage of the shares and as what may come again: Started and Exact are
	// what happened.
	Past []Job
	// RateSpread is how far the rate of jobs with a Chance varies between draws: the standard deviation of its
	// logarithm.
	RateSpread float64
	// Durations are what jobs refer to that have no exact duration.
	Durations []Durations
	// Machine is the only machine of a local engine, which all environments share; nil for AWS.
	Machine *model.Amount
	Scaling Scaling
}

// Queue is a job queue.
type Queue struct {
	Name     string
	Priority int32
	// Environments are the names of its compute environments, in their order.
	Environments []string
	// Policy is the fair-share policy; nil for a FIFO queue.
	Policy *types.FairsharePolicy
}

// Environment is a compute environment.
type Environment struct {
	Name     string
	Type     types.CRType
	Strategy types.CRAllocationStrategy
	Disabled bool
	// DesiredvCpus are in service at the start.
	MinvCpus, DesiredvCpus, MaxvCpus int64
	// Types are the instance types that it may start; empty for Fargate. Entries are instanceTypes as AWS Batch has
	// them, such as m5 or optimal.
	Types   []InstanceType
	Entries []string
	// KeepIdle is the scale-down delay of its scaling policy; 0 if it has none.
	KeepIdle int64
	// ReclaimsPerHour is how often EC2 takes an instance back while the environment is on Spot.
	ReclaimsPerHour float64
	// Fargate has the prices of its tasks.
	Fargate FargatePrices
}

// FargatePrices are prices of Fargate in USD an hour; 0 is unknown.
type FargatePrices struct {
	// Platforms has the prices by platform, as catalog names it.
	Platforms map[string]catalog.FargatePrice
	// StorageGB is for a GB of storage, and Address for a public IPv4 address.
	StorageGB, Address float64
}

// hour returns the price an hour of a task of some size.
func (p FargatePrices) hour(size model.Amount, t Task) float64 {
	price := p.Platforms[t.platform()]
	hour := float64(size.MilliCPU)/1000*price.VCPU + float64(size.MemoryMiB)/1024*price.GB +
		float64(t.StorageGB)*p.StorageGB
	if t.PublicIP {
		hour += p.Address
	}
	return hour
}

// Task is what a job pays for on Fargate besides the size of its task.
type Task struct {
	// Platform is catalog.X86, Arm or Windows; "" is X86.
	Platform string
	// StorageGB is the storage beyond what is free.
	StorageGB int
	// PublicIP reports that it has a public IPv4 address.
	PublicIP bool
}

func (t Task) platform() string { return cmp.Or(t.Platform, catalog.X86) }

// IsFargate reports whether the environment starts no instances.
func (e Environment) IsFargate() bool {
	return e.Type == types.CRTypeFargate || e.Type == types.CRTypeFargateSpot
}

// IsSpot reports whether EC2 may take its capacity back.
func (e Environment) IsSpot() bool {
	return e.Type == types.CRTypeSpot || e.Type == types.CRTypeFargateSpot
}

// InstanceType is an instance type with the part of it that jobs can use.
type InstanceType struct {
	Name string
	Size model.Amount
	// Hour is its price in USD; 0 if it is unknown.
	Hour float64
}

// Job is a job or a child of an array.
type Job struct {
	ID, Name string
	// Queue is the index of its queue in the State.
	Queue    int
	Share    string
	Team     string
	Priority int32
	Platform types.PlatformCapability
	Task     Task
	Need     model.Amount
	// Submitted is when the job may start for the first time, so after the jobs that it depends on.
	Submitted int64
	// Started is when the job started; 0 if it waits.
	Started int64
	// Environment is where a started job runs; "" is unknown.
	Environment string
	// Exact is its duration if it is known; else Durations is the index of the durations to draw from.
	Exact     int64
	Durations int
	// Chance is the probability that a job that comes later is there in a draw; 0 is a job that is certain.
	Chance float64
}

// Kind is the kind of an event.
type Kind uint8

// The kinds of events. Submitted, Started, Interrupted and Ended have a job; Launched, Ready and Terminated an
// instance.
const (
	Submitted Kind = iota
	Started
	Interrupted
	Ended
	Launched
	Ready
	Terminated
)

// Event is something that happens in a simulation.
type Event struct {
	At   int64
	Kind Kind
	// Job is the index of the job in the State; -1 for none.
	Job int
	// Environment is the index of the compute environment; -1 for none.
	Environment int
	// Instance is the number of the instance; -1 on Fargate.
	Instance int
}
