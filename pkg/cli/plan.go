package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
	"github.com/urfave/cli/v2"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/plan"
	"github.com/batchctl/batchctl/pkg/secret"
	"github.com/batchctl/batchctl/pkg/spec"
)

func (p *program) planCommand() *cli.Command {
	return &cli.Command{
		Name:      "plan",
		Usage:     "show the AWS requests that a job file stands for, the queue, and why; send nothing",
		UsageText: "batchctl plan [FLAGS] FILE ...",
		Description: help("The file is validated first. With --json stdout holds the requests as `aws batch ... --cli-input-json` takes them.",
			"batchctl plan job.json\nbatchctl plan job.json --json\n"+
				"batchctl plan job.json --operation SubmitJob > submit.json\naws batch submit-job --cli-input-json file://submit.json"),
		Flags: append(append(append(inputFlags(), planFlags()...), outputFlags()...),
			&cli.StringFlag{Name: "target", Aliases: []string{"t"}, Usage: "the `NAME` of the target to plan for"},
			&cli.StringFlag{Name: "operation", Usage: "print only the request of this `OPERATION`: RegisterJobDefinition or SubmitJob"}),
		Action: p.plan,
	}
}

func planFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "queue", Usage: "the `QUEUE` of jobs that name none: alias, name or ARN"},
	}
}

func (p *program) plan(c *cli.Context) error {
	format, err := outputFormat(c)
	if err != nil {
		return err
	}
	in, err := p.load(c)
	if err != nil {
		return err
	}
	made, err := p.makePlan(c, in, targetName(c, in.platform) == localTarget)
	if err != nil {
		return err
	}
	switch {
	case c.String("operation") != "":
		return p.printRequest(made, c.String("operation"))
	case format == "json":
		data, err := made.JSON()
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(p.Out, "%s\n", diag.PrintableJSON(data))
		return err
	}
	return p.printPlan(c, made)
}

// makePlan validates and plans. On the local engine a job without a platform
// file goes to the engine's one queue.
func (p *program) makePlan(c *cli.Context, in *input, isLocal bool) (*plan.Plan, error) {
	if err := p.complain(in.problems); err != nil {
		return nil, err
	}
	o := plan.Options{Queue: c.String("queue")}
	if o.Queue == "" && isLocal && in.platformFile == "" {
		o.Queue = defaultQueue
	}
	made, problems := plan.Build(in.files, in.platform, o)
	if err := p.complain(problems); err != nil {
		return nil, err
	}
	if len(made.Jobs) == 0 {
		return nil, fail(ExitUsage, "%s holds no job", strings.Join(c.Args().Slice(), " ")).
			try("%s takes job files, workflows, job definitions and submissions; the rest is read along with them", c.Command.Name)
	}
	p.noteRequests(in.files)
	return made, nil
}

// noteRequests says of requests that make something else than a job that they
// are not sent.
func (p *program) noteRequests(files []*spec.File) {
	for _, f := range files {
		if f.Request != nil {
			fmt.Fprintf(p.Err, "note: %s is read along and not sent: only jobs are; %s --cli-input-json sends it\n",
				f.Source.Name, f.Kind.Command())
		}
	}
}

// printRequest prints one bare request, so that a shell can hand it on.
func (p *program) printRequest(made *plan.Plan, operation string) error {
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
		return usage("the plan has no %s", operation).try("its operations are: %s", strings.Join(known, " "))
	case 1:
		return p.writeShapes(found[0].Input)
	}
	return usage("the plan has %d requests of %s", len(found), operation).try("take them all: batchctl plan --json")
}

func (p *program) printPlan(c *cli.Context, made *plan.Plan) error {
	var b strings.Builder
	line := func(format string, args ...any) {
		b.WriteString(diag.Printable(p.redacted(fmt.Sprintf(format, args...))) + "\n")
	}
	for _, j := range made.Jobs {
		line("%s", describeJob(j))
		if j.Register != nil {
			line("  register  %s", describeDefinition(j))
		}
		if j.Submit != nil {
			line("  submit    to %s: %s", j.Queue.Queue, j.Queue.Reason)
		}
		for _, d := range j.After {
			line("  after     %s%s", d.Job, bracket(d.Type))
		}
	}
	b.WriteString("\n")
	line("next: %s", nextCommand(c, "submit"))
	return p.printText(b.String())
}

// nextCommand repeats the flags that shape the plan, so that what is sent is
// what was shown.
func nextCommand(c *cli.Context, verb string) string {
	words := []string{"batchctl", verb}
	words = append(words, c.Args().Slice()...)
	for _, name := range []string{"target", "profile", "region", "endpoint-url", "queue", "platform", "catalog"} {
		if v := c.String(name); v != "" {
			words = append(words, "--"+name, v)
		}
	}
	for _, v := range c.StringSlice("parameters") {
		name, value, _ := strings.Cut(v, "=")
		words = append(words, "--parameters", name+"="+secret.MaskValue(name, value))
	}
	for i, w := range words {
		if strings.ContainsAny(w, " \t\n'\"$`\\*?[]{}()<>|&;#!") {
			words[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
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
	return joinClauses(append(parts, aws.ToString(container.Image))...)
}
