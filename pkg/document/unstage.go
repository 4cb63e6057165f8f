package document

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/stage"
)

// localPlace returns the first local source or destination of the job; nil without one.
func (j *Job) localPlace() *jsontree.Node {
	for _, in := range j.Inputs {
		if IsLocal(in.Source.Text) {
			return in.Source
		}
	}
	for _, out := range j.Outputs {
		if IsLocal(out.Destination.Text) {
			return out.Destination
		}
	}
	return nil
}

// stageNative adds a job's inputs and outputs to copies of its requests, as pkg/plan does
// for requests that are sent.
func stageNative(job *Job, register, submit *jsontree.Node) {
	if !job.IsStaged() || commandOf(job) == nil {
		return // NoNative reports it
	}
	box := submit.Get("containerOverrides")
	if box.Get("command").Len() == 0 {
		box = register.Get("containerProperties")
	}
	command := jsontree.NewArray(box)
	var args []string
	for n := range box.Get("command").Children() {
		args = append(args, n.Str())
	}
	for _, arg := range StagedCommand("", args) {
		command.Append(jsontree.NewString(arg, box))
	}
	box.Set("command", command)
	if register != nil {
		box = register.Get("containerProperties")
	}
	environment := box.Get("environment").Clone()
	if environment == nil {
		environment = jsontree.NewArray(box)
	}
	v := jsontree.NewObject(box)
	v.Set("name", jsontree.NewString(stage.Variable, box))
	v.Set("value", jsontree.NewString(StageText(job.Document()), box))
	environment.Append(v)
	box.Set("environment", environment)
}

// unstaging holds inputs and outputs that were found in a request. It has no members if
// lowering would not build the same request from them.
type unstaging struct{ inputs, outputs, checkpoint *jsontree.Node }

// unstaged finds the inputs and outputs in a container of the requests.
func (c *compaction) unstaged(box *jsontree.Node) unstaging {
	var u unstaging
	command, environment := box.Get("command"), box.Get("environment")
	if command.Len() < 4 || c.register != nil && c.submit.Get("containerOverrides").Get("command") != nil {
		return u
	}
	for i, word := range StagedCommand("", nil) {
		if command.Index(i).Str() != word {
			return u
		}
	}
	count := 0
	for v := range environment.Children() {
		if v.Get("name").Str() == stage.Variable {
			count++
		}
	}
	last := environment.Index(environment.Len() - 1)
	if count != 1 || last.Len() != 2 || last.Get("name").Str() != stage.Variable {
		return u
	}
	return unstagingOf(last.Get("value"))
}

// unstagingOf reads the document in a variable, if lowering would write the same document.
func unstagingOf(value *jsontree.Node) unstaging {
	var d stage.Document
	if json.Unmarshal([]byte(value.Str()), &d) != nil || strings.Contains(value.Str(), referenceMark) {
		return unstaging{}
	}
	inputs, outputs := jsontree.NewObject(value), jsontree.NewObject(value)
	for _, in := range d.Inputs {
		if IsLocal(in.From) || !addLocation(inputs, in.To, "source", in.From, "sha256", in.SHA256) {
			return unstaging{}
		}
	}
	for _, out := range d.Outputs {
		if IsLocal(out.To) || !slices.Contains([]string{"", WhenFailure, WhenAlways}, out.When) ||
			!addLocation(outputs, out.From, "destination", out.To, "when", out.When) {
			return unstaging{}
		}
	}
	var saved *jsontree.Node
	if d.Checkpoint != nil {
		if saved = checkpointOf(d.Checkpoint, value); IsLocal(d.Checkpoint.To) && !strings.HasPrefix(d.Checkpoint.To, "/") {
			return unstaging{}
		}
	}
	again := &lowering{job: jsontree.NewObject(value)}
	again.job.Set("inputs", inputs.Clone())
	again.job.Set("outputs", outputs.Clone())
	again.job.Set("checkpoint", saved.Clone())
	var job Job
	again.readLocations(&job, Options{})
	again.readCheckpoint(&job)
	if !job.IsStaged() || StageText(job.Document()) != value.Str() {
		return unstaging{}
	}
	u := unstaging{checkpoint: saved}
	if inputs.Len() > 0 {
		u.inputs = inputs
	}
	if outputs.Len() > 0 {
		u.outputs = outputs
	}
	return u
}

// addLocation adds a member for a path: only the location, or an object with one further
// member. It returns false for a path that cannot be a member.
func addLocation(to *jsontree.Node, path, name, location, more, value string) bool {
	if strings.HasPrefix(path, "$") || to.Get(path) != nil {
		return false
	}
	short := jsontree.NewString(location, to)
	if value == "" {
		to.Set(path, short)
		return true
	}
	long := jsontree.NewObject(to)
	long.Set(name, short)
	long.Set(more, jsontree.NewString(value, to))
	to.Set(path, long)
	return true
}

func (u unstaging) isEmpty() bool { return u.inputs == nil && u.outputs == nil && u.checkpoint == nil }

// command returns the user's part of a command.
func (u unstaging) command(command *jsontree.Node) *jsontree.Node {
	if u.isEmpty() {
		return nil
	}
	rest := jsontree.NewArray(command)
	i := 0
	for word := range command.Children() {
		if i >= len(StagedCommand("", nil)) {
			rest.Append(word.Clone())
		}
		i++
	}
	return rest
}

// environment moves the variables that the user set.
func (c *compaction) environment(list *jsontree.Node, u unstaging) {
	if u.isEmpty() {
		c.move("environment", list, asMapOf("value"))
		return
	}
	rest := jsontree.NewArray(list)
	for v := range list.Children() {
		if v.Get("name").Str() != stage.Variable {
			rest.Append(v.Clone())
		}
	}
	c.taken[list] = true
	if rest.Len() > 0 {
		c.move("environment", rest, asMapOf("value"))
	}
}
