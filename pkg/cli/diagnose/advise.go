package diagnose

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/batchctl/batchctl/pkg/advise"
	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/cli/cmdline"
	"github.com/batchctl/batchctl/pkg/cli/input"
	"github.com/batchctl/batchctl/pkg/cli/jobs"
	"github.com/batchctl/batchctl/pkg/cli/preview"
	"github.com/batchctl/batchctl/pkg/cli/session"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/exit"
	record "github.com/batchctl/batchctl/pkg/history"
	"github.com/batchctl/batchctl/pkg/newfile"
	"github.com/batchctl/batchctl/pkg/plan"
	"github.com/batchctl/batchctl/pkg/target"
	"github.com/batchctl/batchctl/pkg/text"
	"github.com/urfave/cli/v2"
)

// AdviseCommand is batchctl advise.
func AdviseCommand(con *term.Console) *cli.Command {
	return cmdline.Command(cli.Command{
		Name:      "advise",
		Usage:     "propose job sizes from measured use",
		UsageText: "batchctl advise [FLAGS] [FILE or JOB ...]",
		Description: cmdline.Help("Compares the requested resources of each job definition with the used ones. The proposed memory covers 99 % of runs with 99 % confidence, and is a "+
			"size that the queue's instances offer. With fewer than 30 measured runs, advise proposes only more memory for jobs that ran out of it.\n\nA JOB is that of status, or a definition. For a FILE, advise also prints the change to the file, and --fix "+
			"makes it. Only jobs with \"measure\": true are measured.",
			"batchctl advise\nbatchctl advise job.json\nbatchctl advise job.json --fix\n"+
				"batchctl advise sweep.json --queue gpu --json"),
	}, AdviseOptions{Output: cmdline.Outputs(cmdline.JSON[[]JobAdvice]())},
		func(ctx context.Context, o AdviseOptions) error { return adviseJobs(ctx, con, o) }, "set", "env", "keep-going")
}

// AdviseOptions are the flags of advise. Args are files, jobs and definitions.
type AdviseOptions struct {
	input.Options
	cmdline.Output
	Since   string             `flag:"since" usage:"only attempts since this <TIME>: a date, or an age such as 30d"`
	Fix     bool               `flag:"fix" usage:"write the proposed sizes to the files"`
	Queue   string             `flag:"queue" usage:"prices and machines of this <QUEUE>, for all jobs"`
	Offline bool               `flag:"offline" usage:"do not query the target"`
	Prices  preview.PricesFile `flag:"prices"`
}

// JobAdvice is the advice for a job definition, or for a job of a file.
type JobAdvice struct {
	advise.Advice
	// File and Job are the file and its job; absent for a definition without a file.
	File string `json:"file,omitempty"`
	Job  string `json:"job,omitempty"`
	// Changes are what the proposal changes in the file.
	Changes []advise.Change `json:"changes,omitempty"`

	file *document.File
	// measures means that the next run of the job is measured.
	measures bool
	// rehearsed means that the attempts ran on this machine.
	rehearsed bool
}

// queryTimeout limits the queries of queues and environments.
const queryTimeout = 5 * time.Second

// Advise proposes sizes for the jobs of files, and for the definitions of the recorded attempts.
func Advise(ctx context.Context, con *term.Console, o AdviseOptions) ([]JobAdvice, error) {
	since, err := jobs.ParseTime("since", o.Since, time.Now())
	if err != nil {
		return nil, err
	}
	files, handles := o.operands()
	if o.Fix && len(files) == 0 {
		return nil, exit.Usage("--fix needs a job file").Try("for example: batchctl advise job.json --fix")
	}
	in, err := loadFiles(con, o, files)
	if err != nil {
		return nil, err
	}
	all, err := attempts(con, o.Target, since, in.Platform)
	if err != nil {
		return nil, err
	}
	if len(all) == 0 && len(files) == 0 {
		return nil, noAttempts(sinceText(o.Since))
	}
	market, err := marketOf(ctx, con, o, in)
	if err != nil {
		return nil, err
	}
	named, err := handlesOf(con, o.Target, handles)
	if err != nil {
		return nil, err
	}
	groups := advise.Groups(all)
	var list []JobAdvice
	for _, f := range in.Files {
		for _, job := range f.Jobs {
			list = append(list, adviceForJob(f, job, groups, market))
		}
	}
	for _, g := range groups {
		isNamed := func(h handle) bool { return slices.ContainsFunc(g.Attempts, h.names) }
		if len(o.Args) == 0 || slices.ContainsFunc(named, isNamed) {
			list = append(list, JobAdvice{Advice: advise.For(g, record.Resources{}, market), rehearsed: isLocal(g)})
		}
	}
	for i := range list {
		list[i].noteOthers(groups)
	}
	if len(list) == 0 {
		return nil, noAttempts(" of " + strings.Join(handles, " ") + sinceText(o.Since))
	}
	return list, nil
}

// operands returns the operands that are files, and those that are jobs or definitions.
func (o AdviseOptions) operands() (files, handles []string) {
	for _, arg := range o.Args {
		if session.NamesFile(arg) {
			files = append(files, arg)
		} else {
			handles = append(handles, arg)
		}
	}
	return files, handles
}

// loadFiles reads the files; without one, only the platform file.
func loadFiles(con *term.Console, o AdviseOptions, files []string) (in *input.Input, err error) {
	if len(files) == 0 {
		in = &input.Input{}
		return in, in.FindPlatform(o.Target)
	}
	o.Args = files
	if in, err = input.Load(con, o.Options); err != nil {
		return nil, err
	}
	if in.Problems.HasErrors() {
		return nil, input.Refuse(con, in.Problems, "nothing is proposed")
	}
	return in, nil
}

// adviseJobs is batchctl advise: it prints the advice, and prints or makes the changes of the files.
func adviseJobs(ctx context.Context, con *term.Console, o AdviseOptions) error {
	list, err := Advise(ctx, con, o)
	if err != nil {
		return err
	}
	if o.Format == "json" {
		err = con.MaskedJSON(list)
	} else {
		err = printAdvice(con, list)
	}
	if err != nil {
		return err
	}
	o.Args, _ = o.operands()
	return changeFiles(con, list, o)
}

// isLocal reports whether the newest attempt ran on this machine.
func isLocal(g advise.Group) bool { return g.Attempts[len(g.Attempts)-1].Target == target.Local }

// adviceForJob returns the advice for a job of a file, from the newest definition of its name.
func adviceForJob(f *document.File, job *document.Job, groups []advise.Group, market advise.Market) JobAdvice {
	name := cmp.Or(job.Register.Get("jobDefinitionName").Str(), batch.Name(job.Submit.Get("jobDefinition").Str()))
	bare, _ := batch.SplitRevision(name)
	requested := advise.RequestOf(job)
	market.Fargate = advise.IsFargate(job)
	a := JobAdvice{File: f.Source.Name, Job: job.Name, file: f, measures: job.Measure != nil}
	i := slices.IndexFunc(groups, func(g advise.Group) bool { return g.Definition == bare })
	if i < 0 {
		a.Advice = advise.Advice{Definition: bare, Requested: requested, Why: "no recorded attempts"}
		a.askForRuns()
		return a
	}
	a.Advice, a.rehearsed = advise.For(groups[i], requested, market), isLocal(groups[i])
	a.askForRuns()
	if a.Proposal != nil {
		a.Changes = advise.Changes(f, job, *a.Proposal)
	}
	return a
}

// askForRuns asks for runs of a job that is measured and has none: to measure it is no advice then.
func (a *JobAdvice) askForRuns() {
	if a.measures && (a.Attempts == 0 || a.Why == advise.Unmeasured) {
		a.Why = fmt.Sprintf("run it: 0 of %d measured runs", advise.LeastRuns)
	}
}

// noteOthers adds how many attempts had the definition's name and another content.
func (a *JobAdvice) noteOthers(groups []advise.Group) {
	others := 0
	for _, g := range groups {
		if g.Definition == a.Definition && g.Hash != a.Hash {
			others += len(g.Attempts)
		}
	}
	if others > 0 {
		a.Notes = append(a.Notes,
			fmt.Sprintf("excluded: %s with another image, command or environment of this definition",
				text.Count(others, "attempt")))
	}
}

// marketOf returns what is known about queues and prices. It queries the target unless it is the local engine.
func marketOf(ctx context.Context, con *term.Console, o AdviseOptions, in *input.Input) (advise.Market, error) {
	m := advise.Market{Platform: in.Platform, Queue: o.Queue}
	if in.Platform != nil && o.Queue != "" {
		if q, ok := in.Platform.Queue(o.Queue); ok {
			m.Queue = q.Name
		}
	}
	var err error
	if m.Prices, err = preview.PricesFor(string(o.Prices), in); err != nil {
		return m, err
	}
	if o.Offline || o.Target.NameFrom(in.Platform) == target.Local {
		return m, nil
	}
	t, err := session.OpenTarget(ctx, con, o.Target, in.Platform, target.ToRead)
	if err != nil {
		return m, err
	}
	m.State = &plan.TargetState{Target: t.Kind(), Region: t.Config.Region}
	asked, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	if m.State.Queues, err = t.Client.Queues(asked); err == nil {
		m.State.Environments, err = t.Client.Environments(asked, m.State.EnvironmentNames()...)
	}
	if err != nil { // the advice is useful without
		fmt.Fprintf(con.Err, "note: the queues are unknown: %s; to skip querying them: --offline\n",
			diag.Printable(exit.From(err).Message))
		m.State = nil
	}
	return m, errors.Join(ctx.Err(), t.Close())
}

// changeFiles prints the changes of the files, or makes them.
func changeFiles(con *term.Console, list []JobAdvice, o AdviseOptions) error {
	changed := false
	var files []*document.File
	changesOf := map[*document.File][]advise.Change{}
	for _, a := range list {
		if a.file != nil && !slices.Contains(files, a.file) {
			files = append(files, a.file)
		}
		changesOf[a.file] = append(changesOf[a.file], a.Changes...)
	}
	for _, f := range files {
		changes := changesOf[f]
		for _, c := range changes {
			if c.Manual != "" {
				fmt.Fprintf(con.Err, "note: %s%s: write %s yourself: %s\n", diag.Printable(placeOf(c)), c.Member,
					diag.Printable(c.Value), diag.Printable(c.Manual))
			}
		}
		fixed, n := advise.Fixed(f.Source, changes)
		switch {
		case n == 0:
		case o.Fix:
			if err := write(con, f.Source, fixed); err != nil {
				return err
			}
			fmt.Fprintf(con.Err, "%s: changed %s\n", diag.Printable(f.Source.Name), text.Count(n, "size"))
		case o.Format != "json":
			changed = true
			if err := con.Print("\n"); err != nil {
				return err
			}
			if err := con.Diff(f.Source, fixed, "--fix"); err != nil {
				return err
			}
		}
	}
	if changed {
		fmt.Fprintf(con.Err, "next: batchctl advise %s --fix\n", strings.Join(quoted(o.Args), " "))
	}
	return nil
}

// placeOf is where a change is written, for a message.
func placeOf(c advise.Change) string {
	if c.File == "" {
		return ""
	}
	return fmt.Sprintf("%s:%d:%d: ", c.File, c.Line, c.Column)
}

// quoted quotes arguments for a shell.
func quoted(args []string) (all []string) {
	for _, arg := range args {
		all = append(all, term.Quoted(arg))
	}
	return all
}

// write replaces the text of a file, unless another program has changed it since it was read.
func write(con *term.Console, src *diag.Source, text string) error {
	if src.Name == "-" {
		return exit.Usage("--fix cannot write to standard input").Try("see what it would change: batchctl advise -")
	}
	links, err := newfile.Replace(src.Name, src.Text, text)
	if err != nil {
		return exit.Fail(exit.NotDone, "write %s: %v", src.Name, exit.Cause(err)).
			Try("the file is unchanged; run the command again")
	}
	if links > 1 {
		fmt.Fprintf(con.Err, "note: %s has other hard links, which keep the old text\n", diag.Printable(src.Name))
	}
	return nil
}
