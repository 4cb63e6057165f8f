package cmdline

import (
	"slices"
	"strings"

	"github.com/batchctl/batchctl/pkg/target"
	"github.com/urfave/cli/v2"
)

// flagsPath is the command line of the page with the flags that many commands share.
const flagsPath = "batchctl help flags"

// FlagGroup is a group of flags that many commands share. The help of a command omits them.
type FlagGroup struct {
	// Title names the group in the help.
	Title string
	Flags []cli.Flag
}

// SharedFlags returns the flags that many commands share.
func SharedFlags() []FlagGroup {
	return []FlagGroup{
		{"Every command", []cli.Flag{&cli.BoolFlag{Name: "help", Aliases: []string{"h"}, Usage: "show help"}}},
		{"Commands that print data", []cli.Flag{OutputFlag("text or json")}},
		{"Commands that read the platform file", flagsOf(target.Options{}, NoTarget("state-dir")...)},
		{"Commands that use a target", flagsOf(target.Options{}, "platform", "state-dir")},
		{"Commands that use the local engine", flagsOf(target.Options{}, NoTarget("platform")...)},
		{"Commands that run local jobs", flagsOf(target.ExecutorOptions{}, "secrets-from")},
	}
}

// NoTarget names the flags of target.Options that select a target, and more, for commands that omit them.
func NoTarget(more ...string) []string {
	return append([]string{"target", "profile", "region", "endpoint-url"}, more...)
}

// Takes lists the commands of app that have the flags of the group, or those that do not have them if they are
// fewer. It is empty for the flags of every command.
func (g FlagGroup) Takes(app *cli.App) string {
	wanted := FlagRows(g.Flags)[0]
	var with, without []string
	var walk func(path string, c *cli.Command)
	walk = func(path string, c *cli.Command) {
		if slices.Contains(FlagRows(c.Flags), wanted) {
			with = append(with, path)
		} else if len(c.Subcommands) == 0 {
			without = append(without, path)
		}
		for _, sub := range c.Subcommands {
			walk(path+" "+sub.Name, sub)
		}
	}
	for _, c := range app.Commands {
		walk(c.Name, c)
	}
	switch {
	case len(with) == 0:
		return ""
	case len(without) < len(with):
		return "These are all commands except " + strings.Join(without, ", ")
	}
	return "These are " + strings.Join(with, ", ")
}

// OwnFlagRows are the FlagRows of a command without those of SharedFlags. A flag with a meaning of its own stays.
func OwnFlagRows(flags []cli.Flag) [][2]string {
	var shared [][2]string
	for _, g := range SharedFlags() {
		shared = append(shared, FlagRows(g.Flags)...)
	}
	return slices.DeleteFunc(FlagRows(flags), func(r [2]string) bool { return slices.Contains(shared, r) })
}

// sharedFlags writes the page of SharedFlags.
func (h *helpPage) sharedFlags(app *cli.App) {
	h.wrapped("", "", "Flags that many commands share. The help of a command lists its other flags.")
	for _, g := range SharedFlags() {
		h.text.WriteString("\n")
		h.wrapped("", "   ", g.Title+":")
		h.rows(FlagRows(g.Flags))
		if takes := g.Takes(app); takes != "" {
			h.wrapped("   ", "   ", takes+".")
		}
	}
}
