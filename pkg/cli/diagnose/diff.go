package diagnose

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/urfave/cli/v2"

	"github.com/batchctl/batchctl/pkg/advise"
	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/cli/cmdline"
	"github.com/batchctl/batchctl/pkg/cli/jobs"
	"github.com/batchctl/batchctl/pkg/cli/session"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/client"
	"github.com/batchctl/batchctl/pkg/client/once"
	"github.com/batchctl/batchctl/pkg/compare"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/exit"
	record "github.com/batchctl/batchctl/pkg/history"
	"github.com/batchctl/batchctl/pkg/target"
	"github.com/batchctl/batchctl/pkg/text"
)

// DiffCommand is batchctl diff.
func DiffCommand(con *term.Console) *cli.Command {
	return cmdline.Command(cli.Command{
		Name:      "diff",
		Usage:     "compare a run that worked with one that did not",
		UsageText: "batchctl diff [FLAGS] GOOD BAD",
		Description: cmdline.Help("Compares the descriptions of the jobs, where they ran, and what they used. The most likely cause of the failure comes first. Credentials are masked.\n\nGOOD and BAD are jobs, children of arrays (sweep:7), or submissions, whose jobs are "+
			"compared by name. Of a job that ran again, it is the newest run; an id means exactly that job. The exit code is 0 if nothing differs, and 4 if something does.",
			"batchctl diff 3f2a91c0 9b1e77d2\nbatchctl diff sweep:3 sweep:7"),
	}, jobs.Options{Output: cmdline.Outputs(cmdline.JSON[[]compare.Comparison]())},
		func(ctx context.Context, o jobs.Options) error {
			all, alone, err := diff(ctx, con, o)
			if all == nil {
				return err
			}
			if printed := printComparisons(con, o.Format, all, alone); printed != nil {
				return printed
			}
			return err
		}, "submission")
}

// Diff compares two jobs, or the jobs of two submissions. If something differs, the comparisons come with an error that
// has the status exit.Change.
func Diff(ctx context.Context, con *term.Console, o jobs.Options) ([]compare.Comparison, error) {
	all, _, err := diff(ctx, con, o)
	return all, err
}

// diff is Diff. alone are the jobs that only one of the submissions has.
func diff(
	ctx context.Context, con *term.Console, o jobs.Options,
) (all []compare.Comparison, alone []string, err error) {
	if len(o.Args) != 2 {
		return nil, nil, exit.Usage("diff needs two jobs").
			Try("name the one that worked, then the one that did not: batchctl diff GOOD BAD")
	}
	call, err := jobs.OpenFor(ctx, con, o, target.ToRead)
	if err != nil {
		return nil, nil, err
	}
	defer call.Close()
	pairs, alone, err := pairsOf(ctx, con, o, call)
	if err != nil {
		return nil, nil, err
	}
	rows, err := attempts(con, o.Target, time.Time{}, call.Platform)
	if err != nil {
		return nil, nil, err
	}
	all = []compare.Comparison{}
	differ := len(alone) > 0
	for _, p := range pairs {
		c, err := compareJobs(ctx, call, p, rows)
		if err != nil {
			return nil, nil, err
		}
		differ = differ || len(c.Changes) > 0
		all = append(all, c)
	}
	if differ {
		err = exit.Silent(exit.Change)
	}
	return all, alone, err
}

// printComparisons prints the comparisons in a format, and the jobs that only one side has.
func printComparisons(con *term.Console, format string, all []compare.Comparison, alone []string) (err error) {
	if format == "json" {
		err = con.MaskedJSON(all)
	} else {
		err = con.Print(comparisonsText(all))
	}
	for _, name := range alone {
		fmt.Fprintf(con.Err, "note: only one of the submissions has the job %s\n", diag.Printable(name))
	}
	return err
}

// pairsOf returns the pairs of jobs to compare, and the names of jobs that only one side has.
func pairsOf(ctx context.Context, con *term.Console, o jobs.Options,
	call *jobs.Call) (pairs [][2]once.Submitted, alone []string, err error) {
	r := jobs.NewResolver(con, o.Command, call.Target, call.Platform)
	good, err := r.Resolve(ctx, o.Args[0], session.Newest)
	if err != nil {
		return nil, nil, err
	}
	bad, err := r.Resolve(ctx, o.Args[1], session.Newest)
	if err != nil {
		return nil, nil, err
	}
	if leadToOne(good, bad) { // two jobs of one chain are compared themselves
		if good, err = r.Resolve(ctx, o.Args[0], session.OneJob); err != nil {
			return nil, nil, err
		}
		if bad, err = r.Resolve(ctx, o.Args[1], session.OneJob); err != nil {
			return nil, nil, err
		}
	}
	return pair(session.Jobs(good), session.Jobs(bad))
}

// leadToOne reports whether both sides are the same job.
func leadToOne(good, bad []client.Chain) bool {
	return len(good) == 1 && len(bad) == 1 && good[0][0].ID == bad[0][0].ID
}

// pair returns which jobs to compare: the only ones, or those of the same name. alone are names of only one side.
func pair(good, bad []once.Submitted) (pairs [][2]once.Submitted, alone []string, err error) {
	if len(good) == 1 && len(bad) == 1 {
		return [][2]once.Submitted{{good[0], bad[0]}}, nil, nil
	}
	others := map[string]once.Submitted{}
	for _, job := range bad {
		others[job.Name] = job
	}
	for _, job := range good {
		other, ok := others[job.Name]
		if !ok {
			alone = append(alone, job.Name)
			continue
		}
		delete(others, job.Name)
		pairs = append(pairs, [2]once.Submitted{job, other})
	}
	alone = append(alone, slices.Sorted(maps.Keys(others))...)
	if len(pairs) == 0 {
		return nil, nil, exit.Fail(exit.NotDone, "the submissions have no job of the same name: %s",
			strings.Join(alone, " ")).
			Try("name one job of each: batchctl diff GOOD BAD")
	}
	return pairs, alone, nil
}

// compareJobs compares two jobs.
func compareJobs(ctx context.Context, call *jobs.Call, p [2]once.Submitted,
	rows []record.Attempt) (compare.Comparison, error) {
	known, err := call.Client.Recall(ctx, p[0].ID, p[1].ID)
	if err != nil {
		return compare.Comparison{}, err
	}
	if len(known) == 1 { // a job compared with itself
		known = append(known, known[0])
	}
	var runs [2]compare.Run
	for i, job := range known {
		runs[i] = compare.Run{Job: job.JobDetail, Forgotten: job.Forgotten}
		for _, a := range rows {
			if a.Job == aws.ToString(job.JobId) {
				runs[i].Attempts = append(runs[i].Attempts, a)
			}
		}
		if job.Forgotten {
			if d, err := call.Client.RegisteredDefinition(ctx, aws.ToString(job.JobDefinition)); err == nil {
				runs[i].Definition = &d
			}
			continue
		}
		runs[i].Cell = cellOf(ctx, call.Target, job)
	}
	return compare.Runs(runs[0], runs[1])
}

// cellOf returns the values of a child of an array; nil for other jobs, and if they cannot be read.
func cellOf(ctx context.Context, t *target.Target, job once.Recalled) map[string]string {
	if job.ArrayProperties == nil || job.ArrayProperties.Index == nil {
		return nil
	}
	of, err := session.FindSweep(ctx, t, job.JobDetail)
	if err != nil {
		return nil
	}
	values := of.Values(int(*job.ArrayProperties.Index))
	cell := map[string]string{}
	for i, value := range values {
		cell[of.Names()[i]] = value
	}
	return cell
}

// mostText is the longest value that the text shows, in characters.
const mostText = 160

// comparisonsText is what diff prints.
func comparisonsText(all []compare.Comparison) string {
	var b strings.Builder
	for i, c := range all {
		if i > 0 {
			b.WriteString("\n")
		}
		line := func(head, format string, args ...any) {
			fmt.Fprintf(&b, "%-9s  %s\n", head, diag.Printable(fmt.Sprintf(format, args...)))
		}
		line("good", "%s", sideText(c.Good))
		line("bad", "%s", sideText(c.Bad))
		for _, change := range c.Changes {
			head := "differs"
			if change.Likely {
				head = "likely"
			}
			change.Old, change.New = clipped(change.Old), clipped(change.New)
			line(head, "%s: %s", change.Topic, change.Change)
		}
		if len(c.Changes) == 0 {
			line("differs", "nothing")
		}
		for _, f := range c.Figures {
			line("used", "%s: %s -> %s", f.Name, figureText(f.Unit, f.Good), figureText(f.Unit, f.Bad))
		}
		if len(c.Same) > 0 {
			line("same", "%s", strings.Join(c.Same, ", "))
		}
		for _, text := range c.Unknown {
			line("unknown", "%s", text)
		}
	}
	return b.String()
}

// clipped shortens a long value.
func clipped(value string) string {
	runes := []rune(value)
	if len(runes) <= mostText {
		return value
	}
	return string(runes[:mostText]) + "…"
}

// sideText is how a run ended.
func sideText(s compare.Side) string {
	side := fmt.Sprintf("%s %s %s", s.Name, batch.ShortID(s.ID), s.Status)
	if s.Attempts > 1 {
		side += fmt.Sprintf(" after %d attempts", s.Attempts)
	}
	if s.Seconds > 0 {
		side += " in " + text.Duration(time.Duration(s.Seconds*float64(time.Second)))
	}
	if s.ExitCode != nil && *s.ExitCode != 0 {
		side += fmt.Sprintf(", exit code %d", *s.ExitCode)
	}
	for _, status := range slices.Sorted(maps.Keys(s.Children)) {
		if n := s.Children[status]; n > 0 {
			side += fmt.Sprintf(", %d %s", n, status)
		}
	}
	if s.Reason != "" && s.Status == "FAILED" {
		side += ": " + s.Reason
	}
	return side
}

// figureText is a measurement with its unit.
func figureText(unit string, v *float64) string {
	switch {
	case v == nil:
		return "unmeasured"
	case unit == "bytes":
		return text.Size(*v)
	}
	return advise.CPUsText(*v)
}
