package diagnose

import (
	"cmp"
	"context"
	"encoding/csv"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/batchctl/batchctl/pkg/advise"
	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/cli/cmdline"
	"github.com/batchctl/batchctl/pkg/cli/input"
	"github.com/batchctl/batchctl/pkg/cli/jobs"
	"github.com/batchctl/batchctl/pkg/cli/preview"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/cost"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/exit"
	record "github.com/batchctl/batchctl/pkg/history"
	"github.com/batchctl/batchctl/pkg/results"
	"github.com/batchctl/batchctl/pkg/target"
	"github.com/batchctl/batchctl/pkg/text"
	"github.com/urfave/cli/v2"
)

// HistoryCommand is batchctl history.
func HistoryCommand(con *term.Console) *cli.Command {
	return cmdline.Command(cli.Command{
		Name:      "history",
		Usage:     "list recorded attempts and the resources they used",
		UsageText: "batchctl history [FLAGS] [JOB ...]",
		Description: cmdline.Help("Lists the newest attempts first, from the history in the state directory. It sends no request, and includes jobs that AWS Batch has forgotten.\n\nA JOB is that of status, or a definition. history shows used and requested memory and CPUs; only jobs with \"measure\": true have used figures. COST is the on-demand price of the attempt's share "+
			"of the smallest instance in its queue, if the platform file describes the queue.",
			"batchctl history\nbatchctl history resnet-train --since 30d\n"+
				"batchctl history --limit 0 --output csv > attempts.csv"),
	}, HistoryOptions{Options: jobs.Options{Output: cmdline.OutputsAs("text, json or csv", cmdline.JSON[[]AttemptRow]())},
		Limit: 50},
		func(_ context.Context, o HistoryOptions) error {
			rows, hidden, err := list(con, o)
			if err == nil {
				err = printHistory(con, o.Format, rows)
			}
			if hidden > 0 {
				fmt.Fprintf(con.Err, "%d more; to list all: batchctl history --limit 0\n", hidden)
			}
			return err
		}, "submission")
}

// HistoryOptions are the flags of history.
type HistoryOptions struct {
	jobs.Options
	Since      string   `flag:"since" usage:"only attempts since this <TIME>: a date, or an age such as 30d"`
	Queues     []string `flag:"queue" usage:"only this <QUEUE>; may be repeated"`
	Definition string   `flag:"definition" usage:"only this <DEFINITION>: name or name:revision; a trailing * is a wildcard"`
	Name       string   `flag:"name" usage:"only jobs of this <NAME>; a trailing * is a wildcard"`
	Statuses   []string `flag:"status" usage:"only attempts with this <STATUS>, SUCCEEDED or FAILED; may be repeated"`
	// Limit is how many attempts are listed at most; 0 lists all.
	Limit  int                `flag:"limit" usage:"list at most <N> attempts; 0 lists all"`
	Prices preview.PricesFile `flag:"prices"`
}

// AttemptRow is an attempt with its price.
type AttemptRow struct {
	record.Attempt
	// USD is the attempt's share of the smallest machine of its queue, on demand; absent if it is unknown.
	USD *float64 `json:"usd,omitempty"`
}

// History lists the recorded attempts that the options select, the newest first.
func History(con *term.Console, o HistoryOptions) ([]AttemptRow, error) {
	rows, _, err := list(con, o)
	return rows, err
}

// list is History. hidden is how many attempts are beyond the limit.
func list(con *term.Console, o HistoryOptions) (rows []AttemptRow, hidden int, err error) {
	since, err := jobs.ParseTime("since", o.Since, time.Now())
	if err != nil {
		return nil, 0, err
	}
	for i, s := range o.Statuses {
		o.Statuses[i] = strings.ToUpper(s)
		if o.Statuses[i] != "SUCCEEDED" && o.Statuses[i] != "FAILED" {
			return nil, 0, exit.Usage("attempts have no status %s", s).Try("use SUCCEEDED or FAILED")
		}
	}
	in := &input.Input{}
	if err := in.FindPlatform(o.Target); err != nil {
		return nil, 0, err
	}
	prices, err := preview.PricesFor(string(o.Prices), in)
	if err != nil {
		return nil, 0, err
	}
	all, err := attempts(con, o.Target, since, in.Platform)
	if err != nil {
		return nil, 0, err
	}
	recorded := len(all)
	handles, err := handlesOf(con, o.Target, o.Args)
	if err != nil {
		return nil, 0, err
	}
	all = slices.DeleteFunc(all, func(a record.Attempt) bool {
		isNamed := len(handles) == 0 || slices.ContainsFunc(handles, func(h handle) bool { return h.names(a) })
		return !isNamed || !o.selects(a, in.Platform)
	})
	if recorded == 0 {
		fmt.Fprintf(con.Err, "note: no attempt is recorded%s; %s\n", sinceText(o.Since), howRecorded)
	} else if len(all) == 0 {
		fmt.Fprintf(con.Err, "note: none of %s matches\n", text.Count(recorded, "recorded attempt"))
	}
	slices.SortStableFunc(all, func(a, b record.Attempt) int {
		return cmp.Or(cmp.Compare(b.StartedAt, a.StartedAt), cmp.Compare(b.CreatedAt, a.CreatedAt))
	})
	if o.Limit > 0 && len(all) > o.Limit {
		hidden, all = len(all)-o.Limit, all[:o.Limit]
	}
	return priced(all, advise.Market{Platform: in.Platform, Prices: prices}), hidden, nil
}

// printHistory prints the attempts in a format.
func printHistory(con *term.Console, format string, rows []AttemptRow) error {
	switch format {
	case "json":
		return con.MaskedJSON(rows)
	case "csv":
		return writeCSV(con, rows)
	}
	return printRows(con, rows)
}

// sinceText is the end of a sentence about a time.
func sinceText(since string) string {
	if since == "" {
		return ""
	}
	return " since " + since
}

// selects reports whether an attempt matches all flags.
func (o HistoryOptions) selects(a record.Attempt, platform *document.Platform) bool {
	isQueue := func(queue string) bool {
		if platform != nil {
			if q, ok := platform.Queue(queue); ok {
				queue = q.Name
			}
		}
		return batch.Name(a.Queue) == batch.Name(queue)
	}
	return (len(o.Queues) == 0 || slices.ContainsFunc(o.Queues, isQueue)) &&
		(len(o.Statuses) == 0 || slices.Contains(o.Statuses, string(a.Status))) &&
		(o.Name == "" || matches(o.Name, a.Name)) &&
		(o.Definition == "" || matches(o.Definition, advise.DefinitionName(a)) ||
			matches(o.Definition, batch.Name(a.Definition)))
}

// priced adds the cost of each attempt whose machines and prices are known.
func priced(all []record.Attempt, market advise.Market) []AttemptRow {
	rows := make([]AttemptRow, len(all))
	rates := map[string]*cost.Rate{}
	for i, a := range all {
		rows[i].Attempt = a
		if a.Target == target.Local {
			continue // this machine costs nothing
		}
		key := fmt.Sprint(a.Queue, a.Requested)
		rate, known := rates[key]
		if !known {
			if found, ok := market.Rate(a.Queue, a.Requested); ok {
				rate = &found
			}
			rates[key] = rate
		}
		if rate != nil && a.StartedAt > 0 {
			usd := rate.ShareUSD(a.Duration().Seconds())
			rows[i].USD = &usd
		}
	}
	return rows
}

// figures are the texts of an attempt's figures; "-" is unknown.
type figures struct{ memory, cpus, usd string }

func figuresOf(r AttemptRow) figures {
	used, busy := "-", "-"
	if len(r.Usage) > 0 {
		if peak := r.Usage[0].PeakMemory; peak != nil {
			used = text.Size(*peak)
		}
		if seconds := r.Usage[0].CPUSeconds; seconds != nil && r.Usage[0].Seconds > 0 {
			busy = advise.CPUsText(*seconds / r.Usage[0].Seconds)
		}
	}
	vcpus := "-"
	if r.Requested.VCPUs > 0 {
		vcpus = advise.CPUsText(r.Requested.VCPUs)
	}
	f := figures{memory: ofText(used, advise.RequestText(r.Requested.MemoryMiB)), cpus: ofText(busy, vcpus), usd: "-"}
	if r.USD != nil {
		f.usd = text.Money(*r.USD)
	}
	return f
}

// ofText is what was used of a request; "-" is unknown.
func ofText(used, requested string) string {
	if used == "-" && requested == "-" {
		return "-"
	}
	return used + " of " + requested
}

// printRows prints the table.
func printRows(con *term.Console, rows []AttemptRow) error {
	now := time.Now()
	t := con.Table("NAME", "ID", "ATTEMPT", "STATUS", "STARTED", "TIME", "MEMORY", "CPUS", "QUEUE", "INSTANCE", "COST",
		"REASON")
	for _, r := range rows {
		f := figuresOf(r)
		started := "-"
		if r.StartedAt > 0 {
			started = time.UnixMilli(r.StartedAt).Format("2006-01-02 15:04")
		}
		reason := ""
		if r.Status == "FAILED" {
			reason = cmp.Or(r.Container, r.Reason)
			if reason == "" && r.ExitCode != nil {
				reason = fmt.Sprintf("exit code %d", *r.ExitCode)
			}
		}
		t.Row(r.Name, batch.ShortID(r.Job), strconv.Itoa(r.Number), string(r.Status), started,
			term.Took(&r.StartedAt, &r.StoppedAt, now), f.memory, f.cpus,
			cmp.Or(batch.Name(r.Queue), "-"), cmp.Or(r.InstanceType, "-"), f.usd, reason)
	}
	return t.Flush()
}

// writeCSV prints one line for each attempt, with figures in base units; an unknown one is empty.
func writeCSV(con *term.Console, rows []AttemptRow) error {
	var text strings.Builder
	w := csv.NewWriter(&text)
	if err := w.Write(strings.Fields("target job attempt name definition queue instance_type status exit_code started_ms stopped_ms seconds " +
		"requested_mib requested_vcpus requested_gpus peak_bytes cpu_seconds read_bytes written_bytes usd image image_digest")); err != nil {
		return err
	}
	for _, r := range rows {
		code := ""
		if r.ExitCode != nil {
			code = strconv.Itoa(int(*r.ExitCode))
		}
		inert := results.Inert // the names and the image are text from servers
		line := []string{inert(r.Target), inert(r.Job), strconv.Itoa(r.Number), inert(r.Name), inert(r.Definition),
			inert(r.Queue), inert(r.InstanceType), inert(string(r.Status)), code, whole(r.StartedAt),
			whole(r.StoppedAt),
			fraction(r.Duration().Seconds()), whole(r.Requested.MemoryMiB), fraction(r.Requested.VCPUs),
			whole(int64(r.Requested.GPUs))}
		var peak, read, written *int64
		var seconds *float64
		if len(r.Usage) > 0 {
			u := r.Usage[0]
			peak, read, written, seconds = u.PeakMemory, u.BytesRead, u.BytesWritten, u.CPUSeconds
		}
		if err := w.Write(append(line, optional(peak), optional(seconds), optional(read), optional(written),
			optional(r.USD), inert(r.Image), inert(digestText(r.ImageDigests)))); err != nil {
			return err
		}
	}
	w.Flush()
	return con.Print(text.String())
}

// digestText returns the digest of the only container's image, or those of several as NAME=DIGEST.
func digestText(digests map[string]string) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(digests)) {
		if len(digests) == 1 {
			return digests[name]
		}
		all = append(all, name+"="+digests[name])
	}
	return strings.Join(all, " ")
}

// whole writes a number whose 0 is unknown.
func whole(n int64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatInt(n, 10)
}

// fraction writes a number whose 0 is unknown.
func fraction(f float64) string {
	if f == 0 {
		return ""
	}
	return strconv.FormatFloat(f, 'f', -1, 64)
}

// optional writes a number, or nothing for nil.
func optional[T int64 | float64](p *T) string {
	if p == nil {
		return ""
	}
	return strconv.FormatFloat(float64(*p), 'f', -1, 64)
}
