package plan

import (
	"cmp"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// TargetState is what a target reported about the resources of a plan, at one moment. An error text
// names what it did not report: that is unknown, neither good nor bad. Nil means that the plan
// was not compared with a target.
type TargetState struct {
	// Target names the target for people: "aws us-east-1".
	Target string
	// Region is "" on the local engine.
	Region string
	// Local is true for the local engine: it creates the queues that a plan names, and its jobs
	// cost nothing.
	Local bool
	// Unreached says why nothing could be asked at all.
	Unreached string
	// Definitions is what is registered, by the names that DefinitionNames lists.
	Definitions map[string]Registered
	// Queues are the plan's queues that exist at the target, and Environments their compute
	// environments.
	Queues       []types.JobQueueDetail
	Environments []types.ComputeEnvironmentDetail
	// Machines are those of the environments that AWS Batch does not scale, by the environment's name.
	Machines map[string][]batch.Machine
	// Consumables has the total quantity of each consumable resource of the local engine; nil if they are unknown.
	Consumables map[string]int64
	// QueuesErr, EnvironmentsErr and MachinesErr say why they could not be read.
	QueuesErr, EnvironmentsErr, MachinesErr string
}

// Registered describes the revisions of a job definition that the target has.
type Registered struct {
	// Newest is the newest ACTIVE revision, or nil.
	Newest *types.JobDefinition
	// Same is the newest ACTIVE revision with the content that the plan would
	// register; Named the ACTIVE revision that a submission names. Nil: none.
	Same, Named *types.JobDefinition
	// Err says why it could not be read.
	Err string
}

// Tree returns the definition that a submission names, in the form of a RegisterJobDefinition request; nil if there is
// none. It has no place in a file.
func (r Registered) Tree() (*jsontree.Node, error) {
	if r.Named == nil {
		return nil, nil
	}
	return tree(r.Named)
}

// DefinitionNames returns the job definitions that the plan asks the target for:
// those that it registers, and those that its submissions name and it does not
// bring along; as the plan writes them, each once.
func (p *Plan) DefinitionNames() []string {
	var names []string
	for _, j := range p.Jobs {
		if name := j.definitionWord(); name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// definitionWord is how the plan names the job's definition.
func (j *Job) definitionWord() string {
	if j.Register != nil {
		return aws.ToString(j.Register.JobDefinitionName)
	}
	return batch.Name(aws.ToString(j.Submit.JobDefinition))
}

// QueueNames returns the queues that the plan submits to, each once.
func (p *Plan) QueueNames() []string {
	var names []string
	for _, j := range p.Jobs {
		if j.Submit != nil && !slices.Contains(names, aws.ToString(j.Submit.JobQueue)) {
			names = append(names, aws.ToString(j.Submit.JobQueue))
		}
	}
	return names
}

// EnvironmentNames returns the compute environments behind the queues, each once.
func (w *TargetState) EnvironmentNames() []string {
	var names []string
	for _, q := range w.Queues {
		for _, o := range q.ComputeEnvironmentOrder {
			if name := aws.ToString(o.ComputeEnvironment); !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// queue finds a queue by name or ARN.
func (w *TargetState) queue(word string) (types.JobQueueDetail, bool) {
	i := slices.IndexFunc(w.Queues, func(q types.JobQueueDetail) bool {
		return aws.ToString(q.JobQueueArn) == word || aws.ToString(q.JobQueueName) == batch.Name(word)
	})
	if i < 0 {
		return types.JobQueueDetail{}, false
	}
	return w.Queues[i], true
}

// environment finds a compute environment by name or ARN.
func (w *TargetState) environment(word string) (types.ComputeEnvironmentDetail, bool) {
	i := slices.IndexFunc(w.Environments, func(e types.ComputeEnvironmentDetail) bool {
		return aws.ToString(e.ComputeEnvironmentArn) == word ||
			aws.ToString(e.ComputeEnvironmentName) == batch.Name(word)
	})
	if i < 0 {
		return types.ComputeEnvironmentDetail{}, false
	}
	return w.Environments[i], true
}

// inOrder is the queue's compute environments in the order in which AWS Batch
// tries them.
func inOrder(q types.JobQueueDetail) []string {
	order := slices.Clone(q.ComputeEnvironmentOrder)
	slices.SortStableFunc(order, func(a, b types.ComputeEnvironmentOrder) int {
		return cmp.Compare(aws.ToInt32(a.Order), aws.ToInt32(b.Order))
	})
	var names []string
	for _, o := range order {
		names = append(names, aws.ToString(o.ComputeEnvironment))
	}
	return names
}

// Account returns the AWS account, as the ARNs that the target answered with name
// it; "" if it has not named any.
func (w *TargetState) Account() string {
	if w == nil || w.Local {
		return ""
	}
	for _, q := range w.Queues {
		if a := batch.Account(aws.ToString(q.JobQueueArn)); a != "" {
			return a
		}
	}
	for _, d := range w.Definitions {
		if d.Newest != nil {
			return batch.Account(aws.ToString(d.Newest.JobDefinitionArn))
		}
	}
	return ""
}
