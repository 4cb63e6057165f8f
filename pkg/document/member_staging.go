package document

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/stage"
	"github.com/batchctl/batchctl/pkg/sweep"
)

// inputsMember and outputsMember are the files to download and upload. The stage program finds both, and the
// checkpoint, in one variable.
var (
	inputsMember  = member{name: "inputs", oneContainer: true, merge: mergeLocations, find: findStaged}
	outputsMember = member{name: "outputs", oneContainer: true, merge: mergeLocations}
)

// mergeLocations merges inputs or outputs. The location for a path in the container and its options belong together.
func mergeLocations(below, above *jsontree.Node) *jsontree.Node {
	out := jsontree.Merge(below, above)
	for m := range above.Children() {
		out.Set(m.Name, m.Clone())
	}
	return out
}

// stage reads the job's inputs and outputs, and checks that its command can run with them.
func (l *lowering) stage(job *Job, o Options) {
	readLocations(&l.problems, l.job, job, o)
	if l.means != byFragment { // else reported with the conflicts
		readCheckpoint(&l.problems, l.job.Get("checkpoint"), job)
	}
	l.checkCommand(job)
}

// readLocations adds the inputs and outputs of the tree written to the job, and searches for the local
// files among them. Rules check their form later.
func readLocations(p *problems, written *jsontree.Node, job *Job, o Options) {
	for m := range written.Get("inputs").Children() {
		in := Input{Node: m, Path: m.Name, Source: m}
		if m.Is(jsontree.Object) {
			in.Source, in.SHA256 = m.Get("source"), m.Get("sha256")
		}
		if in.Source == nil {
			continue
		}
		if in.Source.Text != "" && IsLocal(in.Source.Text) {
			findInput(p, &in, written.Source, o)
		}
		job.Inputs = append(job.Inputs, in)
	}
	for m := range written.Get("outputs").Children() {
		out := Output{Node: m, Path: m.Name, Destination: m}
		if m.Is(jsontree.Object) {
			out.Destination, out.When = m.Get("destination"), m.Get("when").Str()
		}
		if out.When == "success" {
			out.When = ""
		}
		if out.Destination != nil {
			job.Outputs = append(job.Outputs, out)
		}
	}
}

// findInput searches for a local source, relative to the file that names it.
func findInput(p *problems, in *Input, document *diag.Source, o Options) {
	n := in.Source
	if strings.Contains(n.Text, referenceMark) {
		return // reported with the references
	}
	if o.Platform != nil && o.Platform.Defaults != nil && n.Source == o.Platform.Defaults.Source {
		document = n.Source
	}
	if o.Find == nil {
		in.Local.Path = siblingPath(document.Name, filepath.FromSlash(n.Text))
		return
	}
	found, err := o.Find(document.Name, n.Text)
	if err != nil {
		p.report(RuleInputFile, n, n.Span, hintOf(err), "cannot read input %s: %v", strconv.Quote(clip(n.Text)), err)
		return
	}
	in.Local = found
}

// checkCommand reports a job whose command batchctl stage cannot start.
func (l *lowering) checkCommand(job *Job) {
	member := l.job.Get("inputs")
	switch {
	case len(job.Inputs) > 0:
	case len(job.Outputs) > 0:
		member = l.job.Get("outputs")
	default:
		member = l.job.Get("checkpoint")
	}
	if !job.IsStaged() || l.means == byFragment || l.means == byNothing || l.spoilt {
		return // reported already, or correct
	}
	if m := l.severalContainers(job); m != nil {
		l.report(RuleMemberConflict, member, member.Key,
			`write the job with "image", or with "definition" and "command"`,
			"%s only in a job with one container, and this job has %s", worksOnly(member.Name), m.Name)
		return
	}
	runsLines := job.Array.Get("commands") != nil && launcherOf(job.Array) != sweep.Image
	if commandOf(job) == nil && !runsLines && job.Register != nil && l.readable("command") {
		l.report(RuleMissingMember, member, member.Key, `add "command" with the image's own command and its arguments`,
			"%s the job's command: batchctl stage runs it, and does not know the image's own command",
			needs(member.Name))
	}
}

// findStaged finds the inputs, the outputs and the checkpoint of a container, unless lowering would not build the same
// request from them.
func findStaged(c *compaction) {
	box := c.box()
	command, launcher := texts(box.Get("command")), StagedCommand("", nil)
	n := len(launcher)
	if len(command) <= n || !slices.Equal(command[:n], launcher) ||
		c.register != nil && c.submit.Get("containerOverrides").Get("command") != nil {
		return
	}
	v := lastVariable(box, stage.Variable)
	if v == nil || !c.unstage(v.Get("value")) {
		return
	}
	box = withoutLastVariable(box)
	setCommand(box, command[n:])
	if c.register == nil {
		c.submit = c.submit.Clone()
		c.submit.Set("containerOverrides", box)
	} else {
		c.register = c.register.Clone()
		c.register.Set("containerProperties", box)
	}
}

// unstage finds the members for the document in a variable. It returns false if lowering would write another document.
func (c *compaction) unstage(value *jsontree.Node) bool {
	var d stage.Document
	if json.Unmarshal([]byte(value.Str()), &d) != nil || strings.Contains(value.Str(), referenceMark) {
		return false
	}
	found := jsontree.NewObject(value)
	inputs, outputs := jsontree.NewObject(value), jsontree.NewObject(value)
	for _, in := range d.Inputs {
		if IsLocal(in.From) || !addLocation(inputs, in.To, "source", in.From, "sha256", in.SHA256) {
			return false
		}
	}
	for _, out := range d.Outputs {
		if IsLocal(out.To) || !slices.Contains([]string{"", WhenFailure, WhenAlways}, out.When) ||
			!addLocation(outputs, out.From, "destination", out.To, "when", out.When) {
			return false
		}
	}
	if inputs.Len() > 0 {
		found.Set("inputs", inputs)
	}
	if outputs.Len() > 0 {
		found.Set("outputs", outputs)
	}
	if s := d.Checkpoint; s != nil {
		if IsLocal(s.To) && !strings.HasPrefix(s.To, "/") {
			return false
		}
		found.Set("checkpoint", checkpointOf(s, value))
	}
	var job Job
	var p problems
	readLocations(&p, found, &job, Options{})
	readCheckpoint(&p, found.Get("checkpoint"), &job)
	if !job.IsStaged() || StageText(job.Document()) != value.Str() {
		return false
	}
	for m := range found.Children() {
		c.found[m.Name] = m.Clone()
	}
	return true
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
