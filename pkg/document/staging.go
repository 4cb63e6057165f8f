package document

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/stage"
	"github.com/batchctl/batchctl/pkg/sweep"
)

// stage reads the job's inputs and outputs, and checks that its command can run with them.
func (l *lowering) stage(job *Job, o Options) {
	l.readLocations(job, o)
	l.readCheckpoint(job)
	l.staged(job)
}

// readLocations reads the inputs and outputs of a job, and searches for the local files
// among them. Rules check their form later.
func (l *lowering) readLocations(job *Job, o Options) {
	for m := range l.job.Get("inputs").Children() {
		in := Input{Node: m, Path: m.Name, Source: m}
		if m.Is(jsontree.Object) {
			in.Source, in.SHA256 = m.Get("source"), m.Get("sha256")
		}
		if in.Source == nil {
			continue
		}
		if in.Source.Text != "" && IsLocal(in.Source.Text) {
			l.find(&in, o)
		}
		job.Inputs = append(job.Inputs, in)
	}
	for m := range l.job.Get("outputs").Children() {
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

// find searches for a local source, relative to the file that names it.
func (l *lowering) find(in *Input, o Options) {
	n, document := in.Source, l.job.Source
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
		l.report(RuleInputFile, n, n.Span, hintOf(err), "cannot read input %s: %v", strconv.Quote(clip(n.Text)), err)
		return
	}
	in.Local = found
}

// staged reports a job whose command batchctl stage cannot start.
func (l *lowering) staged(job *Job) {
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
		l.report(RuleMemberConflict, member, member.Key, `write the job with "image", or with "definition" and "command"`,
			"%s only in a job with one container, and this job has %s", worksOnly(member.Name), m.Name)
		return
	}
	runsLines := job.Array.Get("commands") != nil && launcherOf(job.Array) != sweep.Image
	if commandOf(job) == nil && !runsLines && job.Register != nil && l.readable("command") {
		l.report(RuleMissingMember, member, member.Key, `add "command": the image's own command, with its arguments`,
			"%s the job's command: batchctl stage runs it, and does not know the image's own command", needs(member.Name))
	}
}

// worksOnly and needs return the name of a member of staging with a verb.
func worksOnly(member string) string { return withVerb(member, "work") }
func needs(member string) string     { return withVerb(member, "need") }

func withVerb(member, verb string) string {
	switch member {
	case "checkpoint":
		return "a checkpoint " + verb + "s"
	case "measure", "onFailure":
		return member + " " + verb + "s"
	}
	return member + " " + verb
}

// rewriteLocations visits the references in inputs and outputs. The launcher replaces them
// in the variable that batchctl stage reads.
func (r *referring) rewriteLocations(job *Job) {
	var some bool
	for _, in := range job.Inputs {
		some = r.rewriteLocation(in.Node, in.Source, "input") || some
		r.misplaced(in.SHA256, unknownHere)
	}
	for _, out := range job.Outputs {
		some = r.rewriteLocation(out.Node, out.Destination, "output") || some
	}
	if job.Checkpoint != nil {
		some = r.rewriteCheckpoint(job.Checkpoint) || some
	}
	if some && r.sweep != nil && !slices.Contains(r.sweep.Templates, stage.Variable) {
		r.sweep.Templates = append(r.sweep.Templates, stage.Variable)
	}
}

// rewriteLocation writes the references of a location in their canonical form, and reports
// whether it has some.
func (r *referring) rewriteLocation(member, n *jsontree.Node, what string) bool {
	for _, ref := range sweep.References(member.Name) {
		r.report(RuleMatrixReference, member, member.Key, "use the same path for all children: each has its own file system",
			"%s is not allowed in a container path", clip(member.Name[ref.From:ref.To]))
	}
	if !strings.Contains(n.Str(), referenceMark) {
		return false
	}
	if IsLocal(n.Text) {
		for _, ref := range sweep.References(n.Text) {
			r.blame(n, ref, "put the files into S3, and write s3://bucket/... here", "%s is not allowed in a local path: an %s that differs between children needs an S3 URL",
				clip(n.Text[ref.From:ref.To]), what)
		}
		return false
	}
	if !r.replaced(n) {
		return false
	}
	r.fits(n)
	return true
}

// fits reports values that cannot be part of a location.
func (r *referring) fits(n *jsontree.Node) {
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

// The arguments before the command of a job with inputs or outputs.
const (
	stageProgram = "batchctl"
	stageCommand = "stage"
	stageEnd     = "--"
)

// StagedCommand returns the command line that runs a command with its inputs and outputs.
// program is the path of batchctl in the container; "" means that PATH finds it.
func StagedCommand(program string, command []string) []string {
	if program == "" {
		program = stageProgram
	}
	return append([]string{program, stageCommand, stageEnd}, command...)
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
		d.Inputs = append(d.Inputs, stage.Input{From: in.Source.Text, To: in.Path, SHA256: strings.ToLower(in.SHA256.Str())})
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
