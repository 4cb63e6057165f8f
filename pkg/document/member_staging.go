package document

import (
	"bytes"
	"encoding/json"
	"fmt"
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
	inputsMember = member{name: "inputs", oneContainer: true, merge: mergeLocations, read: readInputs,
		references: inputReferences, noNative: noNativeStaged, native: stageNative, find: findStaged}
	outputsMember = member{name: "outputs", oneContainer: true, merge: mergeLocations, read: readOutputs,
		references: outputReferences}
)

// Input is a file or directory that a job downloads into its container before its program
// starts.
type Input struct {
	// Node is the member of inputs; its key, and Path, is the path in the container.
	Node *jsontree.Node
	Path string
	// Source is the source in the file: a URL or a local path.
	Source *jsontree.Node
	// SHA256 is the expected checksum of the content; nil without one.
	SHA256 *jsontree.Node
	// Local is the local source, relative to the working directory. Its Path is empty for a URL
	// and for a missing file.
	Local Found
}

// Output is a file or directory that a job uploads when the program has ended.
type Output struct {
	// Node is the member of outputs; its key, and Path, is the path in the container.
	Node *jsontree.Node
	Path string
	// Destination is the destination in the file: a URL or a local path.
	Destination *jsontree.Node
	// When is "" for after success, or "failure" or "always".
	When string
}

// Found is a local file or directory.
type Found struct {
	// Path is the path from the working directory.
	Path string
	Dir  bool
	// Bytes is the size of a file.
	Bytes int64
}

// IsStaged reports whether the job has inputs, outputs or a checkpoint.
func (j *Job) IsStaged() bool { return len(j.Inputs)+len(j.Outputs) > 0 || j.Checkpoint != nil }

// mergeLocations merges inputs or outputs. The location for a path in the container and its options belong together.
func mergeLocations(below, above *jsontree.Node) *jsontree.Node {
	out := jsontree.Merge(below, above)
	for m := range above.Children() {
		out.Set(m.Name, m.Clone())
	}
	return out
}

// readInputs adds the inputs to the job, and searches for the local files among them. Rules check their form later.
func readInputs(l *lowering, inputs *jsontree.Node, job *Job) {
	for m := range inputs.Children() {
		in := Input{Node: m, Path: m.Name, Source: m}
		if m.Is(jsontree.Object) {
			in.Source, in.SHA256 = m.Get("source"), m.Get("sha256")
		}
		if in.Source == nil {
			continue
		}
		if in.Source.Text != "" && IsLocal(in.Source.Text) {
			findInput(&l.problems, &in, l.job.Source, l.options)
		}
		job.Inputs = append(job.Inputs, in)
	}
}

// readOutputs adds the outputs to the job.
func readOutputs(_ *lowering, outputs *jsontree.Node, job *Job) {
	for m := range outputs.Children() {
		out := Output{Node: m, Path: m.Name, Destination: m}
		if m.Is(jsontree.Object) {
			out.Destination, out.When = m.Get("destination"), m.Get("when").Str()
		}
		if out.When == WhenSuccess {
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
	if o.ofPlatform(n) {
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
	m := &checkpointMember
	switch {
	case len(job.Inputs) > 0:
		m = &inputsMember
	case len(job.Outputs) > 0:
		m = &outputsMember
	}
	if !job.IsStaged() || l.means == byNothing || l.spoilt {
		return // reported already, or correct
	}
	runsLines := job.Array.Get("commands") != nil && launcherOf(job.Array) != sweep.Image
	if commandOf(job) == nil && !runsLines && job.Register != nil && l.readable("command") {
		n := l.job.Get(m.name)
		l.report(RuleMissingMember, n, n.Key, `add "command" with the image's own command and its arguments`,
			"%s the job's command: batchctl stage runs it, and does not know the image's own command",
			m.with("need"))
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
	l := &lowering{job: found}
	readInputs(l, found.Get("inputs"), &job)
	readOutputs(l, found.Get("outputs"), &job)
	readCheckpoint(l, found.Get("checkpoint"), &job)
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

// inputReferences and outputReferences visit the references in locations. The launcher replaces them in the variable
// that batchctl stage reads.
func inputReferences(r *referring, job *Job) {
	for _, in := range job.Inputs {
		r.rewriteLocation(in.Node, in.Source, "input")
		r.misplaced(in.SHA256, unknownHere)
	}
}

func outputReferences(r *referring, job *Job) {
	for _, out := range job.Outputs {
		r.rewriteLocation(out.Node, out.Destination, "output")
	}
}

// rewriteLocation writes the references of a location in their canonical form.
func (r *referring) rewriteLocation(member, n *jsontree.Node, what string) {
	for _, ref := range sweep.References(member.Name) {
		r.report(RuleMatrixReference, member, member.Key, samePath, "%s is not allowed in a container path",
			clip(member.Name[ref.From:ref.To]))
	}
	if IsLocal(n.Str()) {
		r.misplacedLocal(n, "put the files into S3, and write s3://bucket/... here",
			": an "+what+" that differs between children needs an S3 URL")
		return
	}
	r.replaceLocation(n)
}

// samePath is the hint for a reference in a path in the container.
const samePath = "use the same path for all children: each has its own file system"

// misplacedLocal reports the references in a local path.
func (r *referring) misplacedLocal(n *jsontree.Node, hint, more string) {
	for _, ref := range sweep.References(n.Text) {
		r.blame(n, ref, hint, "%s is not allowed in a local path%s", clip(n.Text[ref.From:ref.To]), more)
	}
}

// replaceLocation writes the references of a URL in their canonical form, and reports values that cannot be part of a
// location.
func (r *referring) replaceLocation(n *jsontree.Node) {
	if !r.replaced(n) {
		return
	}
	r.fill(stage.Variable)
	for _, ref := range sweep.References(n.Text) {
		if value, bad := r.unfit(ref.Name); bad {
			r.blame(n, ref, "use axis values without quotes, backslashes and control characters",
				"the value %s of %s is not allowed in a location", strconv.Quote(clip(value)), ref.Name)
		}
	}
}

// unfit returns a value of an axis or column that would end the string of a location in JSON:
// the launcher inserts values without escaping.
func (r *referring) unfit(name string) (value string, bad bool) {
	if r.sweep == nil {
		return "", false
	}
	isUnfit := func(v string) bool {
		return strings.ContainsFunc(v, func(c rune) bool { return c == '"' || c == '\\' || c < ' ' })
	}
	for _, axis := range r.sweep.Axes {
		if i := slices.IndexFunc(axis.Values, isUnfit); axis.Name == name && i >= 0 {
			return axis.Values[i], true
		}
	}
	column := slices.Index(r.sweep.Names, name)
	for _, row := range r.sweep.Rows {
		if column >= 0 && isUnfit(row[column]) {
			return row[column], true
		}
	}
	return "", false
}

// noNativeStaged returns why a request cannot have the files of a job.
func noNativeStaged(job *Job) (why, hint string) {
	switch local := job.localPlace(); {
	case local != nil:
		return fmt.Sprintf("a request cannot contain files, so the local path %s has no native form",
			strconv.Quote(local.Text)), submitInstead
	case job.IsStaged() && commandOf(job) == nil:
		return "inputs, outputs and checkpoints need the job's command, and this job has none, so they have no native form",
			`give the job a "command"`
	}
	return "", ""
}

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
	setCommand(box, StagedCommand("", texts(box.Get("command"))))
	if register != nil {
		box = register.Get("containerProperties")
	}
	addVariable(box, stage.Variable, StageText(job.Document()))
}

// Document returns the document for batchctl stage in the container; nil if the job has
// neither inputs, outputs nor a checkpoint. A local source is its path. For a local destination, only
// Local is set, because submit chooses the location.
func (j *Job) Document() *stage.Document {
	if !j.IsStaged() {
		return nil
	}
	d := &stage.Document{Version: stage.Version}
	for _, in := range j.Inputs {
		d.Inputs = append(d.Inputs, stage.Input{From: in.Source.Text, To: in.Path,
			SHA256: strings.ToLower(in.SHA256.Str())})
	}
	for _, out := range j.Outputs {
		o := stage.Output{From: out.Path, To: out.Destination.Text, When: out.When}
		if IsLocal(o.To) {
			o.To, o.Local = "", out.Destination.Text
		}
		d.Outputs = append(d.Outputs, o)
	}
	if j.Checkpoint != nil {
		d.Checkpoint = j.Checkpoint.Document()
	}
	return d
}

// StageText returns a document as the value of its variable.
func StageText(d *stage.Document) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(d) // it cannot fail for strings and numbers
	return strings.TrimSuffix(b.String(), "\n")
}
