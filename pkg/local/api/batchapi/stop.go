package batchapi

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"

	"github.com/batchctl/batchctl/pkg/local/api/call"
	"github.com/batchctl/batchctl/pkg/local/model"
	"github.com/batchctl/batchctl/pkg/wire"
)

// cancelJob ends a job that has not started. Batch accepts the request for a started job too,
// without effect.
func (js jobs) cancelJob(c *call.Call, in *awsbatch.CancelJobInput) (*awsbatch.CancelJobOutput, error) {
	return &awsbatch.CancelJobOutput{}, js.stop(c, in.JobId, in.Reason, false)
}

// terminateJob ends a job in any state. A started one gets SIGTERM, and SIGKILL after 30 seconds,
// as ECS does by default.
func (js jobs) terminateJob(c *call.Call, in *awsbatch.TerminateJobInput) (*awsbatch.TerminateJobOutput, error) {
	return &awsbatch.TerminateJobOutput{}, js.stop(c, in.JobId, in.Reason, true)
}

// stop records the request to end a job. As in Batch, the request is accepted without effect if no job has that id,
// also if the text cannot be the id of a job (aws-cli#2551). The notice of the answer reports it.
func (js jobs) stop(c *call.Call, text, reason *string, terminate bool) error {
	id := jobID(text)
	switch {
	case id == "":
		return wire.ClientException("jobId is required.")
	case aws.ToString(reason) == "":
		return wire.ClientException("reason is required.")
	}
	if err := checkReason(*reason); err != nil {
		return err
	}
	return js.backend.Change(func(m *model.Model) ([]model.Event, error) {
		if n, _ := m.Node(id); n != nil {
			return nil, wire.ClientException("Node %s cannot be stopped on its own. Stop job %s.", id, n.ID())
		}
		t := taskOf(m, id)
		if t == nil {
			c.Remark("AWS Batch accepts this silently; no such job exists", []string{id})
			return nil, nil
		}
		return t.Stop(terminate, *reason), nil
	})
}
