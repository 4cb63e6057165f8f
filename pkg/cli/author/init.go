package author

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/batchctl/batchctl/pkg/cli/cmdline"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/target"
	"github.com/batchctl/batchctl/templates"
	"github.com/urfave/cli/v2"
)

// InitCommand is batchctl init.
func InitCommand(con *term.Console) *cli.Command {
	command := cmdline.Command(cli.Command{
		Name:      "init",
		Usage:     "write a job file or a platform file to start from",
		UsageText: "batchctl init [FLAGS] [FILE]",
		Description: cmdline.Help("Without a FILE, the result goes to stdout. It never overwrites an existing file.\n\n--from fills in a template of the platform file. On a terminal, it asks for the parameters; elsewhere, each needs a default or --parameter. If the "+
			"result has errors under the platform file, init writes nothing. A template that is a directory becomes a new directory.",
			"batchctl init job.json\nbatchctl init --gpu train.json\nbatchctl init --new-platform batchctl.json\n"+
				"batchctl init --list-templates\nbatchctl init --from train --parameter epochs=20 train.json"),
	}, initOptions{}, func(ctx context.Context, o initOptions) error { return writeStart(ctx, con, o.start()) })
	command.BashComplete = func(c *cli.Context) { completeTemplates(con, command, c) }
	return command
}

// initOptions are the flags and the argument of init.
type initOptions struct {
	cmdline.Given
	GPU         bool `flag:"gpu" usage:"a job that requests a GPU"`
	Array       bool `flag:"array" usage:"an array job"`
	Workflow    bool `flag:"workflow" usage:"a workflow of dependent jobs"`
	NewPlatform bool `flag:"new-platform" usage:"the organisation's platform file, batchctl.json"`
	// From is a template of the platform file.
	From       string   `flag:"from" usage:"start from this <TEMPLATE> of the platform file; without a value, list the templates"`
	Parameters []string `flag:"parameter" usage:"set a template parameter, <NAME=VALUE>; may be repeated"`
	List       bool     `flag:"list-templates" usage:"list the templates of the platform file"`
	Force      bool     `flag:"force" usage:"also write a result that has errors"`
	// Target has the platform file, and the credentials for S3.
	Target target.Options
	// PlatformFile was the name of --platform until --new-platform existed.
	PlatformFile string `flag:"platform-file" hidden:"true"`

	starts []string // the flags of built-in templates that are set
	path   string   // "" for stdout
	note   string   // about the old name of a flag; "" for none
}

// start returns the options with the meaning of old and missing values of flags.
func (o initOptions) start() initOptions {
	if len(o.Args) > 0 {
		o.path = o.Args[0]
	}
	o.List = o.List || o.IsSet("from") && o.From == ""
	for i, isSet := range []bool{o.GPU, o.Array, o.Workflow, o.NewPlatform} {
		if isSet {
			o.starts = append(o.starts, startNames[i])
		}
	}
	switch old := o.Target.Platform; {
	case o.IsSet("platform-file"):
		o.Target.Platform = o.PlatformFile
		o.note = "--platform-file is now --platform"
	case o.IsSet("platform") && o.From == "" && !o.List && (old == "" || o.path == ""):
		// --platform was a switch that wrote a platform file. Without a template, it has no other meaning.
		o.Target.Platform, o.starts, o.path = "", append(o.starts, "new-platform"), o.path+old
		o.note = "to write a platform file, use --new-platform"
	}
	return o
}

// startNames are the flags of init that choose a built-in template, and with "new-" removed the names of its files.
var startNames = []string{"gpu", "array", "workflow", "new-platform"}

// writeStart is batchctl init. It prints one of the built-in templates, or writes it to a new file; or it fills in a
// template of the platform file.
func writeStart(ctx context.Context, con *term.Console, o initOptions) error {
	isOwn := o.From != "" || o.List
	if o.note != "" {
		fmt.Fprintf(con.Err, "note: %s; the old name still works\n", o.note)
	}
	if err := o.Most(1); err != nil {
		return err
	}
	switch {
	case isOwn && len(o.starts) > 0:
		return exit.Usage("init takes either --%s or a template of the platform file", o.starts[0]).
			Try("remove --%s, or --from", o.starts[0])
	case len(o.starts) > 1:
		return exit.Usage("--gpu, --array, --workflow and --new-platform exclude each other")
	case !isOwn && (len(o.Parameters) > 0 || o.Force):
		return exit.Usage("--parameter and --force apply only to a template").
			Try("name one: batchctl init --from TEMPLATE; see batchctl init --list-templates")
	case o.List:
		return listTemplates(con, o)
	case isOwn:
		return writeFrom(ctx, con, o)
	}
	kind := "job"
	if len(o.starts) > 0 {
		kind = strings.TrimPrefix(o.starts[0], "new-")
	}
	data, err := templates.Start.ReadFile("start/" + kind + ".json")
	if err != nil {
		return err
	}
	return writeResult(con, o.path, namedAfter(o.path, string(data)))
}

// namedAfter returns a start template whose job or workflow has the name of its file, so that the commands about jobs
// take the name that you know. A file whose name no job can have keeps the name in the template.
func namedAfter(path, text string) string {
	name := strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
	if !regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$`).MatchString(name) {
		return text
	}
	return regexp.MustCompile(`"name": "my-(job|gpu-job|array|workflow)"`).ReplaceAllString(text, `"name": "`+name+`"`)
}

// writeResult prints a document, or writes it to a new file and names the next command.
func writeResult(con *term.Console, path, text string) error {
	if path == "" {
		return con.PrintUnmasked(text)
	}
	if err := writeNew(path, text); err != nil {
		return notWritten(path, err)
	}
	reportWritten(con, path)
	return nil
}

// reportWritten names what was written and the next command.
func reportWritten(con *term.Console, path string) {
	fmt.Fprintf(con.Err, "wrote %s\nnext: batchctl validate %s\n", diag.Printable(path),
		diag.Printable(filepath.ToSlash(path)))
}

// notWritten explains an error of creating a file.
func notWritten(path string, err error) error {
	if errors.Is(err, fs.ErrExist) {
		return exit.Fail(exit.NotDone, "%s already exists", path).Try("choose another name; nothing was changed")
	}
	return exit.Fail(exit.NotDone, "write %s: %v", path, exit.Cause(err))
}

// writeNew creates a file. If the file exists, it returns an error for which
// os.IsExist is true. It leaves no incomplete file.
func writeNew(path, text string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	// Close reports errors of delayed writes, so it counts too.
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Close()); err != nil {
		os.Remove(path)
	}
	return err
}
