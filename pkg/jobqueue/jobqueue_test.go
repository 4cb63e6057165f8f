package jobqueue

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/batch"
)

// TestNew checks that a queue has no limit if one of its environments has none.
func TestNew(t *testing.T) {
	managed := types.ComputeEnvironmentDetail{ComputeEnvironmentArn: aws.String("arn:aws:batch:us-east-1:1:compute-environment/spot"),
		ComputeResources: &types.ComputeResource{Type: types.CRTypeSpot, MaxvCpus: aws.Int32(8)}}
	unmanaged := types.ComputeEnvironmentDetail{ComputeEnvironmentArn: aws.String("arn:aws:batch:us-east-1:1:compute-environment/own"), UnmanagedvCpus: aws.Int32(4)}
	order := func(names ...string) (list []types.ComputeEnvironmentOrder) {
		for _, name := range names {
			list = append(list, types.ComputeEnvironmentOrder{ComputeEnvironment: aws.String("arn:aws:batch:us-east-1:1:compute-environment/" + name)})
		}
		return list
	}
	for _, c := range []struct {
		order    []types.ComputeEnvironmentOrder
		known    int
		capacity string
	}{
		{order("spot", "own"), 2, "12 vCPUs"},
		{order("spot", "deleted"), 1, "-"},
		{nil, 0, "-"},
	} {
		q := New(types.JobQueueDetail{JobQueueName: aws.String("q"), ComputeEnvironmentOrder: c.order}, []types.ComputeEnvironmentDetail{managed, unmanaged}, nil)
		if len(q.Environments) != len(c.order) || len(q.EnvironmentStates) != c.known || q.Capacity() != c.capacity {
			t.Errorf("%v: %d environments, %d known, %s; want %d known, %s", c.order, len(q.Environments), len(q.EnvironmentStates), q.Capacity(), c.known, c.capacity)
		}
	}
}

// TestServiceJobs checks that a queue of service jobs shows no number of jobs, and not 0.
func TestServiceJobs(t *testing.T) {
	q := New(types.JobQueueDetail{JobQueueName: aws.String("q"), JobQueueType: types.JobQueueTypeSagemakerTraining, ServiceEnvironmentOrder: []types.ServiceEnvironmentOrder{
		{ServiceEnvironment: aws.String("arn:aws:batch:us-east-1:1:service-environment/training")}}}, nil, nil)
	if !q.HasServiceJobs() || q.Count(types.JobStatusRunning) != "-" || len(q.ServiceEnvironments) != 1 || q.ServiceEnvironments[0] != "training" {
		t.Errorf("%+v shows %s jobs", q, q.Count(types.JobStatusRunning))
	}
	text, err := json.Marshal(q)
	if err != nil || strings.Contains(string(text), `"jobs"`) {
		t.Errorf("%s, %v", text, err)
	}
	q = New(types.JobQueueDetail{JobQueueName: aws.String("q")}, nil, nil)
	q.Jobs = map[types.JobStatus]int{types.JobStatusSubmitted: 1, types.JobStatusPending: 2}
	if got := q.Count(types.JobStatusSubmitted, types.JobStatusPending); q.HasServiceJobs() || got != "3" {
		t.Errorf("%s jobs, want 3", got)
	}
}

// TestUse checks the texts of the capacity in use.
func TestUse(t *testing.T) {
	var q Queue
	if q.InUse() != "" || q.Shares() != "" || q.HasShares() {
		t.Errorf("unknown use is %q, %q", q.InUse(), q.Shares())
	}
	vcpus := func(n float64) []types.QueueSnapshotCapacityUsage {
		return []types.QueueSnapshotCapacityUsage{{CapacityUnit: aws.String(VCPUUnit), Quantity: &n}}
	}
	q.Utilization.Shape = &types.QueueSnapshotUtilizationDetail{
		TotalCapacityUsage: append(vcpus(1), types.QueueSnapshotCapacityUsage{CapacityUnit: aws.String("NUM_INSTANCES"), Quantity: aws.Float64(2)}),
		FairshareUtilization: &types.FairshareUtilizationDetail{ActiveShareCount: aws.Int64(3),
			TopCapacityUtilization: []types.FairshareCapacityUtilization{{ShareIdentifier: aws.String("vision"), CapacityUsage: []types.FairshareCapacityUsage{{CapacityUnit: aws.String(VCPUUnit), Quantity: aws.Float64(1.5)}}}}},
	}
	if got, want := q.InUse(), "1 vCPU, 2 NUM_INSTANCES"; got != want {
		t.Errorf("in use %q, want %q", got, want)
	}
	if got, want := q.Shares(), "vision 1.5 vCPUs, 2 more"; got != want {
		t.Errorf("shares %q, want %q", got, want)
	}
}

// TestMachinesInUse checks that the environments of a local engine are one machine, and that each environment of AWS
// that does not scale has a line.
func TestMachinesInUse(t *testing.T) {
	two := batch.Machine{Total: batch.Capacity{VCPUs: 2, MemoryMiB: 7782}, Free: batch.Capacity{VCPUs: 1, MemoryMiB: 7270}}
	one := batch.Machine{Total: batch.Capacity{VCPUs: 1, MemoryMiB: 7782}, Free: batch.Capacity{MemoryMiB: 7270}}
	gpu := batch.Machine{Total: batch.Capacity{VCPUs: 8, MemoryMiB: 16384, GPUs: 1}, Free: batch.Capacity{VCPUs: 8, MemoryMiB: 16384, GPUs: 1}}
	for want, environments := range map[string][]Environment{
		"": {{Name: "scaled"}},
		"this machine: 1 of 2 vCPU, 512 MiB of 7.6 GiB in use":                    {{Name: "limited", IsLocal: true, Machines: []batch.Machine{one}}, {Name: "local", IsLocal: true, Machines: []batch.Machine{two}}},
		"own (2 instances): 1 of 10 vCPU, 512 MiB of 23.6 GiB, 0 of 1 GPU in use": {{Name: "own", Machines: []batch.Machine{two, gpu}}, {Name: "own", Machines: []batch.Machine{two, gpu}}},
	} {
		if got := strings.Join(MachinesInUse(environments), "\n"); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
