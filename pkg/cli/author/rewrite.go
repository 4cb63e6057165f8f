package author

import (
	"errors"
	"fmt"

	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/newfile"
)

// rewrite replaces the text of a file that was read. It fails if another program
// has changed the file since then.
func rewrite(con *term.Console, src *diag.Source, text string) error {
	links, err := newfile.Replace(src.Name, src.Text, text)
	switch {
	case errors.Is(err, newfile.ErrChanged):
		return exit.Fail(exit.NotDone, "write %s: %v", src.Name, err).Try("run the command again to use the new text")
	case errors.Is(err, newfile.ErrReadOnly):
		return exit.Fail(exit.NotDone, "write %s: %v", src.Name, err).Try("make it writable: chmod u+w")
	case err != nil:
		return exit.Fail(exit.NotDone, "write %s: %v", src.Name, exit.Cause(err)).Try("the file is unchanged")
	case links > 1:
		fmt.Fprintf(con.Err, "note: %s has other hard links, which keep the old text\n", diag.Printable(src.Name))
	}
	return nil
}
