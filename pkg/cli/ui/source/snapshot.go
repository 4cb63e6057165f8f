package source

import (
	"time"

	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/jobqueue"
)

// Snapshot is what `batchctl top --output json` prints.
type Snapshot struct {
	Target   string       `json:"target"`
	Time     time.Time    `json:"time"`
	Queues   []Queue      `json:"queues"`
	Jobs     []Unfinished `json:"jobs"`
	MoreJobs bool         `json:"moreJobs"`
	Note     string       `json:"note"`
}

// Queue is a queue of a snapshot.
type Queue struct {
	Name         string                 `json:"name"`
	State        string                 `json:"state"`
	Priority     int                    `json:"priority"`
	Jobs         map[string]int         `json:"jobs"`
	Environments []jobqueue.Environment `json:"computeEnvironmentDetails"`
	MaxvCpus     float64                `json:"maxvCpus"`
	Utilization  *Utilization           `json:"queueUtilization"`
	AtLeast      []string               `json:"atLeast"`
	Head         *struct {
		JobID, JobName, StatusReason string
		EarliestTimeAtPosition       int64
	} `json:"head"`
}

// Utilization is the part of a queue's utilization that the page shows.
type Utilization struct {
	TotalCapacityUsage   []Capacity `json:"totalCapacityUsage"`
	FairshareUtilization *struct {
		ActiveShareCount       int `json:"activeShareCount"`
		TopCapacityUtilization []struct {
			ShareIdentifier string     `json:"shareIdentifier"`
			CapacityUsage   []Capacity `json:"capacityUsage"`
		} `json:"topCapacityUtilization"`
	} `json:"fairshareUtilization"`
}

// Capacity is a quantity with its unit, such as 4 VCPU.
type Capacity struct {
	CapacityUnit string  `json:"capacityUnit"`
	Quantity     float64 `json:"quantity"`
}

// Unfinished is a job of a snapshot.
type Unfinished struct {
	Queue string           `json:"jobQueue"`
	Job   types.JobSummary `json:"job"`
}

// MachinesInUse describes the machines that AWS Batch does not scale, with the capacity in use.
func (s *Snapshot) MachinesInUse() []string {
	var environments []jobqueue.Environment
	for _, q := range s.Queues {
		environments = append(environments, q.Environments...)
	}
	return jobqueue.MachinesInUse(environments)
}

// InUse returns the vCPUs in use, or the quantity in the queue's own unit.
func (q Queue) InUse() (n float64, known bool) {
	if q.Utilization == nil {
		return 0, false
	}
	for _, u := range q.Utilization.TotalCapacityUsage {
		n += u.Quantity
	}
	return n, true
}

// Shares returns the quantity in use by share.
func (q Queue) Shares() map[string]float64 {
	all := map[string]float64{}
	if q.Utilization != nil && q.Utilization.FairshareUtilization != nil {
		for _, s := range q.Utilization.FairshareUtilization.TopCapacityUtilization {
			for _, u := range s.CapacityUsage {
				all[s.ShareIdentifier] += u.Quantity
			}
		}
	}
	return all
}
