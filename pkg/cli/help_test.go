package cli

import (
	"strings"
	"testing"

	"github.com/mattn/go-runewidth"
	"github.com/urfave/cli/v2"
)

// TestHelpFits: the help of every command fits the columns, but for commands to copy, and
// repeats no default.
func TestHelpFits(t *testing.T) {
	for _, columns := range []string{"", "60", "80", "120"} {
		t.Setenv("COLUMNS", columns)
		var out strings.Builder
		p := &program{Streams: Streams{Out: &out, Err: &out}}
		app := p.app()
		most := helpColumns(&out)
		var walk func(string, *cli.Command)
		walk = func(path string, c *cli.Command) {
			out.Reset()
			if err := showHelp(&out, app, path, c); err != nil {
				t.Fatal(err)
			}
			_, options, _ := strings.Cut(out.String(), "\nOPTIONS:\n")
			if options == "" {
				t.Errorf("%s: no options:\n%s", path, &out)
			}
			for line := range strings.Lines(out.String()) {
				line = strings.TrimRight(line, "\n")
				if runewidth.StringWidth(line) > most && !strings.HasPrefix(line, "      ") && len(strings.Fields(line)) > 1 {
					t.Errorf("%s at %d columns: %s", path, most, line)
				}
			}
			for _, flag := range flagRows(c.Flags) {
				if strings.Count(flag[1], "(default:") > 1 || strings.Contains(flag[1], "(default: false)") || strings.HasSuffix(flag[0], " value") {
					t.Errorf("%s: %q", path, flag)
				}
			}
			for _, sub := range c.Subcommands {
				walk(path+" "+sub.Name, sub)
			}
		}
		for _, c := range app.Commands {
			walk("batchctl "+c.Name, c)
		}
	}
}
