package cli

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"github.com/batchctl/batchctl/pkg/cli/term"
)

// isProse reports whether the word after batchctl continues a sentence: a verb in -s or -ed, or
// one of the listed words.
func isProse(word string) bool {
	return strings.HasSuffix(word, "s") || strings.HasSuffix(word, "ed") || slices.Contains([]string{"and", "available", "binary", "can", "cannot", "command", "could", "did", "document", "found", "in", "into", "itself", "made", "may", "must", "never", "or", "send", "to", "where", "with", "wrote"}, word)
}

// hint is a command line in a message.
type hint struct{ at, text string }

// TestHints checks that every command and flag exists that a message of these
// packages names.
func TestHints(t *testing.T) {
	app := app((&term.Console{Streams: term.Streams{Out: io.Discard, Err: io.Discard}}))
	checked := 0
	for _, h := range hints(t, ".", "*", "../client", "../client/once", "../exit", "../explain", "../lint", "../lint/*", "../newfile", "../plan", "../target", "../verify") {
		words := strings.Fields(h.text)[1:]
		if slices.Equal(words, []string{"help", "flags"}) {
			continue
		}
		command := commandOf(app.Commands, words[0])
		if command == nil {
			if !isProse(words[0]) {
				t.Errorf("%s: %q: batchctl has no command %s", h.at, h.text, words[0])
			}
			continue
		}
		with := []*cli.Command{command}
		if words = words[1:]; len(command.Subcommands) > 0 && len(words) > 0 {
			sub := commandOf(command.Subcommands, words[0])
			switch {
			case sub != nil:
				with = []*cli.Command{sub}
			case words[0] == "%s":
				with = append(with, command.Subcommands...)
			case command.Action == nil && lowerWord().FindString(words[0]) == words[0]:
				t.Errorf("%s: %q: batchctl %s has no command %s", h.at, h.text, command.Name, words[0])
			}
		}
		if with[0].SkipFlagParsing {
			continue // a workload's own flags
		}
		before, _, _ := strings.Cut(h.text, " -- ") // what follows is another program's
		for _, flag := range longFlag().FindAllStringSubmatch(before, -1) {
			if checked++; !slices.ContainsFunc(with, func(c *cli.Command) bool { return hasFlag(c, flag[1]) }) {
				t.Errorf("%s: %q: batchctl %s has no flag --%s", h.at, h.text, with[0].Name, flag[1])
			}
		}
	}
	if checked < 100 {
		t.Errorf("only %d flags were checked: the texts were not read", checked)
	}
}

func lowerWord() *regexp.Regexp { return regexp.MustCompile(`[a-z][a-z-]*`) }

func longFlag() *regexp.Regexp { return regexp.MustCompile(`(?:^|[\s\[(|])--([a-z][a-z-]*)`) }

func commandOf(all []*cli.Command, name string) *cli.Command {
	at := slices.IndexFunc(all, func(c *cli.Command) bool { return c.HasName(name) })
	if at < 0 {
		return nil
	}
	return all[at]
}

func hasFlag(c *cli.Command, name string) bool {
	return name == "help" || slices.ContainsFunc(c.Flags, func(f cli.Flag) bool { return slices.Contains(f.Names(), name) })
}

// hints are the command lines in the strings of the packages' own files.
func hints(t *testing.T, dirs ...string) (all []hint) {
	t.Helper()
	for _, dir := range dirs {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("no Go files in %s: %v", dir, err)
		}
		for _, path := range files {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			source, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			set, taken := token.NewFileSet(), map[ast.Expr]bool{}
			file, err := parser.ParseFile(set, path, source, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(file, func(n ast.Node) bool {
				e, ok := n.(ast.Expr)
				if !ok || taken[e] {
					return true
				}
				if text, ok := joinedText(e, taken); ok {
					for _, line := range commandLines(text) {
						all = append(all, hint{set.Position(e.Pos()).String(), line})
					}
				}
				return true
			})
		}
	}
	return all
}

// joinedText returns a string, or a sum of strings with %s for parts that are not constant. It
// adds the expressions to taken.
func joinedText(e ast.Expr, taken map[ast.Expr]bool) (text string, ok bool) {
	taken[e] = true
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind != token.STRING {
			return "", false
		}
		text, err := strconv.Unquote(e.Value)
		return text, err == nil
	case *ast.BinaryExpr:
		if e.Op != token.ADD {
			return "", false
		}
		left, isLeft := joinedText(e.X, taken)
		right, isRight := joinedText(e.Y, taken)
		if !isLeft {
			left = "%s"
		}
		if !isRight {
			right = "%s"
		}
		return left + right, isLeft || isRight
	}
	return "", false
}

// commandLines returns the command lines in a text. Each begins with batchctl and ends with its
// line or clause, at a pipe, or before the next command.
func commandLines(text string) (lines []string) {
	starts := regexp.MustCompile(`(?:^|[^\w./-])(batchctl [a-z][a-z-]*)`).FindAllStringSubmatchIndex(text, -1)
	end := regexp.MustCompile("\n|;|  |, |\\. | \\| | > | && | or |: |\"|`|\\)")
	for i, at := range starts {
		line := text[at[2]:]
		if i+1 < len(starts) {
			line = text[at[2]:starts[i+1][2]]
		}
		if cut := end.FindStringIndex(line); cut != nil {
			line = line[:cut[0]]
		}
		line = regexp.MustCompile(`%(\[\d+\])?[a-z]`).ReplaceAllString(line, " %s ")
		lines = append(lines, strings.TrimRight(line, "."))
	}
	return lines
}
