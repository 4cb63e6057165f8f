package jobs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/urfave/cli/v2"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/cli/cmdline"
	"github.com/batchctl/batchctl/pkg/cli/input"
	"github.com/batchctl/batchctl/pkg/cli/session"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/client"
	"github.com/batchctl/batchctl/pkg/client/once"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/explain"
	"github.com/batchctl/batchctl/pkg/newfile"
	"github.com/batchctl/batchctl/pkg/target"
)

// ExplainCommand is batchctl explain.
func ExplainCommand(con *term.Console) *cli.Command {
	return cmdline.Command(cli.Command{
		Name:      "explain",
		Usage:     "explain why a job waits or failed",
		UsageText: "batchctl explain [FLAGS] [JOB]",
		Description: cmdline.Help("For the name of a workflow, explain chooses the job that failed, or else the first job that waits. "+
			"Without a JOB, explain uses the last submission.\n\nSome causes also appear while instances start. explain reports them only after 10 minutes and two observations; until then, it says when to try "+
			"again. --record saves the evidence, without credentials, for a colleague to read with --bundle.",
			"batchctl explain resnet-train\nbatchctl explain 3f2a91c0:7 --file job.json\n"+
				"batchctl explain resnet-train --record evidence.json\nbatchctl explain --bundle evidence.json --output json"),
	}, ExplainOptions{Options: Options{Output: cmdline.Outputs(cmdline.JSON[explain.Answer]())}},
		func(ctx context.Context, o ExplainOptions) error { return PrintExplanation(ctx, con, o) }, "submission")
}

// ExplainOptions are the flags of explain.
type ExplainOptions struct {
	Options
	File    string        `flag:"file" usage:"the job's <FILE>; the fix then names the line"`
	Bundle  string        `flag:"bundle" usage:"explain the evidence in this <FILE>; query nothing"`
	Record  string        `flag:"record" usage:"write the evidence to this <FILE>"`
	Wait    bool          `flag:"wait,w" usage:"repeat until the answer is final"`
	Timeout time.Duration `flag:"timeout" usage:"with --wait, stop after this <DURATION>, such as 30m"`
}

// PrintExplanation is batchctl explain: it prints what Explain returns.
func PrintExplanation(ctx context.Context, con *term.Console, o ExplainOptions) error {
	a, err := Explain(ctx, con, o)
	switch {
	case a == nil:
		return err
	case o.Format == "json":
		return errors.Join(con.JSON(a), err)
	}
	return errors.Join(con.Print(a.Text()), err)
}

// Explain gathers the evidence about one job and returns the cause. With Wait it repeats until the answer is final. If
// the time runs out, it returns the last answer with an error.
func Explain(ctx context.Context, con *term.Console, o ExplainOptions) (*explain.Answer, error) {
	if o.Bundle != "" {
		return explainBundle(con, o)
	}
	if len(o.Args) > 1 {
		return nil, exit.Usage("explain takes one job").Try("name one: batchctl explain %s", o.Args[0])
	}
	call, err := OpenJobs(ctx, con, o.Options, target.ToRead)
	if err != nil {
		return nil, err
	}
	defer call.Close()
	return explainFound(ctx, con, o, call)
}

// explainFound explains one of the call's jobs.
func explainFound(ctx context.Context, con *term.Console, o ExplainOptions, call *Call) (*explain.Answer, error) {
	if d := o.Timeout; d > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, d)
		defer cancel()
	}
	chains := describedChains(call.Chains, call.Known)
	counting := current(chains)
	subject := counting[session.Subject(details(counting))]
	job := once.Submitted{ID: aws.ToString(subject.JobId), Name: aws.ToString(subject.JobName)}
	if n := len(chains); n > 1 {
		fmt.Fprintf(con.Err, "note: explaining %s (%s), one of %d jobs\n", diag.Printable(job.Name),
			batch.ShortID(job.ID), n)
	}
	noteEarlier(con, chains, job)
	gather := func() (*explain.Bundle, error) { return EvidenceOf(ctx, call.Target, job.ID) }
	// Ctrl-C and --timeout still print the last evidence.
	b, waitErr := gatherUntilFirm(ctx, con, o.Wait, call.Flags, gather)
	if b == nil {
		return nil, waitErr
	}
	var err error
	if b.Places, err = locationsOf(con, o.File, job.Name); err != nil {
		return nil, err
	}
	if o.File != "" && len(b.Beside) == 0 {
		addMachine(b, document.DirectoryOf(o.File))
	}
	if path := o.Record; path != "" {
		if err := recordBundle(con, path, b); err != nil {
			return nil, err
		}
	}
	a := explain.Explain(b)
	return &a, waitErr
}

// noteEarlier prints how the jobs ended that a job of their chain runs again.
func noteEarlier(con *term.Console, chains []described, job once.Submitted) {
	for _, d := range chains {
		at := slices.IndexFunc(d.Chain, func(k client.Known) bool { return k.ID == job.ID })
		if at < 0 {
			continue
		}
		for _, earlier := range d.known[at+1:] {
			fmt.Fprintf(con.Err, "note: explaining %s (%s), which runs %s (%s) again: %s\n", diag.Printable(job.Name),
				batch.ShortID(job.ID), diag.Printable(aws.ToString(earlier.JobName)),
				batch.ShortID(aws.ToString(earlier.JobId)),
				diag.Printable(term.JoinClauses(string(earlier.Status), Outcome(earlier.JobDetail))))
		}
	}
}

// explainBundle explains recorded evidence, from a file or from standard input
// ("-"). It queries nothing, so it refuses flags that need a target.
func explainBundle(con *term.Console, o ExplainOptions) (*explain.Answer, error) {
	path := o.Bundle
	for _, flag := range []string{"record", "wait", "timeout", "target", "profile", "region", "endpoint-url", "file"} {
		if o.IsSet(flag) {
			return nil, exit.Usage("--bundle cannot be combined with --%s", flag).Try("batchctl explain --bundle %s", path)
		}
	}
	if len(o.Args) > 0 {
		return nil, exit.Usage("--bundle already contains the job, so name no job").Try("batchctl explain --bundle %s", path)
	}
	in := io.Reader(con.In)
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return nil, exit.Fail(exit.NotDone, "read %s: %v", path, exit.Cause(err)).
				Try("create one: batchctl explain JOB --record %s", path)
		}
		defer f.Close()
		in = f
	}
	b, err := explain.Read(in)
	if err != nil {
		return nil, exit.Fail(exit.NotDone, "read %s: %v", path, exit.Cause(err)).
			Try("create one: batchctl explain JOB --record FILE")
	}
	a := explain.Explain(b)
	return &a, nil
}

// recordBundle writes the evidence to a file that only its owner can read.
func recordBundle(con *term.Console, path string, b *explain.Bundle) error {
	// 0600: evidence can contain names and reasons that are not public.
	if err := newfile.Write(path, newfile.ForOwner,
		func(w io.Writer) error { return explain.Write(w, b) }); err != nil {
		return err
	}
	fmt.Fprintf(con.Err, "wrote %s; to read it without access to the target: batchctl explain --bundle %s\n",
		diag.Printable(path), diag.Printable(path))
	return nil
}

// queryEvery is the pause between two queries of explain --wait.
const queryEvery = 30 * time.Second

// gatherUntilFirm gathers evidence once. With wait it repeats until the answer
// will not change soon. flags select the target in the next command. If ctx ends
// while it waits, it returns the latest evidence together with an error.
func gatherUntilFirm(ctx context.Context, con *term.Console, wait bool, flags string,
	gather func() (*explain.Bundle, error)) (*explain.Bundle, error) {
	printed := ""
	for {
		b, err := gather()
		if err != nil {
			return nil, err
		}
		a := explain.Explain(b)
		if !wait || a.Firm() {
			return b, nil
		}
		if a.Standing != printed {
			printed = a.Standing
			fmt.Fprintf(con.Err, "%s; watching until %s\n", diag.Printable(printed), a.AskAgain)
		}
		pause := time.NewTimer(queryEvery)
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			if errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return b, exit.Fail(exit.TimedOut, "no cause is certain yet").
					Try("watch: batchctl explain --wait %s%s", batch.ShortID(a.ID), flags)
			}
			return b, exit.Fail(exit.Interrupted, "stopped; the job continues")
		}
	}
}

// locationsOf returns where the job file at path defines the members that a fix
// can name. It returns nil without a path. job is the name of the submitted job,
// which begins with the name in the file.
func locationsOf(con *term.Console, path, job string) ([]explain.Location, error) {
	if path == "" {
		return nil, nil
	}
	src, err := input.Read(con, path)
	if err != nil {
		return nil, err
	}
	con.Sources = append(con.Sources, src)
	file, _ := document.Load(src, document.Options{})
	if file == nil {
		return nil, exit.Fail(exit.Problem, "%s is not a job file", path).Try("see why: batchctl validate %s", path)
	}
	locations, found := explain.Locate(file, job)
	if !found {
		return nil, exit.Fail(exit.BadUsage, "%s contains no job %s", path, job).
			Try("omit --file, or name the file with that job")
	}
	return locations, nil
}

// gathererOf returns a gatherer of evidence at a target.
func gathererOf(t *target.Target) *explain.Gatherer {
	return explain.NewGatherer(t.Config, t.Label, t.IsLocal())
}

// EvidenceOf gathers all evidence about a job. It records the observation,
// because some causes need two of them.
func EvidenceOf(ctx context.Context, t *target.Target, id string) (*explain.Bundle, error) {
	b, err := gathererOf(t).Gather(ctx, id)
	if err != nil {
		return nil, err
	}
	session.RememberLook(t, id, b)
	addMachine(b, "")
	return b, nil
}

// whyOf returns one line about why a job waits, for the views that show its
// status. It needs fewer calls than EvidenceOf.
func whyOf(ctx context.Context, t *target.Target, id *string) (string, error) {
	b, err := gathererOf(t).Glance(ctx, aws.ToString(id))
	if err != nil {
		return "", err
	}
	session.RememberLook(t, aws.ToString(id), b)
	return explain.Reason(b), nil
}
