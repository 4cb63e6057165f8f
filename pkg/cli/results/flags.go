package results

import (
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/batchctl/batchctl/pkg/cli/cmdline"
	"github.com/batchctl/batchctl/pkg/cli/jobs"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/heatmap"
)

// heatmapFlags are the flags of a heat map.
func heatmapFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "heatmap", Usage: "draw a heat map to this `FILE`, .png or .svg"},
		&cli.StringFlag{Name: "axes", Usage: "`X,Y`: the columns of the heat map's axes (default: the first two axes)"},
		&cli.StringFlag{Name: "value", Usage: "the `COLUMN` to draw (default: the only one that has numbers)"},
		&cli.StringFlag{Name: "combine", Value: string(heatmap.Mean),
			Usage: "how to combine several values of one cell: mean, min or max"},
	}
}

// ReplayCommand is batchctl replay.
func ReplayCommand(con *term.Console) *cli.Command {
	return &cli.Command{
		Name:      "replay",
		Usage:     "run one attempt of a job again on this machine",
		UsageText: "batchctl replay [FLAGS] JOB[:INDEX][#ATTEMPT] [-- COMMAND ...]",
		Description: cmdline.Help("The attempt must have finished; without a number, it is the last one. replay lists everything that cannot be the same on this machine, such as "+
			"secrets, roles, volumes and devices. The output goes to stdout. A COMMAND replaces the job's command and gets the same environment.",
			"batchctl replay sweep:17#2 --executor podman\nbatchctl replay sweep:17 --env LOG_LEVEL=debug\n"+
				"batchctl replay sweep:17 -- sh -c 'env | sort'"),
		Flags: jobs.Flags(append(cmdline.ExecutorFlags(),
			&cli.StringSliceFlag{Name: "env", Usage: "add or replace a variable, `NAME=VALUE`; may be repeated"},
			&cli.StringFlag{Name: "dir",
				Usage: "run in this `DIRECTORY`, which must be empty or missing (default: that of the job file for a process without inputs, else a new one, kept if the job leaves files)"})...),
		Action: func(c *cli.Context) error {
			of, err := jobs.OptionsOf(c)
			if err != nil {
				return err
			}
			return replayJob(c.Context, con, replayOptions{Options: of, dir: c.String("dir"),
				env: c.StringSlice("env")})
		},
	}
}

// ResultsCommand is batchctl results.
func ResultsCommand(con *term.Console) *cli.Command {
	return &cli.Command{
		Name:      "results",
		Usage:     "collect the results of jobs as a table",
		UsageText: "batchctl results [FLAGS] [JOB ...]",
		Description: cmdline.Help("Each child has a row: the last JSON object in the last 1000 lines of its log. The \"metrics\" of a job file add numbers from other lines. All members "+
			"become columns, beside the axes of the matrix or the columns of the table. If a step of onFailure or a retry runs a cell again, the newer "+
			"result counts. Jobs that are not arrays have one row each. Without a JOB, results uses the last submission.\n\n--outputs lists the files that the jobs uploaded as \"outputs\". --fetch downloads them to the local path of the output, or to JOB/INDEX/NAME; --to "+
			"sets another directory. It overwrites a local file that differs only with --force.",
			"batchctl results pi-sweep\nbatchctl results pi-sweep --output csv > pi.csv\nbatchctl results pi-sweep.json --output markdown\n"+
				"batchctl results pi-sweep --heatmap pi.svg --axes samples,seed --value error\n"+
				"batchctl results train --fetch --to results"),
		Flags: jobs.Flags(append([]cli.Flag{cmdline.SubmissionFlag(),
			cmdline.OutputFlag("text, csv, json or markdown"),
			cmdline.JSONFlag(cmdline.JSON[[]map[string]any](), cmdline.JSONWith[[]outputRow]("outputs"),
				cmdline.JSONWith[[]outputRow]("fetch")),
			&cli.BoolFlag{Name: "every-line",
				Usage: "make a row of every line that is a JSON object or has a metric, from the whole log"},
			&cli.BoolFlag{Name: "exit-code", Usage: "add a column for the exit code"},
			&cli.BoolFlag{Name: "outputs", Usage: "list the files that the jobs uploaded, with size, age and URL"},
			&cli.BoolFlag{Name: "fetch", Usage: "download those files"},
			&cli.StringFlag{Name: "to", Usage: "the `DIRECTORY` for --fetch (default: the local paths of the outputs)"},
			&cli.BoolFlag{Name: "force", Usage: "let --fetch overwrite files that differ"}}, heatmapFlags()...)...),
		Action: func(c *cli.Context) error {
			o, err := optionsOf(c)
			if err != nil {
				return err
			}
			if o.outputs || o.fetch {
				return outputs(c.Context, con, o)
			}
			return printResults(c.Context, con, o)
		},
	}
}

// options are the flags and arguments of results.
type options struct {
	jobs.Options
	outputs, fetch, force bool
	to                    string // a directory, for fetch
	everyLine, exitCode   bool
	heatmap, value, axes  string // a path, a column, two columns separated by a comma
	combine               string
	// given reports whether a flag is on the command line.
	given func(flag string) bool
}

// optionsOf reads the flags of results.
func optionsOf(c *cli.Context) (options, error) {
	of, err := jobs.OptionsOf(c)
	o := options{Options: of, outputs: c.Bool("outputs"), fetch: c.Bool("fetch"), force: c.Bool("force"),
		to: c.String("to"), everyLine: c.Bool("every-line"),
		exitCode: c.Bool("exit-code"), heatmap: c.String("heatmap"), value: c.String("value"), axes: c.String("axes"),
		combine: c.String("combine"), given: c.IsSet}
	if format := c.String("output"); (o.outputs || o.fetch) && format != "text" && format != "json" {
		return o, exit.Usage("--outputs and --fetch print only text or json").
			Try("batchctl results %s --outputs --json", strings.Join(o.Args, " "))
	}
	return o, err
}

// replayOptions are the flags of replay. Args are a job and then its command.
type replayOptions struct {
	jobs.Options
	dir string // where it runs; "" for a temporary directory
	env []string
}
