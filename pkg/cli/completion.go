package cli

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/cli/cmdline"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/client/once"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/target"
)

// completionScripts are the completion scripts of each shell. They call batchctl for the
// candidates, so they fit every version of it. Files complete where no candidate does. macOS has
// bash 3.2. zsh runs the script itself, as the function, if it finds it as a file.
var completionScripts = map[string]string{
	"bash": `_batchctl() {
  local cur=${COMP_WORDS[COMP_CWORD]} word
  local -a line=("${COMP_WORDS[@]:0:COMP_CWORD}")
  [[ $cur == -* ]] && line+=("$cur")
  line[0]=${line[0]/#\~\//$HOME/}
  COMPREPLY=()
  while IFS= read -r word; do
    [[ $word == "$cur"* ]] && printf -v word %q "$word" && COMPREPLY+=("$word")
  done < <("${line[@]}" --generate-bash-completion 2>/dev/null)
}
complete -o default -F _batchctl batchctl
`,
	"zsh": `#compdef batchctl
_batchctl() {
  local -a line found
  line=("${(@)words[1,CURRENT-1]}")
  [[ ${words[CURRENT]} == -* ]] && line+=("${words[CURRENT]}")
  line[1]=${line[1]/#\~\//$HOME/}
  found=(${(f)"$("${line[@]}" --generate-bash-completion 2>/dev/null)"})
  compadd -a found || _files
}
if [[ ${funcstack[1]} == _batchctl ]]; then
  _batchctl
else
  compdef _batchctl batchctl
fi
`,
	"fish": `function __batchctl
  set -l line (commandline -opc)
  set -l cur (commandline -ct)
  string match -q -- '-*' $cur; and set -a line $cur
  set -l found ($line --generate-bash-completion 2>/dev/null)
  string match -r -- '^'(string escape --style=regex -- "$cur")'.*' $found; or __fish_complete_path "$cur"
end
complete -c batchctl -f -a '(__batchctl)'
`,
}

// completionCommand is batchctl completion.
func completionCommand(con *term.Console) *cli.Command {
	return cmdline.Command(cli.Command{
		Name:      "completion",
		Usage:     "print a shell completion script",
		UsageText: "batchctl completion bash|zsh|fish",
		Description: cmdline.Help("Completes commands, flags, and the names and ids of submitted workflows and jobs. It sends no request.",
			"eval \"$(batchctl completion bash)\"\nbatchctl completion fish > ~/.config/fish/completions/batchctl.fish"),
		BashComplete: func(*cli.Context) { fmt.Fprintln(con.Out, "bash\nzsh\nfish") },
	}, arguments{}, func(_ context.Context, o arguments) error { return completion(con, o) })
}

// completion prints the script of a shell.
func completion(con *term.Console, o arguments) error {
	if err := o.Most(1); err != nil {
		return err
	}
	shell := o.first()
	script, ok := completionScripts[shell]
	if !ok {
		return exit.Usage("unknown shell %q", shell).
			Try("%s", diag.Instead(shell, []string{"bash", "zsh", "fish"},
				diag.Offer{Near: "did you mean: batchctl completion %s", Are: "the shells are"}))
	}
	return con.PrintUnmasked(script)
}

// jobCommands are the commands whose arguments complete to handles of jobs and submissions. Those of
// resume complete to open submissions, and those of list only after --array.
var jobCommands = []string{"status", "logs", "wait", "results", "retry", "replay", "stop", "explain", "top", "cost",
	"graph", "list", "resume", "history", "advise", "diff"}

// handleFlags are the flags whose values are handles.
var handleFlags = []string{"--submission", "--array", "--jobs"}

// completeHandles completes arguments, and values of handleFlags, to the handles of the ledger's
// last entries: workflows, submissions, names and short ids of jobs, the newest last. It sends no
// request.
func completeHandles(con *term.Console, command *cli.Command) {
	command.BashComplete = func(c *cli.Context) {
		// The last argument is the completion flag; the one before it is incomplete, or a flag
		// whose value is missing.
		before := ""
		if args := os.Args; len(args) > 1 {
			before = args[len(args)-2]
		}
		isValue := slices.Contains(handleFlags, before) && slices.ContainsFunc(command.Flags, func(f cli.Flag) bool {
			return slices.Contains(f.Names(), strings.TrimLeft(before, "-"))
		})
		if !isValue && (strings.HasPrefix(before, "-") || command.Name == "list") {
			cli.DefaultCompleteWithFlags(command)(c)
			return
		}
		dir, err := target.Options{StateDir: c.String("state-dir")}.Dir()
		if err != nil {
			return
		}
		ledger := &once.Ledger{Dir: dir}
		entries := ledger.RecentOpen()
		if command.Name != "resume" {
			entries = ledger.Recent()
		}
		for _, handle := range handlesOf(entries) {
			fmt.Fprintln(con.Out, handle)
		}
	}
}

// mostCompleted is how many entries complete to handles. Older ones would make the list too long to
// be useful.
const mostCompleted = 50

// handlesOf returns the handles of the last entries, each once. It leaves out names that a shell
// would split or expand: bash expands the words that compgen gets.
func handlesOf(entries []once.Entry) (handles []string) {
	seen := map[string]bool{"": true}
	for _, e := range entries[max(0, len(entries)-mostCompleted):] {
		candidates := []string{e.Workflow, "", e.Name, batch.ShortID(e.ID)}
		if e.Workflow != "" || e.ID == "" {
			candidates[1] = e.Run // otherwise the job's id is enough
		}
		for _, handle := range candidates {
			if !seen[handle] && strings.IndexFunc(handle, needsQuotes) < 0 {
				handles = append(handles, handle)
			}
			seen[handle] = true
		}
	}
	return handles
}

// needsQuotes reports whether a character of a completed word may mean something to a shell, or to
// its completion, which splits words at a colon.
func needsQuotes(r rune) bool {
	isPlain := r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || strings.ContainsRune("_-.+@/", r)
	return !isPlain
}
