package cmdline

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/exit"
)

// urfave/cli stops reading flags at the first operand: `submit job.json --target
// prod` would drop the flag and send the job elsewhere. arrange moves the flags
// of the command line in front of its operands and refuses those that the
// command does not have, so that no flag is ever lost.
func Arrange(app *cli.App, args []string) ([]string, error) {
	if len(args) < 2 {
		return args, nil
	}
	if args[len(args)-1] == completionFlag {
		return completing(app, args[:len(args)-1]), nil
	}
	out := []string{args[0]}
	commands, flags, rest := app.Commands, app.Flags, args[1:]
	if rest[0] == "help" {
		rest = append(slices.Clone(rest[1:]), "--help")
	}
	var command *cli.Command
	path := app.Name
	for len(rest) > 0 && len(commands) > 0 {
		word := rest[0]
		if strings.HasPrefix(word, "-") {
			if IsHelp(word) {
				return nil, &HelpRequest{path, command}
			}
			if path == app.Name && (word == "--version" || word == "-v") {
				return append(out, rest...), nil
			}
			return nil, earlyFlag(path, commands, rest)
		}
		next := FindCommand(commands, word)
		if next == nil && word == "help" {
			return nil, &HelpRequest{path, command}
		}
		if next == nil {
			return nil, unknownCommand(path, commands, word)
		}
		command = next
		out, rest, path = append(out, word), rest[1:], path+" "+word
		if command.SkipFlagParsing {
			return append(out, rest...), nil
		}
		commands, flags = command.Subcommands, command.Flags
		if len(commands) > 0 && len(rest) > 0 && rest[0] == "help" {
			return nil, &HelpRequest{path, command}
		}
		if command.Action != nil && (len(rest) == 0 || FindCommand(commands, rest[0]) == nil) {
			commands = nil // it does something on its own, and takes operands
		}
	}
	if asksForHelp(rest) || len(commands) > 0 {
		return nil, &HelpRequest{path, command}
	}
	front, operands, err := split(path, flags, rest)
	if err != nil && command != nil && len(command.Subcommands) > 0 && strings.HasPrefix(rest[0], "-") {
		return nil, earlyFlag(path, command.Subcommands, rest)
	}
	if err != nil {
		return nil, err
	}
	out = append(out, front...)
	if len(operands) > 0 {
		out = append(append(out, "--"), operands...)
	}
	return out, nil
}

// HelpRequest ends the reading of a command line that asks for help, which is no error.
type HelpRequest struct {
	Path    string
	Command *cli.Command // nil for batchctl's own
}

func (h *HelpRequest) Error() string { return "help of " + h.Path }

// asksForHelp reports whether a word before -- is a flag for help.
func asksForHelp(words []string) bool {
	if i := slices.Index(words, "--"); i >= 0 {
		words = words[:i]
	}
	return slices.ContainsFunc(words, IsHelp)
}

// earlyFlag is the error of a flag before the command: it belongs to a command that comes
// later in the line, or it is none.
func earlyFlag(path string, commands []*cli.Command, rest []string) error {
	name, _, _ := strings.Cut(strings.TrimLeft(rest[0], "-"), "=")
	for i, word := range rest[1:] {
		command := FindCommand(commands, word)
		if command == nil {
			continue
		}
		head, flags, tail := []string{path, word}, command.Flags, rest[i+2:]
		for len(tail) > 0 && FindCommand(command.Subcommands, tail[0]) != nil {
			command = FindCommand(command.Subcommands, tail[0])
			head, flags, tail = append(head, tail[0]), append(slices.Clone(flags), command.Flags...), tail[1:]
		}
		if findFlag(flags, name) == nil {
			continue
		}
		for _, w := range slices.Concat(rest[:i+1], tail) {
			head = append(head, term.Quoted(w))
		}
		return exit.Usage("flag %s is before the command", rest[0]).Try("write: %s", strings.Join(head, " "))
	}
	f := exit.Usage("unknown flag %s", rest[0])
	if near := diag.Near("--"+name, slices.Values([]string{"--version", "--help"})); near != "" {
		return f.Try("did you mean %s?", near)
	}
	return f.Try("write flags after the command: %s COMMAND %s", path, rest[0])
}

const completionFlag = "--generate-bash-completion"

// completing is the command line for the words that may follow one. It holds the command and
// the flags that are whole: urfave/cli would carry out what has a -- or an operand, and a key
// for completion has to change nothing. The word to be completed is found in os.Args.
func completing(app *cli.App, args []string) []string {
	out, path := args[:1:1], app.Name
	commands, flags, rest := app.Commands, app.Flags, args[1:]
	for len(rest) > 0 {
		command := FindCommand(commands, rest[0])
		if command == nil {
			break
		}
		out, path = append(out, rest[0]), path+" "+rest[0]
		commands, flags, rest = command.Subcommands, command.Flags, rest[1:]
	}
	if n := len(rest); n > 0 && strings.HasPrefix(rest[n-1], "-") {
		rest = rest[:n-1]
	}
	if front, _, err := split(path, flags, rest); err == nil && !slices.ContainsFunc(front, IsHelp) {
		out = append(out, front...)
	}
	return append(out, completionFlag)
}

func IsHelp(word string) bool { return word == "-h" || word == "--help" || word == "-help" }

func FindCommand(commands []*cli.Command, word string) *cli.Command {
	for _, c := range commands {
		if c.HasName(word) {
			return c
		}
	}
	return nil
}

func unknownCommand(path string, commands []*cli.Command, word string) error {
	var names []string
	for _, c := range commands {
		names = append(names, c.Name)
	}
	f := exit.Usage("unknown command %q", word)
	if name := ours(Vocabulary, word, func(string) bool { return path == "batchctl" }); name != "" {
		return f.Try("here it is: %s %s", path, name)
	}
	if near := diag.Near(word, slices.Values(names)); near != "" {
		return f.Try("did you mean: %s %s", path, near)
	}
	return f.Try("the commands are: %s", strings.Join(names, " "))
}

// split separates flags with their values from operands.
func split(path string, flags []cli.Flag, words []string) (front, operands []string, err error) {
	for i := 0; i < len(words); i++ {
		word := words[i]
		switch {
		case word == "--":
			return front, append(operands, words[i+1:]...), nil
		case word == "-" || !strings.HasPrefix(word, "-"):
			operands = append(operands, word)
			continue
		case IsHelp(word):
			front = append(front, word)
			continue
		}
		name, _, inline := strings.Cut(strings.TrimLeft(word, "-"), "=")
		flag := findFlag(flags, name)
		if flag == nil {
			return nil, nil, unknownFlag(path, flags, word)
		}
		front = append(front, word)
		if _, isBool := flag.(*cli.BoolFlag); isBool || inline {
			continue
		}
		if i+1 == len(words) {
			return nil, nil, exit.Usage("flag %s needs a value", word).Try("write %s=VALUE; see %s --help", word, path)
		}
		i++
		front = append(front, words[i])
	}
	return front, operands, nil
}

// Most refuses operands beyond the first n: a word that is not understood is not passed over.
func Most(c *cli.Context, n int) error {
	if c.Args().Len() <= n {
		return nil
	}
	word := c.Args().Get(n)
	f := exit.Usage("%s has no use for %q", c.Command.Name, word)
	if findFlag(c.Command.Flags, word) != nil {
		return f.Try("did you mean --%s?", word)
	}
	return f.Try("see batchctl %s --help", c.Command.Name)
}

func findFlag(flags []cli.Flag, name string) cli.Flag {
	for _, f := range flags {
		if slices.Contains(f.Names(), name) {
			return f
		}
	}
	return nil
}

// BadValue says what a flag takes, which urfave/cli calls a parse error.
func BadValue(c *cli.Context, err error) error {
	text, _ := strings.CutSuffix(err.Error(), ": parse error")
	_, name, ok := strings.Cut(text, " for flag -")
	f := exit.Usage("%s", text)
	if !ok || c.Command == nil {
		return f
	}
	switch findFlag(c.Command.Flags, name).(type) {
	case *cli.DurationFlag:
		return f.Try("a duration has a unit, such as 90s, 15m or 2h")
	case *cli.IntFlag:
		return f.Try("write a whole number")
	case *cli.Float64Flag:
		return f.Try("write a number")
	}
	return f
}

func unknownFlag(path string, flags []cli.Flag, word string) error {
	name, _, _ := strings.Cut(word, "=")
	var names []string
	for _, f := range flags {
		names = append(names, "--"+f.Names()[0])
	}
	f := exit.Usage("unknown flag %s", name)
	if other := ours(flagVocabulary, name, func(n string) bool { return slices.Contains(names, n) }); other != "" {
		return f.Try("here it is %s; see %s --help", other, path)
	}
	if near := diag.Near("--"+strings.TrimLeft(name, "-"), slices.Values(names)); near != "" {
		return f.Try("did you mean %s? see %s --help", near, path)
	}
	if len(names) == 0 {
		return f.Try("%s takes no flags", path)
	}
	return f.Try("the flags of %s are: %s", path, strings.Join(names, " "))
}
