package author

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

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
)

// ValidateCommand is batchctl validate.
func ValidateCommand(con *term.Console) *cli.Command {
	return &cli.Command{
		Name:      "validate",
		Usage:     "find everything in job files that AWS Batch would refuse or leave stuck",
		UsageText: "batchctl validate [FLAGS] FILE|DIRECTORY|PATTERN|- ...",
		Description: cmdline.Help("Every problem is reported at file:line:column with the rule's name and what to do.\n"+
			"Problems go to stdout. Warnings leave the exit code at 0. In a directory, batchctl documents are\n"+
			"checked, other files are skipped and counted, and .gitignore is respected. What a job waives is listed with its reason and fails nothing.\n"+
			"Templates of CloudFormation are checked too, in JSON and in YAML: their AWS Batch resources by the rules of job\n"+
			"files, and what hosts start from; launch template data and user data also by themselves.",
			"batchctl validate job.json\nbatchctl validate jobs/ --output sarif > batchctl.sarif\ncat job.json | batchctl validate -\n"+
				"batchctl validate 'jobs/**/*.json' --fail-on warning\nbatchctl validate job.json --fix\nbatchctl validate --rules array-size-min\n"+
				catalog.Command+" > types.json; batchctl validate jobs/ --catalog types.json"),
		Flags: append(input.Flags(),
			&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Value: "text", Usage: "`FORMAT`: " + formatNames()},
			&cli.BoolFlag{Name: "json", Usage: "the same as --output json"},
			&cli.BoolFlag{Name: "summary", Usage: "count the problems by rule instead of printing each"},
			&cli.StringFlag{Name: "fail-on", Value: "error", Usage: "`SEVERITY` that makes the exit code 1: error or warning"},
			&cli.BoolFlag{Name: "strict", Usage: "fail when something could not be checked, such as placement without a platform file, or a file that may be a job file"},
			&cli.StringSliceFlag{Name: "include", Usage: "in directories check what matches this `PATTERN`, whatever it holds; may be repeated"},
			&cli.BoolFlag{Name: "only-recognized", Usage: "skip files that are not batchctl documents (for pre-commit)"},
			&cli.BoolFlag{Name: "verbose", Usage: "list the skipped .json files"},
			&cli.StringFlag{Name: "kind", Usage: "take the files for this `KIND` of document instead of finding out: " + kindNames()},
			&cli.BoolFlag{Name: "from-describe", Usage: "take what aws batch describe-* printed, less what a request cannot hold"},
			&cli.BoolFlag{Name: "fix", Usage: "mend in the files what has an obvious edit"},
			&cli.BoolFlag{Name: "diff", Usage: "show what --fix would change, and change nothing"},
			&cli.StringFlag{Name: "baseline", Usage: "leave out the problems that this `FILE` lists"},
			&cli.StringFlag{Name: "write-baseline", Usage: "write the problems there are into this `FILE`, for --baseline"},
			&cli.BoolFlag{Name: "rules", Usage: "list the rules, or explain those that are named, with examples; --output markdown makes a page of them"},
		),
		Action: func(c *cli.Context) error { return validate(con, c) },
	}
}

func validate(con *term.Console, c *cli.Context) error {
	if c.Bool("rules") {
		return rules(con, c)
	}
	if !c.Args().Present() {
		return exit.Usage("validate needs a job file").Try("for example: batchctl validate job.json")
	}
	format, err := validateFormat(c)
	if err != nil {
		return err
	}
	k, err := validateChecker(con, c)
	if err != nil {
		return err
	}
	documents, unread := check.Find(c.Args().Slice(), c.StringSlice("include"), check.AllFiles)
	if c.Bool("only-recognized") {
		for i := range documents {
			documents[i].Named = false
		}
	}
	if c.Bool("fix") || c.Bool("diff") {
		if err := fixFiles(con, k, documents, c.Bool("diff")); err != nil {
			return err
		}
		if c.Bool("diff") {
			return nil
		}
		if k, err = validateChecker(con, c); err != nil { // the platform file may have changed
			return err
		}
	}
	all, err := k.Until(c.Context, documents)
	if err != nil {
		return err
	}
	all.Unread = append(unread, all.Unread...)
	if len(all.Checked) == 0 && len(all.Unread) == 0 && !c.Bool("only-recognized") {
		reportSkipped(con, all.Skipped, c.Bool("verbose"))
		return exit.Fail(exit.NotDone, "%s holds no job files", strings.Join(c.Args().Slice(), " ")).
			Try("job files end in .json and have a \"$schema\" of ours or the members of a job; create one: batchctl init job.json")
	}
	if err := applyBaseline(con, c, all); err != nil {
		return err
	}
	if err := printProblems(con, c, format, all); err != nil {
		return err
	}
	return verdict(con, c, all)
}

func validateChecker(con *term.Console, c *cli.Context) (*check.Checker, error) {
	parameters, err := input.ParseParameters(c.StringSlice("parameters"))
	if err != nil {
		return nil, err
	}
	switch on := c.String("fail-on"); on {
	case "error", "warning":
	default:
		return nil, exit.Usage("--fail-on %s is not known", on).Try("the severities are: error warning")
	}
	types, err := input.SuppliedTypes(c.String("catalog"))
	if err != nil {
		return nil, err
	}
	o := check.Options{PlatformFile: c.String("platform"), Catalog: types, Stdin: con.In,
		Load: document.Options{Parameters: parameters, FromDescribe: c.Bool("from-describe")}}
	if name := c.String("kind"); name != "" {
		if o.Load.Kind, err = parseKind(name); err != nil {
			return nil, err
		}
	}
	return check.New(o), nil
}

// printProblems prints the problems, or their counts, on stdout.
func printProblems(con *term.Console, c *cli.Context, format diag.Format, all *check.Result) error {
	if c.Bool("summary") {
		return diag.WriteSummary(con.Out, all.Problems)
	}
	report := diag.Report{Files: all.Checked, Text: term.TextOptions(con, con.Out)}
	for _, err := range all.Unread {
		report.Unread = append(report.Unread, input.FailureOf(err).Message)
	}
	if format.Name == "sarif" {
		report.Tool = tool(all.Problems)
	}
	if c.String("fail-on") == "warning" {
		report.FailOn = diag.Warning
	}
	return format.Write(con.Out, all.Problems, report)
}

// verdict tells the three outcomes apart: pass, fail, not checked.
func verdict(con *term.Console, c *cli.Context, all *check.Result) error {
	errors, warnings := all.Problems.Count()
	for _, err := range all.Unread {
		con.Explain(input.FailureOf(err))
	}
	fmt.Fprintf(con.Err, "%s checked: %s, %s", term.Plural(len(all.Checked), "file"), term.Plural(errors, "error"), term.Plural(warnings, "warning"))
	if waived := all.Problems.Waived(); waived > 0 {
		fmt.Fprintf(con.Err, ", %d waived", waived)
	}
	fmt.Fprintln(con.Err)
	reportSkipped(con, all.Skipped, c.Bool("verbose"))
	if all.Unknown > 0 {
		fmt.Fprintf(con.Err, "not checked: %s in templates, which only CloudFormation knows (the first at %s)\n", term.Plural(all.Unknown, "value"), diag.Printable(all.FirstUnknown))
	}
	switch {
	case all.WithoutQueues != "":
		fmt.Fprintf(con.Err, "not checked: whether a queue can hold the jobs (add \"queues\" to %s)\n", diag.Printable(all.WithoutQueues))
	case all.Unplaced:
		fmt.Fprintln(con.Err, "not checked: whether a queue can hold the jobs (no platform file; batchctl init --platform batchctl.json creates one)")
	}
	switch {
	case len(all.Unread) > 0:
		return exit.Silent(exit.NotDone)
	case errors > 0, warnings > 0 && c.String("fail-on") == "warning":
		return exit.Silent(exit.Problem)
	case (all.Unplaced || all.Unknown > 0 || len(all.Skipped.Unclear) > 0) && c.Bool("strict"):
		return exit.Silent(exit.NotDone)
	}
	return nil
}

// mostNamed bounds how many files a message names.
const mostNamed = 5

// reportSkipped counts the skipped files on stderr, so that a mistake in one of them does
// not look like a clean check. It lists the foreign ones only with verbose.
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
		fmt.Fprintf(con.Err, "%s skipped: not batchctl documents%s\n", term.Plural(n, ".json file"), how)
	}
	for i, path := range s.Unclear {
		if i == mostNamed && !verbose {
			fmt.Fprintf(con.Err, "not checked: %s more that may be batchctl documents\n", term.Plural(len(s.Unclear)-i, "file"))
			break
		}
		fmt.Fprintf(con.Err, "not checked: %s may be a batchctl document; add \"$schema\", or name the file to check it\n", diag.Printable(path))
	}
}

// applyBaseline leaves out the problems that were there before.
func applyBaseline(con *term.Console, c *cli.Context, all *check.Result) error {
	if path := c.String("write-baseline"); path != "" {
		if err := newfile.Write(path, newfile.ForAll, func(w io.Writer) error { return diag.WriteBaseline(w, all.Problems) }); err != nil {
			return err
		}
		fmt.Fprintf(con.Err, "wrote %s with %s\n", diag.Printable(path), term.Plural(len(all.Problems.Open()), "problem"))
		all.Problems = slices.DeleteFunc(all.Problems, func(d diag.Diagnostic) bool { return d.Waived == nil })
		return nil
	}
	path := c.String("baseline")
	if path == "" {
		return nil
	}
	f, err := os.Open(path)
	if err != nil {
		return input.Unreadable(&check.ReadError{Path: path, Err: exit.Cause(err)}, input.MakeBaseline)
	}
	defer f.Close()
	baseline, err := diag.ReadBaseline(f)
	if err != nil {
		return exit.Fail(exit.NotDone, "read baseline %s: %v", path, err).Try("make a new one: %s %s", input.MakeBaseline, term.Quoted(path))
	}
	kept, known, stale := baseline.Filter(all.Problems, all.Checked)
	all.Problems = kept
	fmt.Fprintf(con.Err, "baseline: %s left out", term.Plural(known, "known problem"))
	if len(stale) > 0 {
		fmt.Fprintf(con.Err, ", %s mended since: write it anew", term.Plural(len(stale), "entry of it"))
	}
	fmt.Fprintln(con.Err)
	return nil
}

func validateFormat(c *cli.Context) (diag.Format, error) {
	word := c.String("output")
	if c.Bool("json") {
		word = "json"
	}
	for _, f := range diag.Formats() {
		if f.Name == word {
			return f, nil
		}
	}
	return diag.Format{}, exit.Usage("--output %s is not known", word).Try("the formats are: %s", formatNames())
}

func formatNames() string {
	names := ""
	for _, f := range diag.Formats() {
		names += " " + f.Name
	}
	return names[1:]
}

var kinds = []document.Kind{
	document.KindJob, document.KindWorkflow, document.KindPlatform, document.KindJobList, document.KindJobDefinition, document.KindSubmitJob,
	document.KindComputeEnvironment, document.KindJobQueue, document.KindSchedulingPolicy, document.KindConsumableResource,
	document.KindTemplate, document.KindLaunchTemplate, document.KindUserData,
}

func kindNames() string {
	names := ""
	for _, k := range kinds {
		names += " " + string(k)
	}
	return names[1:]
}

func parseKind(word string) (document.Kind, error) {
	for _, k := range kinds {
		if string(k) == word {
			return k, nil
		}
	}
	return "", exit.Usage("--kind %s is not known", word).Try("the kinds are: %s", kindNames())
}

// tool describes batchctl and the rules that found something: a report of every rule is
// larger than most results.
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
		info := diag.RuleInfo{ID: r.Name, Doc: r.Doc, Help: r.Doc + " Source: " + r.Source + ". See " + r.URL(), Severity: r.Severity, URI: r.URL()}
		info.Markdown = fmt.Sprintf("%s\n[%s](%s)\n", r.Markdown(), r.Name, r.URL())
		t.Rules = append(t.Rules, info)
	}
	return t
}
