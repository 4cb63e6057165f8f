package cmdline

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/exit"
)

// Arrange moves the flags of a command line before its operands, and refuses flags that the
// command does not have. urfave/cli stops reading flags at the first operand: with
// `submit job.json --target prod` it would drop the flag and send the job to another target.
// The error is a *HelpRequest if the command line asks for help. instead returns the command that has a flag which the
// command at a path lacks, or "".
func Arrange(app *cli.App, args []string, instead func(path, flag string) string) ([]string, error) {
	if len(args) < 2 {
		return args, nil
	}
	if args[len(args)-1] == completionFlag {
		return completing(app, args[:len(args)-1]), nil
	}
	out := []string{args[0]}
	commands, flags, rest := app.Commands, app.Flags, args[1:]
	about := rest[0] == "help" // every argument names a command
	if about && len(rest) > 1 && slices.Contains([]string{"flag", "flags", "options"}, rest[1]) {
		if len(rest) > 2 && !IsHelp(rest[2]) {
			return nil, exit.Usage("unexpected argument %q", rest[2]).Try("see batchctl help flags")
		}
		return nil, &HelpRequest{Path: flagsPath}
	}
	if about {
		rest = append(slices.Clone(rest[1:]), "--help")
	}
	var command *cli.Command
	path := app.Name
	for len(rest) > 0 && len(commands) > 0 {
		arg := rest[0]
		if strings.HasPrefix(arg, "-") {
			if IsHelp(arg) {
				return nil, &HelpRequest{path, command}
			}
			if path == app.Name && (arg == "--version" || arg == "-v") {
				return append(out, rest...), nil
			}
			return nil, earlyFlag(path, commands, rest)
		}
		next := FindCommand(commands, arg)
		if next == nil && arg == "help" {
			return nil, &HelpRequest{path, command}
		}
		if next == nil {
			return nil, unknownCommand(path, commands, arg)
		}
		command = next
		out, rest, path = append(out, arg), rest[1:], path+" "+arg
		if command.SkipFlagParsing {
			return append(out, rest...), nil
		}
		commands, flags = command.Subcommands, command.Flags
		if len(commands) > 0 && len(rest) > 0 && rest[0] == "help" {
			return nil, &HelpRequest{path, command}
		}
		if about && !strings.HasPrefix(rest[0], "-") && FindCommand(commands, rest[0]) == nil {
			if len(commands) == 0 {
				return nil, exit.Usage("unexpected argument %q", rest[0]).Try("see %s --help", path)
			}
			return nil, unknownCommand(path, commands, rest[0])
		}
		if command.Action != nil && (len(rest) == 0 || FindCommand(commands, rest[0]) == nil) {
			commands = nil // the command has its own action and takes operands
		}
	}
	if asksForHelp(rest) || len(commands) > 0 {
		return nil, &HelpRequest{path, command}
	}
	front, operands, err := split(path, flags, rest, instead)
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

// HelpRequest is the error of Arrange for a command line that asks for help.
type HelpRequest struct {
	Path    string       // the command with the program's name, such as "batchctl infra diff"
	Command *cli.Command // nil for batchctl itself
}

// Error names the command.
func (h *HelpRequest) Error() string { return "help of " + h.Path }

// asksForHelp reports whether an argument before -- is a flag for help.
func asksForHelp(args []string) bool {
	if i := slices.Index(args, "--"); i >= 0 {
		args = args[:i]
	}
	return slices.ContainsFunc(args, IsHelp)
}

// earlyFlag is the error for a flag before the command. If a later command has
// the flag, the hint shows the correct order. If not, the flag is unknown.
func earlyFlag(path string, commands []*cli.Command, rest []string) error {
	name, _, _ := strings.Cut(strings.TrimLeft(rest[0], "-"), "=")
	for i, arg := range rest[1:] {
		command := FindCommand(commands, arg)
		if command == nil {
			continue
		}
		head, flags, tail := []string{path, arg}, command.Flags, rest[i+2:]
		for len(tail) > 0 && FindCommand(command.Subcommands, tail[0]) != nil {
			command = FindCommand(command.Subcommands, tail[0])
			head, flags, tail = append(head, tail[0]), append(slices.Clone(flags), command.Flags...), tail[1:]
		}
		if findFlag(flags, name) == nil {
			continue
		}
		for _, a := range slices.Concat(rest[:i+1], tail) {
			head = append(head, term.Quoted(a))
		}
		return exit.Usage("flag %s is before the command", rest[0]).Try("write: %s", strings.Join(head, " "))
	}
	f := exit.Usage("unknown flag %s", rest[0])
	if near := diag.Near("--"+name, slices.Values([]string{"--version", "--help"})); near != "" {
		return f.Try("did you mean %s?", near)
	}
	return f.Try("write flags after the command: %s COMMAND %s", path, rest[0])
}

// completionFlag is the flag with which urfave/cli's shell completion calls the
// program.
const completionFlag = "--generate-bash-completion"

// completing returns the command line for a completion. It contains only the
// command and complete flags: urfave/cli would execute a command line with -- or
// an operand, and completion must change nothing. The completion functions find
// the incomplete argument in os.Args.
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
	if front, _, err := split(path, flags, rest, nil); err == nil && !slices.ContainsFunc(front, IsHelp) {
		out = append(out, front...)
	}
	return append(out, completionFlag)
}

// IsHelp reports whether an argument is a flag for help.
func IsHelp(arg string) bool { return arg == "-h" || arg == "--help" || arg == "-help" }

// FindCommand returns the command with this name or alias; nil if there is none.
func FindCommand(commands []*cli.Command, arg string) *cli.Command {
	for _, c := range commands {
		if c.HasName(arg) {
			return c
		}
	}
	return nil
}

// unknownCommand is the error for an unknown command. It names batchctl's command
// for a name of another tool, or a similar one.
func unknownCommand(path string, commands []*cli.Command, arg string) error {
	var names []string
	for _, c := range commands {
		names = append(names, c.Name)
	}
	f := exit.Usage("unknown command %q", arg)
	if name := ours(Vocabulary, arg, func(string) bool { return path == "batchctl" }); name != "" {
		return f.Try("use: %s %s", path, name)
	}
	return f.Try("%s", diag.Instead(arg, names, diag.Offer{Near: "did you mean: " + path + " %s",
		Are: "the commands are", All: "see " + path + " --help"}))
}

// optional are the flags that can end a command line without a value.
var optional = []string{"batchctl init --from", "batchctl init --platform"}

// split separates flags and their values from operands.
func split(path string, flags []cli.Flag, args []string, instead func(path,
	flag string) string) (front, operands []string, err error) {
	for i := 0; i < len(args); i++ {
		arg := args[i]
		switch {
		case arg == "--":
			return front, append(operands, args[i+1:]...), nil
		case arg == "-" || !strings.HasPrefix(arg, "-"):
			operands = append(operands, arg)
			continue
		case IsHelp(arg):
			front = append(front, arg)
			continue
		}
		name, _, inline := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		flag := findFlag(flags, name)
		if flag == nil {
			return nil, nil, unknownFlag(path, flags, arg, instead)
		}
		front = append(front, arg)
		if isSwitch(flag) || inline {
			continue
		}
		if i+1 == len(args) && slices.Contains(optional, path+" --"+flag.Names()[0]) {
			front = append(front, "")
			continue
		}
		if i+1 == len(args) {
			return nil, nil, exit.Usage("flag %s needs a value", arg).Try("write %s=VALUE; see %s --help", arg, path)
		}
		i++
		front = append(front, args[i])
	}
	return front, operands, nil
}

// findFlag returns the flag with this name or alias; nil if there is none. name
// has no dashes.
func findFlag(flags []cli.Flag, name string) cli.Flag {
	for _, f := range flags {
		if slices.Contains(f.Names(), name) {
			return f
		}
	}
	return nil
}

// BadValue replaces urfave/cli's "parse error" by an error that says what the
// flag accepts.
func BadValue(c *cli.Context, err error) error {
	text, _ := strings.CutSuffix(err.Error(), ": parse error")
	value, name, ok := strings.Cut(text, " for flag -")
	if ok {
		text = value + " for --" + name // the flag package writes one hyphen
	}
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

// removed holds the flags that a command no longer has, each with what holds instead.
var removed = map[string]string{
	"ui --files":      "the pages read the files of this directory; CHANGELOG.md says why the flag was removed",
	"serve --lenient": "the engine rejects what AWS Batch rejects; CHANGELOG.md says why the flag was removed",
}

// unknownFlag is the error for an unknown flag. It names what holds instead of a removed one, batchctl's flag for a
// name of another tool, the command that has it, or a similar one.
func unknownFlag(path string, flags []cli.Flag, arg string, instead func(path, flag string) string) error {
	name, _, _ := strings.Cut(arg, "=")
	var names []string
	for _, f := range flags {
		names = append(names, "--"+f.Names()[0])
	}
	f := exit.Usage("unknown flag %s", name)
	if now := removed[strings.TrimPrefix(path, "batchctl ")+" "+name]; now != "" {
		return f.Try("%s", now)
	}
	if instead != nil {
		if other := instead(path, strings.TrimLeft(name, "-")); other != "" {
			return f.Try("another command has it: %s %s", other, term.Quoted(arg))
		}
	}
	if other := ours(flagVocabulary, name, func(n string) bool { return slices.Contains(names, n) }); other != "" {
		return f.Try("use %s; see %s --help", other, path)
	}
	if len(names) == 0 {
		return f.Try("%s takes no flags", path)
	}
	return f.Try("%s", diag.Instead(name, names, diag.Offer{Near: "did you mean %s? see " + path + " --help",
		Are: "the flags of " + path + " are", All: "see " + path + " --help"}))
}

// UnknownValue is the usage error for a value that a flag does not have. are introduces the values: "the formats are".
func UnknownValue(flag, value, are string, values ...string) error {
	return exit.Usage("unknown --%s %s", flag, value).
		Try("%s", diag.Instead(value, values, diag.Offer{Near: "did you mean --" + flag + " %s?", Are: are}))
}
