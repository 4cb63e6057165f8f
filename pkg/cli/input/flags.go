package input

import (
	"github.com/urfave/cli/v2"

	"github.com/batchctl/batchctl/pkg/catalog"
	"github.com/batchctl/batchctl/pkg/cli/cmdline"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/target"
)

// Options are the flags and arguments of the commands that load documents.
type Options struct {
	// Command is the name of the command, for the error when no document is named.
	Command string
	// Paths are the documents, "-" for standard input.
	Paths []string
	// Parameters, Set and Env are the values of the flags with these names.
	Parameters, Set, Env []string
	KeepGoing            bool
	// Catalog is the path of a file of instance types; "" for the built-in ones.
	Catalog string
	// Target selects the target, and has the path of the platform file.
	Target target.Options
}

// OptionsOf reads Flags, VariationFlags and the arguments, which are documents.
func OptionsOf(c *cli.Context) Options {
	return Options{Command: c.Command.Name, Paths: c.Args().Slice(), Parameters: c.StringSlice("parameters"),
		Set: c.StringSlice("set"), Env: c.StringSlice("env"),
		KeepGoing: c.Bool("keep-going"), Catalog: c.String("catalog"), Target: cmdline.TargetOptions(c)}
}

// Flags are the flags of every command that loads documents.
func Flags() []cli.Flag {
	return []cli.Flag{
		cmdline.PlatformFlag(),
		&cli.StringFlag{Name: "catalog", Usage: "a `FILE` of instance types newer than " + catalog.InstanceTypesDate +
			", the output of " + catalog.Command + " (default: the platform file's catalog)"},
		&cli.StringSliceFlag{Name: "parameters",
			Usage: "set a parameter of SubmitJob, `NAME=VALUE`, or @FILE with a JSON object of them; may be repeated"},
	}
}

// VariationFlags are the flags that change a document before it is checked.
func VariationFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringSliceFlag{Name: "set",
			Usage: "change a member of the file, `PATH=VALUE`: resources.vcpus=4, jobs.train.timeout=2h, command[1]=x; the value is JSON or text, and null removes the member; may be repeated"},
		&cli.StringSliceFlag{Name: "env",
			Usage: "set a variable of the container, `NAME=VALUE`, or NAME to copy your own; may be repeated"},
		&cli.BoolFlag{Name: "keep-going", Usage: "if a line of a command list fails, continue with the next ones"},
	}
}

// RawFlag is --raw, for commands that print the output of jobs.
func RawFlag(con *term.Console) cli.Flag {
	return &cli.BoolFlag{Name: "raw", Destination: &con.RawLog,
		Usage: "print job output unchanged, with escape sequences and control characters"}
}

// Raw is --raw, of commands that print the output of jobs.
type Raw struct {
	IsRaw bool `flag:"raw" usage:"print job output unchanged, with escape sequences and control characters"`
}
