package batchapi

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/local/api/call"
	"github.com/batchctl/batchctl/pkg/local/attempt"
	"github.com/batchctl/batchctl/pkg/local/model"
	"github.com/batchctl/batchctl/pkg/wire"
)

// definitions has the operations on job definitions.
type definitions struct{ *service }

// These are the statuses of job definitions.
const (
	statusActive   = "ACTIVE"
	statusInactive = "INACTIVE"
)

// definitionStatus returns the status that DescribeJobDefinitions shows and filters by.
func definitionStatus(d *model.Definition) string {
	if d.Inactive {
		return statusInactive
	}
	return statusActive
}

// registerJobDefinition records the next revision of a name. Numbers of deregistered revisions
// are not used again. A call that the SDK repeats gets the revision of the first one. The notice
// of the answer lists the members without effect here, or tells why jobs of the definition cannot
// run.
func (ds definitions) registerJobDefinition(c *call.Call,
	in *awsbatch.RegisterJobDefinitionInput) (*awsbatch.RegisterJobDefinitionOutput, error) {
	if err := cmp.Or(checkDefinitionSize(c), checkDefinition(in), ds.check(c)); err != nil {
		return nil, err
	}
	dropped := dropEmptyVariables(in)
	r := &model.Registration{Invocation: c.Invocation(),
		Request: model.Shape[*awsbatch.RegisterJobDefinitionInput]{V: in}}
	err := ds.backend.Change(func(m *model.Model) ([]model.Event, error) {
		if id, again := m.MadeBy(r.Invocation); again {
			r.Revision = m.Definition(id).Revision
			return nil, nil
		}
		// The list keeps inactive revisions, so its length never decreases.
		r.Revision = int32(len(m.Definitions[*in.JobDefinitionName]) + 1)
		return []model.Event{{Registered: r}}, nil
	})
	if err != nil {
		return nil, err
	}
	d := &model.Definition{Revision: r.Revision, Request: in}
	w, err := model.WorkOf(d, &awsbatch.SubmitJobInput{})
	if err != nil {
		return nil, err // checkDefinition has tried it
	}
	c.Remark("AWS Batch drops variables with an empty value, and so does the engine", dropped)
	// The definition is registered in any case: a later job may choose another executor.
	x, err := ds.backend.Executor(c.Request.Context(), attempt.ChosenIn(in, nil))
	switch {
	case err != nil:
		c.Remark("jobs of this definition cannot run", []string{err.Error()})
	default:
		noticeMembers(c, x, unhonoured(x, in, nil, w))
	}
	return &awsbatch.RegisterJobDefinitionOutput{
		JobDefinitionArn:  aws.String(model.ARN("job-definition", d.ID())),
		JobDefinitionName: in.JobDefinitionName,
		Revision:          aws.Int32(r.Revision),
	}, nil
}

// dropEmptyVariables removes the variables without a value from the containers of a definition and returns their
// names. AWS Batch accepts them, and neither describes them nor gives them to jobs: see
// hashicorp/terraform-provider-aws#29820. No report says the same of overrides or of pods.
func dropEmptyVariables(in *awsbatch.RegisterJobDefinitionInput) (dropped []string) {
	drop := func(list *[]types.KeyValuePair) {
		*list = slices.DeleteFunc(*list, func(v types.KeyValuePair) bool {
			if aws.ToString(v.Value) != "" {
				return false
			}
			dropped = append(dropped, aws.ToString(v.Name))
			return true
		})
	}
	dropInTask := func(e *types.EcsProperties) {
		if e == nil {
			return
		}
		for _, task := range e.TaskProperties {
			for i := range task.Containers {
				drop(&task.Containers[i].Environment)
			}
		}
	}
	if c := in.ContainerProperties; c != nil {
		drop(&c.Environment)
	}
	dropInTask(in.EcsProperties)
	if p := in.NodeProperties; p != nil {
		for _, r := range p.NodeRangeProperties {
			if r.Container != nil {
				drop(&r.Container.Environment)
			}
			dropInTask(r.EcsProperties)
		}
	}
	return dropped
}

// checkDefinitionSize rejects a body of more than 24 KiB, Batch's quota for the size of a
// definition.
func checkDefinitionSize(c *call.Call) error {
	if size := len(c.Body); size > 24<<10 {
		return wire.ClientException("Job definition size must be at most 24 KiB, got %d KiB", size>>10)
	}
	return nil
}

// checkDefinition rejects definitions that Batch rejects, and members that this engine does not
// implement.
func checkDefinition(in *awsbatch.RegisterJobDefinitionInput) error {
	switch {
	case !definitionName().MatchString(aws.ToString(in.JobDefinitionName)):
		return failed("Job definition name should match a valid pattern.")
	case in.Type != types.JobDefinitionTypeContainer && in.Type != types.JobDefinitionTypeMultinode:
		return wire.ClientException("Job definition type %q is not valid. Valid types: [container, multinode]", in.Type)
	case in.Type == types.JobDefinitionTypeMultinode:
	case in.NodeProperties != nil:
		return wire.ClientException("nodeProperties are only for a job definition of type multinode.")
	case in.EksProperties != nil || in.EcsProperties != nil:
	case in.ContainerProperties == nil: // also if empty members were given
		return wire.ClientException("ECS Container Image must be provided.")
	case aws.ToString(in.ContainerProperties.Image) == "":
		return wire.ClientException("ECS Container Image must be provided.")
	}
	shaped := cmp.Or(checkNodes(in), checkParts(in), checkPodDefinition(in))
	if shaped != nil {
		return shaped // without valid containers, the checks below could fail
	}
	d := &model.Definition{Request: in}
	w, err := model.WorkOf(d, &awsbatch.SubmitJobInput{})
	if err != nil {
		return err
	}
	return cmp.Or(shaped, checkDefinitionValues(in), checkWork(d, w, false), checkVariables(w.Container.Environment),
		checkRetry(in.RetryStrategy), checkTimeout(in.Timeout), checkTags(in.Tags),
		checkConsumables(in.ConsumableResourceProperties))
}

// checkDefinitionValues checks the members that are independent of the kind of definition.
func checkDefinitionValues(in *awsbatch.RegisterJobDefinitionInput) error {
	switch {
	case len(in.PlatformCapabilities) > 1:
		return wire.ClientException("Exactly 1 capability must be provided.")
	case in.ContainerProperties != nil && in.ContainerProperties.InstanceType != nil:
		return wire.ClientException("instanceType is only for multi-node jobs.")
	}
	return checkSchedulingPriority(in.SchedulingPriority)
}

// deregisterJobDefinition makes a revision INACTIVE. Jobs that were submitted with it keep
// running, and it can still be described. Repeating the request is no error.
func (ds definitions) deregisterJobDefinition(c *call.Call,
	in *awsbatch.DeregisterJobDefinitionInput) (*awsbatch.DeregisterJobDefinitionOutput, error) {
	id := model.ResourceName(aws.ToString(in.JobDefinition), "job-definition")
	err := ds.backend.Change(func(m *model.Model) ([]model.Event, error) {
		d := m.Definition(id)
		switch {
		// A name alone would be ambiguous: Batch deregisters exactly one revision.
		case d == nil && !strings.Contains(id, ":"):
			return nil, wire.ClientException("JobDefinition %s: name and revision (name:revision) are needed.", id)
		case d == nil:
			return nil, wire.ClientException("JobDefinition %s does not exist.", id)
		case d.Inactive:
			return nil, nil
		}
		return []model.Event{{Deregistered: &model.Deregistration{Definition: d.ID()}}}, nil
	})
	return &awsbatch.DeregisterJobDefinitionOutput{}, err
}

// activeDefinition returns the revision that a SubmitJob refers to. A name without revision means
// the latest active one.
func activeDefinition(m *model.Model, text string) (*model.Definition, error) {
	id := model.ResourceName(text, "job-definition")
	name, revision, _ := strings.Cut(id, ":")
	if revision != "" {
		if d := m.Definition(id); d != nil && !d.Inactive {
			return d, nil
		}
		return nil, wire.ClientException("JobDefinition name %s does not exist or is not in ACTIVE status.", id)
	}
	for _, d := range slices.Backward(m.Definitions[name]) {
		if !d.Inactive {
			return d, nil
		}
	}
	return nil, wire.ClientException("JobDefinition name %s does not exist or is not in ACTIVE status.", name)
}

// describeJobDefinitions returns definitions by ARN or name:revision in the order of the request,
// or pages of all revisions of one name or of every name. A status filters each of them.
func (ds definitions) describeJobDefinitions(c *call.Call,
	in *awsbatch.DescribeJobDefinitionsInput) (*awsbatch.DescribeJobDefinitionsOutput, error) {
	if len(in.JobDefinitions) > 100 {
		return nil, wire.ClientException("Maximum number of job definitions supported is 100")
	}
	// The API reference excludes all other parameters, but AWS Batch accepts status (boto/boto3#2908).
	refused := checkNamed("JobDefinitions", in.JobDefinitions, in.MaxResults)
	if len(in.JobDefinitions) > 0 && in.JobDefinitionName != nil {
		refused = wire.ClientException("Only one of jobDefinitions and jobDefinitionName can be given.")
	}
	if refused != nil {
		return nil, refused
	}
	m, done := ds.backend.View()
	defer done()
	var all []*model.Definition
	switch {
	case len(in.JobDefinitions) > 0:
		for _, text := range in.JobDefinitions {
			if d := m.Definition(model.ResourceName(text, model.KindDefinition)); d != nil {
				all = append(all, d)
			}
		}
	case in.JobDefinitionName != nil:
		all = newestFirst(m.Definitions[*in.JobDefinitionName])
	default:
		for _, name := range call.SortedKeys(m.Definitions) {
			all = append(all, newestFirst(m.Definitions[name])...)
		}
	}
	all = slices.DeleteFunc(all, func(d *model.Definition) bool {
		return in.Status != nil &&
			definitionStatus(d) != *in.Status
	})
	page, next := all, (*string)(nil)
	if len(in.JobDefinitions) == 0 { // requested definitions fit on one page, in the order of the request
		var err error
		if page, next, err = call.Page(all, in.MaxResults, 100, in.NextToken, sortKey); err != nil {
			return nil, err
		}
	}
	out := &awsbatch.DescribeJobDefinitionsOutput{NextToken: next, JobDefinitions: []types.JobDefinition{}}
	for _, d := range page {
		out.JobDefinitions = append(out.JobDefinitions, describeDefinition(m, d))
	}
	return out, nil
}

// describeDefinition returns a revision as DescribeJobDefinitions shows it, including the members
// that Batch adds: status, revision and orchestration.
func describeDefinition(m *model.Model, d *model.Definition) types.JobDefinition {
	r := d.Request
	orchestration := types.OrchestrationTypeEcs
	if d.Platform() == model.PlatformEKS {
		orchestration = types.OrchestrationTypeEks
	}
	return types.JobDefinition{
		ConsumableResourceProperties: r.ConsumableResourceProperties,
		JobDefinitionArn:             aws.String(model.ARN("job-definition", d.ID())),
		JobDefinitionName:            r.JobDefinitionName,
		Revision:                     aws.Int32(d.Revision),
		Status:                       aws.String(definitionStatus(d)),
		Type:                         aws.String(string(r.Type)),
		ContainerOrchestrationType:   orchestration,
		ContainerProperties:          describedContainer(r.ContainerProperties, d.Fargate()),
		EcsProperties:                describedParts(r.EcsProperties),
		EksProperties:                model.DescribedPods(r.EksProperties),
		NodeProperties:               describedNodes(r.NodeProperties),
		Parameters:                   model.Merged(nil, r.Parameters),
		PlatformCapabilities:         r.PlatformCapabilities,
		PropagateTags:                r.PropagateTags,
		RetryStrategy:                describedRetry(r.RetryStrategy),
		SchedulingPriority:           r.SchedulingPriority,
		Tags:                         model.Merged(nil, m.Tags[model.ResourceOf(model.KindDefinition, d.ID())]),
		Timeout:                      r.Timeout,
	}
}

// describedContainer returns the container of a definition as Batch shows it: empty lists instead
// of missing ones, and a platform version for Fargate.
func describedContainer(c *types.ContainerProperties, fargate bool) *types.ContainerProperties {
	if c == nil {
		return nil
	}
	d := *c
	d.Command = append([]string{}, c.Command...)
	d.Environment = append([]types.KeyValuePair{}, c.Environment...)
	d.MountPoints = append([]types.MountPoint{}, c.MountPoints...)
	d.ResourceRequirements = append([]types.ResourceRequirement{}, c.ResourceRequirements...)
	d.Secrets = append([]types.Secret{}, c.Secrets...)
	d.Ulimits = append([]types.Ulimit{}, c.Ulimits...)
	d.Volumes = append([]types.Volume{}, c.Volumes...)
	if fargate && c.FargatePlatformConfiguration == nil {
		d.FargatePlatformConfiguration = &types.FargatePlatformConfiguration{PlatformVersion: aws.String("LATEST")}
	}
	return &d
}

// describedNodes returns the nodes of a definition or job as Batch shows them: their containers have empty lists too.
func describedNodes(p *types.NodeProperties) *types.NodeProperties {
	if p == nil {
		return nil
	}
	d := *p
	d.NodeRangeProperties = slices.Clone(p.NodeRangeProperties)
	for i := range d.NodeRangeProperties {
		r := &d.NodeRangeProperties[i]
		r.Container, r.EcsProperties, r.EksProperties = describedContainer(r.Container, false),
			describedParts(r.EcsProperties), model.DescribedPods(r.EksProperties)
		r.InstanceTypes = append([]string{}, r.InstanceTypes...)
	}
	return &d
}

// describedParts returns the containers of a definition with ecsProperties, with empty lists as those of its jobs.
func describedParts(p *types.EcsProperties) *types.EcsProperties {
	if p == nil {
		return nil
	}
	d := &types.EcsProperties{TaskProperties: slices.Clone(p.TaskProperties)}
	for i := range d.TaskProperties {
		task := &d.TaskProperties[i]
		task.Containers = slices.Clone(task.Containers)
		task.Volumes = append([]types.Volume{}, task.Volumes...)
		for k := range task.Containers {
			c := &task.Containers[k]
			c.Essential = cmp.Or(c.Essential, aws.Bool(true))
			c.Command = append([]string{}, c.Command...)
			c.DependsOn = append([]types.TaskContainerDependency{}, c.DependsOn...)
			c.Environment = append([]types.KeyValuePair{}, c.Environment...)
			c.MountPoints = append([]types.MountPoint{}, c.MountPoints...)
			c.ResourceRequirements = append([]types.ResourceRequirement{}, c.ResourceRequirements...)
			c.Secrets = append([]types.Secret{}, c.Secrets...)
			c.Ulimits = append([]types.Ulimit{}, c.Ulimits...)
		}
	}
	return d
}

// newestFirst returns the revisions of a name in the order of DescribeJobDefinitions, which AWS Batch does not
// guarantee. The model keeps them in ascending order.
func newestFirst(revisions []*model.Definition) []*model.Definition {
	out := slices.Clone(revisions)
	slices.Reverse(out)
	return out
}

// sortKey returns the sort key of a revision in that order.
func sortKey(d *model.Definition) string {
	return fmt.Sprintf("%s %010d", d.Name(), math.MaxInt32-d.Revision) // no name has a blank
}
