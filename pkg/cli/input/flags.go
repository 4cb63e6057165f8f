package input

import (
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/batchctl/batchctl/pkg/catalog"
	"github.com/batchctl/batchctl/pkg/cli/cmdline"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/target"
)

// Options are the flags and arguments of the commands that load documents.
type Options struct {
	// Args are the documents, "-" for standard input.
	cmdline.Given
	// Target selects the target, and has the path of the platform file.
	Target  target.Options
	Catalog CatalogFile `flag:"catalog"`
	// Parameters are NAME=VALUE, or @FILE.
	Parameters []string `flag:"parameters" usage:"set a parameter of SubmitJob, <NAME=VALUE>, or @FILE with a JSON object of them; may be repeated"`
	// Set are PATH=VALUE, and Env NAME=VALUE.
	Set       []string `flag:"set" usage:"change a member of the file, <PATH=VALUE>: resources.vcpus=4, jobs.train.timeout=2h, command[1]=x; the value is JSON or text, and null removes the member; may be repeated"`
	Env       []string `flag:"env" usage:"set a variable of the container, <NAME=VALUE>, or NAME to copy your own; may be repeated"`
	KeepGoing bool     `flag:"keep-going" usage:"if a line of a command list fails, continue with the next ones"`
}

// CatalogFile is the path of a file of instance types; "" for the built-in ones.
type CatalogFile string

// Usage is the help of --catalog.
func (CatalogFile) Usage() string {
	return "a <FILE> of instance types newer than " + catalog.InstanceTypesDate + ", the output of " + catalog.Command +
		" (default: the platform file's catalog)"
}

// OptionsOf reads Flags, VariationFlags and the arguments, which are documents.
func OptionsOf(c *cli.Context) Options {
	o := Options{Parameters: c.StringSlice("parameters"), Set: c.StringSlice("set"), Env: c.StringSlice("env"),
		KeepGoing: c.Bool("keep-going"), Catalog: CatalogFile(c.String("catalog")), Target: cmdline.TargetOptions(c)}
	_ = o.Given.Fill(c)
	return o
}

// Flags are the flags of every command that loads documents.
func Flags() []cli.Flag {
	return []cli.Flag{
		cmdline.PlatformFlag(),
		&cli.StringFlag{Name: "catalog", Usage: strings.NewReplacer("<", "`", ">", "`").Replace(CatalogFile("").Usage())},
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
