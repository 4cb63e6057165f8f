package plan

import (
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
	"pgregory.net/rapid"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/catalog"
	"github.com/batchctl/batchctl/pkg/document"
)

func queue(name string, environments ...document.Environment) document.Queue {
	return document.Queue{Alias: name, Name: name + "-job-queue", Environments: environments}
}

func ec2(types ...string) document.Environment {
	return document.Environment{Type: "EC2", InstanceTypes: types}
}

var (
	gpuQueue   = queue("gpu", ec2("g5.8xlarge", "g5.12xlarge"))
	cpuQueue   = queue("cpu", ec2("c5", "m5"))
	armQueue   = queue("arm", ec2("c6g"))
	mixedQueue = queue("mixed", ec2("g5"), ec2("c5"))
	newQueue   = queue("new", ec2("z99.large"))
	openQueue  = queue("open")
	fargate    = queue("fargate", document.Environment{Type: "FARGATE"})
)

func TestChooseQueue(t *testing.T) {
	small := catalog.Request{VCPUs: 2, MemoryMiB: 2048}
	gpu := catalog.Request{VCPUs: 4, MemoryMiB: 8192, GPUs: 1}
	armJob := catalog.Request{VCPUs: 2, MemoryMiB: 2048, Arch: catalog.Arm}
	serverless := catalog.Request{VCPUs: 1, MemoryMiB: 2048, Fargate: true}
	for _, tt := range []struct {
		name   string
		queues []document.Queue
		req    catalog.Request
		want   string
	}{
		{"a CPU job keeps off the GPUs", []document.Queue{gpuQueue, cpuQueue}, small, "cpu"},
		{"and goes there if nothing else holds it", []document.Queue{gpuQueue}, small, "gpu"},
		{"the CPU environment of a mixed queue will do", []document.Queue{mixedQueue, cpuQueue}, small, "mixed"},
		{"a GPU job goes to the GPUs", []document.Queue{cpuQueue, gpuQueue}, gpu, "gpu"},
		{"tightest instance", []document.Queue{gpuQueue, mixedQueue}, gpu, "mixed"},
		{"x86_64 when the job does not say", []document.Queue{armQueue, cpuQueue}, small, "cpu"},
		{"Arm when it does", []document.Queue{cpuQueue, armQueue}, armJob, "arm"},
		{"Arm when there is nothing else", []document.Queue{armQueue}, small, "arm"},
		{"Fargate to Fargate", []document.Queue{cpuQueue, fargate}, serverless, "fargate"},
		{"EC2 to EC2", []document.Queue{fargate, cpuQueue}, small, "cpu"},
		{"the first of equals", []document.Queue{cpuQueue, queue("cpu2", ec2("c5"))}, small, "cpu"},
		{"a proof before a guess", []document.Queue{newQueue, openQueue, gpuQueue}, small, "gpu"},
		{"a guess before nothing", []document.Queue{armQueue, newQueue}, gpu, "new"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, err := ChooseQueue(&document.Platform{Queues: tt.queues}, OneMachine(tt.req))
			if err != nil || c.Queue != tt.want+"-job-queue" {
				t.Fatalf("%s, %v", c.Queue, err)
			}
			if !strings.Contains(c.Reason, tt.req.String()) {
				t.Errorf("reason %q does not name the request", c.Reason)
			}
		})
	}
}

func TestNoQueue(t *testing.T) {
	for _, tt := range []struct {
		queues      []document.Queue
		req         catalog.Request
		cause       catalog.Cause
		message     string
		nearestHint string
	}{
		{nil, catalog.Request{VCPUs: 1, MemoryMiB: 512}, catalog.Fits,
			"no queue fits 1 vCPU, 512 MiB: the platform file lists no queues", ""},
		{[]document.Queue{cpuQueue, gpuQueue}, catalog.Request{VCPUs: 4, MemoryMiB: 8192, GPUs: 8}, catalog.TooManyGPUs,
			"no queue fits 8 GPUs, 4 vCPU, 8192 MiB: cpu (c5, m5: no instance type with a GPU), gpu (its largest type g5.12xlarge has 4 GPUs)",
			"nearest that fits: 4 GPUs, 4 vCPU, 8192 MiB on g5.12xlarge of queue gpu"},
		{[]document.Queue{fargate}, catalog.Request{VCPUs: 1, MemoryMiB: 900, Fargate: true}, catalog.NoFargateSize,
			"no queue fits 1 vCPU, 900 MiB: fargate (1 vCPU, 900 MiB is not a Fargate size)",
			"nearest that fits: 1 vCPU, 2048 MiB on queue fargate"},
		{[]document.Queue{queue("two", ec2("c5.large"), ec2("m5.large"))}, catalog.Request{VCPUs: 2, MemoryMiB: 8192}, catalog.NominalMemory,
			"no queue fits 2 vCPU, 8192 MiB: two (its largest type c5.large leaves at most 3941 of 4096 MiB to jobs; its largest type m5.large leaves at most 7914 of 8192 MiB to jobs)",
			"nearest that fits: 2 vCPU, 7658 MiB on m5.large of queue two"},
	} {
		_, err := ChooseQueue(&document.Platform{Queues: tt.queues}, OneMachine(tt.req))
		no, ok := err.(*NoQueueError)
		if !ok {
			t.Fatalf("%s: %v", tt.req, err)
		}
		if no.Error() != tt.message || no.Hint() != tt.nearestHint || no.Cause != tt.cause {
			t.Errorf("%s: cause %d\n%s\n%s", tt.req, no.Cause, no, no.Hint())
		}
	}
}

// A queue that the policy does not allow is not chosen, however well it would do, and is
// named where no other holds the request.
func TestChooseAllowedQueue(t *testing.T) {
	small := catalog.Request{VCPUs: 2, MemoryMiB: 2048}
	p := &document.Platform{Queues: []document.Queue{cpuQueue, gpuQueue}, Policy: document.Policy{AllowedQueues: []string{"gpu"}}}
	if c, err := ChooseQueue(p, OneMachine(small)); err != nil || c.Queue != "gpu-job-queue" || !strings.HasPrefix(c.Reason, "only allowed queue that fits 2 vCPU, 2048 MiB: ") {
		t.Errorf("%s, %s, %v", c.Queue, c.Reason, err)
	}
	p.Queues = p.Queues[:1]
	const want = "no queue fits 2 vCPU, 2048 MiB: cpu (the policy does not allow it)"
	if c, err := ChooseQueue(p, OneMachine(small)); err == nil || err.Error() != want {
		t.Errorf("%s, %v", c.Queue, err)
	}
}

// What is chosen holds the request, and what is refused holds it nowhere.
func TestChooseQueueProperty(t *testing.T) {
	all := []document.Queue{gpuQueue, cpuQueue, armQueue, mixedQueue, fargate}
	rapid.Check(t, func(t *rapid.T) {
		r := catalog.Request{
			VCPUs:     float64(rapid.IntRange(1, 200).Draw(t, "vCPUs")),
			MemoryMiB: rapid.IntRange(4, 1<<20).Draw(t, "MiB"),
			GPUs:      rapid.IntRange(0, 5).Draw(t, "GPUs"),
			Arch:      rapid.SampledFrom([]string{"", catalog.X86, catalog.Arm}).Draw(t, "arch"),
			Fargate:   rapid.Bool().Draw(t, "fargate"),
		}
		queues := rapid.SliceOfDistinct(rapid.SampledFrom(all), func(q document.Queue) string { return q.Name }).Draw(t, "queues")
		c, err := ChooseQueue(&document.Platform{Queues: queues}, OneMachine(r))
		for _, q := range queues {
			fits := FindPlacement(nil, q, OneMachine(r)).Fits
			if err != nil && fits {
				t.Fatalf("%s holds %s, and yet: %v", q.Name, r, err)
			}
			if err == nil && q.Name == c.Queue && !fits {
				t.Fatalf("%s does not hold %s", q.Name, r)
			}
		}
		if err == nil && c.Queue == gpuQueue.Name && r.GPUs == 0 {
			for _, q := range queues {
				if (q.Name == cpuQueue.Name || q.Name == mixedQueue.Name) && FindPlacement(nil, q, OneMachine(r)).Fits && FindPlacement(nil, q, OneMachine(r)).Instance.GPUs == 0 {
					t.Fatalf("%s went to the GPUs, although %s holds it", r, q.Name)
				}
			}
		}
	})
}

// TestMachineHasNoInstanceTypes checks that a job is not placed on instances of the local engine's machine, whose
// description resembles EC2.
func TestMachineHasNoInstanceTypes(t *testing.T) {
	machine := types.ComputeEnvironmentDetail{ComputeEnvironmentName: aws.String("local"), Type: "MANAGED",
		ComputeEnvironmentArn: aws.String("arn:aws:batch:local:000000000000:compute-environment/local"),
		EcsClusterArn:         aws.String("arn:aws:ecs:local:000000000000:cluster/AWSBatch-local"),
		ComputeResources:      &types.ComputeResource{Type: "EC2", MaxvCpus: aws.Int32(4), InstanceTypes: []string{"optimal"}}}
	created := machine
	created.EcsClusterArn = aws.String("arn:aws:ecs:local:000000000000:cluster/AWSBatch-local-5a0f1c0e-6d0e-4bd4-9b3c-b5c1a1f4f0c7")
	state := &TargetState{Local: true, Machines: map[string][]batch.Machine{"local": {{Total: batch.Capacity{VCPUs: 4, MemoryMiB: 1024, GPUs: 1}}}}}
	for vcpus, fits := range map[float64]bool{4: true, 5: false} {
		need := OneMachine(catalog.Request{VCPUs: vcpus, MemoryMiB: 64, GPUs: 1})
		if r := state.fitOf(nil, machine, need); !r.IsLocal || r.Fits != fits || r.MaxvCpus != 4 || len(r.Holds) != 0 {
			t.Errorf("%v vCPUs on the machine: %+v", vcpus, r)
		}
		if r := state.fitOf(nil, created, need); !r.IsLocal || r.Fits != fits || len(r.Holds) != 0 {
			t.Errorf("%v vCPUs and a GPU on a created environment of the optimal types: %+v", vcpus, r)
		}
	}
}

// TestLocalProblems checks what plan reports, and submit refuses, of a queue of the local engine.
func TestLocalProblems(t *testing.T) {
	whole := []batch.Machine{{Total: batch.Capacity{VCPUs: 4, MemoryMiB: 1024}}}
	state := func(resources types.ComputeResource, ce types.CEState) *TargetState {
		return &TargetState{Local: true, Target: "local", Machines: map[string][]batch.Machine{"local": whole, "e": whole}, Consumables: map[string]int64{"licences": 4},
			Queues: []types.JobQueueDetail{{JobQueueName: aws.String("q"), State: types.JQStateEnabled, Status: types.JQStatusValid,
				ComputeEnvironmentOrder: []types.ComputeEnvironmentOrder{{Order: aws.Int32(1), ComputeEnvironment: aws.String("e")}}}},
			Environments: []types.ComputeEnvironmentDetail{{ComputeEnvironmentName: aws.String("e"), State: ce, Status: types.CEStatusValid, Type: types.CETypeManaged,
				ComputeEnvironmentArn: aws.String("arn:aws:batch:local:000000000000:compute-environment/e"), ComputeResources: &resources}}}
	}
	ec2, fargate := types.ComputeResource{Type: "EC2", MaxvCpus: aws.Int32(2)}, types.ComputeResource{Type: "FARGATE", MaxvCpus: aws.Int32(8)}
	for _, c := range []struct {
		state        *TargetState
		vcpus        string
		licences     int64
		text, remedy string
	}{
		{state(ec2, types.CEStateEnabled), "2", 4, "", ""},
		{state(ec2, types.CEStateEnabled), "3", 0, "no compute environment of q accepts it: e (3 vCPU is more than its maxvCpus of 2)",
			"submit to another queue, or change the compute environments of q"},
		{state(ec2, types.CEStateEnabled), "5", 0, "does not fit this machine: e (5 vCPU is more than its maxvCpus of 2)", ""},
		{state(ec2, types.CEStateDisabled), "1", 0, "no compute environment of q accepts it: e (it is DISABLED)",
			"enable it: aws batch update-compute-environment --compute-environment e --state ENABLED"},
		{state(fargate, types.CEStateEnabled), "1", 0, "no compute environment of q accepts it: e (FARGATE, but the job is for EC2)",
			"submit to another queue, or change the compute environments of q"},
		{state(ec2, types.CEStateEnabled), "1", 5, "it asks for 5 of the consumable resource licences, more than its total of 4",
			"ask for less of it, or raise its total: aws batch update-consumable-resource --consumable-resource licences --operation SET --quantity 5"},
	} {
		job := &Job{Name: "j", Register: &awsbatch.RegisterJobDefinitionInput{JobDefinitionName: aws.String("j"), ContainerProperties: &types.ContainerProperties{
			ResourceRequirements: []types.ResourceRequirement{{Type: "VCPU", Value: &c.vcpus}, {Type: "MEMORY", Value: aws.String("64")}}}},
			Submit: &awsbatch.SubmitJobInput{JobQueue: aws.String("q"), JobDefinition: aws.String("j")}}
		if c.licences > 0 {
			job.Submit.ConsumableResourcePropertiesOverride = &types.ConsumableResourceProperties{ConsumableResourceList: []types.ConsumableResourceRequirement{
				{ConsumableResource: aws.String("arn:aws:batch:local:000000000000:consumable-resource/licences"), Quantity: &c.licences}}}
		}
		var want []Problem
		if c.text != "" {
			want = []Problem{{"j", c.text, c.remedy}}
		}
		if got := (&Plan{Jobs: []*Job{job}}).Review(c.state, nil, nil).Problems(); !slices.Equal(got, want) {
			t.Errorf("%q instead of %q", got, want)
		}
	}
}
