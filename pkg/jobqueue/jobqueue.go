// Package jobqueue describes the state of job queues for commands and pages: their compute environments, the numbers of
// their jobs and the capacity in use. It computes from answers of AWS Batch, and sends no requests.
package jobqueue

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/wire"
)

// Queue is a queue in the output of queues.
type Queue struct {
	Name     string        `json:"name"`
	State    types.JQState `json:"state"`
	Priority int32         `json:"priority"`
	// Type is the kind of the queue's environments; absent where the service does not tell it.
	Type types.JobQueueType `json:"jobQueueType,omitempty"`
	// Jobs are the numbers of unfinished jobs and children by status. They are absent if the queue has service jobs.
	Jobs         map[types.JobStatus]int `json:"jobs,omitzero"`
	Environments []string                `json:"computeEnvironments"`
	// ServiceEnvironments are those of a queue of service jobs.
	ServiceEnvironments []string `json:"serviceEnvironments,omitempty"`
	// EnvironmentStates describes those of Environments that exist, in the same order.
	EnvironmentStates []Environment `json:"computeEnvironmentDetails"`
	// MaxvCpus is the sum over the environments; 0 if one has no limit or is unknown.
	MaxvCpus int32 `json:"maxvCpus"`
	// Utilization is the capacity that the queue's jobs use, in total and per fair share.
	// It is absent if the credentials do not allow GetJobQueueSnapshot.
	Utilization wire.Native[*types.QueueSnapshotUtilizationDetail] `json:"queueUtilization,omitzero"`
}

// Environment is a compute environment of a queue.
type Environment struct {
	Name         string         `json:"name"`
	State        types.CEState  `json:"state"`
	Status       types.CEStatus `json:"status,omitempty"`
	StatusReason string         `json:"statusReason,omitempty"`
	// Type is MANAGED or UNMANAGED, Resources that of its computeResources, such as SPOT.
	Type      types.CEType `json:"type,omitempty"`
	Resources types.CRType `json:"resourceType,omitempty"`
	// The vCPUs are absent where the environment has no such limit.
	MinvCpus     *int32 `json:"minvCpus,omitempty"`
	DesiredvCpus *int32 `json:"desiredvCpus,omitempty"`
	MaxvCpus     *int32 `json:"maxvCpus,omitempty"`
	// Machines are those of an environment that AWS Batch does not scale, if they are known.
	Machines []batch.Machine `json:"machines,omitempty"`
	// IsLocal reports that the environment is a part of the local engine's machine.
	IsLocal bool `json:"local,omitempty"`
}

// New returns a queue without the numbers of its jobs and the capacity in use. environments are those of the target,
// machines what client.FixedMachines returns of them.
func New(q types.JobQueueDetail, environments []types.ComputeEnvironmentDetail,
	machines map[string][]batch.Machine) Queue {
	s := Queue{Name: aws.ToString(q.JobQueueName), State: q.State, Priority: aws.ToInt32(q.Priority),
		Type: q.JobQueueType, Environments: []string{}, EnvironmentStates: []Environment{}}
	for _, o := range q.ServiceEnvironmentOrder {
		s.ServiceEnvironments = append(s.ServiceEnvironments, batch.Name(aws.ToString(o.ServiceEnvironment)))
	}
	bounded := true
	for _, o := range q.ComputeEnvironmentOrder {
		arn := aws.ToString(o.ComputeEnvironment)
		s.Environments = append(s.Environments, batch.Name(arn))
		at := slices.IndexFunc(environments,
			func(e types.ComputeEnvironmentDetail) bool { return aws.ToString(e.ComputeEnvironmentArn) == arn })
		if at >= 0 {
			s.EnvironmentStates = append(s.EnvironmentStates, environmentOf(environments[at], machines))
		}
		switch {
		case at < 0:
			bounded = false
		case environments[at].ComputeResources != nil:
			s.MaxvCpus += aws.ToInt32(environments[at].ComputeResources.MaxvCpus)
		default:
			s.MaxvCpus += aws.ToInt32(environments[at].UnmanagedvCpus)
		}
	}
	if !bounded {
		s.MaxvCpus = 0
	}
	return s
}

// environmentOf returns what is shown of an environment.
func environmentOf(e types.ComputeEnvironmentDetail, machines map[string][]batch.Machine) Environment {
	s := Environment{Name: aws.ToString(e.ComputeEnvironmentName), State: e.State, Status: e.Status,
		StatusReason: aws.ToString(e.StatusReason), Type: e.Type,
		IsLocal: batch.IsLocal(aws.ToString(e.ComputeEnvironmentArn))}
	s.Machines = machines[s.Name]
	if r := e.ComputeResources; r != nil {
		s.Resources, s.MinvCpus, s.DesiredvCpus, s.MaxvCpus = r.Type, r.MinvCpus, r.DesiredvCpus, r.MaxvCpus
	} else {
		s.MaxvCpus = e.UnmanagedvCpus
	}
	return s
}

// MachinesInUse describes the machines that AWS Batch does not scale, with the capacity in use: one line for each
// environment, and one for the whole machine of a local engine.
func MachinesInUse(environments []Environment) (lines []string) {
	var machine *batch.Machine
	seen := map[string]bool{}
	for _, e := range environments {
		switch {
		case len(e.Machines) == 0 || seen[e.Name]:
		case e.IsLocal: // environments with a limit show a part of it
			if machine == nil || e.Machines[0].Total.VCPUs > machine.Total.VCPUs {
				machine = &e.Machines[0]
			}
		default:
			lines = append(lines, fmt.Sprintf("%s (%d instances): %s in use", e.Name, len(e.Machines),
				batch.Sum(e.Machines).InUse()))
		}
		seen[e.Name] = true
	}
	if machine != nil {
		lines = append(lines, "this machine: "+machine.InUse()+" in use")
	}
	return lines
}

// HasServiceJobs reports whether the jobs of the queue are service jobs, which batchctl does not show.
func (q Queue) HasServiceJobs() bool { return q.Type == types.JobQueueTypeSagemakerTraining }

// Count formats how many jobs have one of the statuses; "-" if the queue has service jobs.
func (q Queue) Count(statuses ...types.JobStatus) string {
	if q.HasServiceJobs() {
		return "-"
	}
	n := 0
	for _, status := range statuses {
		n += q.Jobs[status]
	}
	return strconv.Itoa(n)
}

// Capacity formats MaxvCpus; "-" if there is no limit.
func (q Queue) Capacity() string {
	if q.MaxvCpus == 0 {
		return "-"
	}
	return fmt.Sprintf("%d vCPUs", q.MaxvCpus)
}

// VCPUUnit is the capacity unit of vCPUs in snapshots. Queues of service
// environments have other units.
const VCPUUnit = "VCPU"

// quantity formats a capacity with its unit, such as "4 vCPUs".
func quantity(n *float64, unit *string) string {
	text := strconv.FormatFloat(aws.ToFloat64(n), 'f', -1, 64)
	switch u := aws.ToString(unit); {
	case u == VCPUUnit && aws.ToFloat64(n) == 1:
		return text + " vCPU"
	case u == VCPUUnit:
		return text + " vCPUs"
	default:
		return strings.TrimSpace(text + " " + u)
	}
}

// InUse formats the capacity that the queue's jobs use; "" if it is unknown.
func (q Queue) InUse() string {
	if q.Utilization.Shape == nil {
		return ""
	}
	var parts []string
	for _, u := range q.Utilization.Shape.TotalCapacityUsage {
		parts = append(parts, quantity(u.Quantity, u.CapacityUnit))
	}
	return strings.Join(parts, ", ")
}

// HasShares reports whether the queue has a fair-share policy and its use is
// known.
func (q Queue) HasShares() bool {
	return q.Utilization.Shape != nil && q.Utilization.Shape.FairshareUtilization != nil
}

// Shares formats the use of the fair shares, the largest first. The service
// reports only the largest ones; the others are counted.
func (q Queue) Shares() string {
	if !q.HasShares() {
		return ""
	}
	fair := q.Utilization.Shape.FairshareUtilization
	var parts []string
	for _, s := range fair.TopCapacityUtilization {
		text := aws.ToString(s.ShareIdentifier)
		for _, u := range s.CapacityUsage {
			text += " " + quantity(u.Quantity, u.CapacityUnit)
		}
		parts = append(parts, text)
	}
	if more := aws.ToInt64(fair.ActiveShareCount) - int64(len(parts)); more > 0 {
		parts = append(parts, fmt.Sprintf("%d more", more))
	}
	return strings.Join(parts, ", ")
}
