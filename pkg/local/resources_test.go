package local

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/local/model/modeltest"
)

// environment creates a managed compute environment.
func (w *testEngine) environment(name string, kind types.CRType, maxvCPUs int32, more ...func(*types.ComputeResource)) {
	w.t.Helper()
	r := modeltest.Resources(kind, maxvCPUs)
	for _, f := range more {
		f(r)
	}
	modeltest.Must(w.t, w.CreateComputeEnvironment, &awsbatch.CreateComputeEnvironmentInput{ComputeEnvironmentName: &name, Type: types.CETypeManaged, ComputeResources: r})
}

// Queue creates a job queue on environments in their order.
func (w *testEngine) Queue(name string, environments []string, more ...func(*awsbatch.CreateJobQueueInput)) {
	w.t.Helper()
	in := &awsbatch.CreateJobQueueInput{JobQueueName: &name, Priority: aws.Int32(1)}
	for i, v := range environments {
		in.ComputeEnvironmentOrder = append(in.ComputeEnvironmentOrder, types.ComputeEnvironmentOrder{Order: aws.Int32(int32(i)), ComputeEnvironment: &v})
	}
	for _, f := range more {
		f(in)
	}
	modeltest.Must(w.t, w.CreateJobQueue, in)
}

func (w *testEngine) updateEnvironment(in *awsbatch.UpdateComputeEnvironmentInput) {
	w.t.Helper()
	modeltest.Must(w.t, w.UpdateComputeEnvironment, in)
}

func (w *testEngine) restart(dir string, o Options) *testEngine {
	w.t.Helper()
	if err := w.engine.Close(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
	o.Dir = dir
	return open(w.t, o)
}
