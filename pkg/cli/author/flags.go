package author

import (
	"github.com/urfave/cli/v2"

	"github.com/batchctl/batchctl/pkg/catalog"
	"github.com/batchctl/batchctl/pkg/cli/cmdline"
	"github.com/batchctl/batchctl/pkg/cli/input"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/lsp"
)

// ConvertCommand is batchctl convert.
func ConvertCommand(con *term.Console) *cli.Command {
	return &cli.Command{
		Name:      "convert",
		Usage:     "convert AWS requests to a job file, or back",
		UsageText: "batchctl convert [FLAGS] FILE ...",
		Description: cmdline.Help("Native requests (a RegisterJobDefinition, a SubmitJob, or both) become one compact job file, those of\n"+
			"several jobs a workflow. A job file becomes its two requests, a workflow a list of such pairs, or with\n"+
			"--operation SubmitJob a job list. Nothing but comments is lost: what has no short form is in jobDefinition\n"+
			"and submitJob. The result goes to stdout.",
			"batchctl convert register.json submit.json > job.json\nbatchctl convert job.json --operation SubmitJob > submit.json\n"+
				"batchctl convert flow.json --job train --operation RegisterJobDefinition > register.json"),
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "operation", Usage: "of a job file's requests print only this one: RegisterJobDefinition or SubmitJob"},
			&cli.StringFlag{Name: "job", Usage: "of several jobs take only the one of this `NAME`"},
			&cli.BoolFlag{Name: "from-describe", Usage: "take what aws batch describe-job-definitions printed"},
		},
		Action: func(c *cli.Context) error {
			return convert(con, convertOptions{paths: c.Args().Slice(), operation: c.String("operation"), job: c.String("job"), fromDescribe: c.Bool("from-describe")})
		},
	}
}

// FmtCommand is batchctl fmt.
func FmtCommand(con *term.Console) *cli.Command {
	return &cli.Command{
		Name:      "fmt",
		Usage:     "format job files",
		UsageText: "batchctl fmt [FLAGS] FILE|DIRECTORY|PATTERN|- ...",
		Description: cmdline.Help("Without flags the result goes to stdout. Values and their order stay as they are.",
			"batchctl fmt job.json\nbatchctl fmt --write jobs/\nbatchctl fmt --check jobs/    # exit code 1 and the names, for CI"),
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "write", Aliases: []string{"w"}, Usage: "rewrite the files that are laid out otherwise"},
			&cli.BoolFlag{Name: "check", Usage: "only name the files that are laid out otherwise"},
			&cli.BoolFlag{Name: "diff", Usage: "show what --write would change"},
			&cli.BoolFlag{Name: "verbose", Usage: "list the skipped .json files of a directory"},
		},
		Action: func(c *cli.Context) error {
			return format(con, formatOptions{paths: c.Args().Slice(), write: c.Bool("write"), check: c.Bool("check"), diff: c.Bool("diff"), verbose: c.Bool("verbose")})
		},
	}
}

// LSPCommand is batchctl lsp.
func LSPCommand(con *term.Console) *cli.Command {
	return &cli.Command{
		Name:      "lsp",
		Usage:     "run the language server for editors",
		UsageText: "batchctl lsp",
		Description: cmdline.Help("Problems as you type, with quick fixes; hover explains a member, completion offers the next one.\n"+
			"An editor starts this command; it is of no use in a shell.",
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
		Action: func(c *cli.Context) error {
			o := validateOptionsOf(c)
			if c.Bool("rules") {
				return rules(con, o.format, o.Paths)
			}
			return validate(c.Context, con, o)
		},
	}
}

// convertOptions are those of convert.
type convertOptions struct {
	paths        []string // "-" for standard input
	operation    string   // "" for both
	job          string   // its name; "" for all
	fromDescribe bool
}

// formatOptions are those of fmt.
type formatOptions struct {
	paths                       []string // also directories and patterns; "-" for standard input
	write, check, diff, verbose bool
}

// validateOptions are those of validate.
type validateOptions struct {
	input.Options
	format, failOn, kind                string   // as they were written
	include                             []string // patterns
	onlyRecognized, fromDescribe        bool
	summary, strict, verbose, fix, diff bool
	baseline, writeBaseline             string // paths
}

func validateOptionsOf(c *cli.Context) validateOptions {
	o := validateOptions{Options: input.OptionsOf(c), format: c.String("output"), failOn: c.String("fail-on"), kind: c.String("kind"),
		include: c.StringSlice("include"), onlyRecognized: c.Bool("only-recognized"), fromDescribe: c.Bool("from-describe"), summary: c.Bool("summary"),
		strict: c.Bool("strict"), verbose: c.Bool("verbose"), fix: c.Bool("fix"), diff: c.Bool("diff"), baseline: c.String("baseline"),
		writeBaseline: c.String("write-baseline")}
	if c.Bool("json") {
		o.format = "json"
	}
	return o
}
