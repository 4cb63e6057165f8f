package author

import (
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/batchctl/batchctl/pkg/catalog"
	"github.com/batchctl/batchctl/pkg/cli/cmdline"
	"github.com/batchctl/batchctl/pkg/cli/input"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/lsp"
	"github.com/batchctl/batchctl/pkg/target"
)

// ConvertCommand is batchctl convert.
func ConvertCommand(con *term.Console) *cli.Command {
	return &cli.Command{
		Name:      "convert",
		Usage:     "convert AWS requests to a job file, or back",
		UsageText: "batchctl convert [FLAGS] FILE ...",
		Description: cmdline.Help("AWS requests (RegisterJobDefinition, SubmitJob, or both) become a job file; requests for several jobs become a workflow. A job file becomes its two "+
			"requests. A workflow becomes a list of such pairs, or a job list with --operation SubmitJob.\n\nOnly comments are lost. Members without a short form "+
			"go to jobDefinition and submitJob. The result goes to stdout.",
			"batchctl convert register.json submit.json > job.json\nbatchctl convert job.json --operation SubmitJob > submit.json\n"+
				"batchctl convert flow.json --job train --operation RegisterJobDefinition > register.json"),
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "operation", Usage: "print only this request: RegisterJobDefinition or SubmitJob"},
			&cli.StringFlag{Name: "job", Usage: "convert only the job of this `NAME`"},
			&cli.BoolFlag{Name: "from-describe", Usage: "read the output of aws batch describe-job-definitions"},
		},
		Action: func(c *cli.Context) error {
			return convert(con, convertOptions{paths: c.Args().Slice(), operation: c.String("operation"),
				job: c.String("job"), fromDescribe: c.Bool("from-describe")})
		},
	}
}

// FmtCommand is batchctl fmt.
func FmtCommand(con *term.Console) *cli.Command {
	return &cli.Command{
		Name:      "fmt",
		Usage:     "format job files",
		UsageText: "batchctl fmt [FLAGS] [FILE|DIRECTORY|PATTERN|- ...]",
		Description: cmdline.Help("Without flags, the result goes to stdout. Values and their order do not change. --check and --diff read this directory if you name no file.",
			"batchctl fmt job.json\nbatchctl fmt --write jobs/\nbatchctl fmt --check jobs/    # exit code 1 and the names, for CI"),
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "write", Aliases: []string{"w"}, Usage: "rewrite files that are not formatted"},
			&cli.BoolFlag{Name: "check",
				Usage: "list files that are not formatted; exit with status 1 if there are any"},
			&cli.BoolFlag{Name: "diff", Usage: "show what --write would change"},
			&cli.BoolFlag{Name: "verbose", Usage: "list the skipped .json files of a directory"},
		},
		Action: func(c *cli.Context) error {
			return format(con, formatOptions{paths: c.Args().Slice(), write: c.Bool("write"), check: c.Bool("check"),
				diff: c.Bool("diff"), verbose: c.Bool("verbose")})
		},
	}
}

// InitCommand is batchctl init.
func InitCommand(con *term.Console) *cli.Command {
	command := &cli.Command{
		Name:      "init",
		Usage:     "write a job file or a platform file to start from",
		UsageText: "batchctl init [FLAGS] [FILE]",
		Description: cmdline.Help("Without a FILE, the result goes to stdout. It never overwrites an existing file.\n\n--from fills in a template of the platform file. On a terminal, it asks for the parameters; elsewhere, each needs a default or --parameter. If the "+
			"result has errors under the platform file, init writes nothing. A template that is a directory becomes a new directory.",
			"batchctl init job.json\nbatchctl init --gpu train.json\nbatchctl init --new-platform batchctl.json\n"+
				"batchctl init --list-templates\nbatchctl init --from train --parameter epochs=20 train.json"),
		Flags: append([]cli.Flag{
			&cli.BoolFlag{Name: "gpu", Usage: "a job that requests a GPU"},
			&cli.BoolFlag{Name: "array", Usage: "an array job"},
			&cli.BoolFlag{Name: "workflow", Usage: "a workflow of dependent jobs"},
			&cli.BoolFlag{Name: "new-platform", Usage: "the organisation's platform file, batchctl.json"},
			&cli.StringFlag{Name: "from",
				Usage: "start from this `TEMPLATE` of the platform file; without a value, list the templates"},
			&cli.StringSliceFlag{Name: "parameter", Usage: "set a template parameter, `NAME=VALUE`; may be repeated"},
			&cli.BoolFlag{Name: "list-templates", Usage: "list the templates of the platform file"},
			&cli.BoolFlag{Name: "force", Usage: "also write a result that has errors"},
			cmdline.PlatformFlag(),
			&cli.StringFlag{Name: "platform-file", Hidden: true}, // the name of --platform until --new-platform existed
		}, cmdline.TargetFlags()...),
		Action: func(c *cli.Context) error { return writeStart(c.Context, con, initOptionsOf(c), cmdline.Most(c, 1)) },
	}
	command.BashComplete = func(c *cli.Context) { completeTemplates(con, command, c) }
	return command
}

// LSPCommand is batchctl lsp.
func LSPCommand(con *term.Console) *cli.Command {
	return &cli.Command{
		Name:      "lsp",
		Usage:     "run the language server for editors",
		UsageText: "batchctl lsp",
		Description: cmdline.Help("Your editor starts this command. It reports problems with quick fixes while you type, explains members on hover, and completes them.",
			"-- Neovim\nvim.lsp.config('batchctl', { cmd = { 'batchctl', 'lsp' }, filetypes = { 'json' } })\nvim.lsp.enable('batchctl')"),
		Action: func(c *cli.Context) error {
			return lsp.Serve(c.Context, con.In, con.Out, lsp.Options{Version: cmdline.Version().Version, Log: con.Err})
		},
	}
}

// ValidateCommand is batchctl validate.
func ValidateCommand(con *term.Console) *cli.Command {
	return &cli.Command{
		Name:      "validate",
		Usage:     "check files for what AWS Batch would reject or leave stuck",
		UsageText: "batchctl validate [FLAGS] [FILE|DIRECTORY|PATTERN|- ...]",
		Description: cmdline.Help("Reports every problem at file:line:column, with the name of the rule and what to do: fix is an edit that --fix makes, suggestion an edit that only you can decide, help is advice. Problems go to stdout. Warnings do not change "+
			"the exit code.\n\nWithout a FILE, it checks this directory. In a directory, it checks the files that it recognises, skips and counts the others, and respects .gitignore. Waived problems are listed with their "+
			"reasons. Besides job files, it checks AWS Batch requests, CloudFormation templates, launch templates and user data.",
			"batchctl validate\nbatchctl validate job.json\nbatchctl validate jobs/ --output sarif > batchctl.sarif\ncat job.json | batchctl validate -\n"+
				"batchctl validate job.json --fix\nbatchctl validate --rules array-size-min\n"+
				catalog.Command+" > types.json; batchctl validate jobs/ --catalog types.json"),
		Flags: append(input.Flags(),
			cmdline.OutputFlag("`FORMAT`: "+formatNames()),
			cmdline.JSONFlag(cmdline.JSON[[]diag.Record](), cmdline.JSONWith[[]ruleRow]("rules")),
			&cli.BoolFlag{Name: "summary", Usage: "count the problems by rule instead of printing each"},
			&cli.StringFlag{Name: "fail-on", Value: "error",
				Usage: "`SEVERITY` that makes the exit code 1: error or warning"},
			&cli.BoolFlag{Name: "strict",
				Usage: "fail if something could not be checked, a skipped file may be a job file, or a platform file hides a policy"},
			&cli.StringSliceFlag{Name: "include",
				Usage: "in directories, check every file that matches this `PATTERN`; may be repeated"},
			&cli.BoolFlag{Name: "only-recognized",
				Usage: "skip files that are not batchctl documents (for pre-commit)"},
			&cli.BoolFlag{Name: "verbose", Usage: "list the skipped .json files"},
			&cli.StringFlag{Name: "kind", Usage: "treat the files as this `KIND` of document: " +
				strings.Join(kindNames(fileKinds), " ") + ", or a request by its operation, such as CreateJobQueue"},
			&cli.BoolFlag{Name: "from-describe",
				Usage: "read the output of aws batch describe-*, and ignore members that a request cannot have"},
			&cli.BoolFlag{Name: "fix", Usage: "fix the files in place where that is safe"},
			&cli.BoolFlag{Name: "diff", Usage: "print what --fix would change; change nothing"},
			&cli.StringFlag{Name: "baseline", Usage: "ignore the problems listed in this `FILE`"},
			&cli.StringFlag{Name: "write-baseline", Usage: "write the current problems to this `FILE`, for --baseline"},
			&cli.BoolFlag{Name: "rules",
				Usage: "list the rules, or explain the named ones with examples; --output markdown prints a page"},
		),
		Action: func(c *cli.Context) error {
			o := validateOptionsOf(c)
			if c.Bool("rules") {
				return rules(con, o.format, o.Paths)
			}
			return validate(c.Context, con, o)
		},
	}
}

// initOptions are the flags and the argument of init.
type initOptions struct {
	// starts are the flags of built-in templates that are set.
	starts []string
	// from is a template of the platform file; list lists them instead.
	from        string
	list, force bool
	parameters  []string // NAME=VALUE
	path        string   // "" for stdout
	note        string   // about the old name of a flag; "" for none
	// target has the platform file, and the credentials for S3.
	target target.Options
}

// initOptionsOf reads the flags of init.
func initOptionsOf(c *cli.Context) initOptions {
	o := initOptions{from: c.String("from"), list: c.Bool("list-templates") || c.IsSet("from") &&
		c.String("from") == "", force: c.Bool("force"),
		parameters: c.StringSlice("parameter"), path: c.Args().First(), target: cmdline.TargetOptions(c)}
	for _, name := range startNames {
		if c.Bool(name) {
			o.starts = append(o.starts, name)
		}
	}
	old := c.String("platform")
	switch {
	case c.IsSet("platform-file"):
		o.target.Platform = c.String("platform-file")
		o.note = "--platform-file is now --platform"
	case c.IsSet("platform") && o.from == "" && !o.list && (old == "" || o.path == ""):
		// --platform was a switch that wrote a platform file. Without a template, it has no other meaning.
		o.target.Platform, o.starts, o.path = "", append(o.starts, "new-platform"), o.path+old
		o.note = "to write a platform file, use --new-platform"
	}
	return o
}

// convertOptions are the flags and arguments of convert.
type convertOptions struct {
	paths        []string // "-" for standard input
	operation    string   // "" for both
	job          string   // its name; "" for all
	fromDescribe bool
}

// formatOptions are the flags and arguments of fmt.
type formatOptions struct {
	paths                       []string // also directories and patterns; "-" for standard input
	write, check, diff, verbose bool
}

// validateOptions are the flags and arguments of validate.
type validateOptions struct {
	input.Options
	format, failOn, kind                string   // as written
	include                             []string // patterns
	onlyRecognized, fromDescribe        bool
	summary, strict, verbose, fix, diff bool
	baseline, writeBaseline             string // paths
}

// validateOptionsOf reads the flags of validate. newChecker and reportFormat
// check their values.
func validateOptionsOf(c *cli.Context) validateOptions {
	o := validateOptions{Options: input.OptionsOf(c), format: c.String("output"), failOn: c.String("fail-on"),
		kind:    c.String("kind"),
		include: c.StringSlice("include"), onlyRecognized: c.Bool("only-recognized"),
		fromDescribe: c.Bool("from-describe"), summary: c.Bool("summary"),
		strict: c.Bool("strict"), verbose: c.Bool("verbose"), fix: c.Bool("fix"), diff: c.Bool("diff"),
		baseline:      c.String("baseline"),
		writeBaseline: c.String("write-baseline")}
	if c.Bool("json") {
		o.format = "json"
	}
	return o
}
