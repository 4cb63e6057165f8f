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

	"github.com/batchctl/batchctl/pkg/cli/input"
	"github.com/batchctl/batchctl/pkg/cli/session"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/infra"
	"github.com/batchctl/batchctl/pkg/rpc"
	"github.com/batchctl/batchctl/pkg/target"
	"github.com/batchctl/batchctl/templates"
)

// InfraCall is an infra command once its words are understood.
type InfraCall struct {
	*infra.Stacks
	*target.Target
	o      infraOptions
	chosen []infra.Template
	Given  map[string]string
}

// openInfra opens the target and finds the templates.
func openInfra(ctx context.Context, con *term.Console, o infraOptions, why target.Need) (*InfraCall, error) {
	call := &InfraCall{o: o}
	if len(o.Words) > 0 {
		return nil, exit.Usage("infra %s takes no names", o.Command).Try("choose templates with --only %s", o.Words[0])
	}
	all, err := infraTemplates(o.templates)
	if err != nil {
		return nil, err
	}
	if call.chosen, err = chosenTemplates(all, o.only); err != nil {
		return nil, err
	}
	if _, err := chosenTemplates(all, o.with); err != nil {
		return nil, err
	}
	if call.Given, err = StackParameters(o.parameters); err != nil {
		return nil, err
	}
	if why == target.ToChange && !o.yes && !term.IsTerminal(con.In) {
		return nil, exit.Usage("infra %s needs a confirmation, and there is no terminal", o.Command).
			Try("see what it would do: batchctl infra %s%s; then pass --yes", map[string]string{"deploy": "diff", "destroy": "status"}[o.Command], o.Target.FlagsTo(nil, ""))
	}
	in := &input.Input{PlacesNothing: true}
	if err := in.FindPlatform(o.Target); err != nil {
		return nil, err
	}
	if in.Problems.HasErrors() {
		return nil, input.Complain(con, in.Problems)
	}
	if o.Target.NameFrom(in.Platform) == target.Local {
		return nil, exit.Usage("infra manages stacks in AWS; the local engine needs none").Try("name a target: batchctl infra %s --target NAME", o.Command)
	}
	if call.Target, err = session.OpenTarget(ctx, con, o.Target, in.Platform, why); err != nil {
		return nil, err
	}
	call.Stacks = Stacks(con, call.Target, all, o.prefix)
	call.Bucket = o.bucket
	call.Confirm = func(question string) (bool, error) { return Confirm(ctx, con, o.yes, question) }
	return call, nil
}

// Stacks are the stacks of a prefix at a target, which tell their story. Who deploys says
// whom to ask.
func Stacks(con *term.Console, t *target.Target, all []infra.Template, prefix string) *infra.Stacks {
	return &infra.Stacks{
		Cloud: infra.NewCloud(t.Config), Batch: t.Client.Client, Templates: all, Prefix: prefix, Upload: t.Upload,
		Notify:   func(format string, args ...any) { fmt.Fprintln(con.Err, diag.Printable(fmt.Sprintf(format, args...))) },
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
		return nil, exit.Fail(exit.NotDone, "no templates in %s", dir).Try("use a file with the extension .json, .yaml or .yml")
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

// StackParameters reads words of the form NAME=VALUE, of --parameter.
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

// wanted returns the templates for deploy and diff: those of --only, or else those that
// Stacks.Wanted returns.
func (call *InfraCall) wanted(ctx context.Context) ([]infra.Template, error) {
	if len(call.o.only) > 0 {
		return call.chosen, nil
	}
	return call.Wanted(ctx, call.chosen, call.o.with)
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

// Confirm asks on the terminal, unless --yes has answered. The end of ctx, as by Ctrl-C, ends
// the question.
func Confirm(ctx context.Context, con *term.Console, yes bool, question string) (bool, error) {
	fmt.Fprintf(con.Err, "%s ", diag.Printable(question))
	if yes {
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
	case <-ctx.Done():
		fmt.Fprintln(con.Err)
		return false, context.Cause(ctx)
	case line := <-answer:
		return slices.Contains([]string{"y", "yes"}, strings.ToLower(strings.TrimSpace(line))), nil
	}
}

// next is a command line of infra for the same stacks.
func (call *InfraCall) next(verb string) string {
	words := []string{"batchctl", "infra", verb}
	o := call.o
	for _, flag := range [][2]string{{"target", o.Target.Name}, {"profile", o.Target.Profile}, {"region", o.Target.Region}, {"endpoint-url", o.Target.EndpointURL},
		{"platform", o.Target.Platform}, {"templates", o.templates}, {"template-bucket", o.bucket}} {
		if flag[1] != "" {
			words = append(words, "--"+flag[0], flag[1])
		}
	}
	if o.ownPrefix {
		words = append(words, "--prefix", o.prefix)
	}
	return strings.Join(words, " ")
}

// failed says what an error of the stacks means, and the way on.
func (call *InfraCall) failed(ctx context.Context, err error) error {
	return StackFailure(ctx, err, call.next("status"), call.next(call.o.Command))
}

// StackFailure says what an error of stacks means: the command lines that look at them and
// that continue.
func StackFailure(ctx context.Context, err error, look, again string) error {
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
		if LogIn(err) {
			return f.Try("log in: aws sso login; then see: %s    continue: %s", look, again)
		}
		return f.Try("see: %s    continue: %s", look, again)
	}
	if e, ok := errors.AsType[*infra.DrainError](err); ok {
		return exit.Fail(code, "job queues %s are disabled; jobs in them continue", strings.Join(e.Queues, ", ")).
			Try("continue: %s    stop jobs: batchctl stop ID", again)
	}
	switch {
	case interrupted:
		return exit.Fail(exit.Interrupted, "interrupted: nothing is running at AWS").Try("see: %s    continue: %s", look, again)
	case LogIn(err):
		return exit.Fail(exit.NotDone, "%v", err).Try("log in: aws sso login; then: %s", again)
	case errors.Is(err, infra.ErrDeclined):
		return exit.Fail(exit.NotDone, "not confirmed; nothing more was changed").Try("see: %s", look)
	}
	return stacksRefused(err, again)
}

// stacksRefused says what an error means that neither time nor a login fixes.
func stacksRefused(err error, again string) error {
	if e, ok := errors.AsType[*infra.FailedError](err); ok {
		return exit.Fail(exit.NotDone, "%v", e).Try("fix the cause, then: %s", again)
	}
	if e, ok := errors.AsType[*infra.StuckError](err); ok {
		return exit.Fail(exit.NotDone, "%v", e).Try("%s", e.Way)
	}
	if e, ok := errors.AsType[*infra.OrphanedQueueError](err); ok {
		return exit.Fail(exit.NotDone, "%v", e).
			Try("in three deployments: add the new environment beside the old, move the queue's ComputeEnvironmentOrder to it, remove the old one")
	}
	if e, ok := errors.AsType[*infra.NotOursError](err); ok {
		return exit.Fail(exit.NotDone, "%v", e).Try("use names of your own: --prefix NAME")
	}
	if e, ok := errors.AsType[*infra.MissingParameterError](err); ok {
		return exit.Usage("%v", e).Try("set it: --parameter %s=VALUE", e.Parameter)
	}
	if e, ok := errors.AsType[*infra.TooLongError](err); ok && e.Size <= infra.MaxTemplate {
		return exit.Fail(exit.NotDone, "%v", e).Try("name a bucket: --template-bucket NAME    or create one: batchctl infra deploy --only data    then: %s", again)
	} else if ok {
		return exit.Fail(exit.NotDone, "%v", e).Try("split it into several templates")
	}
	return err
}

// LogIn reports whether credentials are what is missing.
func LogIn(err error) bool {
	return rpc.Expired(err) || strings.Contains(err.Error(), "get credentials")
}
