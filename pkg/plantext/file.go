package plantext

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/plan"
	"github.com/batchctl/batchctl/pkg/text"
)

// File is a planned file in the Markdown.
type File struct {
	Path string
	// Redact masks the credentials of the file in a text.
	Redact func(text string) string
	// Problems are those of the file, and of the plan.
	Problems diag.List
	// Blocked are sentences about what the target, the prices or --max-cost do not allow.
	Blocked []string
	// NotChecked says why the file was not checked or not planned; "" if it was.
	NotChecked string
	// Review is nil for a file without a plan.
	Review *plan.Review
}

// rank orders files: those that fail come first, so that a long report is cut
// after them.
func (f *File) rank() int {
	errors, warnings := f.Problems.Count()
	switch {
	case errors > 0 || len(f.Blocked) > 0:
		return 0
	case f.NotChecked != "":
		return 1
	case warnings > 0:
		return 2
	}
	return 3
}

// verdict is the cell of the file's verdict.
func (f *File) verdict() string {
	errors, warnings := f.Problems.Count()
	var clauses []string
	if policy := countPolicy(f.Problems); policy > 0 {
		clauses = append(clauses, "**policy: "+text.Count(policy, "problem")+"**")
		errors -= policy
	}
	if errors > 0 {
		clauses = append(clauses, "**"+text.Count(errors, "error")+"**")
	}
	if len(f.Blocked) > 0 {
		clauses = append(clauses, "**blocked**")
	}
	if f.NotChecked != "" {
		clauses = append(clauses, "**not checked**")
	}
	if len(clauses) == 0 {
		clauses = append(clauses, "ok")
	}
	if warnings > 0 {
		clauses = append(clauses, text.Count(warnings, "warning"))
	}
	if n := f.Problems.Waived(); n > 0 {
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
func (f *File) jobs() string {
	if f.Review == nil {
		return "–"
	}
	jobs, children, definitions := 0, 0, 0
	for _, j := range f.Review.Jobs {
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
	counts := text.Count(jobs, "job")
	if children > 0 {
		counts += fmt.Sprintf(", %d children", children)
	}
	if definitions > 0 {
		counts += ", " + text.Count(definitions, "new definition")
	}
	return counts
}

// mostPlaces is the most placements in one cell.
const mostPlaces = 3

// places is the cell of the placements of all jobs, each once.
func (f *File) places() string {
	if f.Review == nil {
		return "–"
	}
	var all []string
	for _, j := range f.Review.Jobs {
		if j.Submit == nil {
			continue
		}
		if text := f.shown(placeOf(j, f.Review.Target)); !slices.Contains(all, text) {
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
	case w.Local && len(j.Environments) > 0:
		if !ok {
			r = j.Environments[0]
		}
		return OnMachine(r, j.Need)
	case len(j.Environments) == 0:
		return j.Queue.Queue + ": environments unknown"
	case !ok:
		return j.Queue.Queue + ": no environment accepts it"
	case !r.Proven():
		return fmt.Sprintf("%s, maybe on %s", j.Queue.Queue, cmp.Or(r.Name, r.Type))
	}
	return fmt.Sprintf("%s on %s: %s", j.Queue.Queue, cmp.Or(r.Name, r.Type), Fit(r, j.Need))
}

// price is the cell of the price of all jobs together.
func (f *File) price() string {
	if f.Review == nil {
		return "–"
	}
	return priceText(f.Review.Total())
}

// priceText describes a sum. Figures are code: GitHub would read two dollar signs
// as a formula.
func priceText(sum plan.Total) string {
	var clauses []string
	if sum.Priced > 0 {
		clauses = append(clauses, inCode(text.USDRange(sum.Least, sum.Most)))
	}
	if sum.Unbounded > 0 {
		clauses = append(clauses, text.Count(sum.Unbounded, "job")+" without a timeout")
	}
	if sum.Unknown > 0 {
		clauses = append(clauses, text.Count(sum.Unknown, "job")+" with an unknown price")
	}
	return cmp.Or(strings.Join(clauses, ", "), "–")
}

// shown is a text of the file for the report: masked and without a meaning in
// Markdown.
func (f *File) shown(text string) string { return inCode(f.Redact(text)) }

// hasDetails reports whether the file has a part below the table.
func (f *File) hasDetails() bool {
	return len(f.Problems) > 0 || len(f.Blocked) > 0 || f.NotChecked != "" || f.commands() != ""
}

// mostProblems is the most problems of a file in the report.
const mostProblems = 20

// details is the part of the file below the table.
func (f *File) details() string {
	var b strings.Builder
	fmt.Fprintf(&b, "#### %s\n\n", f.shown(slashed(f.Path)))
	if f.NotChecked != "" {
		fmt.Fprintf(&b, "- **not checked**: %s\n", f.shown(f.NotChecked))
	}
	for _, text := range f.Blocked {
		fmt.Fprintf(&b, "- **blocked**: %s\n", f.shown(text))
	}
	b.WriteString(f.commands())
	sorted := slices.Clone(f.Problems)
	slices.SortStableFunc(sorted, func(a, b diag.Diagnostic) int { return cmp.Compare(weight(a), weight(b)) })
	for i, d := range sorted {
		if i == mostProblems {
			fmt.Fprintf(&b, "- %s more\n", text.Count(len(sorted)-i, "problem"))
			break
		}
		b.WriteString(f.problem(d.Masked()))
	}
	return b.String() + "\n"
}

// commands are the lines of the commands that batchctl changes, and of what could not be checked of their images.
func (f *File) commands() string {
	if f.Review == nil {
		return ""
	}
	var lines []string
	for _, j := range f.Review.Jobs {
		if len(j.Sent) == 0 && len(j.NotChecked) == 0 {
			continue
		}
		line := "- job " + f.shown(j.Name)
		if len(j.Sent) > 0 {
			line += " starts " + f.shown(plan.CommandText(j.Sent))
		}
		for _, what := range j.NotChecked {
			line += "; **not checked**: " + f.shown(what)
		}
		lines = append(lines, line+"\n")
	}
	if len(lines) > mostProblems {
		lines = append(lines[:mostProblems], fmt.Sprintf("- %d more jobs\n", len(lines)-mostProblems))
	}
	return strings.Join(lines, "")
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
func (f *File) problem(d diag.Diagnostic) string {
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
		if filepath.Clean(d.Source.Name) != filepath.Clean(f.Path) {
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
