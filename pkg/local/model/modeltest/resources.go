package modeltest

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/local/api/call"
	"github.com/batchctl/batchctl/pkg/local/model"
)

// Definition returns a job definition with one container that asks for the given amounts.
func Definition(name, vcpus, memory string,
	edits ...func(*awsbatch.RegisterJobDefinitionInput)) *awsbatch.RegisterJobDefinitionInput {
	in := &awsbatch.RegisterJobDefinitionInput{JobDefinitionName: &name, Type: types.JobDefinitionTypeContainer,
		ContainerProperties: &types.ContainerProperties{Image: aws.String("busybox:1"), Command: []string{"true"},
			ResourceRequirements: amounts(vcpus, memory)}}
	for _, f := range edits {
		f(in)
	}
	return in
}

// amounts returns the resources that a container asks for.
func amounts(vcpus, memory string) []types.ResourceRequirement {
	return []types.ResourceRequirement{{Type: types.ResourceTypeVcpu, Value: &vcpus},
		{Type: types.ResourceTypeMemory, Value: &memory}}
}

// Register registers a Definition.
func (e *Engine) Register(name, vcpus, memory string, edits ...func(*awsbatch.RegisterJobDefinitionInput)) {
	e.t.Helper()
	in, revision := Definition(name, vcpus, memory, edits...), int32(len(e.Model().Definitions[name])+1)
	e.Do(model.Event{Registered: &model.Registration{Revision: revision, Request: shape(in)}})
}

// Request returns a valid request for a job of a definition.
func Request(definition string, edits ...Edit) *awsbatch.SubmitJobInput {
	in := &awsbatch.SubmitJobInput{JobName: aws.String("job"), JobQueue: aws.String("default"), JobDefinition: &definition}
	for _, f := range edits {
		f(in)
	}
	return in
}

// Submit submits a job of a definition and returns its id.
func (e *Engine) Submit(definition string, edits ...Edit) string {
	e.t.Helper()
	in, id := Request(definition, edits...), call.NewID()
	revisions := e.Model().Definitions[definition]
	s := &model.Submission{ID: id, Definition: revisions[len(revisions)-1].ID(), Request: shape(in)}
	if len(in.DependsOn) == 0 && in.ArrayProperties == nil {
		s.To = model.Runnable
	}
	e.Do(model.Event{Submitted: s})
	return id
}

// Cancel cancels a job.
func (e *Engine) Cancel(id, reason string) {
	e.t.Helper()
	e.Do(e.Task(id).Stop(false, reason)...)
}

// Terminate terminates a job.
func (e *Engine) Terminate(id, reason string) {
	e.t.Helper()
	e.Do(e.Task(id).Stop(true, reason)...)
}

// Resources returns the compute resources of an environment.
func Resources(kind types.CRType, maxvCPUs int32) *types.ComputeResource {
	r := &types.ComputeResource{Type: kind, MaxvCpus: &maxvCPUs, Subnets: []string{"subnet-1"}}
	if !model.IsFargate(kind) {
		r.InstanceRole, r.MinvCpus, r.InstanceTypes = aws.String("ecsInstanceRole"), aws.Int32(0), []string{"optimal"}
	}
	return r
}

// Environment creates a managed compute environment.
func (e *Engine) Environment(name string, kind types.CRType, maxvCPUs int32, edits ...func(*types.ComputeResource)) {
	e.t.Helper()
	r := Resources(kind, maxvCPUs)
	for _, f := range edits {
		f(r)
	}
	e.Do(model.Event{EnvironmentCreated: &model.EnvironmentCreation{UUID: call.NewID(),
		Request: shape(&awsbatch.CreateComputeEnvironmentInput{ComputeEnvironmentName: &name, Type: types.CETypeManaged,
			ComputeResources: r})}})
}

// Order returns compute environments in their order.
func Order(names ...string) (all []types.ComputeEnvironmentOrder) {
	for i, name := range names {
		all = append(all, types.ComputeEnvironmentOrder{Order: aws.Int32(int32(i)), ComputeEnvironment: &name})
	}
	return all
}

// Queue creates a job queue on environments.
func (e *Engine) Queue(name string, environments []string, edits ...func(*awsbatch.CreateJobQueueInput)) {
	e.t.Helper()
	in := &awsbatch.CreateJobQueueInput{JobQueueName: &name, Priority: aws.Int32(1),
		ComputeEnvironmentOrder: Order(environments...)}
	for _, f := range edits {
		f(in)
	}
	e.Do(model.Event{QueueCreated: ref(shape(in))})
}

// FairQueue creates the queue shared on the machine, with the fair-share policy fair.
func (e *Engine) FairQueue(p types.FairsharePolicy) {
	e.t.Helper()
	e.Do(model.Event{PolicyCreated: ref(shape(&awsbatch.CreateSchedulingPolicyInput{Name: aws.String("fair"),
		FairsharePolicy: &p}))})
	e.Queue("shared", []string{model.ComputeEnvironment}, func(in *awsbatch.CreateJobQueueInput) {
		in.SchedulingPolicyArn = aws.String(model.ARN(model.KindPolicy, "fair"))
	})
}

// Consumable creates a consumable resource.
func (e *Engine) Consumable(name, kind string, total int64) {
	e.t.Helper()
	e.Do(model.Event{ConsumableCreated: ref(shape(&awsbatch.CreateConsumableResourceInput{ConsumableResourceName: &name,
		ResourceType: &kind, TotalQuantity: &total}))})
}

// Delete deletes a resource.
func (e *Engine) Delete(r model.Resource) {
	e.t.Helper()
	e.Do(model.Event{Deleted: &model.Deletion{Resource: r}})
}

func shape[T any](v T) model.Shape[T] { return model.Shape[T]{V: v} }

func ref[T any](v T) *T { return &v }
