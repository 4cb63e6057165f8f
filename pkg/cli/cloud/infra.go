package cloud

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/batchctl/batchctl/pkg/cli/cmdline"
	"github.com/batchctl/batchctl/pkg/cli/input"
	"github.com/batchctl/batchctl/pkg/cli/jobs"
	"github.com/batchctl/batchctl/pkg/cli/session"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/infra"
	"github.com/batchctl/batchctl/pkg/rpc"
	"github.com/batchctl/batchctl/pkg/target"
	"github.com/batchctl/batchctl/templates"
)

// InfraCommand is batchctl infra.
func InfraCommand(con *term.Console) *cli.Command {
	sub := func(name, usage, what, examples string, action cli.ActionFunc, more ...cli.Flag) *cli.Command {
		return &cli.Command{Name: name, Usage: usage, UsageText: "batchctl infra " + name + " [FLAGS]", Description: cmdline.Help(what, examples), Action: action,
			Flags: jobs.Flags(append(append(infraFlags(), cmdline.OutputFlags()...), more...)...)}
	}
	given := &cli.StringSliceFlag{Name: "parameter", Usage: "`NAME=VALUE` of a template's parameter; others keep their value; may be repeated"}
	with := &cli.StringSliceFlag{Name: "with", Usage: "also the optional template `NAME`; may be repeated"}
	yes := &cli.BoolFlag{Name: "yes", Aliases: []string{"y"}, Usage: "do not ask"}
	return &cli.Command{
		Name:      "infra",
		Usage:     "the CloudFormation stacks under the job queues: deploy, status, diff, destroy, outputs",
		UsageText: "batchctl infra deploy|status|diff|destroy|outputs [FLAGS]",
		Description: cmdline.Help("Each template is a stack PREFIX-NAME. What is done is begun by AWS and goes on there: a command that is\n"+
			"cut off is run again, and goes on from where AWS is.",
			"batchctl infra diff --target prod\nbatchctl infra deploy --target prod\nbatchctl infra outputs --target prod --write"),
		Subcommands: []*cli.Command{
			sub("deploy", "make or change the stacks: shows each change set, asks, follows the events",
				"Optional templates are left out unless --with or --only names them or their stack is there.",
				"batchctl infra deploy --target prod\nbatchctl infra deploy --only batch --parameter MaxvCpus=256 --yes", func(c *cli.Context) error { return infraDeploy(con, c) }, given, with, yes),
			sub("status", "show the stacks, their state and why the last operation failed", "Changes nothing.",
				"batchctl infra status --target prod\nbatchctl infra status --output json", func(c *cli.Context) error { return infraStatus(con, c) }),
			sub("diff", "show what deploy would change; exit code 4 if anything",
				"For a stack that is there a change set is made, shown and deleted; nothing else is changed.",
				"batchctl infra diff --target prod", func(c *cli.Context) error { return infraDiff(con, c) }, given, with),
			sub("destroy", "disable and drain the queues, then delete the stacks in reverse order",
				"Asks first, and lists what stays: repositories that hold images, and what the templates retain.\nOnly stacks with batchctl's tag "+infra.Mark+" are deleted.",
				"batchctl infra destroy --target prod", func(c *cli.Context) error { return infraDestroy(con, c) }, yes),
			sub("outputs", "print the platform file's queues from the stacks' outputs, or write them into it",
				"--write adds the queues to the platform file, and to the target its \"staging\" where the template data is deployed, and leaves\neverything else in it as it is. --output json prints all outputs.",
				"batchctl infra outputs --target prod\nbatchctl infra outputs --target prod --write", func(c *cli.Context) error { return infraOutputs(con, c) },
				&cli.BoolFlag{Name: "write", Usage: "add the queues to the platform file (--platform, else batchctl.json)"}),
		},
		Action: func(c *cli.Context) error {
			if word := c.Args().First(); word != "" {
				return exit.Usage("infra has no command %s", word).Try("it has: deploy status diff destroy outputs")
			}
			return cmdline.ShowHelp(con.Out, c.App, "batchctl "+c.Command.Name, c.Command)
		},
	}
}

func infraFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "prefix", Value: "batchctl", Usage: "the stacks are called `PREFIX`-NAME"},
		&cli.StringSliceFlag{Name: "only", Usage: "only the template `NAME`; may be repeated"},
		&cli.StringFlag{Name: "templates", Usage: "`DIRECTORY` with templates (.json, .yaml) that take the place of batchctl's own, deployed in the order of their names; 10-network.json is the template network"},
		&cli.StringFlag{Name: "template-bucket", Usage: "the `BUCKET` for templates of more than 51,200 bytes (default: the one of the template data, where that is deployed)"},
	}
}

// InfraCall is an infra command once its words are understood.
type InfraCall struct {
	*infra.Stacks
	*target.Target
	c      *cli.Context
	format string
	chosen []infra.Template
	Given  map[string]string
}

// openInfra opens the target and finds the templates.
func openInfra(con *term.Console, c *cli.Context, why target.Need) (*InfraCall, error) {
	format, err := cmdline.OutputFormat(c)
	if err != nil {
		return nil, err
	}
	call := &InfraCall{c: c, format: format}
	if c.Args().Present() {
		return nil, exit.Usage("infra %s takes no names", c.Command.Name).Try("choose templates with --only %s", c.Args().First())
	}
	all, err := infraTemplates(c.String("templates"))
	if err != nil {
		return nil, err
	}
	if call.chosen, err = chosenTemplates(all, c.StringSlice("only")); err != nil {
		return nil, err
	}
	if _, err := chosenTemplates(all, c.StringSlice("with")); err != nil {
		return nil, err
	}
	if call.Given, err = StackParameters(c.StringSlice("parameter")); err != nil {
		return nil, err
	}
	if why == target.ToChange && !c.Bool("yes") && !term.IsTerminal(con.In) {
		return nil, exit.Usage("infra %s asks before it changes anything, and there is no terminal to ask on", c.Command.Name).
			Try("see what it would do: batchctl infra %s%s; then say --yes", map[string]string{"deploy": "diff", "destroy": "status"}[c.Command.Name], cmdline.TargetOptions(c).FlagsTo(nil, ""))
	}
	in := &input.Input{PlacesNothing: true}
	if err := in.FindPlatform(cmdline.TargetOptions(c)); err != nil {
		return nil, err
	}
	if in.Problems.HasErrors() {
		return nil, input.Complain(con, in.Problems)
	}
	if cmdline.TargetOptions(c).NameFrom(in.Platform) == target.Local {
		return nil, exit.Usage("infra is about stacks in AWS: the local engine needs none").Try("name a target: batchctl infra %s --target NAME", c.Command.Name)
	}
	if call.Target, err = session.OpenTarget(c.Context, con, cmdline.TargetOptions(c), in.Platform, why); err != nil {
		return nil, err
	}
	call.Stacks = Stacks(con, call.Target, all, c.String("prefix"))
	call.Bucket = c.String("template-bucket")
	call.Confirm = func(question string) (bool, error) { return Confirm(con, c, question) }
	return call, nil
}

// Stacks are the stacks of a prefix at a target, which tell their story. Who deploys says
// whom to ask.
func Stacks(con *term.Console, t *target.Target, all []infra.Template, prefix string) *infra.Stacks {
	return &infra.Stacks{
		Cloud: infra.NewCloud(t.Config), Batch: t.Client.Client, Templates: all, Prefix: prefix, Upload: t.Upload,
		Tell:     func(format string, args ...any) { fmt.Fprintln(con.Err, diag.Printable(fmt.Sprintf(format, args...))) },
		Progress: func(progress infra.Progress) { StackEvent(con, progress) },
	}
}

// infraTemplates are batchctl's own templates, or those of a directory.
func infraTemplates(dir string) (all []infra.Template, err error) {
	if dir == "" {
		for _, t := range templates.Infra() {
			all = append(all, infra.Template(t))
		}
		return all, nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, exit.Fail(exit.NotDone, "read the templates: %v", exit.Cause(err))
	}
	for _, e := range entries { // sorted by name
		name := e.Name()
		if e.IsDir() || !slices.Contains([]string{".json", ".yaml", ".yml"}, filepath.Ext(name)) {
			continue
		}
		body, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return nil, exit.Fail(exit.NotDone, "read the templates: %v", exit.Cause(err))
		}
		name = strings.TrimSuffix(name, filepath.Ext(name))
		all = append(all, infra.Template{Name: cmp.Or(strings.TrimLeft(name, "0123456789-_"), name), Body: body})
	}
	if len(all) == 0 {
		return nil, exit.Fail(exit.NotDone, "no templates in %s", dir).Try("a template is a file that ends in .json, .yaml or .yml")
	}
	return all, nil
}

// chosenTemplates are the templates of these names; all of them where there are none.
func chosenTemplates(all []infra.Template, words []string) ([]infra.Template, error) {
	if len(words) == 0 {
		return all, nil
	}
	var names []string
	for _, t := range all {
		names = append(names, t.Name)
	}
	for _, word := range words {
		if slices.Contains(names, word) {
			continue
		}
		f := exit.Usage("there is no template %q", word)
		if near := diag.Near(word, slices.Values(names)); near != "" {
			return nil, f.Try("did you mean %s?", near)
		}
		return nil, f.Try("the templates are: %s", strings.Join(names, " "))
	}
	return slices.DeleteFunc(slices.Clone(all), func(t infra.Template) bool { return !slices.Contains(words, t.Name) }), nil
}

func StackParameters(words []string) (map[string]string, error) {
	given := map[string]string{}
	for _, word := range words {
		name, value, ok := strings.Cut(word, "=")
		if !ok || name == "" {
			return nil, exit.Usage("--parameter %s has no value", word).Try("for example: --parameter MaxvCpus=256")
		}
		given[name] = value
	}
	return given, nil
}

// wanted are the templates that deploy and diff are about: those of --only; else all
// but the optional ones that nobody names and that have no stack.
func (call *InfraCall) wanted(ctx context.Context) ([]infra.Template, error) {
	if len(call.c.StringSlice("only")) > 0 {
		return call.chosen, nil
	}
	var wanted []infra.Template
	for _, t := range call.chosen {
		if t.Optional && !slices.Contains(call.c.StringSlice("with"), t.Name) {
			states, err := call.Status(ctx, []infra.Template{t})
			if err != nil {
				return nil, err
			}
			if states[0].Status == infra.Absent || states[0].Foreign {
				continue
			}
		}
		wanted = append(wanted, t)
	}
	return wanted, nil
}

// KnowsParameters refuses a --parameter that no template has.
func (call *InfraCall) KnowsParameters(ctx context.Context) error {
	unknown, all, err := call.Unknown(ctx, call.Given)
	if err != nil || len(unknown) == 0 {
		return err
	}
	f := exit.Usage("no template has a parameter %s", unknown[0])
	if near := diag.Near(unknown[0], slices.Values(all)); near != "" {
		return f.Try("did you mean --parameter %s=...?", near)
	}
	return f.Try("the parameters are: %s", strings.Join(all, " "))
}

// Confirm asks on the terminal, unless --yes has answered. Ctrl-C ends the question.
func Confirm(con *term.Console, c *cli.Context, question string) (bool, error) {
	fmt.Fprintf(con.Err, "%s ", diag.Printable(question))
	if c.Bool("yes") {
		fmt.Fprintln(con.Err, "yes (--yes)")
		return true, nil
	}
	fmt.Fprint(con.Err, "[y/N] ")
	answer := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(con.In).ReadString('\n') // the end of input is a no
		answer <- line
	}()
	select {
	case <-c.Context.Done():
		fmt.Fprintln(con.Err)
		return false, context.Cause(c.Context)
	case line := <-answer:
		return slices.Contains([]string{"y", "yes"}, strings.ToLower(strings.TrimSpace(line))), nil
	}
}

// next is a command line of infra for the same stacks.
func (call *InfraCall) next(verb string) string {
	words := []string{"batchctl", "infra", verb}
	for _, name := range []string{"target", "profile", "region", "endpoint-url", "platform", "templates", "template-bucket"} {
		if v := call.c.String(name); v != "" {
			words = append(words, "--"+name, v)
		}
	}
	if call.c.IsSet("prefix") {
		words = append(words, "--prefix", call.c.String("prefix"))
	}
	return strings.Join(words, " ")
}

// failed says what an error of the stacks means, and the way on.
func (call *InfraCall) failed(err error) error {
	return StackFailure(call.c.Context, err, call.next("status"), call.next(call.c.Command.Name))
}

// StackFailure says what an error of stacks means: the command lines that look at them and
// that go on.
func StackFailure(ctx context.Context, err error, look, again string) error {
	if err == nil {
		return nil
	}
	interrupted := ctx.Err() != nil
	code := exit.NotDone
	if interrupted {
		code = exit.Interrupted
	}
	if e, ok := errors.AsType[*infra.GoesOnError](err); ok {
		word := "goes on"
		if e.Maybe {
			word = "may have begun"
		}
		f := exit.Fail(code, "stopped looking: AWS %s with stack %s", word, e.Stack)
		if !interrupted {
			f = exit.Fail(code, "stopped looking, AWS %s with stack %s: %v", word, e.Stack, e.Err)
		}
		if LogIn(err) {
			return f.Try("log in: aws sso login; then see: %s    come back: %s", look, again)
		}
		return f.Try("see: %s    come back: %s", look, again)
	}
	if e, ok := errors.AsType[*infra.DrainError](err); ok {
		return exit.Fail(code, "job queues %s are disabled, and jobs in them go on", strings.Join(e.Queues, ", ")).
			Try("come back: %s    stop jobs: batchctl stop ID", again)
	}
	switch {
	case interrupted:
		return exit.Fail(exit.Interrupted, "interrupted: nothing was begun that AWS goes on with").Try("see: %s    come back: %s", look, again)
	case LogIn(err):
		return exit.Fail(exit.NotDone, "%v", err).Try("log in: aws sso login; then: %s", again)
	case errors.Is(err, infra.ErrDeclined):
		return exit.Fail(exit.NotDone, "not confirmed: nothing more was changed").Try("see: %s", look)
	}
	return stacksRefused(err, again)
}

// stacksRefused says what an error means that neither time nor a login mends.
func stacksRefused(err error, again string) error {
	if e, ok := errors.AsType[*infra.FailedError](err); ok {
		return exit.Fail(exit.NotDone, "%v", e).Try("mend what the reason names, then: %s", again)
	}
	if e, ok := errors.AsType[*infra.StuckError](err); ok {
		return exit.Fail(exit.NotDone, "%v", e).Try("%s", e.Way)
	}
	if e, ok := errors.AsType[*infra.StrandedError](err); ok {
		return exit.Fail(exit.NotDone, "%v", e).
			Try("in three deployments: add the new environment beside the old, move the queue's ComputeEnvironmentOrder to it, remove the old one")
	}
	if e, ok := errors.AsType[*infra.NotOursError](err); ok {
		return exit.Fail(exit.NotDone, "%v", e).Try("use names of your own: --prefix NAME")
	}
	if e, ok := errors.AsType[*infra.MissingParameterError](err); ok {
		return exit.Usage("%v", e).Try("give it: --parameter %s=VALUE", e.Parameter)
	}
	if e, ok := errors.AsType[*infra.TooLongError](err); ok && e.Size <= infra.MaxTemplate {
		return exit.Fail(exit.NotDone, "%v", e).Try("name a bucket: --template-bucket NAME    or make one: batchctl infra deploy --only data    then: %s", again)
	} else if ok {
		return exit.Fail(exit.NotDone, "%v", e).Try("divide it into several templates")
	}
	return err
}

// LogIn reports whether credentials are what is missing.
func LogIn(err error) bool {
	return rpc.Expired(err) || strings.Contains(err.Error(), "get credentials")
}
