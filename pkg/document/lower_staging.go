package document

import (
	"path/filepath"
	"strconv"
	"strings"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/sweep"
)

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
