package observe

import (
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/catalog"
	"github.com/batchctl/batchctl/pkg/forecast"
	"github.com/batchctl/batchctl/pkg/local/model"
)

// TestNodesAreMachines checks that each node of a multi-node job needs an instance, except on a local engine.
func TestNodesAreMachines(t *testing.T) {
	of := func(nodes, vcpus, memory string) types.NodeRangeProperty {
		return types.NodeRangeProperty{TargetNodes: &nodes, Container: &types.ContainerProperties{ResourceRequirements: []types.ResourceRequirement{
			{Type: types.ResourceTypeVcpu, Value: &vcpus}, {Type: types.ResourceTypeMemory, Value: &memory}}}}
	}
	s := sizeOf(types.JobDetail{NodeProperties: &types.NodeProperties{MainNode: aws.Int32(0), NumNodes: aws.Int32(3),
		NodeRangeProperties: []types.NodeRangeProperty{of("0", "4", "1000"), of("1:", "36", "2000")}}})
	main, other := model.Amount{MilliCPU: 4000, MemoryMiB: 1000}, model.Amount{MilliCPU: 36_000, MemoryMiB: 2000}
	if !slices.Equal(s.nodes, []model.Amount{main, other, other}) || s.need != (model.Amount{MilliCPU: 76_000, MemoryMiB: 5000}) {
		t.Fatalf("%+v", s)
	}
	o := &Observation{State: &forecast.State{}}
	var needs []model.Amount
	for _, j := range o.split(&s, forecast.Job{ID: "a", Need: s.need}) {
		needs = append(needs, j.Need)
	}
	if !slices.Equal(needs, s.nodes) {
		t.Errorf("on instances: %v", needs)
	}
	o.State.Machine = &model.Amount{}
	if all := o.split(&s, forecast.Job{Need: s.need}); len(all) != 1 || all[0].Need != s.need {
		t.Errorf("on one machine: %v", all)
	}
}

// TestUnknownPricesAreNamed checks that a forecast says which prices it lacks, instead of a cost that is too low.
func TestUnknownPricesAreNamed(t *testing.T) {
	o := &Observation{State: &forecast.State{}}
	r := Reader{}
	r.Config.Region = "us-east-1"
	managed := func(kind types.CRType, entries ...string) types.ComputeEnvironmentDetail {
		return types.ComputeEnvironmentDetail{ComputeEnvironmentName: aws.String("e"), ComputeResources: &types.ComputeResource{Type: kind, InstanceTypes: entries, MaxvCpus: aws.Int32(8)}}
	}
	// The carried table has no Spot price of Fargate, so the price on demand counts.
	if e := r.environment(o, managed(types.CRTypeFargateSpot)); e.Fargate.Platforms[catalog.X86] != (catalog.FargatePrice{VCPU: 0.04048, GB: 0.004445}) || e.Fargate.StorageGB != 0.000111 || e.Fargate.Address != 0.005 {
		t.Errorf("the prices are %+v", e.Fargate)
	}
	r.environment(o, managed(types.CRTypeEc2, "m8gb.metal-24xl"))
	r.environment(o, managed(types.CRTypeSpot, "m5.large"))
	want := []string{"the Spot price of Fargate: the price on demand counts for e", "the prices of 1 of 1 instance types of e: they count as free"}
	if !slices.Equal(o.Unknown, want) {
		t.Errorf("unknown: %q", o.Unknown)
	}
}

// TestTaskOf checks what a job on Fargate pays for besides its size.
func TestTaskOf(t *testing.T) {
	runs := &types.RuntimePlatform{OperatingSystemFamily: aws.String("WINDOWS_SERVER_2022_CORE"), CpuArchitecture: aws.String("X86_64")}
	network, storage := &types.NetworkConfiguration{AssignPublicIp: types.AssignPublicIpEnabled}, &types.EphemeralStorage{SizeInGiB: aws.Int32(30)}
	fargate := []types.PlatformCapability{types.PlatformCapabilityFargate}
	all := forecast.Task{Platform: catalog.Windows, StorageGB: 10, PublicIP: true}
	for i, c := range []struct {
		job  types.JobDetail
		want forecast.Task
	}{
		{types.JobDetail{PlatformCapabilities: fargate, Container: &types.ContainerDetail{RuntimePlatform: runs, NetworkConfiguration: network, EphemeralStorage: storage}}, all},
		{types.JobDetail{PlatformCapabilities: fargate, EcsProperties: &types.EcsPropertiesDetail{TaskProperties: []types.EcsTaskDetails{{RuntimePlatform: runs, NetworkConfiguration: network, EphemeralStorage: storage}}}}, all},
		{types.JobDetail{PlatformCapabilities: fargate, Container: &types.ContainerDetail{RuntimePlatform: &types.RuntimePlatform{CpuArchitecture: aws.String("ARM64")}}}, forecast.Task{Platform: catalog.Arm}},
		{types.JobDetail{PlatformCapabilities: fargate, Container: &types.ContainerDetail{}}, forecast.Task{}},
		{types.JobDetail{Container: &types.ContainerDetail{NetworkConfiguration: network}}, forecast.Task{}},
	} {
		if got := sizeOf(c.job).task; got != c.want {
			t.Errorf("job %d: %+v, want %+v", i, got, c.want)
		}
	}
}
