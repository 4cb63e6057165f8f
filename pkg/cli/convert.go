package cli

import (
	"fmt"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/spec"
)

func (p *program) convertCommand() *cli.Command {
	return &cli.Command{
		Name:      "convert",
		Usage:     "turn native AWS requests into a job file, and a job file into the requests",
		UsageText: "batchctl convert [FLAGS] FILE ...",
		Description: help("Native requests (a RegisterJobDefinition, a SubmitJob, or both) become one compact job file, a job\n"+
			"file its two requests. Nothing is lost: what has no short form stands in jobDefinition and submitJob.\n"+
			"The result goes to stdout.",
			"batchctl convert register.json submit.json > job.json\nbatchctl convert job.json --operation SubmitJob > submit.json"),
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "operation", Usage: "of a job file's requests print only this one: RegisterJobDefinition or SubmitJob"},
			&cli.BoolFlag{Name: "from-describe", Usage: "take what aws batch describe-job-definitions printed"},
		},
		Action: p.convert,
	}
}

func (p *program) convert(c *cli.Context) error {
	files, err := p.loadEach(c)
	if err != nil {
		return err
	}
	register, submit, native, err := pair(files)
	if err != nil {
		return err
	}
	if native {
		job := spec.Compact(register, submit)
		if job == nil {
			return usage("the requests have no compact form").
				try("a submission must name the definition beside it, and a definition must say what runs")
		}
		return p.printTree(job)
	}
	if slices.ContainsFunc(files, func(f *spec.File) bool { return len(f.Jobs[0].Waivers) > 0 }) {
		fmt.Fprintln(p.Err, "note: waivers are left out: AWS requests have no place for them; validate such files with --baseline")
	}
	switch c.String("operation") {
	case string(spec.KindJobDefinition):
		return p.printTree(register)
	case string(spec.KindSubmitJob):
		return p.printTree(submit)
	case "":
	default:
		return usage("--operation %s is not known", c.String("operation")).try("it is RegisterJobDefinition or SubmitJob")
	}
	both := jsontree.NewObject(nil)
	both.Set(string(spec.KindJobDefinition), register.Clone())
	both.Set(string(spec.KindSubmitJob), submit.Clone())
	return p.printTree(both)
}

// loadEach loads the files as they are, without a platform file's defaults.
func (p *program) loadEach(c *cli.Context) ([]*spec.File, error) {
	if !c.Args().Present() {
		return nil, usage("%s needs a file", c.Command.Name).try("for example: batchctl %s job.json", c.Command.Name)
	}
	var files []*spec.File
	var problems diag.List
	for _, word := range c.Args().Slice() {
		src, err := p.read(word)
		if err != nil {
			return nil, err
		}
		file, found := spec.Load(src, spec.Options{FromDescribe: c.Bool("from-describe")})
		problems = append(problems, found...)
		if file != nil {
			files = append(files, file)
		}
	}
	problems.Sort()
	return files, p.complain(problems)
}

// pair finds the two requests that the files hold.
func pair(files []*spec.File) (register, submit *jsontree.Node, native bool, err error) {
	for _, f := range files {
		if len(f.Jobs) != 1 {
			return nil, nil, false, usage("%s holds %d jobs", f.Source.Name, len(f.Jobs)).try("convert takes one job at a time")
		}
		native = native || f.Kind != spec.KindJob
		r, s := spec.Native(f.Jobs[0])
		if register != nil && r != nil || submit != nil && s != nil {
			return nil, nil, false, usage("the files hold more than one job").try("convert takes one job at a time")
		}
		if r != nil {
			register = r
		}
		if s != nil {
			submit = s
		}
	}
	return register, submit, native, nil
}

// printTree prints a tree as fmt lays it out.
func (p *program) printTree(n *jsontree.Node) error {
	return p.printText(jsontree.Format(n, formatWidth))
}
