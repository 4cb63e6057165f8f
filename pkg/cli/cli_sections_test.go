package cli

import (
	"io"
	"testing"

	"github.com/batchctl/batchctl/pkg/cli/term"
)

// TestSections checks that the table of commands has the names of the commands, and that a command line builds only
// the command that it names.
func TestSections(t *testing.T) {
	con := &term.Console{Streams: term.Streams{Out: io.Discard, Err: io.Discard}}
	all := 0
	for _, s := range sections() {
		for _, c := range s.commands {
			all++
			built := c.build(con)
			if built.Name != c.name {
				t.Errorf("the table calls %s %s", built.Name, c.name)
			}
			if n := len(app(con, "batchctl", c.name).Commands); n != 1 {
				t.Errorf("batchctl %s builds %d commands", c.name, n)
			}
			for _, alias := range built.Aliases {
				if isCommand(alias) {
					t.Errorf("%s is a command and an alias of %s", alias, c.name)
				}
			}
		}
	}
	for _, args := range [][]string{{"batchctl"}, {"batchctl", "help", "submit"}, {"batchctl", "--version"}, {"batchctl", "sumbit"}} {
		if n := len(app(con, args...).Commands); n != all {
			t.Errorf("%v builds %d commands of %d", args, n, all)
		}
	}
}
