package jobs

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
	"github.com/urfave/cli/v2"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/cli/cmdline"
	"github.com/batchctl/batchctl/pkg/cli/input"
	"github.com/batchctl/batchctl/pkg/cli/session"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/client"
	"github.com/batchctl/batchctl/pkg/client/once"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/target"
)

// LogsCommand is batchctl logs.
func LogsCommand(con *term.Console) *cli.Command {
	return cmdline.Command(cli.Command{
		Name:      "logs",
		Usage:     "print job logs",
		UsageText: "batchctl logs [FLAGS] [JOB ...]",
		Description: cmdline.Help("Prints the log of the last attempt. With --follow, it continues until the job has finished.\n\nAdd the index to name a child of an "+
			"array: 3f2a91c0:7. The name of an array stands for all its children, one after the other. --first-error prints one line for each distinct failure, from the last 1000 "+
			"lines of each log.",
			"batchctl logs 3f2a91c0\nbatchctl logs resnet-train --follow\n"+
				"batchctl logs sweep --children 0-9 --tail 20\nbatchctl logs sweep --failed --first-error"),
	}, LogOptions{Options: Options{Output: cmdline.Outputs(cmdline.JSON[[]logRow](),
		cmdline.JSONWith[[]failureRow]("first-error"))}, Limit: MostLogs},
		func(ctx context.Context, o LogOptions) error { return logs(ctx, con, o) })
}

// LogOptions are the flags of logs. Times and ranges are as written.
type LogOptions struct {
	Options
	Follow     bool   `flag:"follow,f" usage:"continue until the job has finished"`
	Timestamps bool   `flag:"timestamps" usage:"print the time before each line"`
	Attempt    int    `flag:"attempt" usage:"the log of attempt <N>, from 1 (default: the last one)"`
	Tail       int    `flag:"tail,n" usage:"only the last <N> lines of each log"`
	Since      string `flag:"since" usage:"only lines since this <TIME>: 2026-03-31T14:00:00Z, or an age such as 90m"`
	Children   string `flag:"children" usage:"only these children of an array: <RANGE>, such as 0-9,17"`
	Failed     bool   `flag:"failed" usage:"only jobs and children that FAILED"`
	FirstError bool   `flag:"first-error" usage:"print one line for each distinct failure, and how many jobs have it"`
	input.Raw
	Limit int `flag:"limit" usage:"read at most <N> logs; 0 reads all"`
}

// MostLogs is the default of --limit. Each log costs at least one call, and
// CloudWatch Logs allows 25 GetLogEvents calls a second.
const MostLogs = 200

// logCall is a logs command with its arguments checked.
type logCall struct {
	*Call
	client.LogOptions
	// empty for all
	children   []indexRange
	timestamps bool
	limit      int
	// names are the prefixes of the lines of merged logs, by job id.
	names map[string]string
	// failed reports that a log could not be read.
	failed bool
}

// logs is batchctl logs.
func logs(ctx context.Context, con *term.Console, o LogOptions) error {
	con.RawLog = o.IsRaw
	return readLogs(ctx, con, o, func(l *logCall, merge bool) lineWriter {
		return &logWriter{con: con, call: l, merge: merge, batch: bufio.NewWriterSize(con.Out, term.BatchSize)}
	})
}

// Logs passes the lines of the jobs' logs to each, in the order in which logs prints them. An error of each ends it.
func Logs(ctx context.Context, con *term.Console, o LogOptions, each func(client.Line) error) error {
	return readLogs(ctx, con, o, func(*logCall, bool) lineWriter { return eachLine(each) })
}

// lineWriter takes the lines of logs.
type lineWriter interface {
	write(client.Line) error
	// end is called after the last line.
	end() error
}

// eachLine takes lines one by one.
type eachLine func(client.Line) error

func (each eachLine) write(line client.Line) error { return each(line) }
func (each eachLine) end() error                   { return nil }

// readLogs reads the logs of the jobs that the options name. to returns what takes the lines; merge tells it that they
// are of several jobs.
func readLogs(ctx context.Context, con *term.Console, o LogOptions,
	to func(l *logCall, merge bool) lineWriter) error {
	why := target.ToRead
	if o.Follow {
		why = target.ToChange // starts the local engine, which must run the job
	}
	l, err := o.parse()
	if err != nil {
		return err
	}
	if l.Call, err = OpenJobs(ctx, con, o.Options, why); err != nil {
		return err
	}
	defer l.Close()
	return l.read(ctx, con, o, to)
}

// read reads the logs of the call's jobs.
func (l *logCall) read(ctx context.Context, con *term.Console, o LogOptions,
	to func(l *logCall, merge bool) lineWriter) error {
	ids, err := l.wanted(ctx, o.Failed || o.FirstError)
	if err != nil {
		return err
	}
	if o.FirstError {
		return firstErrors(ctx, con, l, ids)
	}
	unread := l.bound(&ids)
	err = copyLogs(ctx, con, l, ids, to(l, len(ids) > 1 || len(l.Known) > 1))
	if err == nil && unread != "" {
		fmt.Fprintln(con.Err, unread)
	}
	return err
}

// parse checks the flags and returns the command. Its target is not open yet.
func (o LogOptions) parse() (*logCall, error) {
	l := &logCall{timestamps: o.Timestamps, limit: o.Limit, names: map[string]string{}}
	l.Follow, l.Attempt, l.Tail = o.Follow, o.Attempt, o.Tail
	var err error
	if l.Since, err = ParseTime("since", o.Since, time.Now()); err != nil {
		return nil, err
	}
	if l.children, err = parseRanges(o.Children); err != nil {
		return nil, err
	}
	switch {
	case l.Attempt < 0 || l.Tail < 0 || l.limit < 0:
		return nil, exit.Usage("--attempt, --tail and --limit must not be negative").Try("use numbers from 0 up")
	case o.FirstError && (l.Follow || l.Attempt > 0 || l.Tail > 0 || !l.Since.IsZero()):
		return nil, exit.Usage("--first-error reads the end of the last attempt's log").
			Try("omit --follow, --attempt, --tail and --since")
	case o.Failed && l.Follow:
		return nil, exit.Usage("a FAILED job writes no more output").Try("omit --follow or --failed")
	}
	return l, nil
}

// indexRange is a range of an array's children; it includes both ends.
type indexRange struct{ first, last int }

// parseRanges parses --children, such as 0-9,17. "" is no range.
func parseRanges(value string) (ranges []indexRange, err error) {
	for part := range strings.SplitSeq(value, ",") {
		if part == "" {
			continue
		}
		from, to, isRange := strings.Cut(part, "-")
		if !isRange {
			to = from
		}
		first, err1 := strconv.ParseUint(from, 10, 31)
		last, err2 := strconv.ParseUint(to, 10, 31)
		if err1 != nil || err2 != nil || last < first {
			return nil, exit.Usage("--children %q is not a range", value).
				Try("use indexes and ranges: --children 0-9,17")
		}
		ranges = append(ranges, indexRange{int(first), int(last)})
	}
	return ranges, nil
}

// includes reports whether --children selects the child with this index.
func (l *logCall) includes(index int) bool {
	return len(l.children) == 0 ||
		slices.ContainsFunc(l.children, func(r indexRange) bool { return r.first <= index && index <= r.last })
}

// wanted returns the ids of the jobs whose logs are printed. An array is replaced
// by its selected children. It also sets the names of the lines.
func (l *logCall) wanted(ctx context.Context, onlyFailed bool) (ids []string, err error) {
	arrays, replaced := 0, l.Replaced()
	names := session.Labels(named(l.Known))
	for _, job := range l.Known {
		id := aws.ToString(job.JobId)
		name := names[id]
		switch {
		case batch.ArraySize(job.JobDetail) > 0:
			arrays++
			children, err := l.ofArray(ctx, job, onlyFailed, replaced[id])
			if err != nil {
				return nil, err
			}
			for _, child := range children {
				l.names[child] = name + session.PartOf(child)
			}
			ids = append(ids, children...)
		case !onlyFailed || job.Status == types.JobStatusFailed && !replaced[id][0]:
			l.names[id] = name
			ids = append(ids, id)
		}
	}
	if len(l.children) > 0 && arrays == 0 {
		return nil, exit.Usage("--children applies only to arrays, and %s is not an array", l.Jobs[0].Name).
			Try("omit it")
	}
	return ids, nil
}

// ofArray returns the selected children of an array. Child ids follow from the
// size of the array; only FAILED children need a query. A FAILED child that a newer job runs again does not count.
func (l *logCall) ofArray(ctx context.Context, job once.Recalled, onlyFailed bool,
	replaced map[int]bool) (ids []string, err error) {
	id := aws.ToString(job.JobId)
	if onlyFailed {
		ids, err = l.Client.FailedChildren(ctx, id)
		return slices.DeleteFunc(ids, func(child string) bool {
			_, index, _ := batch.SplitChildID(child)
			return !l.includes(index) || replaced[index]
		}), err
	}
	for i := range batch.ArraySize(job.JobDetail) {
		if l.includes(i) {
			ids = append(ids, batch.ChildID(id, i))
		}
	}
	if len(ids) == 0 {
		return nil, exit.Usage("array %s has %d children: 0-%d", aws.ToString(job.JobName),
			batch.ArraySize(job.JobDetail), batch.ArraySize(job.JobDetail)-1).
			Try("choose among those: --children 0-9")
	}
	return ids, nil
}

// bound shortens ids to the limit. It returns a note with the number of logs that
// are not read; "" if the limit is not reached.
func (l *logCall) bound(ids *[]string) string {
	all := len(*ids)
	if l.limit == 0 || all <= l.limit {
		return ""
	}
	next := ""
	if len(l.Known) == 1 {
		_, from, _ := batch.SplitChildID((*ids)[l.limit])
		_, to, _ := batch.SplitChildID((*ids)[min(2*l.limit, all)-1])
		next = fmt.Sprintf("next: --children %d-%d, ", from, to)
	}
	*ids = (*ids)[:l.limit]
	return fmt.Sprintf("%d of %d logs were read; %sall: --limit 0", l.limit, all, next)
}

// logRow is a line of a log in the JSON output.
type logRow struct {
	Job  string `json:"job"`  // short id
	Time string `json:"time"` // UTC, with milliseconds
	Text string `json:"text"`
}

// logWriter prints lines as they arrive, so that it keeps none in memory.
type logWriter struct {
	con   *term.Console
	call  *logCall
	merge bool // print the job before each line
	any   bool // a row was printed
	// batch buffers the lines of one log until no further line is available. A write per
	// line would take longer than reading it.
	batch *bufio.Writer
}

// write prints one line.
func (w *logWriter) write(line client.Line) error {
	stamp := line.Time.UTC().Format("2006-01-02T15:04:05.000Z")
	if w.call.Format == "json" {
		return w.writeRow(logRow{batch.ShortID(line.Job), stamp, line.Text})
	}
	text := w.con.LogText(line.Text)
	if w.call.timestamps {
		text = stamp + "  " + text
	}
	if w.merge {
		text = diag.Printable(w.call.names[line.Job]) + " | " + text
	}
	_, err := w.batch.WriteString(text + "\n")
	if err == nil && (w.merge || !line.More) {
		err = w.batch.Flush()
	}
	return err
}

// writeRow prints one element of the JSON array.
func (w *logWriter) writeRow(row logRow) error {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(row); err != nil {
		return err
	}
	before := ",\n  "
	if !w.any {
		before = "[\n  "
	}
	w.any = true
	_, err := w.con.Out.Write(diag.PrintableJSON([]byte(before + strings.TrimSuffix(b.String(), "\n"))))
	return err
}

// end flushes the lines, or closes the JSON array.
func (w *logWriter) end() error {
	if w.call.Format != "json" {
		return w.batch.Flush()
	}
	if !w.any {
		return w.con.Print("[]\n")
	}
	return w.con.Print("\n]\n")
}

// copyLogs copies the logs, and then prints how the jobs ended. A log that cannot be
// read is reported and does not stop the others.
func copyLogs(ctx context.Context, con *term.Console, l *logCall, ids []string, w lineWriter) error {
	counts := map[string]int{} // by job
	// A single log needs no merging, and its lines are known to follow each
	// other.
	lines := l.Client.MergedLogs(ctx, ids, l.LogOptions)
	if len(ids) == 1 {
		lines = l.Client.Logs(ctx, ids[0], l.LogOptions)
	}
	var stopped error
	for line, err := range lines {
		switch {
		case err == nil:
			counts[line.Job]++
			err = w.write(line)
		case ctx.Err() != nil:
		case line.Job != "":
			logTrouble(con, l, line.Job, err)
			err = nil
		}
		if err != nil {
			stopped = err
			break
		}
	}
	if err := w.end(); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return logInterrupted(con, l)
	}
	verdicts(ctx, con, l, ids, counts)
	if stopped == nil && l.failed {
		return exit.Silent(exit.NotDone)
	}
	return stopped
}

// logTrouble reports why a log could not be read, so that this child does not
// look like one that wrote nothing.
func logTrouble(con *term.Console, l *logCall, id string, err error) {
	l.failed = true
	fmt.Fprintf(con.Err, "batchctl: log of %s (%s): %s\n", diag.Printable(l.names[id]), batch.ShortID(id),
		diag.Printable(err.Error()))
}

// logInterrupted is the error after Ctrl-C. The jobs continue.
func logInterrupted(con *term.Console, l *logCall) error {
	f := exit.Fail(exit.Interrupted, "stopped reading")
	if l.Follow {
		f = exit.Fail(exit.Interrupted, "stopped following; %s", stillRunning(len(l.Jobs)))
	}
	args := session.ArgsFor(l.Call.Target, l.Jobs)
	return f.Try("follow again: batchctl logs %[1]s --follow    stop it: batchctl stop %[1]s", args)
}

// verdicts prints below the logs how jobs failed, and the status of a job that
// wrote nothing. The log alone may not show either. lines counts the printed
// lines by job.
func verdicts(ctx context.Context, con *term.Console, l *logCall, ids []string, lines map[string]int) {
	known := l.Known
	if l.Follow {
		if now, err := l.Client.Recall(ctx, jobIDs(l.Known)...); err == nil {
			known = now
			keepEnds(l.Call.Target, details(now)...)
		}
	}
	counting := current(describedChains(l.Chains, known))
	for _, job := range known {
		wrote := lines[aws.ToString(job.JobId)] > 0 || batch.ArraySize(job.JobDetail) > 0 && len(lines) > 0
		how := term.JoinClauses(Outcome(job.JobDetail), session.RollUp(job.JobDetail))
		if job.Status == types.JobStatusFailed && !slices.ContainsFunc(counting,
			func(c once.Recalled) bool { return aws.ToString(c.JobId) == aws.ToString(job.JobId) }) {
			how = term.JoinClauses(how, "a newer job runs it again")
		}
		if job.Forgotten {
			how = fromLedger(job.JobDetail, serviceOf(l.Call.Target), time.Now())
		}
		name := diag.Printable(session.NameOf(job.JobDetail) + "  " + batch.ShortID(aws.ToString(job.JobId)))
		switch {
		case job.Status == types.JobStatusFailed || job.Forgotten:
			fmt.Fprintf(con.Err, "%s  %s  %s\n", name, job.Status, diag.Printable(how))
		case !wrote && len(ids) > 0 && !l.failed:
			fmt.Fprintf(con.Err, "%s has written no output and is %s; details: batchctl status %s%s\n",
				diag.Printable(session.NameOf(job.JobDetail)),
				diag.Printable(term.JoinClauses(string(job.Status), how)), batch.ShortID(aws.ToString(job.JobId)),
				l.Flags)
		}
	}
	if len(ids) == 0 {
		fmt.Fprintln(con.Err, "none of these jobs has FAILED")
	}
	session.PrintNext(con, l.Target, session.Live(counting))
}

// named returns the ids and names of described jobs.
func named(jobs []once.Recalled) (all []once.Submitted) {
	for _, job := range jobs {
		all = append(all, once.Submitted{ID: aws.ToString(job.JobId), Name: aws.ToString(job.JobName)})
	}
	return all
}

// jobIDs returns the ids of described jobs.
func jobIDs(jobs []once.Recalled) (ids []string) {
	for _, job := range jobs {
		ids = append(ids, aws.ToString(job.JobId))
	}
	return ids
}

// failureRow is one distinct failure in the JSON output of --first-error.
type failureRow struct {
	Count    int    `json:"count"`   // jobs with this failure
	Example  string `json:"example"` // short id of one of them
	ExitCode *int32 `json:"exitCode"`
	Reason   string `json:"reason"`
	Text     string `json:"text"` // the line of the log that shows the failure
	// Unread reports that these jobs' logs were not read, because of --limit.
	Unread bool   `json:"unread,omitempty"`
	Error  string `json:"error,omitempty"`
}

// message returns the text of a failure: the line of the log, or else the reason
// that the service gives.
func (r failureRow) message() string {
	switch {
	case r.Error != "":
		return term.JoinClauses(r.Reason, "log not read: "+r.Error)
	case r.Unread:
		return term.JoinClauses(r.Reason, "logs not read")
	case r.Text == "":
		return term.JoinClauses(r.Reason, "no log")
	}
	return r.Text
}

// firstErrors is batchctl logs --first-error: it prints each distinct failure
// once.
func firstErrors(ctx context.Context, con *term.Console, l *logCall, ids []string) error {
	failures, err := l.Client.Failures(ctx, ids, l.limit)
	if ctx.Err() != nil {
		return logInterrupted(con, l)
	}
	if err != nil {
		return err
	}
	rows := []failureRow{}
	for _, f := range failures {
		r := failureRow{Count: f.Count, Example: batch.ShortID(f.Example), ExitCode: f.ExitCode, Reason: f.Reason,
			Text: f.Text, Unread: f.Unread}
		if f.LogError != nil {
			r.Error, l.failed = f.LogError.Error(), true
		}
		rows = append(rows, r)
	}
	if l.Format == "json" {
		err = con.JSON(rows)
	} else {
		err = printFailures(con, rows)
	}
	if n := client.Unread(failures); n > 0 {
		fmt.Fprintf(con.Err, "%d of %d logs were not read; all: --limit 0\n", n, len(ids))
	}
	session.PrintNext(con, l.Target, session.Live(l.Current()))
	if l.failed {
		return errors.Join(err, exit.Silent(exit.NotDone))
	}
	return err
}

// printFailures prints the failures as a table.
func printFailures(con *term.Console, rows []failureRow) error {
	if len(rows) == 0 {
		fmt.Fprintln(con.Err, "none of these jobs has FAILED")
		return nil
	}
	t := con.Table("COUNT", "EXAMPLE", "EXIT", "ERROR")
	for _, r := range rows {
		exit := "-"
		if r.ExitCode != nil {
			exit = strconv.Itoa(int(*r.ExitCode))
		}
		t.Row(strconv.Itoa(r.Count), r.Example, exit, r.message())
	}
	return t.Flush()
}
