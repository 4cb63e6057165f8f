package cli

import (
	"strings"
	"testing"

	"github.com/batchctl/batchctl/pkg/cli/cmdline"
	"github.com/batchctl/batchctl/pkg/cli/term"
)

// Each name of another tool stands for one existing command, and is not a command itself.
func TestVocabulary(t *testing.T) {
	app := app((&term.Console{}))
	seen := map[string]string{}
	for _, s := range cmdline.Vocabulary {
		commands := app.Commands
		for _, name := range strings.Fields(s.Name) {
			if strings.HasPrefix(name, "-") {
				continue
			}
			command := cmdline.FindCommand(commands, name)
			if command == nil {
				t.Fatalf("%q: there is no command %q", s.Name, name)
			}
			commands = command.Subcommands
		}
		for _, name := range s.Other {
			if other := seen[name]; other != "" {
				t.Errorf("%q stands for %q and for %q", name, other, s.Name)
			}
			seen[name] = s.Name
			if cmdline.FindCommand(app.Commands, name) != nil {
				t.Errorf("%q stands for %q and is a command", name, s.Name)
			}
		}
	}
}
