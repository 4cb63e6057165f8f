package preview

import (
	"context"
	"io"
	"path/filepath"
	"slices"

	"github.com/batchctl/batchctl/pkg/check"
	"github.com/batchctl/batchctl/pkg/cli/input"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/plantext"
	"github.com/batchctl/batchctl/pkg/target"
)

// fileReport is the part of a file in the Markdown of plan.
type fileReport struct {
	plantext.File
	// con has the texts of the file, whose credentials are masked.
	con *term.Console
	// code is the exit status for this file alone.
	code int
}

// planMarkdown is batchctl plan --output markdown. It plans each file on its own,
// and prints one report. A problem of one file does not hide the others.
func planMarkdown(ctx context.Context, con *term.Console, o PlanOptions) error {
	if o.Out != "" || o.Operation != "" {
		return exit.Usage("--output markdown excludes --out and --operation").
			Try("remove --output markdown, or the other flag")
	}
	if slices.Contains(o.Args, "-") {
		return exit.Usage("--output markdown does not read standard input").
			Try("name the files: batchctl plan FILE ... --output markdown")
	}
	var files []*fileReport
	var shown []*plantext.File
	platforms := map[string]bool{}
	for _, path := range o.Args {
		reports, err := reportFile(ctx, con, o, path, platforms)
		if err != nil {
			return err
		}
		if ctx.Err() != nil {
			return exit.Fail(exit.Interrupted, "interrupted while planning %s", path)
		}
		for _, f := range reports {
			files, shown = append(files, f), append(shown, &f.File)
		}
	}
	if err := con.PrintUnmasked(plantext.Markdown(shown)); err != nil { // each text is masked already
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
func reportFile(ctx context.Context, con *term.Console, o PlanOptions, path string,
	platforms map[string]bool) ([]*fileReport, error) {
	// The report has the messages. In a log they would be repeated.
	own := &term.Console{Streams: term.Streams{In: con.In, Out: io.Discard, Err: io.Discard}}
	f := &fileReport{File: plantext.File{Path: path, Redact: own.Redacted}, con: own}
	types, err := input.SuppliedTypes(o.Catalog)
	if err != nil {
		return nil, err
	}
	checked := check.New(check.Options{PlatformFile: o.Target.Platform, Catalog: types, Stdin: con.In, Keep: true}).
		Check([]check.Document{{Path: path}})
	f.con.Sources = append(f.con.Sources, checked.Sources...)
	f.Problems = checked.Problems
	reports := []*fileReport{f}
	if platform := f.moveProblems(checked); platform != nil && !platforms[platform.Path] {
		platforms[platform.Path] = true
		reports = append(reports, platform)
	}
	switch {
	case len(checked.Unread) > 0:
		f.NotChecked, f.code = input.FailureOf(checked.Unread[0]).Message, exit.NotDone
	case len(checked.Skipped.Unclear) > 0:
		f.NotChecked, f.code = `it may be a batchctl document: add "$schema"`, exit.NotDone
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
	if platform.Path == "" || filepath.Clean(platform.Path) == filepath.Clean(f.Path) {
		return nil
	}
	// That the platform file hides the policy of another one concerns every job.
	isOwn := func(d diag.Diagnostic) bool {
		return d.Source == nil || d.Source.Name != platform.Path || d.Rule == check.RuleHidesPolicy
	}
	moved := &fileReport{File: plantext.File{Path: platform.Path, Redact: f.Redact,
		Problems: slices.DeleteFunc(slices.Clone(f.Problems), isOwn)}, con: f.con}
	f.Problems = slices.DeleteFunc(slices.Clone(f.Problems), func(d diag.Diagnostic) bool { return !isOwn(d) })
	if !moved.Problems.HasErrors() {
		return nil // its warnings are not about this file
	}
	moved.code = exit.Problem
	if !f.Problems.HasErrors() {
		f.NotChecked = "its platform file has errors"
	}
	return moved
}

// plan plans the file and compares the plan with the target. Errors of the command
// line end the command; others belong to the file.
func (f *fileReport) plan(ctx context.Context, o PlanOptions) error {
	o.Args = []string{f.Path}
	in, err := input.Load(f.con, o.Options.Options)
	if err != nil {
		return f.fail(err)
	}
	name := o.Target.NameFrom(in.Platform)
	if !target.Exists(name, in.Platform) {
		return target.Unknown(name, in.Platform)
	}
	planned, problems, err := buildPlan(ctx, o.Options, in, name == target.Local)
	if err != nil {
		return f.fail(err)
	}
	f.Problems = append(f.Problems, problems...)
	if problems.HasErrors() {
		f.code = exit.Problem
		return nil
	}
	if f.Review, err = review(ctx, f.con, o, in, planned); err != nil {
		return f.fail(err)
	}
	if p := f.Review.Policy; p != nil {
		f.Problems = append(f.Problems, p.Problems...)
		if p.Problems.HasErrors() {
			f.Review, f.code = nil, exit.Problem
			return nil
		}
	}
	f.Blocked = f.Review.ProblemTexts()
	if err := reviewCost(o.Pricing, in, planned, f.Review, ""); err != nil {
		if failure := exit.From(err); failure.Code == exit.BadUsage {
			return err
		}
		f.Blocked = append(f.Blocked, exit.From(err).Message)
	}
	switch changes, known := f.Review.Changes(); {
	case len(f.Blocked) > 0:
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
	f.NotChecked, f.code = failure.Message, failure.Code
	return nil
}

// hasJobs reports whether a document contains jobs that submit would send.
func hasJobs(f *document.File) bool {
	switch f.Kind {
	case document.KindTemplate, document.KindLaunchTemplate, document.KindUserData, document.KindStateMachine,
		document.KindEventBridge:
		return false
	}
	return len(f.Jobs) > 0
}
