package author

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/cli/cmdline"
	"github.com/batchctl/batchctl/pkg/cli/input"
	"github.com/batchctl/batchctl/pkg/cli/preview"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/urfave/cli/v2"
)

// ConvertCommand is batchctl convert.
func ConvertCommand(con *term.Console) *cli.Command {
	return cmdline.Command(cli.Command{
		Name:      "convert",
		Usage:     "convert AWS requests to a job file, or back",
		UsageText: "batchctl convert [FLAGS] FILE ...",
		Description: cmdline.Help("AWS requests (RegisterJobDefinition, SubmitJob, or both) become a job file; requests for several jobs become a workflow. A job file becomes its two "+
			"requests. A workflow becomes a list of such pairs, or a job list with --operation SubmitJob.\n\nOnly comments are lost. Members without a short form "+
			"go to jobDefinition and submitJob. The result goes to stdout.",
			"batchctl convert register.json submit.json > job.json\nbatchctl convert job.json --operation SubmitJob > submit.json\n"+
				"batchctl convert flow.json --job train --operation RegisterJobDefinition > register.json"),
	}, convertOptions{}, func(_ context.Context, o convertOptions) error { return convert(con, o) })
}

// convertOptions are the flags and arguments of convert.
type convertOptions struct {
	// Args are files, "-" for standard input.
	cmdline.Given
	// Operation is "" for both.
	Operation    string `flag:"operation" usage:"print only this request: RegisterJobDefinition or SubmitJob"`
	Job          string `flag:"job" usage:"convert only the job of this <NAME>"`
	FromDescribe bool   `flag:"from-describe" usage:"read the output of aws batch describe-job-definitions"`
}

// convert is batchctl convert. The files are either AWS requests, which become a
// job file, or job files, which become requests.
func convert(con *term.Console, o convertOptions) error {
	switch o.Operation {
	case "", string(document.KindJobDefinition), string(document.KindSubmitJob):
	default:
		return cmdline.UnknownValue("operation", o.Operation, "the operations are", "RegisterJobDefinition",
			"SubmitJob")
	}
	files, err := loadEach(con, o)
	if err != nil {
		return err
	}
	native, err := areNative(files)
	if err != nil {
		return err
	}
	pairs, err := preview.Pair(files, native)
	if err != nil {
		return err
	}
	if pairs, err = preview.Pick(pairs, o.Job); err != nil {
		return err
	}
	if slices.ContainsFunc(files, func(f *document.File) bool { return hasComment(f.Root) }) {
		fmt.Fprintln(con.Err, `note: comments (members named "$comment") are left out`)
	}
	if native && o.Operation != "" {
		return exit.Usage("--operation applies only to job files, and these are requests").Try("omit it")
	}
	if native {
		return printCompact(con, pairs, baseName(files[0]))
	}
	if slices.ContainsFunc(pairs, func(r preview.Requests) bool { return r.Waives }) {
		fmt.Fprintln(con.Err, "note: AWS requests cannot contain waivers, so they are omitted; validate the requests with --baseline")
	}
	return printNative(con, pairs, o.Operation)
}

// loadEach loads the files without the defaults of a platform file, so that the
// conversion adds nothing.
func loadEach(con *term.Console, o convertOptions) ([]*document.File, error) {
	if len(o.Args) == 0 {
		return nil, exit.Usage("convert needs a file").Try("for example: batchctl convert job.json")
	}
	var files []*document.File
	var problems diag.List
	for _, path := range o.Args {
		src, err := input.Read(con, path)
		if err != nil {
			return nil, err
		}
		file, found := document.Load(src, document.Options{FromDescribe: o.FromDescribe})
		for i, p := range found {
			if p.Rule == document.RuleUnknownMember && p.Severity == diag.Warning {
				// A conversion loses nothing.
				found[i].Severity, found[i].Hint = diag.Error,
					"the other form cannot contain it; remove it, or keep this form"
			}
		}
		problems = append(problems, found...)
		if file != nil {
			files = append(files, file)
		}
	}
	problems.Sort()
	return files, input.Refuse(con, problems, "nothing was converted")
}

// areNative reports whether the files are AWS requests. Requests and job files
// together are an error.
func areNative(files []*document.File) (bool, error) {
	isNative := func(f *document.File) bool { return f.Kind != document.KindJob && f.Kind != document.KindWorkflow }
	for _, f := range files {
		switch {
		case f.Part != "":
			return false, exit.Usage("%s contains only %s", f.Source.Name, f.Part).
				Try("convert the whole request that contains it")
		case len(f.Jobs) > 0:
		case len(f.Requests) > 0:
			return false, exit.Usage("%s contains AWS Batch resources, which have no other form", f.Source.Name).
				Try("convert reads only jobs; create the resources with batchctl apply")
		default:
			return false, exit.Usage("%s contains no job", f.Source.Name).
				Try("convert reads job files, workflows, job definitions and submissions")
		}
		if isNative(f) != isNative(files[0]) {
			return false, exit.Usage("%s and %s have different forms", files[0].Source.Name, f.Source.Name).
				Try("convert the requests and the job files in separate commands")
		}
	}
	return isNative(files[0]), nil
}

// baseName returns the name of a workflow that is created from requests: the
// first file's name without its extension.
func baseName(f *document.File) string {
	if f.Source.Name == "-" {
		return "jobs"
	}
	base := filepath.Base(f.Source.Name)
	return strings.TrimSuffix(base, filepath.Ext(base))
}

// hasComment reports whether a document contains a comment, which requests cannot
// have.
func hasComment(n *jsontree.Node) bool {
	for child := range n.Children() {
		if n.Is(jsontree.Object) && child.Name == "$comment" || hasComment(child) {
			return true
		}
	}
	return false
}

// printCompact prints the job file for requests. Requests of several jobs become
// a workflow. name is the workflow's.
func printCompact(con *term.Console, pairs []preview.Requests, name string) error {
	var problems diag.List
	// Several jobs can share one definition; its problems are reported once.
	defining := map[*jsontree.Node]bool{}
	for _, r := range pairs {
		if !defining[r.Register] {
			problems = append(problems, document.NoCompact(r.Register)...)
			defining[r.Register] = true
		}
		problems = append(problems, document.NoCompact(r.Submit)...)
	}
	problems.Sort()
	if err := input.Refuse(con, problems, "nothing was converted"); err != nil {
		return err
	}
	var jobs [][]*jsontree.Node // the jobs of each file
	defined := map[*jsontree.Node]bool{}
	for i, r := range pairs {
		register := r.Register
		if defined[register] {
			register = nil // an earlier job contains this definition
		}
		defined[r.Register] = true
		job := document.Compact(register, r.Submit)
		if job == nil {
			return exit.Usage("%s has no compact form", r.Name).
				Try("a submission must name its definition, and a definition must have an image")
		}
		if i == 0 || r.File != pairs[i-1].File {
			jobs = append(jobs, nil)
		}
		jobs[len(jobs)-1] = append(jobs[len(jobs)-1], job)
		if r.Submit == nil {
			noteParameters(con, r)
		}
	}
	if len(pairs) == 1 {
		return printTree(con, jobs[0][0])
	}
	return printTree(con, document.Workflow(name, jobs))
}

// noteParameters names the parameters of a job definition that only a submission can give a value: a job file is a
// submission too.
func noteParameters(con *term.Console, r preview.Requests) {
	var visit func(n *jsontree.Node)
	seen := map[string]bool{}
	visit = func(n *jsontree.Node) {
		for child := range n.Children() {
			name, is := batch.ParameterReference(child.Str())
			if is && (n.Name == "command" || n.Name == "args") && !seen[name] && r.Register.Get("parameters").
				Get(name) == nil {
				seen[name] = true
				fmt.Fprintf(con.Err, "note: parameter %s of %s has no value; add it to \"parameters\" before you submit the job\n", diag.Quote(name), r.Name)
			}
			visit(child)
		}
	}
	visit(r.Register)
}

// printNative prints the requests of jobs, or only those of one operation.
func printNative(con *term.Console, pairs []preview.Requests, operation string) error {
	switch document.Kind(operation) {
	case document.KindJobDefinition:
		return printDefinition(con, pairs)
	case document.KindSubmitJob:
		return printSubmissions(con, pairs)
	}
	list := jsontree.NewArray(nil)
	for _, r := range pairs {
		both := jsontree.NewObject(nil)
		both.Set(string(document.KindJobDefinition), r.Register)
		both.Set(string(document.KindSubmitJob), r.Submit)
		list.Append(both)
	}
	if len(pairs) == 1 {
		return printTree(con, list.Index(0))
	}
	return printTree(con, list)
}

// printDefinition prints the only definition. Several definitions are an error,
// because the output is one request.
func printDefinition(con *term.Console, pairs []preview.Requests) error {
	defining := slices.DeleteFunc(slices.Clone(pairs), func(r preview.Requests) bool { return r.Register == nil })
	switch len(defining) {
	case 0:
		return exit.Usage("job %s has no definition to register: it uses %s", pairs[0].Name,
			pairs[0].Submit.Get("jobDefinition").Str()).
			Try("print it with aws batch describe-job-definitions")
	case 1:
		return printTree(con, defining[0].Register)
	}
	return exit.Usage("the files contain %d job definitions; this output is one request", len(defining)).
		Try("add --job with one of: %s", preview.Names(defining))
}

// printSubmissions prints the request that submits a job. Several become a job
// list, in which names must be distinct.
func printSubmissions(con *term.Console, pairs []preview.Requests) error {
	if len(pairs) == 1 {
		return printTree(con, pairs[0].Submit)
	}
	jobs := jsontree.NewArray(nil)
	seen := map[string]bool{}
	for _, r := range pairs {
		name := r.Submit.Get("jobName").Str()
		if seen[name] {
			return exit.Usage("two jobs are named %s, but a job list needs distinct names", name).
				Try("add --job with one of: %s", preview.Names(pairs))
		}
		seen[name] = true
		jobs.Append(r.Submit)
	}
	list := jsontree.NewObject(nil)
	list.Set("jobs", jobs)
	fmt.Fprintln(con.Err, "note: only batchctl reads a job list; for the AWS CLI, choose one request with --job")
	return printTree(con, list)
}

// printTree prints a document in the format of fmt.
func printTree(con *term.Console, n *jsontree.Node) error {
	return PrintDocument(con, jsontree.Format(n, jsontree.Width))
}
