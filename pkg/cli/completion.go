package cli

import (
	"fmt"
	"os"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/cli/cmdline"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/client/once"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/exit"
)

// completionScripts are the completion scripts of each shell. They call batchctl for the
// candidates, so they fit every version of it.
var completionScripts = map[string]string{
	"bash": `_batchctl() {
  local cur="${COMP_WORDS[COMP_CWORD]}" words
  if [[ $cur == -* ]]; then
    words=$("${COMP_WORDS[@]:0:COMP_CWORD}" "$cur" --generate-bash-completion 2>/dev/null)
  else
    words=$("${COMP_WORDS[@]:0:COMP_CWORD}" --generate-bash-completion 2>/dev/null)
  fi
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
}
complete -o default -F _batchctl batchctl
`,
	"zsh": `#compdef batchctl
_batchctl() {
  local cur="${words[CURRENT]}"
  local -a found
  if [[ $cur == -* ]]; then
    found=("${(@f)$("${words[@]:0:CURRENT-1}" "$cur" --generate-bash-completion 2>/dev/null)}")
  else
    found=("${(@f)$("${words[@]:0:CURRENT-1}" --generate-bash-completion 2>/dev/null)}")
  fi
  found=("${found[@]%%:*}")
  compadd -a found
  _files
}
compdef _batchctl batchctl
`,
	"fish": `function __batchctl
  set -l words (commandline -opc)
  set -l cur (commandline -ct)
  if string match -q -- '-*' $cur
    $words $cur --generate-bash-completion 2>/dev/null
  else
    $words --generate-bash-completion 2>/dev/null
  end
end
complete -c batchctl -a '(__batchctl)'
`,
}

// completionCommand is batchctl completion.
func completionCommand(con *term.Console) *cli.Command {
	return &cli.Command{
		Name:      "completion",
		Usage:     "print a shell completion script",
		UsageText: "batchctl completion bash|zsh|fish",
		Description: cmdline.Help("Completes commands, flags and the names of submitted jobs.",
			"source <(batchctl completion bash)\nbatchctl completion fish > ~/.config/fish/completions/batchctl.fish"),
		Action: func(c *cli.Context) error {
			if err := cmdline.Most(c, 1); err != nil {
				return err
			}
			script, ok := completionScripts[c.Args().First()]
			if !ok {
				return exit.Usage("unknown shell %q", c.Args().First()).Try("the shells are: bash zsh fish")
			}
			return con.PrintUnmasked(script)
		},
		BashComplete: func(c *cli.Context) { fmt.Fprintln(con.Out, "bash\nzsh\nfish") },
	}
}

// completeJobs completes arguments to the names and short ids of the ledger's
// last 50 jobs, the newest last. It sends no request.
func completeJobs(con *term.Console, command *cli.Command) {
	command.BashComplete = func(c *cli.Context) {
		// The last argument is the completion flag; the one before it is incomplete.
		if args := os.Args; len(args) > 1 && strings.HasPrefix(args[len(args)-2], "-") {
			cli.DefaultCompleteWithFlags(command)(c)
			return
		}
		dir, err := cmdline.TargetOptions(c).Dir()
		if err != nil {
			return
		}
		entries, err := (&once.Ledger{Dir: dir}).Entries()
		// A damaged ledger still has readable lines. Completion must print
		// nothing else.
		if err != nil && len(entries) == 0 {
			return
		}
		seen := map[string]bool{}
		// Older jobs would make the list too long to be useful.
		for _, e := range entries[max(0, len(entries)-50):] {
			for _, name := range []string{e.Name, batch.ShortID(e.ID)} {
				if !seen[name] {
					seen[name] = true
					fmt.Fprintln(con.Out, diag.Printable(name))
				}
			}
		}
	}
}
