package cmdline

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/urfave/cli/v2"
)

// shared are options that several commands have.
type shared struct {
	Place struct {
		Region string `flag:"region" usage:"the <REGION>"`
		Secret string `flag:"secret" usage:"a secret"`
	}
	Skipped struct {
		Other string `flag:"other" usage:"never read"`
	} `flag:"-"`
}

// trial are the options of a command with a flag of each type.
type trial struct {
	Given
	shared
	Text    string        `flag:"text,t" usage:"a text"`
	Yes     bool          `flag:"yes,y" usage:"do not ask"`
	Count   int           `flag:"count" usage:"<N> times" default:"as many as fit"`
	Share   float64       `flag:"share" usage:"a number"`
	Seed    uint64        `flag:"seed" usage:"a number"`
	For     time.Duration `flag:"for" usage:"a time"`
	Only    []string      `flag:"only" usage:"may be repeated"`
	Hidden  string        `flag:"hidden" hidden:"true"`
	Spelled size          `flag:"size"`
	Kept    string
}

// size is a value that describes itself.
type size string

// Usage returns the help of a flag with a size.
func (size) Usage() string { return "the <SIZE>" }

// TestCommand fills options from command lines: each flag sets its own field, and the rest keeps its value.
func TestCommand(t *testing.T) {
	byDefault := trial{Text: "none", Count: 3, For: time.Minute, Kept: "kept"}
	byDefault.Place.Secret = "kept too"
	var got trial
	c := Command(cli.Command{Name: "try"}, byDefault,
		func(_ context.Context, o trial) error { got = o; return nil }, "secret")
	app := &cli.App{Commands: []*cli.Command{c}, DisableSliceFlagSeparator: true}
	for _, test := range []struct {
		args string
		want func(*trial)
	}{
		{"", func(*trial) {}},
		{"-t x -y", func(o *trial) { o.Text, o.Yes = "x", true }},
		{"--count 5 --share 1.5 --seed 7 --for 2h", func(o *trial) { o.Count, o.Share, o.Seed, o.For = 5, 1.5, 7, 2*time.Hour }},
		{"--only a,b --only c --region r --hidden h", func(o *trial) {
			o.Only, o.Place.Region, o.Hidden = []string{"a,b", "c"}, "r", "h"
		}},
		{"--size big one two", func(o *trial) { o.Spelled, o.Args = "big", []string{"one", "two"} }},
		{"", func(*trial) {}}, // a command line leaves nothing to the next one
	} {
		if err := app.Run(append([]string{"batchctl", "try"}, strings.Fields(test.args)...)); err != nil {
			t.Fatalf("%q: %v", test.args, err)
		}
		want := byDefault
		test.want(&want)
		if got.Command != "try" || !slices.Equal(got.Args, want.Args) || !slices.Equal(got.Only, want.Only) {
			t.Errorf("%q: %+v, want %+v", test.args, got, want)
		}
		for name, equal := range map[string]bool{
			"text": got.Text == want.Text, "yes": got.Yes == want.Yes, "count": got.Count == want.Count,
			"share": got.Share == want.Share, "seed": got.Seed == want.Seed, "for": got.For == want.For,
			"hidden": got.Hidden == want.Hidden, "size": got.Spelled == want.Spelled,
			"shared": got.shared == want.shared, "kept": got.Kept == want.Kept,
		} {
			if !equal {
				t.Errorf("%q: %s of %+v, want %+v", test.args, name, got, want)
			}
		}
		if set := strings.Contains(test.args, "-t "); got.IsSet("text") != set {
			t.Errorf("%q: IsSet is %v", test.args, !set)
		}
	}
	var names []string
	for _, row := range FlagRows(c.Flags) {
		names = append(names, row[0]+": "+row[1])
	}
	want := []string{"--region REGION: the REGION", "--text, -t VALUE: a text (default: none)", "--yes, -y: do not ask",
		"--count N: N times (default: as many as fit)", "--share VALUE: a number", "--seed VALUE: a number",
		"--for VALUE: a time (default: 1m0s)", "--only VALUE: may be repeated", "--size SIZE: the SIZE"}
	if names = names[:len(names)-1]; !slices.Equal(names, want) { // urfave/cli adds --help
		t.Errorf("flags:\n%s\nwant:\n%s", strings.Join(names, "\n"), strings.Join(want, "\n"))
	}
}

// TestCommandOmitsOutput: a command can lack the output of its options, which keeps its format.
func TestCommandOmitsOutput(t *testing.T) {
	type options struct {
		Given
		Output
	}
	format := ""
	c := Command(cli.Command{Name: "try"}, options{Output: Output{Format: "svg"}},
		func(_ context.Context, o options) error { format = o.Format; return nil }, "output")
	if err := (&cli.App{Commands: []*cli.Command{c}}).Run([]string{"batchctl", "try"}); err != nil || format != "svg" {
		t.Errorf("%q %v", format, err)
	}
	if findFlag(c.Flags, "output") != nil || findFlag(c.Flags, "json") != nil {
		t.Error("the command has --output or --json")
	}
}

// TestCommandOperands: a command whose options have no operands refuses them, and Most allows some.
func TestCommandOperands(t *testing.T) {
	type options struct {
		Loud bool `flag:"loud,l" usage:"a switch"`
	}
	none := Command(cli.Command{Name: "none"}, options{}, func(context.Context, options) error { return nil })
	app := &cli.App{Commands: []*cli.Command{none}}
	if err := app.Run([]string{"batchctl", "none", "x"}); err == nil || err.Error() != `unexpected argument "x" for none` {
		t.Error(err)
	}
	g := Given{Command: "one", Args: []string{"a", "b"}}
	hint := func(err error) string { return exit.From(err).Hint }
	if err := app.Run([]string{"batchctl", "none", "loud"}); err == nil || hint(err) != "did you mean --loud?" {
		t.Error(err)
	}
	if err := g.Most(1); err == nil || err.Error() != `unexpected argument "b" for one` || g.Most(2) != nil {
		t.Error(err)
	}
}

// TestOutput: --output takes the formats that the help names, --json is one of them, and some commands accept a file.
func TestOutput(t *testing.T) {
	type options struct {
		shared // the fields of a struct that embeds a Flagger are flags too
		Output
	}
	byDefault := options{Output: OutputsAs("text, json or csv (default: text)", JSON[[]int]())}
	for _, test := range []struct {
		args         string
		acceptsFile  bool
		format, file string
		err          string
	}{
		{"", false, "text", "", ""},
		{"-o csv --region r", false, "csv", "", ""},
		{"--output svg", false, "", "", "unknown --output svg"},
		{"--output svg --json", false, "json", "", ""},
		{"--output ids.json", false, "", "", "unknown --output ids.json"},
		{"--output ids.json", true, "text", "ids.json", ""},
		{"--output ids.json --json", true, "json", "ids.json", ""},
	} {
		o := byDefault
		if test.acceptsFile {
			o.Output = o.OrFile()
		}
		var got options
		c := Command(cli.Command{Name: "try"}, struct{ options }{o},
			func(_ context.Context, o struct{ options }) error { got = o.options; return nil })
		err := (&cli.App{Commands: []*cli.Command{c}}).Run(append([]string{"batchctl", "try"}, strings.Fields(test.args)...))
		if err != nil {
			if err.Error() != test.err {
				t.Errorf("%q: %v, want %q", test.args, err, test.err)
			}
		} else if test.err != "" || got.Format != test.format || got.IDsFile != test.file {
			t.Errorf("%q: %+v, want %+v", test.args, got.Output, test)
		}
		if set := strings.Contains(test.args, "--region"); set != (got.Place.Region == "r") {
			t.Errorf("%q: region %q", test.args, got.Place.Region)
		}
	}
}
