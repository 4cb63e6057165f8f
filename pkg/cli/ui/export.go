package ui

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"html/template"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/cli/jobs"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/cli/ui/jobpages"
	"github.com/batchctl/batchctl/pkg/cli/ui/page"
	"github.com/batchctl/batchctl/pkg/cli/ui/show"
	"github.com/batchctl/batchctl/pkg/cli/ui/source"
	"github.com/batchctl/batchctl/pkg/client"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/newfile"
	"github.com/batchctl/batchctl/pkg/text"
	"github.com/batchctl/batchctl/pkg/ui/logtext"
)

const (
	// copiedChildren is how many children of an array have a page of their own in a copy: the failed ones first.
	copiedChildren = 100
	// copiedLines is how many lines of a log are in a copy.
	copiedLines = 5000
)

// copier writes pages to a directory.
type copier struct {
	*source.Source
	jobs      jobpages.Jobs
	arrays    jobpages.Arrays
	workflows jobpages.Workflows
	dir       string
	// export is what the pages share.
	export page.Exported
	files  int
}

// export is batchctl ui --export: it writes the pages of jobs, or of the last submission.
func export(ctx context.Context, con *term.Console, o options) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s, err := newServer(ctx, con, o)
	if err != nil {
		return err
	}
	defer s.hub.Close()
	if entries, err := os.ReadDir(o.Export); err == nil && len(entries) > 0 && !isCopy(entries) {
		return exit.Fail(exit.NotDone, "%s is not empty", o.Export).Try("choose a new directory: --export %s",
			term.Quoted(o.Export+"-1"))
	} else if err != nil && !os.IsNotExist(err) {
		return exit.Fail(exit.NotDone, "read %s: %v", o.Export, exit.Cause(err))
	}
	if err := os.MkdirAll(o.Export, 0o755); err != nil {
		return exit.Fail(exit.NotDone, "create %s: %v", o.Export, exit.Cause(err))
	}
	c := newCopier(s.Source, o.Export)
	if err := c.copy(ctx); err != nil {
		return err
	}
	fmt.Fprintf(con.Err, "wrote %s to %s; open index.html in a browser\n", text.Count(c.files, "page"),
		diag.Printable(o.Export))
	return con.Print(filepath.Join(o.Export, "index.html") + "\n")
}

// newCopier returns a copier of pages to a directory.
func newCopier(c *source.Source, dir string) *copier {
	return &copier{Source: c, jobs: jobpages.Jobs{Source: c}, arrays: jobpages.Arrays{Source: c},
		workflows: jobpages.Workflows{Source: c}, dir: dir, export: page.NewExported()}
}

// isCopy reports whether a directory has only files of an earlier copy.
func isCopy(entries []fs.DirEntry) bool {
	return slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == "index.html" }) &&
		!slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return filepath.Ext(e.Name()) != ".html" })
}

// copy writes all pages. The first page is the submission, or the only job.
func (c *copier) copy(ctx context.Context) error {
	q := c.Status(c.Options.Args...)
	if c.Options.Submission != "" {
		q = c.StatusOf(c.Options.Submission, c.Options.Args...)
	}
	found, err := source.Ask(ctx, c.Commands, c.Age(), q)
	if err != nil {
		return err
	}
	if err := c.Observer.Query(ctx, 0); err != nil { // the pages name the target
		return err
	}
	children := map[string][]string{}
	for _, d := range found {
		id := aws.ToString(d.JobId)
		c.export.Pages[id] = fileOf(id)
		if batch.ArraySize(d.JobDetail) == 0 {
			continue
		}
		if children[id], err = c.chosenChildren(ctx, id); err != nil {
			return err
		}
		for _, child := range children[id] {
			c.export.Pages[child] = fileOf(child)
		}
	}
	if err := c.overview(ctx, found); err != nil {
		return err
	}
	for _, d := range found {
		id := aws.ToString(d.JobId)
		if err := c.job(ctx, id); err != nil {
			return err
		}
		for _, child := range children[id] {
			if err := c.job(ctx, child); err != nil {
				return err
			}
		}
	}
	return nil
}

// fileOf returns the file of a job's page.
func fileOf(id string) string {
	return strings.NewReplacer(":", "_", "#", "_", "/", "_", `\`, "_").Replace(id) + ".html"
}

// chosenChildren returns the children of an array that have pages: the failed ones, and then the first.
func (c *copier) chosenChildren(ctx context.Context, id string) ([]string, error) {
	found, err := source.Ask(ctx, c.Commands, c.Age(), c.Children(id))
	if err != nil {
		return nil, err
	}
	listed := slices.Clone(found.Shape) // other requests share it
	slices.SortStableFunc(listed, func(a, b types.JobSummary) int {
		failed := func(j types.JobSummary) int {
			return map[bool]int{true: 0, false: 1}[j.Status == types.JobStatusFailed]
		}
		index := func(j types.JobSummary) int { _, i, _ := batch.SplitChildID(aws.ToString(j.JobId)); return i }
		return cmp.Or(cmp.Compare(failed(a), failed(b)), cmp.Compare(index(a), index(b)))
	})
	var ids []string
	for _, child := range listed[:min(len(listed), copiedChildren)] {
		ids = append(ids, aws.ToString(child.JobId))
	}
	return ids, nil
}

// overview writes index.html.
func (c *copier) overview(ctx context.Context, found []jobs.Row) error {
	if len(found) == 0 {
		return exit.Fail(exit.NotDone, "there is no job to export").Try("list the jobs: batchctl list")
	}
	var ids []string
	for _, d := range found {
		ids = append(ids, aws.ToString(d.JobId))
	}
	v, err := c.workflows.View(ctx, c.Options.Submission, ids, func(id string) string { return c.export.Pages[id] })
	if err != nil {
		return err
	}
	return c.write("index.html", page.Page{Template: "workflow", Title: v.Name, Body: v}, page.Exported{})
}

// job writes the page of a job with its log, or of an array with its grid.
func (c *copier) job(ctx context.Context, id string) error {
	d, err := c.Describe(ctx, c.Age(), id)
	if err != nil {
		return err
	}
	v := jobpages.ViewOf(d)
	own := page.Exported{}
	if v.NeedsVerdict() {
		a, err := source.Ask(ctx, c.Commands, source.CommandPatience, c.Explain(id))
		if err == nil {
			var b bytes.Buffer
			if err := (page.Page{Template: "explain", Part: true, Body: a}).Write(&b); err != nil {
				return err
			}
			own.Verdict = template.HTML(b.String())
		}
	}
	attempts, _ := jobpages.AttemptsOf(ctx, c.Source, id) // a copy without the record is still useful
	if m := jobpages.MeasuredOf(id, attempts); m.Measured > 0 {
		var b bytes.Buffer
		if err := (page.Page{Template: "measured", Part: true, Source: c.Source, Body: m}).Write(&b); err != nil {
			return err
		}
		own.Measured = template.HTML(b.String())
	}
	p := page.Page{Template: "job", Title: v.Name, Body: v}
	if v.Size > 0 {
		if err := c.jobs.AddFailed(ctx, &v); err != nil {
			return err
		}
		g, err := c.arrays.GridOf(ctx, id)
		if err != nil {
			return err
		}
		copied := &jobpages.CopiedGrid{Grid: g, Pages: map[int]string{}}
		for i := range v.Size {
			if name := c.export.Pages[batch.ChildID(id, i)]; name != "" {
				copied.Pages[i] = name
			}
		}
		if rows, err := jobpages.ResultRows(ctx, c.Source, id); err == nil {
			copied.Results = jobpages.NumericColumns(rows, g.Names, v.Size)
		}
		copied.Results = append(copied.Results, jobpages.MeasuredColumns(id, attempts, v.Size)...)
		own.Grid = copied
		p.Template, p.Body = "array", v
	} else {
		own.Log = c.log(ctx, id)
	}
	return c.write(fileOf(id), p, own)
}

// log returns the end of a job's log; without lines if it cannot be read, or is empty.
func (c *copier) log(ctx context.Context, id string) logLines {
	lines := make(chan client.Line)
	go func() {
		defer close(lines)
		_ = readLog(ctx, c.Source, id, false, lines)
	}()
	end := logEnd{most: copiedLines}
	for line := range lines {
		end.add(line)
	}
	var parser logtext.Parser
	return end.take(&parser)
}

// write writes a page. own is what only this page has.
func (c *copier) write(name string, p page.Page, own page.Exported) error {
	e := c.export
	e.Verdict, e.Measured, e.Log, e.Grid = own.Verdict, own.Measured, own.Log, own.Grid
	p.Source, p.Export = c.Source, &e
	var b bytes.Buffer
	if err := p.Write(&b); err != nil {
		return err
	}
	c.files++
	path := filepath.Join(c.dir, name)
	if err := newfile.Write(path, newfile.ForAll, newfile.Bytes(show.Plain(b.Bytes()))); err != nil {
		return err
	}
	return nil
}
