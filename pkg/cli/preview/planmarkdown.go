package preview

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/batchctl/batchctl/pkg/check"
	"github.com/batchctl/batchctl/pkg/cli/input"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/plan"
	"github.com/batchctl/batchctl/pkg/stable"
	"github.com/batchctl/batchctl/pkg/target"
)

// fileReport is the part of a file in the Markdown of plan.
type fileReport struct {
	path string
	// con has the texts of the file, whose credentials are masked.
	con *term.Console
	// problems are those of the file, and of the plan.
	problems diag.List
	// blocked are sentences about what the target, the prices or --max-cost do not allow.
	blocked []string
	// notChecked says why the file was not checked or not planned; "" if it was.
	notChecked string
	// review is nil for a file without a plan.
	review *plan.Review
	// code is the exit status for this file alone.
	code int
}

// rank orders files: those that fail come first, so that a long report is cut
// after them.
func (f *fileReport) rank() int {
	errors, warnings := f.problems.Count()
	switch {
	case errors > 0 || len(f.blocked) > 0:
		return 0
	case f.notChecked != "":
		return 1
	case warnings > 0:
		return 2
	}
	return 3
}

// planMarkdown is batchctl plan --output markdown. It plans each file on its own,
// and prints one report. A problem of one file does not hide the others.
func planMarkdown(ctx context.Context, con *term.Console, o Options, p Print) error {
	if p.Out != "" || p.Operation != "" {
		return exit.Usage("--output markdown excludes --out and --operation").Try("remove --output markdown, or the other flag")
	}
	if slices.Contains(o.Paths, "-") {
		return exit.Usage("--output markdown does not read standard input").Try("name the files: batchctl plan FILE ... --output markdown")
	}
	var files []*fileReport
	platforms := map[string]bool{}
	for _, path := range o.Paths {
		reports, err := reportFile(ctx, con, o, path, platforms)
		if err != nil {
			return err
		}
		if ctx.Err() != nil {
			return exit.Fail(exit.Interrupted, "interrupted while planning %s", path)
		}
		files = append(files, reports...)
	}
	if err := con.PrintUnmasked(markdownOf(files)); err != nil { // each text is masked already
		return err
	}
	code := exit.OK
	for _, worse := range []int{exit.Problem, exit.NotDone, exit.Change} {
		if code == exit.OK && slices.ContainsFunc(files, func(f *fileReport) bool { return f.code == worse }) {
			code = worse
		}
	}
	return exit.Silent(code)
}

// reportFile checks and plans a file. It returns no report for a document of
// another tool, and a second one for a platform file that has problems: platforms
// has those that are reported. The error is that of the command line.
func reportFile(ctx context.Context, con *term.Console, o Options, path string, platforms map[string]bool) ([]*fileReport, error) {
	// The report has the messages. In a log they would be repeated.
	f := &fileReport{path: path, con: &term.Console{Streams: term.Streams{In: con.In, Out: io.Discard, Err: io.Discard}}}
	types, err := input.SuppliedTypes(o.Catalog)
	if err != nil {
		return nil, err
	}
	checked := check.New(check.Options{PlatformFile: o.Target.Platform, Catalog: types, Stdin: con.In, Keep: true}).Check([]check.Document{{Path: path}})
	f.con.Sources = append(f.con.Sources, checked.Sources...)
	f.problems = checked.Problems
	reports := []*fileReport{f}
	if platform := f.moveProblems(checked); platform != nil && !platforms[platform.path] {
		platforms[platform.path] = true
		reports = append(reports, platform)
	}
	switch {
	case len(checked.Unread) > 0:
		f.notChecked, f.code = input.FailureOf(checked.Unread[0]).Message, exit.NotDone
	case len(checked.Skipped.Unclear) > 0:
		f.notChecked, f.code = `it may be a batchctl document: add "$schema"`, exit.NotDone
	case len(checked.Checked) == 0:
		return reports[1:], nil
	case checked.Problems.HasErrors():
		f.code = exit.Problem
	case !slices.ContainsFunc(checked.Files, hasJobs):
	default:
		return reports, f.plan(ctx, o)
	}
	return reports, nil
}

// moveProblems removes the problems of the platform file, and returns a report on
// it if there are errors among them; nil otherwise. A platform file that is a file
// of its own keeps them.
func (f *fileReport) moveProblems(checked *check.Result) *fileReport {
	if len(checked.Platforms) == 0 {
		return nil // the file is skipped or unreadable
	}
	platform := checked.Platforms[0]
	if platform.Path == "" || filepath.Clean(platform.Path) == filepath.Clean(f.path) || len(platform.Problems) == 0 {
		return nil
	}
	isOwn := func(d diag.Diagnostic) bool { return d.Source == nil || d.Source.Name != platform.Path }
	moved := &fileReport{path: platform.Path, con: f.con, problems: slices.DeleteFunc(slices.Clone(f.problems), isOwn)}
	f.problems = slices.DeleteFunc(slices.Clone(f.problems), func(d diag.Diagnostic) bool { return !isOwn(d) })
	if !moved.problems.HasErrors() {
		return nil // its warnings are not about this file
	}
	moved.code = exit.Problem
	if !f.problems.HasErrors() {
		f.notChecked = "its platform file has errors"
	}
	return moved
}

// plan plans the file and compares the plan with the target. Errors of the command
// line end the command; others belong to the file.
func (f *fileReport) plan(ctx context.Context, o Options) error {
	o.Paths = []string{f.path}
	in, err := input.Load(f.con, o.Options)
	if err != nil {
		return f.fail(err)
	}
	name := o.Target.NameFrom(in.Platform)
	if !target.Exists(name, in.Platform) {
		return target.Unknown(name, in.Platform)
	}
	planned, problems, err := buildPlan(ctx, o, in, name == target.Local)
	if err != nil {
		return f.fail(err)
	}
	f.problems = append(f.problems, problems...)
	if problems.HasErrors() {
		f.code = exit.Problem
		return nil
	}
	if f.review, err = review(ctx, f.con, o, in, planned); err != nil {
		return f.fail(err)
	}
	f.blocked = f.review.Problems()
	if err := reviewCost(o, in, planned, f.review, ""); err != nil {
		if failure := exit.From(err); failure.Code == exit.BadUsage {
			return err
		}
		f.blocked = append(f.blocked, exit.From(err).Message)
	}
	switch changes, known := f.review.Changes(); {
	case len(f.blocked) > 0:
		f.code = exit.Problem
	case changes || !known && !o.Offline:
		f.code = exit.Change
	}
	return nil
}

// fail records why the file could not be planned. Errors of the command line would
// be the same for every file, so they are returned.
func (f *fileReport) fail(err error) error {
	failure := input.FailureOf(err)
	if failure.Code == exit.BadUsage {
		return err
	}
	f.notChecked, f.code = failure.Message, failure.Code
	return nil
}

// verdict is the cell of the file's verdict.
func (f *fileReport) verdict() string {
	errors, warnings := f.problems.Count()
	var clauses []string
	if policy := countPolicy(f.problems); policy > 0 {
		clauses = append(clauses, "**policy: "+term.Plural(policy, "problem")+"**")
		errors -= policy
	}
	if errors > 0 {
		clauses = append(clauses, "**"+term.Plural(errors, "error")+"**")
	}
	if len(f.blocked) > 0 {
		clauses = append(clauses, "**blocked**")
	}
	if f.notChecked != "" {
		clauses = append(clauses, "**not checked**")
	}
	if len(clauses) == 0 {
		clauses = append(clauses, "ok")
	}
	if warnings > 0 {
		clauses = append(clauses, term.Plural(warnings, "warning"))
	}
	if n := f.problems.Waived(); n > 0 {
		clauses = append(clauses, fmt.Sprintf("%d waived", n))
	}
	return strings.Join(clauses, ", ")
}

// countPolicy counts the errors of the platform file's policy.
func countPolicy(problems diag.List) (n int) {
	for _, d := range problems {
		if isPolicy(d) && d.Severity == diag.Error && d.Waived == nil {
			n++
		}
	}
	return n
}

// isPolicy reports whether the policy of the platform file caused a problem.
func isPolicy(d diag.Diagnostic) bool { return strings.HasPrefix(d.Rule, "policy-") }

// jobs is the cell with the number of jobs that would be submitted, and of the job
// definitions that would be registered.
func (f *fileReport) jobs() string {
	if f.review == nil {
		return "–"
	}
	jobs, children, definitions := 0, 0, 0
	for _, j := range f.review.Jobs {
		if j.Definition.Verdict == plan.DefinitionNew || j.Definition.Verdict == plan.DefinitionChanged {
			definitions++
		}
		if j.Submit == nil {
			continue
		}
		jobs++
		if a := j.Submit.ArrayProperties; a != nil && a.Size != nil {
			children += int(*a.Size)
		}
	}
	text := term.Plural(jobs, "job")
	if children > 0 {
		text += fmt.Sprintf(", %d children", children)
	}
	if definitions > 0 {
		text += ", " + term.Plural(definitions, "new definition")
	}
	return text
}

// mostPlaces is the most placements in one cell.
const mostPlaces = 3

// places is the cell of the placements of all jobs, each once.
func (f *fileReport) places() string {
	if f.review == nil {
		return "–"
	}
	var all []string
	for _, j := range f.review.Jobs {
		if j.Submit == nil {
			continue
		}
		if text := f.shown(placeOf(j, f.review.Target)); !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	if len(all) > mostPlaces {
		all = append(all[:mostPlaces], fmt.Sprintf("%d more", len(all)-mostPlaces))
	}
	return cmp.Or(strings.Join(all, ", "), "–")
}

// placeOf names the queue of a job, and the first environment that accepts it.
func placeOf(j plan.JobReview, w *plan.TargetState) string {
	r, ok := j.Environment()
	switch {
	case w.Local && j.EnvironmentsFrom != plan.FromPlatform:
		return "local engine"
	case len(j.Environments) == 0:
		return j.Queue.Queue + ": environments unknown"
	case !ok:
		return j.Queue.Queue + ": no environment accepts it"
	case !r.Proven():
		return fmt.Sprintf("%s, maybe on %s", j.Queue.Queue, cmp.Or(r.Name, r.Type))
	}
	return fmt.Sprintf("%s on %s: %s", j.Queue.Queue, cmp.Or(r.Name, r.Type), fitText(r, j.Need))
}

// price is the cell of the price of all jobs together.
func (f *fileReport) price() string {
	if f.review == nil {
		return "–"
	}
	return priceText(f.review.Total())
}

// priceText describes a sum. Figures are code: GitHub would read two dollar signs
// as a formula.
func priceText(sum plan.Total) string {
	var clauses []string
	if sum.Priced > 0 {
		clauses = append(clauses, inCode(between(sum.Least, sum.Most)))
	}
	if sum.Unbounded > 0 {
		clauses = append(clauses, term.Plural(sum.Unbounded, "job")+" without a timeout")
	}
	if sum.Unknown > 0 {
		clauses = append(clauses, term.Plural(sum.Unknown, "job")+" with an unknown price")
	}
	return cmp.Or(strings.Join(clauses, ", "), "–")
}

// shown is a text of the file for the report: masked and without a meaning in
// Markdown.
func (f *fileReport) shown(text string) string { return inCode(f.con.Redacted(text)) }

// hasDetails reports whether the file has a part below the table.
func (f *fileReport) hasDetails() bool {
	return len(f.problems) > 0 || len(f.blocked) > 0 || f.notChecked != ""
}

// mostProblems is the most problems of a file in the report.
const mostProblems = 20

// details is the part of the file below the table.
func (f *fileReport) details() string {
	var b strings.Builder
	fmt.Fprintf(&b, "#### %s\n\n", f.shown(slashed(f.path)))
	if f.notChecked != "" {
		fmt.Fprintf(&b, "- **not checked**: %s\n", f.shown(f.notChecked))
	}
	for _, text := range f.blocked {
		fmt.Fprintf(&b, "- **blocked**: %s\n", f.shown(text))
	}
	sorted := slices.Clone(f.problems)
	stable.Sort(sorted, func(a, b diag.Diagnostic) int { return cmp.Compare(weight(a), weight(b)) })
	for i, d := range sorted {
		if i == mostProblems {
			fmt.Fprintf(&b, "- %s more\n", term.Plural(len(sorted)-i, "problem"))
			break
		}
		b.WriteString(f.problem(d.Masked()))
	}
	return b.String() + "\n"
}

// weight orders problems: errors, warnings, waived problems.
func weight(d diag.Diagnostic) int {
	switch {
	case d.Waived != nil:
		return 2
	case d.Severity == diag.Warning:
		return 1
	}
	return 0
}

// problem is the line of a problem.
func (f *fileReport) problem(d diag.Diagnostic) string {
	what := "**" + d.Severity.String() + "**"
	switch {
	case d.Waived != nil:
		what = "waived"
	case isPolicy(d):
		what = "**policy**"
	}
	at := ""
	if d.Source != nil {
		line, _ := d.Source.Position(d.Span.Start)
		at = fmt.Sprintf(" in line %d", line)
		if filepath.Clean(d.Source.Name) != filepath.Clean(f.path) {
			at += " of " + f.shown(slashed(d.Source.Name))
		}
	}
	text := fmt.Sprintf("- %s%s: %s", what, at, f.shown(d.Message))
	if d.Rule != "" {
		text += " (" + f.shown(d.Rule) + ")"
	}
	if d.Hint != "" {
		text += "; " + f.shown(d.Hint)
	}
	if d.Waived != nil {
		text += ", because " + f.shown(d.Waived.String())
	}
	return text + "\n"
}

// hasJobs reports whether a document contains jobs that submit would send.
func hasJobs(f *document.File) bool {
	switch f.Kind {
	case document.KindTemplate, document.KindLaunchTemplate, document.KindUserData:
		return false
	}
	return len(f.Jobs) > 0
}
