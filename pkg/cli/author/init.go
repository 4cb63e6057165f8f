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

	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/templates"
)

// startNames are the flags of init that choose a built-in template, and with "new-" removed the names of its files.
var startNames = []string{"gpu", "array", "workflow", "new-platform"}

// writeStart is batchctl init. It prints one of the built-in templates, or writes it to a new file; or it fills in a
// template of the platform file. unexpected is the error of a second argument.
func writeStart(ctx context.Context, con *term.Console, o initOptions, unexpected error) error {
	isOwn := o.from != "" || o.list
	if o.note != "" {
		fmt.Fprintf(con.Err, "note: %s; the old name still works\n", o.note)
	}
	switch {
	case unexpected != nil:
		return unexpected
	case isOwn && len(o.starts) > 0:
		return exit.Usage("init takes either --%s or a template of the platform file", o.starts[0]).
			Try("remove --%s, or --from", o.starts[0])
	case len(o.starts) > 1:
		return exit.Usage("--gpu, --array, --workflow and --new-platform exclude each other")
	case !isOwn && (len(o.parameters) > 0 || o.force):
		return exit.Usage("--parameter and --force apply only to a template").
			Try("name one: batchctl init --from TEMPLATE; see batchctl init --list-templates")
	case o.list:
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
