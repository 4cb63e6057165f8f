package author

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/batchctl/batchctl/pkg/catalog"
	"github.com/batchctl/batchctl/pkg/check"
	"github.com/batchctl/batchctl/pkg/cli/cmdline"
	"github.com/batchctl/batchctl/pkg/cli/input"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/lint"
	"github.com/batchctl/batchctl/pkg/newfile"
	"github.com/batchctl/batchctl/pkg/text"
	"github.com/urfave/cli/v2"
)

// ValidateCommand is batchctl validate.
func ValidateCommand(con *term.Console) *cli.Command {
	return cmdline.Command(cli.Command{
		Name:      "validate",
		Usage:     "check files for what AWS Batch would reject or leave stuck",
		UsageText: "batchctl validate [FLAGS] [FILE|DIRECTORY|PATTERN|- ...]",
		Description: cmdline.Help("Reports every problem at file:line:column, with the name of the rule and what to do: fix is an edit that --fix makes, suggestion an edit that only you can decide, help is advice. Problems go to stdout. Warnings do not change "+
			"the exit code.\n\nWithout a FILE, it checks this directory. In a directory, it checks the files that it recognises, skips and counts the others, and respects .gitignore. Waived problems are listed with their "+
			"reasons. Besides job files, it checks AWS Batch requests, CloudFormation templates, launch templates and user data.",
			"batchctl validate\nbatchctl validate job.json\nbatchctl validate jobs/ --output sarif > batchctl.sarif\ncat job.json | batchctl validate -\n"+
				"batchctl validate job.json --fix\nbatchctl validate --rules array-size-min\n"+
				catalog.Command+" > types.json; batchctl validate jobs/ --catalog types.json"),
	}, ValidateOptions{Output: Output{Format: "text"}, FailOn: "error"},
		func(ctx context.Context, o ValidateOptions) error {
			if o.Rules {
				return rules(con, o.Format, o.Args)
			}
			return ValidateFiles(ctx, con, o)
		}, cmdline.NoTarget("state-dir", "set", "env", "keep-going")...)
}

// ValidateOptions are the flags and arguments of validate.
type ValidateOptions struct {
	input.Options
	Output
	Summary bool `flag:"summary" usage:"count the problems by rule instead of printing each"`
	// FailOn is "" for error.
	FailOn         string   `flag:"fail-on" usage:"<SEVERITY> that makes the exit code 1: error or warning"`
	Strict         bool     `flag:"strict" usage:"fail if something could not be checked, a skipped file may be a job file, or a platform file hides a policy"`
	Include        []string `flag:"include" usage:"in directories, check every file that matches this <PATTERN>; may be repeated"`
	OnlyRecognized bool     `flag:"only-recognized" usage:"skip files that are not batchctl documents (for pre-commit)"`
	Verbose        bool     `flag:"verbose" usage:"list the skipped .json files"`
	Kind           kind     `flag:"kind"`
	FromDescribe   bool     `flag:"from-describe" usage:"read the output of aws batch describe-*, and ignore members that a request cannot have"`
	Fix            bool     `flag:"fix" usage:"fix the files in place where that is safe"`
	Diff           bool     `flag:"diff" usage:"print what --fix would change; change nothing"`
	Baseline       string   `flag:"baseline" usage:"ignore the problems listed in this <FILE>"`
	WriteBaseline  string   `flag:"write-baseline" usage:"write the current problems to this <FILE>, for --baseline"`
	Rules          bool     `flag:"rules" usage:"list the rules, or explain the named ones with examples; --output markdown prints a page"`
}

// Output is the format of problems. reportFormat and rules check it.
type Output struct{ Format string }

// Flags returns --output and --json.
func (*Output) Flags() []cli.Flag {
	return []cli.Flag{cmdline.OutputFlag("`FORMAT`: " + formatNames()),
		cmdline.JSONFlag(cmdline.JSON[[]diag.Record](), cmdline.JSONWith[[]ruleRow]("rules"))}
}

// Fill reads the flags.
func (o *Output) Fill(c *cli.Context) error {
	if o.Format = c.String("output"); c.Bool("json") {
		o.Format = "json"
	}
	return nil
}

// kind is a value of --kind.
type kind string

// Usage is the help of --kind.
func (kind) Usage() string {
	return "treat the files as this <KIND> of document: " + strings.Join(kindNames(fileKinds), " ") +
		", or a request by its operation, such as CreateJobQueue"
}

// ValidateFiles is batchctl validate without --rules: it checks the files, applies the baseline and
// prints the problems.
func ValidateFiles(ctx context.Context, con *term.Console, o ValidateOptions) error {
	var err error
	if o.Args, err = pathsOrHere(con, "validate --fix", o.Args, o.Fix && !o.Diff); err != nil {
		return err
	}
	format, err := reportFormat(o.Format)
	if err != nil {
		return err
	}
	all, err := checked(ctx, con, o)
	if all == nil {
		return err
	}
	if err := printProblems(con, o, format, all); err != nil {
		return err
	}
	return verdict(con, o, all)
}

// Validate checks files. The error that comes with problems is the verdict on them, such as exit.Problem.
func Validate(ctx context.Context, con *term.Console, o ValidateOptions) ([]diag.Record, error) {
	all, err := checked(ctx, con, o)
	if all == nil {
		return nil, err
	}
	return diag.Records(all.Problems), verdict(con, o, all)
}

// checked checks the files and applies the baseline. With --fix it fixes them first, and with --diff it prints the
// changes and checks nothing: the result is nil.
func checked(ctx context.Context, con *term.Console, o ValidateOptions) (*check.Result, error) {
	k, err := newChecker(con, o)
	if err != nil {
		return nil, err
	}
	documents, unread := check.Find(o.Args, o.Include, check.AllFiles)
	// --only-recognized also skips named files, because pre-commit names every
	// changed file.
	if o.OnlyRecognized {
		for i := range documents {
			documents[i].Named = false
		}
	}
	// Fix before checking, so that the report has only the remaining problems.
	if o.Fix || o.Diff {
		if err := fixFiles(con, k, documents, o.Diff); err != nil {
			return nil, err
		}
		if o.Diff {
			return nil, nil
		}
		if k, err = newChecker(con, o); err != nil { // the platform file may have changed
			return nil, err
		}
	}
	if percent := check.CollectorPercent(len(documents)); percent != 100 && os.Getenv("GOGC") == "" {
		debug.SetGCPercent(percent)
	}
	all, err := k.Until(ctx, documents)
	if err != nil {
		return nil, err
	}
	if o.Fix {
		reportUnfixed(con, all.Problems)
	}
	for i := range all.Problems {
		if o.Strict && all.Problems[i].Rule == check.RuleHidesPolicy {
			all.Problems[i].Severity = diag.Error
		}
	}
	all.Unread = append(unread, all.Unread...)
	if len(all.Checked) == 0 && len(all.Unread) == 0 && len(all.Skipped.Unchecked) == 0 && !o.OnlyRecognized {
		reportSkipped(con, all.Skipped, o.Verbose)
		where := strings.Join(o.Args, " ")
		if where == "." {
			where = "this directory"
		}
		return nil, exit.Fail(exit.NotDone, "%s contains no job files", where).
			Try("a job file ends in .json and has batchctl's \"$schema\" or the members of a job; create one: batchctl init job.json")
	}
	if err := applyBaseline(con, o, all); err != nil {
		return nil, err
	}
	return all, nil
}

// pathsOrHere returns the paths of a command that reads and checks files. Without any, they are this directory,
// which it reports. A command that does more than check needs a path, so that you rewrite no tree by accident.
func pathsOrHere(con *term.Console, command string, paths []string, doesMore bool) ([]string, error) {
	switch {
	case len(paths) > 0:
		return paths, nil
	case doesMore:
		return nil, exit.Usage("%s needs a file or a directory", command).
			Try("for this directory: batchctl %s .", command)
	}
	here, err := os.Getwd()
	if err != nil {
		here = "."
	}
	fmt.Fprintf(con.Err, "reading the files in this directory, %s\n", diag.Printable(here))
	return []string{"."}, nil
}

// newChecker returns a checker for the options. It reads the catalog, if one is
// given, and refuses unknown values of flags.
func newChecker(con *term.Console, o ValidateOptions) (*check.Checker, error) {
	parameters, err := input.ParseParameters(o.Parameters)
	if err != nil {
		return nil, err
	}
	switch o.FailOn {
	case "", "error", "warning":
	default:
		return nil, cmdline.UnknownValue("fail-on", o.FailOn, "the severities are", "error", "warning")
	}
	types, err := input.SuppliedTypes(o.Catalog)
	if err != nil {
		return nil, err
	}
	how := check.Options{PlatformFile: o.Target.Platform, Catalog: types, Stdin: con.In,
		Load: document.Options{Parameters: parameters, FromDescribe: o.FromDescribe}}
	if o.Kind != "" {
		if how.Load.Kind, err = parseKind(string(o.Kind)); err != nil {
			return nil, err
		}
	}
	return check.New(how), nil
}

// printProblems prints the problems on stdout, or their counts with --summary.
func printProblems(con *term.Console, o ValidateOptions, format diag.Format, all *check.Result) error {
	if o.Summary {
		return diag.WriteSummary(con.Out, all.Problems)
	}
	report := diag.Report{Files: all.Checked, Text: term.TextOptions(con, con.Out)}
	for _, err := range all.Unread {
		report.Unread = append(report.Unread, input.FailureOf(err).Message)
	}
	// Other formats do not describe rules.
	if format.Name == "sarif" {
		report.Tool = tool(all.Problems)
	}
	if o.FailOn == "warning" {
		report.FailOn = diag.Warning
	}
	return format.Write(con.Out, all.Problems, report)
}

// verdict prints the counts on stderr, and returns the exit status: pass, fail or
// not checked.
func verdict(con *term.Console, o ValidateOptions, all *check.Result) error {
	// Waived problems count as neither.
	errors, warnings := all.Problems.Count()
	for _, err := range all.Unread {
		con.Explain(input.FailureOf(err))
	}
	fmt.Fprintf(con.Err, "%s checked: %s, %s", text.Count(len(all.Checked), "file"), text.Count(errors, "error"),
		text.Count(warnings, "warning"))
	if waived := all.Problems.Waived(); waived > 0 {
		fmt.Fprintf(con.Err, ", %d waived", waived)
	}
	fmt.Fprintln(con.Err)
	if n := all.Problems.Fixable(); n > 0 && !o.Fix {
		fmt.Fprintf(con.Err, "%d fixable with --fix\n", n)
	}
	reportSkipped(con, all.Skipped, o.Verbose)
	if all.Unknown > 0 {
		fmt.Fprintf(con.Err, "not checked: %s (the first at %s)\n", text.Count(all.Unknown, "value"),
			diag.Printable(all.FirstUnknown))
	}
	switch {
	case all.WithoutQueues != "":
		fmt.Fprintf(con.Err, "not checked: whether the jobs fit a queue (add \"queues\" to %s)\n",
			diag.Printable(all.WithoutQueues))
	case all.Unplaced:
		fmt.Fprintln(con.Err, "not checked: whether the jobs fit a queue (no platform file; create one: batchctl init --new-platform batchctl.json)")
	}
	for _, u := range all.PolicyUnknown {
		fmt.Fprintf(con.Err, "not checked by the policy: %s (batchctl plan asks a target)\n",
			diag.Printable(u.String()))
	}
	switch {
	case len(all.Unread) > 0:
		return exit.Silent(exit.NotDone)
	case errors > 0, warnings > 0 && o.FailOn == "warning":
		return exit.Silent(exit.Problem)
	case (all.Unplaced || all.Unknown > 0 || len(all.PolicyUnknown) > 0 || len(all.Skipped.Unclear) > 0 ||
		len(all.Skipped.Unchecked) > 0) && o.Strict:
		return exit.Silent(exit.NotDone)
	}
	return nil
}

// mostNamed is the most unclear files that reportSkipped names without --verbose.
const mostNamed = 5

// reportSkipped counts the skipped files on stderr, so that a mistake in one of
// them does not look like a clean check. It lists the foreign files only with
// verbose.
func reportSkipped(con *term.Console, s check.Skipped, verbose bool) {
	if verbose {
		for _, path := range s.Foreign {
			fmt.Fprintf(con.Err, "skipped: %s\n", diag.Printable(path))
		}
	}
	if n := len(s.Foreign); n > 0 {
		how := " (--verbose lists them)"
		if verbose {
			how = ""
		}
		fmt.Fprintf(con.Err, "%s skipped: not batchctl documents%s\n", text.Count(n, ".json file"), how)
	}
	for _, u := range s.Unchecked {
		fmt.Fprintf(con.Err, "%s: %s: not checked\n", diag.Printable(u.Path), u.What)
	}
	for i, path := range s.Unclear {
		if i == mostNamed && !verbose {
			fmt.Fprintf(con.Err, "not checked: %s more that may be batchctl documents\n",
				text.Count(len(s.Unclear)-i, "file"))
			break
		}
		fmt.Fprintf(con.Err, "not checked: %s may be a batchctl document; add \"$schema\", or name the file to check it\n", diag.Printable(path))
	}
}

// applyBaseline writes the problems to a new baseline, or removes those that are
// in the given one.
func applyBaseline(con *term.Console, o ValidateOptions, all *check.Result) error {
	if path := o.WriteBaseline; path != "" {
		if err := newfile.Write(path, newfile.ForAll,
			func(w io.Writer) error { return diag.WriteBaseline(w, all.Problems) }); err != nil {
			return err
		}
		fmt.Fprintf(con.Err, "wrote %s with %s\n", diag.Printable(path),
			text.Count(len(all.Problems.Open()), "problem"))
		all.Problems = slices.DeleteFunc(all.Problems, func(d diag.Diagnostic) bool { return d.Waived == nil })
		return nil
	}
	if o.Baseline == "" {
		return nil
	}
	f, err := os.Open(o.Baseline)
	if err != nil {
		return input.Unreadable(&check.ReadError{Path: o.Baseline, Err: exit.Cause(err)}, input.MakeBaseline)
	}
	defer f.Close()
	baseline, err := diag.ReadBaseline(f)
	if err != nil {
		return exit.Fail(exit.NotDone, "read baseline %s: %v", o.Baseline, exit.Cause(err)).
			Try("create a new one: %s %s", input.MakeBaseline, term.Quoted(o.Baseline))
	}
	kept, known, stale := baseline.Filter(all.Problems, all.Checked, lint.FormerNames)
	all.Problems = kept
	fmt.Fprintf(con.Err, "baseline: %s ignored", text.Count(known, "known problem"))
	if len(stale) > 0 {
		fmt.Fprintf(con.Err, ", %s no longer needed: write it again", text.Count(len(stale), "entry"))
	}
	fmt.Fprintln(con.Err)
	return nil
}

// reportFormat returns the output format with this name.
func reportFormat(name string) (diag.Format, error) {
	for _, f := range diag.Formats() {
		if f.Name == name {
			return f, nil
		}
	}
	return diag.Format{}, cmdline.UnknownValue("output", name, "the formats are", strings.Fields(formatNames())...)
}

// formatNames returns the names of all output formats, separated by blanks.
func formatNames() string {
	names := ""
	for _, f := range diag.Formats() {
		names += " " + f.Name
	}
	return names[1:]
}

// The kinds of documents that --kind accepts: other files, and requests by the names of their operations.
var fileKinds = []document.Kind{
	document.KindJob, document.KindWorkflow, document.KindPlatform, document.KindJobList, document.KindTemplate,
	document.KindLaunchTemplate,
	document.KindUserData, document.KindStateMachine, document.KindEventBridge,
}
var requestKinds = []document.Kind{
	document.KindJobDefinition, document.KindSubmitJob, document.KindComputeEnvironment, document.KindJobQueue,
	document.KindSchedulingPolicy, document.KindConsumableResource,
	document.KindQuotaShare, document.KindServiceEnvironment, document.KindUpdateComputeEnvironment,
	document.KindUpdateJobQueue,
	document.KindUpdateSchedulingPolicy, document.KindUpdateConsumableResource, document.KindUpdateQuotaShare,
	document.KindUpdateServiceEnvironment, document.KindUpdateServiceJob, document.KindSubmitServiceJob,
}

// kindNames returns the names of kinds.
func kindNames(kinds []document.Kind) (names []string) {
	for _, k := range kinds {
		names = append(names, string(k))
	}
	return names
}

// parseKind parses --kind.
func parseKind(name string) (document.Kind, error) {
	all := slices.Concat(fileKinds, requestKinds)
	if k := document.Kind(name); slices.Contains(all, k) {
		return k, nil
	}
	return "", cmdline.UnknownValue("kind", name, "the kinds are", kindNames(all)...)
}

// tool describes batchctl and the rules that found something, for SARIF.
// Describing every rule would make the report larger than most results.
func tool(found diag.List) diag.Tool {
	used := map[string]bool{}
	for _, d := range found {
		used[d.Rule] = true
	}
	t := diag.Tool{Name: "batchctl", Version: cmdline.Version().Version, URI: "https://github.com/batchctl/batchctl"}
	for _, r := range lint.Documented() {
		if !used[r.Name] {
			continue
		}
		info := diag.RuleInfo{ID: r.Name, Doc: r.Doc, Help: r.Doc + " Source: " + r.Source + ". See " + r.URL(),
			Severity: r.Severity, URI: r.URL()}
		info.Markdown = fmt.Sprintf("%s\n[%s](%s)\n", r.Markdown(), r.Name, r.URL())
		t.Rules = append(t.Rules, info)
	}
	return t
}
