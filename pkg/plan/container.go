package plan

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/wire"
)

// ruleArrayVariable is the rule for variables that the job sets otherwise, by its name in a report.
const ruleArrayVariable = "array-variable"

// variables sets the environment variables of a job's container.
type variables struct{ *converter }

// setVariable sets an environment variable of the container. by is the member that causes it. It
// reports a problem if the job sets another value.
func (c *variables) setVariable(j *document.Job, job *Job, by *jsontree.Node, name, value string) {
	subject := "the array sets"
	if by != j.Array {
		subject = "its " + by.Name + " set"
	}
	if c.givesOther(job, by, subject, name, value) {
		return
	}
	if j.Register != nil {
		own := job.Register.ContainerProperties
		own.Environment = set(own.Environment, variable(name, value))
		return
	}
	job.Submit.ContainerOverrides = withVariables(job.Submit.ContainerOverrides, variable(name, value))
}

// givesOther reports a job whose environment sets a variable to another value. subject says what needs the value.
func (c *variables) givesOther(job *Job, by *jsontree.Node, subject, name, value string) bool {
	for _, given := range job.environments() {
		for _, v := range given {
			if aws.ToString(v.Name) == name && aws.ToString(v.Value) != value {
				c.fail(by, ruleArrayVariable, fmt.Sprintf("the job sets %s to %q, but %s it to %q", name,
					aws.ToString(v.Value), subject, value),
					"remove the variable from the job's environment")
				return true
			}
		}
	}
	return false
}

// fitsOverrides reports a problem if the overrides are too large with a member of the file.
func (c *variables) fitsOverrides(job *Job, by *jsontree.Node, rule, with, hint string) {
	overrides := cmp.Or(job.Submit.ContainerOverrides, &types.ContainerOverrides{})
	if size, limit := sizeOf(overrides), MaxOverrides-OverridesReserve-cellsReserve; size > limit {
		c.fail(by, rule, fmt.Sprintf("with %s, containerOverrides has %d bytes, more than the limit of %d", with, size,
			limit), hint)
	}
}

// overridesSeveral reports whether the job overrides a definition of several containers.
func overridesSeveral(j *Job) bool {
	return j.Submit.EcsPropertiesOverride != nil || j.Submit.EksPropertiesOverride != nil ||
		j.Submit.NodeOverrides != nil
}

// command returns the effective command: that of the overrides, or else that of the definition;
// nil if the files do not contain it.
func (j *Job) command(d *awsbatch.RegisterJobDefinitionInput) []string {
	switch over := j.Submit.ContainerOverrides; {
	case over != nil && len(over.Command) > 0:
		return over.Command
	case d != nil && d.ContainerProperties != nil:
		return d.ContainerProperties.Command
	}
	return nil
}

// setCommand replaces the effective command. If that is in a definition which the job does not
// contain, it overrides it.
func (j *Job) setCommand(of *document.Job, command []string) {
	over := j.Submit.ContainerOverrides
	if !slices.Equal(command, j.command(j.Register)) {
		j.Sent = command
	}
	if of.Register != nil && (over == nil || len(over.Command) == 0) {
		j.Register.ContainerProperties.Command = command
		return
	}
	overrides := types.ContainerOverrides{}
	if over != nil {
		overrides = *over
	}
	overrides.Command = command
	j.Submit.ContainerOverrides = &overrides
}

// environments returns the environments in the job's own requests.
func (j *Job) environments() (all [][]types.KeyValuePair) {
	if j.Register != nil && j.Register.ContainerProperties != nil {
		all = append(all, j.Register.ContainerProperties.Environment)
	}
	if j.Submit.ContainerOverrides != nil {
		all = append(all, j.Submit.ContainerOverrides.Environment)
	}
	return all
}

// variable returns an environment variable.
func variable(name, value string) types.KeyValuePair {
	return types.KeyValuePair{Name: aws.String(name), Value: aws.String(value)}
}

// withVariables returns a copy of the overrides with a variable added.
func withVariables(in *types.ContainerOverrides, v types.KeyValuePair) *types.ContainerOverrides {
	var out types.ContainerOverrides
	if in != nil {
		out = *in
	}
	out.Environment = set(out.Environment, v)
	return &out
}

// set returns a copy of an environment with a variable set.
func set(environment []types.KeyValuePair, v types.KeyValuePair) []types.KeyValuePair {
	rest := slices.DeleteFunc(slices.Clone(environment),
		func(o types.KeyValuePair) bool { return aws.ToString(o.Name) == *v.Name })
	return append(rest, v)
}

// spaceForVariable is how many bytes a variable may have in a request that is to stay
// within a limit.
func spaceForVariable(request any, limit int) int {
	return limit - sizeOf(request) - len(`,"environment":[,]`)
}

// sizeOf is the size of a shape of the SDK as JSON. What has no JSON has no size: it
// is refused where it is sent.
func sizeOf(shape any) int {
	text, _ := wire.Marshal(shape)
	return len(text)
}
