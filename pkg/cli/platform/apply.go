package platform

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/batchctl/batchctl/pkg/apply"
	"github.com/batchctl/batchctl/pkg/check"
	"github.com/batchctl/batchctl/pkg/cli/cmdline"
	"github.com/batchctl/batchctl/pkg/cli/input"
	"github.com/batchctl/batchctl/pkg/cli/session"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/explain"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/rpc"
	"github.com/batchctl/batchctl/pkg/secret"
	"github.com/batchctl/batchctl/pkg/target"
	"github.com/batchctl/batchctl/pkg/text"
)

// ApplyCommand is batchctl apply.
func ApplyCommand(con *term.Console) *cli.Command {
	return cmdline.Command(cli.Command{
		Name:      "apply",
		Usage:     "update the queues to match files",
		UsageText: "batchctl apply [FLAGS] FILE|DIRECTORY ...",
		Description: cmdline.Help("The files create compute environments, job queues, scheduling policies, consumable resources, quota shares and service environments. "+
			"A file contains one request, or lists of requests. apply compares them with the account, shows the differences, asks, and applies them. It ignores other files in a directory.\n\n"+
			"If an update cannot make a change, apply replaces the compute environment: it creates a new one, switches the queues to it, and deletes the old one once no job runs on it. "+
			"If apply is interrupted, run the same command again.\n\n"+
			"--check changes nothing; its exit code is 4 if something differs, for example after a change by hand.",
			"batchctl apply queues/ --target prod\nbatchctl apply queues/ --target prod --check\nbatchctl apply queues/ --target prod --owner research --prune --yes"),
	}, ApplyOptions{Output: cmdline.Outputs(cmdline.JSON[*apply.Plan]()), Drain: time.Hour, Settle: time.Hour},
		func(ctx context.Context, o ApplyOptions) error { return applyFiles(ctx, con, o) })
}

// ApplyOptions are the flags of apply. Args are files and directories.
type ApplyOptions struct {
	cmdline.Given
	Target target.Options
	cmdline.Output
	Check bool `flag:"check,dry-run" usage:"show what differs; change nothing"`
	Yes   bool `flag:"yes,y" usage:"do not ask"`
	Plan  apply.Options
	Drain time.Duration `flag:"drain" usage:"before deleting an environment, wait at most this <TIME> until no job runs on it"`
	// Settle limits the waiting for one resource.
	Settle time.Duration `flag:"settle" usage:"wait at most this <TIME> for each resource to become VALID"`
}

// CheckApply compares the files with the account and changes nothing. If something differs, the plan comes with an
// error that has the status exit.Change.
func CheckApply(ctx context.Context, con *term.Console, o ApplyOptions) (*apply.Plan, error) {
	o.Check = true
	a, err := beginApply(ctx, con, o)
	if err != nil {
		return nil, err
	}
	defer a.target.Close()
	_, plan, err := a.compare(ctx)
	if err != nil {
		return nil, err
	}
	if len(plan.Steps) > 0 {
		err = exit.Silent(exit.Change)
	}
	return masked(plan), err
}

// applyFiles is batchctl apply.
func applyFiles(ctx context.Context, con *term.Console, o ApplyOptions) error {
	a, err := beginApply(ctx, con, o)
	if err != nil {
		return err
	}
	defer a.target.Close()
	return a.run(ctx)
}

// beginApply checks the options, reads the files and opens the target. The caller closes the target.
func beginApply(ctx context.Context, con *term.Console, o ApplyOptions) (*applying, error) {
	switch {
	case len(o.Args) == 0:
		return nil, exit.Usage("apply needs a file or a directory").Try("for example: batchctl apply queues.json")
	case o.Plan.Prune && o.Plan.Owner == "":
		return nil, exit.Usage("--prune deletes the resources of an owner, so it needs --owner").
			Try("add --owner NAME, and run it once without --prune")
	case !o.Check && !o.Yes && !term.IsTerminal(con.In):
		return nil, exit.Usage("apply needs a confirmation, but there is no terminal").
			Try("show what it would do: batchctl apply --check; then add --yes")
	}
	files, platform, pending, err := resourceFiles(con, o)
	if err != nil {
		return nil, err
	}
	need := target.ToChange
	if o.Check || len(pending) > 0 {
		need = target.ToRun // an engine that does not run yet ends with this command
	}
	t, err := session.OpenTarget(ctx, con, o.Target, platform, need)
	if err != nil && len(pending) > 0 {
		con.Explain(exit.From(err))
		return nil, input.Refuse(con, pending, "nothing was changed")
	}
	if err != nil {
		return nil, err
	}
	return &applying{con: con, o: o, target: t, files: files, platform: platform, pending: pending,
		account: &apply.Account{RPC: rpc.New(t.Config), API: t.Client.API}}, nil
}

// resourceFiles reads and checks the files. Those of a directory that create no resources are left out, with their
// problems, unless nothing tells what they are. pending are the errors of requests: they count only if the account
// does not have the same resource already, which AWS Batch has then accepted.
func resourceFiles(con *term.Console,
	o ApplyOptions) (files []*document.File, platform *document.Platform, pending diag.List, err error) {
	documents, unread := check.Find(o.Args, nil, []string{".json"})
	for _, err := range unread {
		return nil, nil, nil, err
	}
	checked := check.New(check.Options{PlatformFile: o.Target.Platform, Keep: true, Stdin: con.In}).Check(documents)
	con.Sources = append(con.Sources, checked.Sources...)
	for _, err := range checked.Unread {
		return nil, nil, nil, input.Unreadable(err, input.MakeResources)
	}
	named := map[string]bool{}
	for _, d := range documents {
		named[d.Path] = d.Named
	}
	other := map[*diag.Source]bool{}
	for _, f := range checked.Files {
		creates := f.Kind == document.KindResources || len(f.Requests) > 0
		switch isKnown := f.Kind != "" || f.Unchecked != ""; {
		case creates:
			files = append(files, f)
		case named[f.Source.Name] && f.Kind != document.KindPlatform && isKnown:
			return nil, nil, nil, exit.Usage("%s creates no resources", f.Source.Name).
				Try("submit jobs with batchctl submit; apply reads the requests that create queues and their environments")
		case f.Kind != document.KindPlatform:
			other[f.Source] = isKnown
		}
	}
	// What no parser can read may be a queue.
	problems := slices.DeleteFunc(checked.Problems, func(d diag.Diagnostic) bool { return other[d.Source] })
	problems = slices.DeleteFunc(problems, func(d diag.Diagnostic) bool { return d.Rule == apply.RuleEnabled })
	var rest diag.List
	for _, d := range problems {
		if d.Rule == jsontree.RulePlaceholder {
			d.Severity, d.Hint = diag.Error,
				"write the value, or define it in the platform file: \"prefix\" or \"teams\""
		}
		if d.Severity == diag.Error && d.Waived == nil && inRequest(files, d) {
			pending = append(pending, d)
		} else {
			rest = append(rest, d)
		}
	}
	if rest.HasErrors() {
		return nil, nil, nil, input.Refuse(con, problems, "nothing was changed")
	}
	if err := passedOver(con, o, documents, checked.Skipped); err != nil {
		return nil, nil, nil, err
	}
	if len(files) == 0 {
		return nil, nil, nil, exit.Fail(exit.NotDone, "no file creates resources").
			Try("write one, or export the existing resources: batchctl export")
	}
	if len(checked.Platforms) > 0 {
		platform = checked.Platforms[0].Content
	}
	return files, platform, pending, input.Complain(con, rest)
}

// passedOver prints the files of directories that apply does not use. With --prune they are an error: a queue whose
// file is not recognised would be deleted.
func passedOver(con *term.Console, o ApplyOptions, documents []check.Document, skipped check.Skipped) error {
	over := slices.Concat(skipped.Unclear, skipped.Foreign)
	for _, u := range skipped.Unchecked {
		over = append(over, u.Path)
	}
	for _, dir := range o.Args {
		root := dir + string(filepath.Separator) // follows a link to a directory, as check.Find does
		err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			hidden := path != root && strings.HasPrefix(entry.Name(), ".")
			switch {
			case err != nil || path == root:
			case entry.IsDir() && hidden:
				return filepath.SkipDir
			case !entry.IsDir() && strings.EqualFold(filepath.Ext(path), ".json") &&
				!slices.ContainsFunc(documents, func(d check.Document) bool { return d.Path == path }):
				over = append(over, path) // a link, or in a .gitignore
			}
			return nil
		})
		if err != nil {
			return exit.Fail(exit.NotDone, "read %s: %v", dir, exit.Cause(err))
		}
	}
	slices.Sort(over)
	for _, path := range slices.Compact(over) {
		fmt.Fprintf(con.Err, "not used: %s\n", diag.Printable(path))
	}
	if len(over) > 0 && o.Plan.Prune {
		return exit.Fail(exit.Problem, "--prune deletes resources that no file mentions, but %s not used",
			text.Count(len(over), "file")+map[bool]string{true: " is", false: " are"}[len(over) == 1]).
			Try("move the files elsewhere, correct them, or name the files of the resources one by one")
	}
	return nil
}

// inRequest reports whether a problem is inside of a request, so that only one resource has it.
func inRequest(files []*document.File, d diag.Diagnostic) bool {
	return slices.ContainsFunc(files, func(f *document.File) bool {
		return slices.ContainsFunc(f.Requests, func(r document.Request) bool {
			src, span := r.Location()
			return src == d.Source && span.Start <= d.Span.Start && d.Span.End <= span.End
		})
	})
}

// applying is a run of batchctl apply on an open target.
type applying struct {
	con   *term.Console
	o     ApplyOptions
	files []*document.File
	// pending are the errors in requests. Those of resources that stay unchanged do not count.
	pending  diag.List
	platform *document.Platform
	target   *target.Target
	account  *apply.Account

	toldPermissions bool
	toldUnread      bool
	warned          map[rpc.Permission]bool
}

// run compares, asks and changes.
func (a *applying) run(ctx context.Context) error {
	state, plan, err := a.compare(ctx)
	if err != nil {
		return err
	}
	if err := a.show(plan); err != nil {
		return err
	}
	for _, invalid := range plan.Invalid {
		hint := ""
		if invalid.Environment {
			hint = "; " + explain.EnvironmentRemedy(invalid.Reason)
		}
		fmt.Fprintf(a.con.Err, "warning: %s%s\n", diag.Printable(a.con.Redacted(invalid.Error())), hint)
	}
	if len(plan.Steps) == 0 || a.o.Check {
		if err := a.leftover(ctx, state); err != nil {
			return a.failed(ctx, err)
		}
	}
	switch {
	case len(plan.Steps) == 0:
		fmt.Fprintf(a.con.Err, "%s: nothing to change, %s already as in the files\n", diag.Printable(a.target.Label),
			text.Count(plan.Equal, "resource"))
		return nil
	case a.o.Check:
		fmt.Fprintf(a.con.Err, "%s: %s, %d unchanged; nothing was changed\n", diag.Printable(a.target.Label),
			text.Count(len(plan.Steps), "change"), plan.Equal)
		return exit.Silent(exit.Change)
	}
	ok, err := Confirm(ctx, a.con, a.o.Yes, fmt.Sprintf("make %s in %s?", text.Count(len(plan.Steps), "change"),
		a.target.Label))
	switch {
	case err != nil:
		return err
	case !ok:
		return exit.Fail(exit.NotDone, "nothing was changed")
	}
	return a.change(ctx, plan)
}

// compare reads the account and makes the plan. Problems are printed, and end the command.
func (a *applying) compare(ctx context.Context) (*apply.State, *apply.Plan, error) {
	state, err := a.account.Read(ctx)
	if err != nil {
		return nil, nil, a.failed(ctx, err)
	}
	if !a.toldUnread {
		noteUnread(a.con, state)
		a.toldUnread = true
	}
	plan, problems := apply.NewPlan(a.files, state, a.o.Plan)
	stranded, err := a.account.Stranded(ctx, plan, state)
	if err != nil {
		return nil, nil, a.failed(ctx, err)
	}
	problems = append(problems, stranded...)
	for _, d := range a.pending {
		if !plan.Keeps(d.Source, d.Span) {
			problems = append(problems, d)
		}
	}
	if len(plan.Steps) > 0 && len(problems) == 0 {
		problems = plan.Joint(a.files, a.platform, state)
	}
	if len(plan.Steps) > 0 && !a.target.IsLocal() {
		problems = append(problems, a.forbidden(ctx, plan)...)
	}
	if len(problems) > 0 {
		return nil, nil, a.refuse(problems)
	}
	return state, plan, nil
}

// refuse prints problems and ends the command. Those of the account have no place in a file.
func (a *applying) refuse(problems diag.List) error {
	var inFiles diag.List
	for _, d := range problems {
		if apply.IsBlocker(d) {
			fmt.Fprintf(a.con.Err, "problem: %s\n  %s\n", diag.Printable(a.con.Redacted(d.Message)),
				diag.Printable(d.Hint))
			continue
		}
		inFiles = append(inFiles, d)
	}
	if len(inFiles) == 0 {
		return exit.Fail(exit.Problem, "%s: nothing was changed", text.Count(len(problems), "problem"))
	}
	return input.Refuse(a.con, inFiles, "nothing was changed")
}

// forbidden returns the permissions that the plan needs and the caller does not have. Without an answer, it prints
// that once.
func (a *applying) forbidden(ctx context.Context, plan *apply.Plan) (problems diag.List) {
	forbidden, err := a.account.RPC.Forbidden(ctx, plan.Actions())
	if err != nil && !a.toldPermissions {
		a.toldPermissions = true
		fmt.Fprintf(a.con.Err, "not checked: your permissions (%s)\n", diag.Printable(a.con.Redacted(err.Error())))
	}
	for _, p := range forbidden {
		switch {
		case p.Explicit && !p.Conditional:
			problems = append(problems, apply.Blocker("ask the administrator of your role or user",
				"a policy does not allow you to call %s", p))
		case !a.warned[p]:
			if a.warned == nil {
				a.warned = map[rpc.Permission]bool{}
			}
			a.warned[p] = true
			fmt.Fprintf(a.con.Err, "warning: you may not be allowed to call %s, according to IAM's policy simulator\n",
				diag.Printable(p.String()))
		}
	}
	return problems
}

// show prints a plan on stdout.
func (a *applying) show(plan *apply.Plan) error {
	if a.o.Format == "json" {
		return a.con.MaskedJSON(masked(plan))
	}
	for _, s := range masked(plan).Steps {
		head := fmt.Sprintf("%s %s %s", mark[s.Verb], s.Kind, s.Name)
		if s.Verb == apply.Retire {
			head += ", once no job runs on it"
		}
		if s.Why != "" {
			head += ": " + s.Why
		}
		if err := a.con.Print(diag.Printable(head) + "\n"); err != nil {
			return err
		}
		for _, c := range s.Changes {
			if err := a.con.Print(diag.Printable(fmt.Sprintf("    %s: %s -> %s", c.Path, apply.Show(c.From),
				apply.Show(c.To))) + "\n"); err != nil {
				return err
			}
		}
	}
	return nil
}

// masked returns a plan for output. The value of a tag may be a credential by the tag's name, which is elsewhere in
// the output.
func masked(plan *apply.Plan) *apply.Plan {
	shown := *plan
	shown.Steps = make([]*apply.Step, len(plan.Steps))
	for i, s := range plan.Steps {
		step := *s
		step.Changes = slices.Clone(s.Changes)
		for k, c := range step.Changes {
			name := c.Path[strings.LastIndexByte(c.Path, '.')+1:]
			for _, side := range []*any{&step.Changes[k].From, &step.Changes[k].To} {
				if text, ok := (*side).(string); ok {
					*side = secret.Mask(name, text)
				}
			}
		}
		shown.Steps[i] = &step
	}
	return &shown
}

// mark begins the line of a step.
var mark = map[apply.Verb]string{
	apply.Create: "+ create", apply.Update: "~ update", apply.Replace: "! replace by", apply.Retire: "- delete",
	apply.Delete: "- delete",
}

// leftover reports the lock of another apply, for a run that takes none. It removes one that counts no more, except
// with --check, which changes nothing.
func (a *applying) leftover(ctx context.Context, state *apply.State) error {
	stale, locked, err := a.runner().Leftover(ctx, state, !a.o.Check)
	switch {
	case err != nil:
		return err
	case stale != nil && a.o.Check:
		fmt.Fprintf(a.con.Err, "note: %s; the next apply removes it\n", diag.Printable(stale.Error()))
	case stale != nil:
		fmt.Fprintf(a.con.Err, "note: %s; removed it\n", diag.Printable(stale.Error()))
	case locked != nil:
		fmt.Fprintf(a.con.Err, "note: another apply (%s) holds the lock of these resources until %s\n",
			diag.Printable(locked.Holder), locked.Until.Local().Format("15:04:05"))
	}
	return nil
}

// runner returns a runner for the account.
func (a *applying) runner() *apply.Runner {
	return &apply.Runner{Account: a.account, Who: apply.WhoAmI(), Process: apply.ThisProcess(),
		Ended: apply.HasEnded, Settle: a.o.Settle,
		Drain: a.o.Drain,
		Warn: func(err error) {
			fmt.Fprintf(a.con.Err, "warning: %s\n", diag.Printable(a.con.Redacted(err.Error())))
		},
		Progress: a.progress()}
}

// change carries out the plan under the lock. If the account has changed since the plan was shown, it does nothing.
func (a *applying) change(ctx context.Context, plan *apply.Plan) (err error) {
	r := a.runner()
	if err := r.Lock(ctx); err != nil {
		return a.failed(ctx, err)
	}
	defer func() {
		if released := r.Unlock(ctx); released != nil && err == nil {
			err = a.failed(ctx, released)
		}
	}()
	state, now, err := a.compare(ctx)
	if err != nil {
		return err
	}
	if !plan.Equals(now) {
		return exit.Fail(exit.Change, "the account has changed since the differences were shown; nothing was changed").
			Try("show them again: batchctl apply --check")
	}
	if err := r.Run(ctx, now, state); err != nil {
		return a.failed(ctx, err)
	}
	fmt.Fprintf(a.con.Err, "%s: made %s\n", diag.Printable(a.target.Label), text.Count(len(now.Steps), "change"))
	return nil
}

// progress returns a function that prints each step, and what it waits for once.
func (a *applying) progress() func(*apply.Step, string) {
	last := ""
	return func(s *apply.Step, doing string) {
		line := fmt.Sprintf("%s %s %s", s.Verb, s.Kind, s.Name)
		if doing != "" {
			line = fmt.Sprintf("  wait %s", doing)
		}
		if line != last {
			fmt.Fprintln(a.con.Err, diag.Printable(line))
		}
		last = line
	}
}

// failed adds the next step to an error.
func (a *applying) failed(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		fmt.Fprintln(a.con.Err, "interrupted; to continue, run the same command again")
		return context.Cause(ctx)
	}
	if draining, ok := errors.AsType[*apply.DrainingError](err); ok {
		return exit.Fail(exit.Change, "%v; everything else is done", draining).
			Try("delete the environment once they have ended: run the same command again")
	}
	if locked, ok := errors.AsType[*apply.LockedError](err); ok {
		return exit.Fail(exit.NotDone, "%v", locked).
			Try("wait until it finishes; if it was killed, run the command again after %s", locked.Until.Local().
				Format("15:04:05"))
	}
	if invalid, ok := errors.AsType[*apply.InvalidError](err); ok && invalid.Environment {
		return exit.Fail(exit.NotDone, "%v", err).Try("%s; then run the same command again",
			explain.EnvironmentRemedy(invalid.Reason))
	}
	if errors.Is(err, apply.ErrSlow) {
		return exit.Fail(exit.NotDone, "%v after %v", err, a.o.Settle).
			Try("run the same command again; --settle waits longer")
	}
	if e, ok := errors.AsType[*rpc.Error](err); ok && e.Status/100 == 4 && !rpc.Throttled(err) && !rpc.Denied(err) &&
		!rpc.Expired(err) {
		return exit.Fail(exit.NotDone, "%v", err).
			Try("correct what AWS Batch rejected, then run the same command again; completed changes stay")
	}
	if rpc.Denied(err) {
		return exit.Fail(exit.NotDone, "%v", err).
			Try("add this permission to the role or user, then run the same command again")
	}
	return exit.Fail(exit.NotDone, "%v", err).Try("run the same command again; completed changes stay")
}

// noteUnread prints the kinds of resources that could not be read.
func noteUnread(con *term.Console, state *apply.State) {
	unread := state.Unread()
	for _, kind := range slices.Sorted(maps.Keys(unread)) {
		fmt.Fprintf(con.Err, "not read: %s (%s)\n", kind, diag.Printable(con.Redacted(unread[kind].Error())))
	}
}
