package platform

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

	"github.com/batchctl/batchctl/pkg/cli/cmdline"
	"github.com/batchctl/batchctl/pkg/cli/input"
	"github.com/batchctl/batchctl/pkg/cli/jobs"
	"github.com/batchctl/batchctl/pkg/cli/preview"
	"github.com/batchctl/batchctl/pkg/cli/session"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/infra"
	"github.com/batchctl/batchctl/pkg/rpc"
	"github.com/batchctl/batchctl/pkg/target"
	"github.com/batchctl/batchctl/templates"
	"github.com/urfave/cli/v2"
)

// InfraCommand is batchctl infra.
func InfraCommand(con *term.Console) *cli.Command {
	// sub is one of the commands below infra, without the flags that only others have.
	sub := func(name, usage, what, examples string, form cmdline.Form,
		run func(context.Context, *term.Console, infraOptions) error, omit ...string) *cli.Command {
		return cmdline.Command(cli.Command{Name: name, Usage: usage,
			UsageText: "batchctl infra " + name + " [FLAGS]", Description: cmdline.Help(what, examples)},
			infraOptions{Options: jobs.Options{Output: cmdline.Outputs(form)}, Prefix: "batchctl"},
			func(ctx context.Context, o infraOptions) error { return run(ctx, con, o) },
			append(omit, "submission")...)
	}
	return &cli.Command{
		Name:      "infra",
		Usage:     "manage the queues' CloudFormation stacks",
		UsageText: "batchctl infra deploy|status|diff|destroy|outputs [FLAGS]",
		Description: cmdline.Help("Each template is a stack PREFIX-NAME. AWS continues if a command is interrupted; run the command again to follow it.",
			"batchctl infra diff --target prod\nbatchctl infra deploy --target prod\nbatchctl infra outputs --target prod --write"),
		Subcommands: []*cli.Command{
			sub("deploy", "create or update the stacks",
				"Shows each change set and its monthly cost, asks, and follows the events. All names begin with the prefix, so several prefixes can share an account. Optional templates are deployed only if --with or --only names them, or if their stack exists.",
				"batchctl infra deploy --target prod\nbatchctl infra deploy --only batch --parameter MaxvCpus=256 --yes", cmdline.JSON[[]infra.Deployed](), infraDeploy, "write"),
			sub("status", "show the stacks and the last failure", "Changes nothing.",
				"batchctl infra status --target prod", cmdline.JSON[[]infra.State](), infraStatus,
				"parameter", "with", "prices", "yes", "write"),
			sub("diff", "show what deploy would change",
				"The exit code is 4 if something would change. For an existing stack it creates, shows and deletes a change set. Nothing else changes.",
				"batchctl infra diff --target prod", cmdline.JSON[[]*infra.Proposal](), infraDiff, "yes", "write"),
			sub("destroy", "drain the queues and delete the stacks",
				"Asks, disables and drains the queues, then deletes the stacks in reverse order. It lists the resources that stay: repositories that contain images, and resources that the templates retain. Only stacks with batchctl's tag "+infra.Mark+" are deleted.",
				"batchctl infra destroy --target prod", cmdline.JSON[*infra.Destruction](),
				infraDestroy, "parameter", "with", "prices", "write"),
			sub("outputs", "print the queues for the platform file, or add them to it",
				"--write adds the queues to the platform file, and \"staging\" to the target if the template data is deployed. Nothing else in the file changes. --output json prints all outputs.",
				"batchctl infra outputs --target prod\nbatchctl infra outputs --target prod --write",
				cmdline.JSON[outputsDocument](), infraOutputs, "parameter", "with", "prices", "yes"),
		},
	}
}

// infraOptions are the flags of the infra commands, which take no arguments.
type infraOptions struct {
	jobs.Options
	Prefix     string             `flag:"prefix" usage:"the <PREFIX> of all names: stacks, queues, repository, roles"`
	Only       []string           `flag:"only" usage:"use only the template <NAME>; may be repeated"`
	Templates  string             `flag:"templates" usage:"a <DIRECTORY> of templates (.json, .yaml) that replace batchctl's own, deployed in the order of their names; 10-network.json is the template network"`
	Bucket     string             `flag:"template-bucket" usage:"the <BUCKET> for templates of more than 51,200 bytes (default: the bucket of the template data, if it is deployed)"`
	Parameters []string           `flag:"parameter" usage:"set a template parameter, <NAME=VALUE>; others keep their value; may be repeated"`
	With       []string           `flag:"with" usage:"also deploy the optional template <NAME>; may be repeated"`
	Prices     preview.PricesFile `flag:"prices"`
	Yes        bool               `flag:"yes,y" usage:"do not ask"`
	Write      bool               `flag:"write" usage:"add the queues to the platform file (--platform, else batchctl.json)"`
}

// InfraCall is an infra command with its arguments checked and its target open.
type InfraCall struct {
	*infra.Stacks
	*target.Target
	o      infraOptions
	chosen []infra.Template  // the templates of --only, or all
	Given  map[string]string // Given are the parameters of --parameter, by name.
}

// openInfra checks the flags, opens the target and reads the templates. Commands
// that change something need --yes or a terminal. The caller closes the result.
func openInfra(ctx context.Context, con *term.Console, o infraOptions, why target.Need) (*InfraCall, error) {
	call := &InfraCall{o: o}
	if len(o.Args) > 0 {
		return nil, exit.Usage("infra %s takes no names", o.Command).Try("choose templates with --only %s", o.Args[0])
	}
	all, err := infraTemplates(o.Templates)
	if err != nil {
		return nil, err
	}
	if call.chosen, err = chosenTemplates(all, o.Only); err != nil {
		return nil, err
	}
	if _, err := chosenTemplates(all, o.With); err != nil {
		return nil, err
	}
	if call.Given, err = StackParameters(o.Parameters); err != nil {
		return nil, err
	}
	_, named := call.Given["Project"]
	if deploys := o.Command == "deploy" || o.Command == "diff"; deploys && o.Templates == "" && !named &&
		!infra.ValidPrefix(o.Prefix) {
		return nil, exit.Usage("invalid --prefix %s: stack names cannot begin with it", o.Prefix).
			Try("use 2 to 26 lower-case letters, digits and hyphens, starting with a letter: --prefix trial")
	}
	// Fail before any request: without a terminal the question cannot be
	// answered.
	if why == target.ToChange && !o.Yes && !term.IsTerminal(con.In) {
		return nil, exit.Usage("infra %s needs a confirmation, but there is no terminal", o.Command).
			Try("show what it would do: batchctl infra %s%s; then add --yes",
				map[string]string{"deploy": "diff", "destroy": "status"}[o.Command], o.Target.FlagsTo(nil, ""))
	}
	in := &input.Input{PlacesNothing: true}
	if err := in.FindPlatform(o.Target); err != nil {
		return nil, err
	}
	if in.Problems.HasErrors() {
		return nil, input.Complain(con, in.Problems)
	}
	if o.Target.NameFrom(in.Platform) == target.Local {
		return nil, exit.Usage("infra manages stacks in AWS, which the local engine does not need").
			Try("name a target: batchctl infra %s --target NAME", o.Command)
	}
	prices, err := preview.PricesFor(string(o.Prices), in)
	if err != nil {
		return nil, err
	}
	if call.Target, err = session.OpenTarget(ctx, con, o.Target, in.Platform, why); err != nil {
		return nil, err
	}
	call.Stacks = Stacks(con, call.Target, all, o.Prefix)
	call.Bucket, call.Prices = o.Bucket, prices
	call.Confirm = func(question string) (bool, error) { return Confirm(ctx, con, o.Yes, question) }
	return call, nil
}

// Stacks returns the stacks of a prefix at a target. They print notices and
// events on stderr. The caller sets Confirm or Approve if it asks before changes.
func Stacks(con *term.Console, t *target.Target, all []infra.Template, prefix string) *infra.Stacks {
	s := infra.New(infra.NewCloud(t.Config), t.Client.Client, all, prefix)
	s.Upload = t.Upload
	s.Notify = func(format string, args ...any) { fmt.Fprintln(con.Err, diag.Printable(fmt.Sprintf(format, args...))) }
	s.Progress = func(progress infra.Progress) { StackEvent(con, progress) }
	return s
}

// infraTemplates returns batchctl's own templates, or those of a directory in the
// order of their file names. Digits at the beginning of a file name only order
// it.
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
		return nil, exit.Fail(exit.NotDone, "no templates in %s", dir).
			Try("use a file with the extension .json, .yaml or .yml")
	}
	return all, nil
}

// chosenTemplates returns the templates that names lists, in the order of all; an
// empty list selects all.
func chosenTemplates(all []infra.Template, chosen []string) ([]infra.Template, error) {
	if len(chosen) == 0 {
		return all, nil
	}
	var names []string
	for _, t := range all {
		names = append(names, t.Name)
	}
	for _, name := range chosen {
		if slices.Contains(names, name) {
			continue
		}
		return nil, exit.Usage("unknown template %q", name).
			Try("%s", diag.Instead(name, names, diag.Offer{Near: "did you mean %s?", Are: "the templates are"}))
	}
	return slices.DeleteFunc(slices.Clone(all),
		func(t infra.Template) bool { return !slices.Contains(chosen, t.Name) }), nil
}

// StackParameters parses the NAME=VALUE arguments of --parameter.
func StackParameters(args []string) (map[string]string, error) {
	given := map[string]string{}
	for _, arg := range args {
		name, value, ok := strings.Cut(arg, "=")
		if !ok || name == "" {
			return nil, exit.Usage("--parameter %s has no value", arg).Try("for example: --parameter MaxvCpus=256")
		}
		given[name] = value
	}
	return given, nil
}

// wanted returns the templates for deploy and diff: those of --only, or else those that
// Stacks.Wanted returns.
func (call *InfraCall) wanted(ctx context.Context) ([]infra.Template, error) {
	if len(call.o.Only) > 0 {
		return call.chosen, nil
	}
	return call.Wanted(ctx, call.chosen, call.o.With)
}

// KnowsParameters returns a usage error if --parameter names a parameter that no
// template has.
func (call *InfraCall) KnowsParameters(ctx context.Context) error {
	unknown, all, err := call.Unknown(ctx, call.Given)
	if err != nil || len(unknown) == 0 {
		return err
	}
	return exit.Usage("no template has a parameter %s", unknown[0]).
		Try("%s", diag.Instead(unknown[0], all, diag.Offer{Near: "did you mean --parameter %s=...?",
			Are: "the parameters are"}))
}

// Confirm asks a question on stderr and reads the answer from standard input.
// With --yes it prints the question and does not ask. When ctx ends, as with
// Ctrl-C, it returns the cause.
func Confirm(ctx context.Context, con *term.Console, yes bool, question string) (bool, error) {
	fmt.Fprint(con.Err, diag.Printable(question))
	if yes {
		fmt.Fprintln(con.Err, " --yes")
		return true, nil
	}
	fmt.Fprint(con.Err, " [y/N] ")
	// A read of the terminal cannot be cancelled; the goroutine ends with the
	// process.
	answer := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(con.In).ReadString('\n') // the end of input is a no
		answer <- line
	}()
	select {
	case <-ctx.Done():
		fmt.Fprintln(con.Err)
		return false, context.Cause(ctx)
	case line := <-answer:
		return slices.Contains([]string{"y", "yes"}, strings.ToLower(strings.TrimSpace(line))), nil
	}
}

// next returns the command line of another infra command for the same stacks.
func (call *InfraCall) next(verb string) string {
	args := []string{"batchctl", "infra", verb}
	o := call.o
	for _, flag := range [][2]string{{"target", o.Target.Name}, {"profile", o.Target.Profile},
		{"region", o.Target.Region}, {"endpoint-url", o.Target.EndpointURL},
		{"platform", o.Target.Platform}, {"templates", o.Templates}, {"template-bucket", o.Bucket}} {
		if flag[1] != "" {
			args = append(args, "--"+flag[0], flag[1])
		}
	}
	if o.IsSet("prefix") {
		args = append(args, "--prefix", o.Prefix)
	}
	return strings.Join(args, " ")
}

// failed explains an error of the stacks with StackFailure.
func (call *InfraCall) failed(ctx context.Context, err error) error {
	return StackFailure(ctx, err, call.next("status"), call.next(call.o.Command))
}

// StackFailure returns an exit.Failure that explains an error of stacks. query is
// the command line that shows their state, again the one that continues. It
// returns nil for nil.
func StackFailure(ctx context.Context, err error, query, again string) error {
	if err == nil {
		return nil
	}
	interrupted := ctx.Err() != nil
	code := exit.NotDone
	if interrupted {
		code = exit.Interrupted
	}
	if e, ok := errors.AsType[*infra.StillRunningError](err); ok {
		does := "continues with"
		if e.Maybe {
			does = "may have begun to change"
		}
		f := exit.Fail(code, "stopped watching: AWS %s stack %s", does, e.Stack)
		if !interrupted {
			f = exit.Fail(code, "stopped watching, AWS %s stack %s: %v", does, e.Stack, e.Err)
		}
		if rpc.Login(err) != nil {
			return f.Then(query + "    continue: " + again)
		}
		return f.Try("see: %s    continue: %s", query, again)
	}
	if e, ok := errors.AsType[*infra.DrainError](err); ok {
		return exit.Fail(code, "job queues %s are disabled; jobs in them continue", strings.Join(e.Queues, ", ")).
			Try("continue: %s    stop jobs: batchctl stop ID", again)
	}
	switch {
	case interrupted:
		return exit.Fail(exit.Interrupted, "interrupted: nothing is running at AWS").
			Try("see: %s    continue: %s", query, again)
	case rpc.Login(err) != nil:
		return exit.Fail(exit.NotDone, "%v", err).Then(again)
	case errors.Is(err, infra.ErrDeclined):
		return exit.Fail(exit.NotDone, "not confirmed; nothing more was changed").Try("see: %s", query)
	}
	return stacksRefused(err, again)
}

// stacksRefused explains errors that neither waiting nor a login fixes. It
// returns an error that it does not know unchanged.
func stacksRefused(err error, again string) error {
	if e, ok := errors.AsType[*infra.FailedError](err); ok {
		return exit.Fail(exit.NotDone, "%v", e).Try("fix the cause, then: %s", again)
	}
	if e, ok := errors.AsType[*infra.StuckError](err); ok {
		return exit.Fail(exit.NotDone, "%v", e).Try("%s", e.Way)
	}
	if e, ok := errors.AsType[*infra.OrphanedQueueError](err); ok {
		return exit.Fail(exit.NotDone, "%v", e).
			Try("use three deployments: add the new environment, change the queue's ComputeEnvironmentOrder to it, remove the old environment")
	}
	if e, ok := errors.AsType[*infra.NotOursError](err); ok {
		return exit.Fail(exit.NotDone, "%v", e).Try("use your own names: --prefix NAME")
	}
	if e, ok := errors.AsType[*infra.MissingParameterError](err); ok {
		return exit.Usage("%v", e).Try("set it: --parameter %s=VALUE", e.Parameter)
	}
	if e, ok := errors.AsType[*infra.TooLongError](err); ok && e.Size <= infra.MaxTemplate {
		return exit.Fail(exit.NotDone, "%v", e).
			Try("name a bucket: --template-bucket NAME    or create one: batchctl infra deploy --only data    then: %s",
				again)
	} else if ok {
		return exit.Fail(exit.NotDone, "%v", e).Try("split it into several templates")
	}
	return err
}
