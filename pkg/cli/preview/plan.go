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
	"github.com/batchctl/batchctl/pkg/stage"
	"github.com/batchctl/batchctl/pkg/target"
)

// PlanCommand is batchctl plan.
func PlanCommand(con *term.Console) *cli.Command {
	return &cli.Command{
		Name:      "plan",
		Usage:     "show what submitting a job file would do: definition, queue, machines, price; change nothing",
		UsageText: "batchctl plan [FLAGS] FILE ...",
		Description: cmdline.Help("The file is validated first. Then the target is asked, for at most 5 seconds and only to read, what is registered and\n"+
			"what its queues and compute environments are; --offline asks nobody. What could not be looked at is said.\n\n"+
			"It ends with 0 if every job definition is registered as it is, and under --offline; with 4 if one would be registered, or if\n"+
			"that could not be checked; with 1 if the target would refuse the jobs or leave them waiting for ever.\n\n"+
			"With --json stdout holds the requests as `aws batch ... --cli-input-json` takes them. --operation prints one of them and\n"+
			"asks nobody.",
			"batchctl plan job.json\nbatchctl plan job.json --target prod --out job.plan\nbatchctl submit job.json --target prod --check job.plan\n"+
				"batchctl plan job.json --operation SubmitJob > submit.json\naws batch submit-job --cli-input-json file://submit.json"),
		Flags: append(append(append(append(input.Flags(), PlanFlags()...), cmdline.OutputFlags()...), cmdline.TargetFlags()...),
			&cli.BoolFlag{Name: "offline", Usage: "ask no target: go by the files alone"},
			PricesFlag(), MaxCostFlag(),
			&cli.StringFlag{Name: "out", Usage: "write the plan to this `FILE` as well, for submit --check"},
			&cli.StringFlag{Name: "operation", Usage: "print only the request of this `OPERATION`: RegisterJobDefinition or SubmitJob"}),
		Action: func(c *cli.Context) error { return PlanFiles(con, c) },
	}
}

// PlanFlags are the flags that change a plan.
func PlanFlags() []cli.Flag {
	return append(input.VariationFlags(),
		&cli.StringFlag{Name: "queue", Usage: "the `QUEUE` of jobs that name none: alias, name or ARN"})
}

// PlanFiles prints the plan of the files that are named.
func PlanFiles(con *term.Console, c *cli.Context) error {
	format, err := cmdline.OutputFormat(c)
	if err != nil {
		return err
	}
	in, err := input.Load(con, input.OptionsOf(c))
	if err != nil {
		return err
	}
	made, err := PlanForTarget(con, c, in)
	if err != nil {
		return err
	}
	if operation := c.String("operation"); operation != "" {
		return printRequest(con, made, operation)
	}
	v, err := review(con, c, in, made)
	if err != nil {
		return err
	}
	document, err := made.JSON(v)
	if err != nil {
		return err
	}
	document = append(diag.PrintableJSON(document), '\n')
	if path := c.String("out"); path != "" {
		if err := writePlan(con, path, document); err != nil {
			return err
		}
	}
	if format == "json" {
		_, err = con.Out.Write(document)
	} else {
		err = printPlan(con, c, v)
	}
	return cmp.Or(err, reviewCost(con, c, in, made, v, ""), planVerdict(c, v))
}

// planVerdict is the exit code of a plan, after everything has been printed.
func planVerdict(c *cli.Context, v *plan.Review) error {
	if problems := v.Problems(); len(problems) > 0 {
		return exit.Fail(exit.Problem, "%s: as the target is now, this plan cannot be carried out", term.Plural(len(problems), "problem"))
	}
	if changes, known := v.Changes(); changes || !known && !c.Bool("offline") {
		return exit.Silent(exit.Change)
	}
	return nil
}

// PlanForTarget is makePlan for the target that the command line, the environment or the platform file
// names. The target decides which queues there are, so an unknown one is reported before what follows from it.
func PlanForTarget(con *term.Console, c *cli.Context, in *input.Input) (*plan.Plan, error) {
	name := cmdline.TargetOptions(c).NameFrom(in.Platform)
	if !target.Exists(name, in.Platform) {
		return nil, target.Unknown(name, in.Platform)
	}
	return BuildPlan(con, c, in, name == target.Local)
}

// BuildPlan validates and plans. On the local engine a job that names no queue goes
// to the engine's default queue, unless a platform file lists queues to choose from.
func BuildPlan(con *term.Console, c *cli.Context, in *input.Input, isLocal bool) (*plan.Plan, error) {
	if err := input.Complain(con, in.Problems); err != nil {
		return nil, err
	}
	o := plan.Options{Queue: c.String("queue")}
	if isLocal {
		o.LocalQueue = target.DefaultQueue
	}
	var err error
	if o.Staging, err = cmdline.TargetOptions(c).StagingOf(in.Platform, isLocal); err != nil {
		return nil, err
	}
	if o.Published, err = measure(c.Context, con, in.Files, o.Staging); err != nil {
		return nil, err
	}
	made, problems := plan.Build(in.Files, in.Platform, o)
	if err := input.Complain(con, problems); err != nil {
		return nil, err
	}
	if len(made.Jobs) == 0 {
		return nil, exit.Fail(exit.BadUsage, "%s holds no job", strings.Join(c.Args().Slice(), " ")).
			Try("%s takes job files, workflows, job definitions and submissions; the rest is read along with them", c.Command.Name)
	}
	NoteRequests(con, in.Files)
	if n := c.Int("count"); c.IsSet("count") {
		if n < 1 {
			return nil, exit.Usage("--count %d: a job is submitted once at least", n)
		}
		if made, err = plan.Repeat(made, n); err != nil {
			return nil, exit.Usage("--count %d: %v", n, err)
		}
	}
	return made, nil
}

// NoteRequests says of requests that make something else than a job that they
// are not sent.
func NoteRequests(con *term.Console, files []*document.File) {
	for _, f := range files {
		if f.Request != nil {
			fmt.Fprintf(con.Err, "note: %s is read along and not sent: only jobs are; %s --cli-input-json sends it\n",
				f.Source.Name, f.Kind.Command())
		}
	}
}

// printRequest prints one bare request, so that a shell can hand it on.
func printRequest(con *term.Console, made *plan.Plan, operation string) error {
	var found []plan.Request
	var known []string
	for _, r := range made.Requests() {
		if !slices.Contains(known, r.Operation) {
			known = append(known, r.Operation)
		}
		if r.Operation == operation {
			found = append(found, r)
		}
	}
	switch len(found) {
	case 0:
		return exit.Usage("the plan has no %s", operation).Try("its operations are: %s", strings.Join(known, " "))
	case 1:
		return jobs.WriteShapes(con, found[0].Input)
	}
	return exit.Usage("the plan has %d requests of %s", len(found), operation).Try("print them all: batchctl plan FILE --output json")
}

// nextCommand repeats the flags that shape the plan, so that what is sent is
// what was shown.
func nextCommand(c *cli.Context, verb string) string {
	words := []string{"batchctl", verb}
	words = append(words, c.Args().Slice()...)
	for _, name := range []string{"target", "profile", "region", "endpoint-url", "queue", "platform", "catalog", "prices", "max-cost"} {
		if v := c.String(name); v != "" {
			words = append(words, "--"+name, v)
		}
	}
	for _, flag := range []string{"parameters", "set", "env"} {
		for _, v := range c.StringSlice(flag) {
			if name, value, ok := strings.Cut(v, "="); ok {
				v = name + "=" + secret.Mask(name, value)
			}
			words = append(words, "--"+flag, v)
		}
	}
	if c.Bool("keep-going") {
		words = append(words, "--keep-going")
	}
	for i, w := range words {
		words[i] = term.Quoted(w)
	}
	return strings.Join(words, " ")
}

func bracket(s string) string {
	if s == "" {
		return ""
	}
	return " (" + s + ")"
}

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

// describeDefinition is what a job asks for, in a line.
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

// measure reads what the files' jobs bring from this machine. place is the target's; "":
// it has none, which the plan says.
func measure(ctx context.Context, con *term.Console, files []*document.File, place string) (map[string]plan.Published, error) {
	if place == "" {
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
				from, size, err := store.Measure(ctx, place, path)
				if err != nil && ctx.Err() != nil {
					return nil, exit.Fail(exit.Interrupted, "interrupted while %s was read; nothing was sent", path)
				}
				if err != nil {
					return nil, exit.Fail(exit.NotDone, "read %s, an input of %s: %v", path, j.Name, err)
				}
				all[path] = plan.Published{Path: path, URL: from.From, SHA256: from.SHA256, Tree: from.Tree, Executable: from.Executable, Files: size.Files, Bytes: size.Bytes}
			}
		}
	}
	return all, nil
}

// DescribePublished says how much is sent.
func DescribePublished(p plan.Published) string {
	return term.Plural(p.Files, "file") + ", " + stage.Size(p.Bytes)
}
