package preview

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
	"github.com/urfave/cli/v2"

	"github.com/batchctl/batchctl/pkg/cli/cmdline"
	"github.com/batchctl/batchctl/pkg/cli/input"
	"github.com/batchctl/batchctl/pkg/cli/jobs"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/objects"
	"github.com/batchctl/batchctl/pkg/plan"
	"github.com/batchctl/batchctl/pkg/secret"
	"github.com/batchctl/batchctl/pkg/target"
	"github.com/batchctl/batchctl/pkg/text"
)

// PlanCommand is batchctl plan.
func PlanCommand(con *term.Console) *cli.Command {
	return cmdline.Command(cli.Command{
		Name:      "plan",
		Usage:     "show what a submission would do; change nothing",
		UsageText: "batchctl plan [FLAGS] FILE ...",
		Description: cmdline.Help("Validates the file. Then it reads the registered definitions, queues and compute environments from the target, for at most 5 seconds. With --offline, "+
			"it asks no target: without --target, placement and price follow the platform file. The plan lists everything that it could not check.\n\nThe exit code is 0 if every job definition "+
			"is already registered, and with --offline. It is 4 if a definition would be registered or could not be checked. It is 1 if the "+
			"target would reject the jobs or leave them waiting indefinitely.\n\nWith --json, stdout contains the requests for `aws batch ... "+
			"--cli-input-json`. --operation prints one of them and queries nothing.\n\nWith --output markdown, stdout is a comment for a pull "+
			"request: verdict, placement, price and problems of each file. Files that are not batchctl documents are skipped.",
			"batchctl plan job.json\nbatchctl plan job.json --target prod --out job.plan\nbatchctl submit job.json --target prod --check job.plan\n"+
				"batchctl plan job.json --operation SubmitJob > submit.json\naws batch submit-job --cli-input-json file://submit.json\n"+
				"batchctl plan jobs/*.json --offline --output markdown > comment.md"),
	}, PlanOptions{Output: cmdline.OutputsAs("text, json or markdown",
		cmdline.JSON[plan.Document](), cmdline.JSONWith[map[string]any]("operation"))},
		func(ctx context.Context, o PlanOptions) error { return PlanFiles(ctx, con, o) })
}

// PlanOptions are the flags of plan.
type PlanOptions struct {
	Options
	cmdline.Output
	Offline bool `flag:"offline" usage:"do not query the target"`
	Verbose bool `flag:"verbose" usage:"also show how each price is calculated"`
	// When adds when the jobs start.
	When bool `flag:"when" usage:"forecast when the jobs start, from the queue's jobs and earlier durations"`
	Pricing
	// Out is the path of a file for the plan as JSON.
	Out string `flag:"out" usage:"also write the plan to this <FILE>, for submit --check"`
	// Operation names the one request that is printed; "" prints the plan.
	Operation string `flag:"operation" usage:"print only the request of this <OPERATION>: RegisterJobDefinition or SubmitJob"`
}

// PlanFiles is batchctl plan: it plans the files, compares the plan with the
// target, and prints both.
func PlanFiles(ctx context.Context, con *term.Console, o PlanOptions) error {
	switch {
	case o.Format == "markdown":
		return planMarkdown(ctx, con, o)
	case o.Operation != "":
		_, planned, err := planned(ctx, con, o.Options)
		if err != nil {
			return err
		}
		return printRequest(con, planned, o.Operation)
	}
	p, verdict := Plan(ctx, con, o)
	if p == nil {
		return verdict
	}
	// The same bytes go to --out and to stdout.
	document, err := p.JSON()
	if err != nil {
		return err
	}
	if o.Out != "" {
		if err := writePlan(con, o.Out, document); err != nil {
			return err
		}
	}
	if o.Format == "json" {
		_, err = con.Out.Write(document)
	} else {
		err = p.Print(con)
	}
	return cmp.Or(err, verdict)
}

// Planned is a plan that is compared with its target.
type Planned struct {
	Plan   *plan.Plan
	Review *plan.Review

	options PlanOptions
}

// Plan plans the files, and compares the plan with the target. The error that comes with a plan is the verdict on it,
// such as exit.Change.
func Plan(ctx context.Context, con *term.Console, o PlanOptions) (*Planned, error) {
	in, planned, err := planned(ctx, con, o.Options)
	if err != nil {
		return nil, err
	}
	v, err := review(ctx, con, o, in, planned)
	if err != nil {
		return nil, err
	}
	if v.Policy != nil {
		if err := input.Complain(con, v.Policy.Problems); err != nil {
			return nil, err
		}
	}
	if o.When {
		if err := addWhen(ctx, con, o, in, v); err != nil {
			return nil, err
		}
	}
	if err := noteLacking(con, o.Options, in, v, planned); err != nil {
		return nil, err
	}
	return &Planned{planned, v, o}, cmp.Or(reviewCost(o.Pricing, in, planned, v, ""), planVerdict(o, v))
}

// planned loads and plans the files.
func planned(ctx context.Context, con *term.Console, o Options) (*input.Input, *plan.Plan, error) {
	in, err := input.Load(con, o.Options)
	if err != nil {
		return nil, nil, err
	}
	planned, err := PlanForTarget(ctx, con, o, in)
	return in, planned, err
}

// JSON returns the plan as plan.Document.
func (p *Planned) JSON() ([]byte, error) {
	document, err := p.Plan.JSON(p.Review)
	if err != nil {
		return nil, err
	}
	return append(diag.PrintableJSON(document), '\n'), nil
}

// noteLacking prints why the local engine could not start jobs of the plan, and adds what plan cannot check of their
// images. submit and run have flags that plan does not have, so these are notes.
func noteLacking(con *term.Console, o Options, in *input.Input, v *plan.Review, planned *plan.Plan) error {
	if !v.Target.Local {
		return nil
	}
	provider, err := target.LocalProvider(o.Target, in.Platform)
	if err != nil {
		return err
	}
	for i, j := range planned.Jobs {
		if provider.StartsImage(j) && j.NeedsBatchctl(true) {
			v.Jobs[i].NotChecked = append(v.Jobs[i].NotChecked, plan.UncheckedImage)
		}
		for _, why := range provider.Lacking(j) {
			fmt.Fprintf(con.Err, "note: job %s cannot start on this machine: %s\n", diag.Printable(j.Name),
				diag.Printable(why))
		}
	}
	return nil
}

// planVerdict returns the exit status of a plan, after everything has been
// printed.
func planVerdict(o PlanOptions, v *plan.Review) error {
	switch blocked := v.Blocked(); {
	case blocked == 1 && len(v.Jobs) == 1:
		return exit.Fail(exit.Problem, "this job cannot run at %s", v.Target.Target)
	case blocked > 0:
		return exit.Fail(exit.Problem, "%d of %s cannot run at %s", blocked, text.Count(len(v.Jobs), "job"),
			v.Target.Target)
	}
	if changes, known := v.Changes(); changes || !known && !o.Offline {
		return exit.Silent(exit.Change)
	}
	return nil
}

// PlanForTarget builds a plan for the target that the command line, the
// environment or the platform file names. The target decides which queues exist,
// so PlanForTarget reports an unknown target before BuildPlan reports problems
// that follow from it.
func PlanForTarget(ctx context.Context, con *term.Console, o Options, in *input.Input) (*plan.Plan, error) {
	name := o.Target.NameFrom(in.Platform)
	if !target.Exists(name, in.Platform) {
		if name != o.Target.NameFrom(nil) { // the platform file names it, which is a problem of that file
			if err := input.Complain(con, in.Problems); err != nil {
				return nil, err
			}
		}
		return nil, target.Unknown(name, in.Platform)
	}
	return BuildPlan(ctx, con, o, in, name == target.Local)
}

// BuildPlan validates and plans. On the local engine, a job that names no queue
// goes to the engine's default queue, unless a platform file lists queues.
func BuildPlan(ctx context.Context, con *term.Console, o Options, in *input.Input, isLocal bool) (*plan.Plan, error) {
	problems := in.Problems
	if isLocal {
		problems = slices.DeleteFunc(slices.Clone(problems),
			func(d diag.Diagnostic) bool { return d.Rule == plan.RuleNoBatchctl })
	}
	if err := input.Complain(con, problems); err != nil {
		return nil, err
	}
	planned, problems, err := buildPlan(ctx, o, in, isLocal)
	if err != nil {
		return nil, err
	}
	if err := input.Complain(con, problems); err != nil {
		return nil, err
	}
	if len(planned.Jobs) == 0 &&
		slices.ContainsFunc(in.Files, func(f *document.File) bool { return len(f.Requests) > 0 }) {
		return nil, exit.Fail(exit.BadUsage, "%s contains no job", strings.Join(o.Args, " ")).
			Try("it creates queues or related resources; to show what would change: batchctl apply %s --check",
				term.Quoted(o.Args[0]))
	}
	if len(planned.Jobs) == 0 {
		return nil, exit.Fail(exit.BadUsage, "%s contains no job", strings.Join(o.Args, " ")).
			Try("%s needs job files, workflows, job definitions or submissions; it reads other files only for checks",
				o.Command)
	}
	NoteRequests(con, in.Files)
	if o.Times > 1 {
		if planned, err = plan.Repeat(planned, o.Times); err != nil {
			return nil, exit.Usage("--count %d: %v", o.Times, err)
		}
	}
	return planned, nil
}

// buildPlan plans documents without errors, and returns the problems that only a
// plan shows.
func buildPlan(ctx context.Context, o Options, in *input.Input, isLocal bool) (*plan.Plan, diag.List, error) {
	build := plan.Options{Queue: o.Queue}
	if isLocal {
		build.LocalQueue = target.DefaultQueue
	}
	var err error
	if build.Staging, err = o.Target.StagingOf(in.Platform, isLocal); err != nil {
		return nil, nil, err
	}
	// Reading local files is slow, so it comes after the cheap checks.
	if build.Published, err = measure(ctx, in.Files, build.Staging); err != nil {
		return nil, nil, err
	}
	planned, problems := plan.Build(in.Files, in.Platform, build)
	return planned, problems, nil
}

// NoteRequests prints a note for each request in the files that creates something
// other than a job. Such requests are not sent.
func NoteRequests(con *term.Console, files []*document.File) {
	for _, f := range files {
		if len(f.Requests) > 0 {
			fmt.Fprintf(con.Err, "note: %s is checked but not sent, because only jobs are submitted; to create its resources: batchctl apply\n", f.Source.Name)
		}
	}
}

// printRequest prints one request without anything around it, for
// --cli-input-json.
func printRequest(con *term.Console, planned *plan.Plan, operation string) error {
	var found []plan.Request
	var known []string
	for _, r := range planned.Requests() {
		if !slices.Contains(known, r.Operation) {
			known = append(known, r.Operation)
		}
		if r.Operation == operation {
			found = append(found, r)
		}
	}
	switch len(found) {
	case 0:
		return exit.Usage("the plan has no %s", operation).
			Try("%s", diag.Instead(operation, known, diag.Offer{Near: "did you mean --operation %s?",
				Are: "its operations are"}))
	case 1:
		return jobs.WriteShapes(con, found[0].Input)
	}
	return exit.Usage("the plan has %d requests of %s", len(found), operation).
		Try("print them all: batchctl plan FILE --output json")
}

// nextCommand returns the command line of another command with the flags that
// change the plan, so that it sends what was shown. It masks secrets.
func nextCommand(o PlanOptions, verb string) string {
	args := []string{"batchctl", verb}
	args = append(args, o.Args...)
	for _, f := range []struct{ name, value string }{
		{"target", o.Target.Name}, {"profile", o.Target.Profile}, {"region", o.Target.Region},
		{"endpoint-url", o.Target.EndpointURL}, {"queue", o.Queue},
		{"platform", o.Target.Platform}, {"catalog", string(o.Catalog)}, {"prices", string(o.Prices)},
		{"max-cost", string(o.MaxCost)},
	} {
		if f.value != "" {
			args = append(args, "--"+f.name, f.value)
		}
	}
	for _, f := range []struct {
		name   string
		values []string
	}{{"parameters", o.Parameters}, {"set", o.Set}, {"env", o.Env}} {
		for _, v := range f.values {
			// The command line is printed, so it must not repeat a secret.
			if name, value, ok := strings.Cut(v, "="); ok {
				v = name + "=" + secret.Mask(name, value)
			}
			args = append(args, "--"+f.name, v)
		}
	}
	if o.KeepGoing {
		args = append(args, "--keep-going")
	}
	for i, arg := range args {
		args[i] = term.Quoted(arg)
	}
	return strings.Join(args, " ")
}

// bracket puts s into brackets after a blank; "" stays empty.
func bracket(s string) string {
	if s == "" {
		return ""
	}
	return " (" + s + ")"
}

// describeJob names a job with its kind, for the head of its part of the plan.
func describeJob(j *plan.Job) string {
	what := "job"
	if j.Submit == nil {
		return "job definition " + j.Name
	}
	if j.Submit.ArrayProperties != nil && j.Submit.ArrayProperties.Size != nil {
		what = fmt.Sprintf("array job of %d", *j.Submit.ArrayProperties.Size)
	}
	return what + " " + j.Name
}

// describeDefinition returns a job's requirements and image in one line.
func describeDefinition(j *plan.Job) string {
	parts := []string{}
	container := j.Register.ContainerProperties
	if container == nil {
		return aws.ToString(j.Register.JobDefinitionName)
	}
	for _, r := range container.ResourceRequirements {
		switch value := aws.ToString(r.Value); r.Type {
		case types.ResourceTypeVcpu:
			parts = append(parts, value+" vCPU")
		case types.ResourceTypeMemory:
			parts = append(parts, value+" MiB")
		case types.ResourceTypeGpu:
			parts = append(parts, value+" GPU")
		}
	}
	return term.JoinClauses(append(parts, aws.ToString(container.Image))...)
}

// measure reads the local inputs of the files' jobs. location is where the target
// stages files; if it is "", measure reads nothing, and the plan reports that
// there is no location. The result maps local paths.
func measure(ctx context.Context, files []*document.File, location string) (map[string]plan.Published, error) {
	if location == "" {
		return nil, nil
	}
	all := map[string]plan.Published{}
	store := &objects.Store{}
	for _, f := range files {
		for _, j := range f.Jobs {
			for _, in := range j.Inputs {
				path := in.Local.Path
				if _, known := all[path]; known || path == "" {
					continue
				}
				from, size, err := store.Measure(ctx, location, path)
				if err != nil && ctx.Err() != nil {
					return nil, exit.Fail(exit.Interrupted, "interrupted while reading %s; nothing was sent", path)
				}
				if err != nil {
					return nil, exit.Fail(exit.NotDone, "read %s, an input of %s: %v", path, j.Name, err)
				}
				all[path] = plan.Published{Path: path, URL: from.From, SHA256: from.SHA256, Tree: from.Tree,
					Executable: from.Executable, Files: size.Files, Bytes: size.Bytes}
			}
		}
	}
	return all, nil
}

// DescribePublished returns the number and size of the files that are uploaded.
func DescribePublished(p plan.Published) string {
	return text.Count(p.Files, "file") + ", " + text.Size(p.Bytes)
}
