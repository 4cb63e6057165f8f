package document

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/stage"
)

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
		if saved = checkpointOf(d.Checkpoint, value); IsLocal(d.Checkpoint.To) &&
			!strings.HasPrefix(d.Checkpoint.To, "/") {
			return unstaging{}
		}
	}
	again := jsontree.NewObject(value)
	again.Set("inputs", inputs.Clone())
	again.Set("outputs", outputs.Clone())
	again.Set("checkpoint", saved.Clone())
	var job Job
	var p problems
	readLocations(&p, again, &job, Options{})
	readCheckpoint(&p, again.Get("checkpoint"), &job)
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

// checkpointOf returns the member of a job for the checkpoint of a document; nil if it cannot be one.
func checkpointOf(c *stage.Checkpoint, from *jsontree.Node) *jsontree.Node {
	m := jsontree.NewObject(from)
	m.Set("path", jsontree.NewString(c.Path, from))
	m.Set("to", jsontree.NewString(c.To, from))
	if c.Every != 0 {
		timeout := jsontree.NewObject(from)
		timeout.Set("attemptDurationSeconds", jsontree.NewInt(int64(c.Every), from))
		m.Set("every", duration(timeout))
	}
	return m
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
