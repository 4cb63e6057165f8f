package plan

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/catalog"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/sweep"
)

// Rules that only arrays with values can break, by their names in a report.
const (
	ruleArrayEmpty     = "array-empty"
	ruleArrayContainer = "array-container"
	ruleArrayCommand   = "array-command"
	ruleArrayVariable  = "array-variable"
	ruleArraySize      = "array-size"
	ruleArrayStaging   = "array-staging"
)

// launch puts the launcher before the command of a job's container, and the data that it reads
// into the environment, so that each child runs its cell.
func (b *builder) launch(g *group, job *Job) {
	j, s := g.Job, g.Sweep
	isSplit := s.Len() > catalog.MaxArraySize
	if s.Kind == sweep.Plain && !isSplit {
		return // AWS Batch sets the index; the children need no launcher
	}
	d := b.definition(job, g.known)
	if d != nil && d.ContainerProperties == nil || overridesSeveral(job) {
		b.fail(j.Array, ruleArrayContainer, "an array with values works only in a job with one container, in containerProperties",
			"write the job with image or containerProperties")
		return
	}
	if isSplit && s.Launcher == sweep.Image && s.Kind != sweep.Matrix && s.Kind != sweep.Table {
		b.fail(j.Array, ruleArraySize, fmt.Sprintf("%d children need several arrays, and the image's own program sees only its index in one of them", s.Len()),
			fmt.Sprintf(`use at most %d children, or leave out "launcher": "image"`, catalog.MaxArraySize))
		return
	}
	b.wrap(j, job, d)
	if s.Kind == sweep.Commands {
		b.list(j, job)
	}
	if s.Kind != sweep.Commands || s.Launcher != sweep.Image {
		b.document(j, job)
	}
}

// overridesSeveral reports whether the job overrides a definition of several containers.
func overridesSeveral(j *Job) bool {
	return j.Submit.EcsPropertiesOverride != nil || j.Submit.EksPropertiesOverride != nil || j.Submit.NodeOverrides != nil
}

// wrap puts the launcher before the effective command.
func (b *builder) wrap(j *document.Job, job *Job, d *awsbatch.RegisterJobDefinitionInput) {
	s := j.Sweep
	if s.Launcher == sweep.Image {
		return
	}
	command := job.command(d)
	if s.Kind == sweep.Commands { // the lines are what runs
		command = nil
	} else if len(command) == 0 {
		hint := "give the job a command"
		if s.Kind != sweep.Plain {
			hint += `, or the array "launcher": "image"`
		}
		b.fail(j.Array, ruleArrayCommand, "the launcher needs the job's command, which is unknown here", hint)
		return
	}
	job.setCommand(j, s.Command(command))
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

// list describes how the children share a command list, in the variables that programs with
// their own list support read.
func (b *builder) list(j *document.Job, job *Job) {
	s := j.Sweep
	b.setVariable(j, job, j.Array, sweep.SizeVariable, strconv.Itoa(s.Size))
	if s.KeepGoing {
		b.setVariable(j, job, j.Array, sweep.KeepGoingVariable, "1")
	}
	switch {
	case s.List != "":
		b.setVariable(j, job, j.Array, sweep.ListVariable, s.List)
	case s.Launcher == sweep.Image:
		text := strings.Join(s.Lines, "\n") + "\n"
		if url, ok := b.stage(j, job, text, "the image's own program reads the command list from its own location"); ok {
			b.setVariable(j, job, j.Array, sweep.ListVariable, url)
		}
	}
}

// setVariable sets an environment variable of the container. by is the member that causes it. It
// reports a problem if the job sets another value.
func (b *builder) setVariable(j *document.Job, job *Job, by *jsontree.Node, name, value string) {
	subject := "the array sets"
	if by != j.Array {
		subject = "its " + by.Name + " set"
	}
	if b.givesOther(job, by, subject, name, value) {
		return
	}
	if j.Register != nil {
		c := job.Register.ContainerProperties
		c.Environment = set(c.Environment, variable(name, value))
		return
	}
	job.Submit.ContainerOverrides = withVariables(job.Submit.ContainerOverrides, variable(name, value))
}

// givesOther reports a job whose environment sets a variable to another value. subject says what needs the value.
func (b *builder) givesOther(job *Job, by *jsontree.Node, subject, name, value string) bool {
	for _, given := range job.environments() {
		for _, v := range given {
			if aws.ToString(v.Name) == name && aws.ToString(v.Value) != value {
				b.fail(by, ruleArrayVariable, fmt.Sprintf("the job sets %s to %q, but %s it to %q", name, aws.ToString(v.Value), subject, value),
					"remove the variable from the job's environment")
				return true
			}
		}
	}
	return false
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
	rest := slices.DeleteFunc(slices.Clone(environment), func(o types.KeyValuePair) bool { return aws.ToString(o.Name) == *v.Name })
	return append(rest, v)
}
