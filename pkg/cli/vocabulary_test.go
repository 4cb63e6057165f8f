package cli

import (
	"strings"
	"testing"

	"github.com/batchctl/batchctl/pkg/cli/cmdline"
	"github.com/batchctl/batchctl/pkg/cli/term"
)

// Each word leads to one command that there is, and is none itself.
func TestVocabulary(t *testing.T) {
	app := app((&term.Console{}))
	seen := map[string]string{}
	for _, s := range cmdline.Vocabulary {
		commands := app.Commands
		for _, word := range strings.Fields(s.Name) {
			if strings.HasPrefix(word, "-") {
				continue
			}
			command := cmdline.FindCommand(commands, word)
			if command == nil {
				t.Fatalf("%q: there is no command %q", s.Name, word)
			}
			commands = command.Subcommands
		}
		for _, word := range s.Other {
			if other := seen[word]; other != "" {
				t.Errorf("%q stands for %q and for %q", word, other, s.Name)
			}
			seen[word] = s.Name
			if cmdline.FindCommand(app.Commands, word) != nil {
				t.Errorf("%q stands for %q and is a command", word, s.Name)
			}
		}
	}
}
