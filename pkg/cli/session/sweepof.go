package session

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/plan"
	"github.com/batchctl/batchctl/pkg/sweep"
	"github.com/batchctl/batchctl/pkg/target"
)

// SweepOf is what the children of a submitted job differ in, as its environment says. A
// nil one is that of a job whose children have nothing but an index.
type SweepOf struct {
	Sweep *sweep.Sweep // nil: only cells
	cells *sweep.Cells // nil: cell i is child i's
}

// FindSweep reads the environment of a job; nil if it has no array and nothing of one.
func FindSweep(ctx context.Context, t *target.Target, job types.JobDetail) (*SweepOf, error) {
	of := &SweepOf{}
	document, err := launchDocument(ctx, t, job)
	if err != nil {
		return nil, fmt.Errorf("job %s: %w", aws.ToString(job.JobName), err)
	}
	if document != "" {
		if of.Sweep, err = sweep.Parse(document); err != nil {
			return nil, fmt.Errorf("job %s: %s: %w", aws.ToString(job.JobName), sweep.DocumentVariable, err)
		}
	}
	if text := variable(job, sweep.CellsVariable); text != "" {
		cells, err := sweep.ParseCells(text)
		if err != nil {
			return nil, fmt.Errorf("job %s: %s: %w", aws.ToString(job.JobName), sweep.CellsVariable, err)
		}
		of.cells = &cells
	}
	if of.Sweep == nil && of.cells == nil && batch.ArraySize(job) == 0 {
		return nil, nil
	}
	return of, nil
}

// launchDocument is the text of a job's sweep; "" for a job without one.
func launchDocument(ctx context.Context, t *target.Target, job types.JobDetail) (string, error) {
	if text := variable(job, sweep.DocumentVariable); text != "" {
		return text, nil
	}
	url := variable(job, sweep.URLVariable)
	if url == "" {
		return "", nil
	}
	from, err := openURL(ctx, t, url)
	if err != nil {
		return "", fmt.Errorf("read %s: %w", url, err)
	}
	defer from.Close()
	text, err := io.ReadAll(io.LimitReader(from, sweep.MaxDocument))
	return string(text), err
}

// openURL reads what was staged: a file on the local target, else an object.
func openURL(ctx context.Context, t *target.Target, url string) (io.ReadCloser, error) {
	if t.IsLocal() {
		return os.Open(url)
	}
	return t.Objects().Open(ctx, url)
}

// PlannedSweep is what the children of a planned job differ in; nil for nothing, and for
// what only the child reads.
func PlannedSweep(j *plan.Job) *sweep.Sweep {
	document := ""
	if j.Register != nil && j.Register.ContainerProperties != nil {
		document = ValueIn(j.Register.ContainerProperties.Environment, sweep.DocumentVariable)
	}
	if document == "" && j.Submit != nil && j.Submit.ContainerOverrides != nil {
		document = ValueIn(j.Submit.ContainerOverrides.Environment, sweep.DocumentVariable)
	}
	if document == "" && len(j.Staged) > 0 {
		document = j.Staged[0].Text
	}
	s, err := sweep.Parse(document)
	if err != nil {
		return nil // a list of command lines on its own
	}
	return s
}

// DescribeSweep says in a few words what children differ in: matrix lr x seed.
func DescribeSweep(s *sweep.Sweep) string {
	switch {
	case s == nil:
		return ""
	case s.Kind == sweep.Commands && s.List != "":
		return "commands of " + s.List
	case s.Kind == sweep.Commands:
		return term.Plural(len(s.Lines), "command line")
	}
	return fmt.Sprintf("%s %s", s.Kind, strings.Join(s.Names, " x "))
}

// variable is an environment variable of a job's container.
func variable(job types.JobDetail, name string) string {
	if job.Container == nil {
		return ""
	}
	return ValueIn(job.Container.Environment, name)
}

func ValueIn(environment []types.KeyValuePair, name string) string {
	for _, v := range environment {
		if aws.ToString(v.Name) == name {
			return aws.ToString(v.Value)
		}
	}
	return ""
}

func (of *SweepOf) Names() []string {
	if of == nil || of.Sweep == nil {
		return nil
	}
	return of.Sweep.Names
}

// Cell is the number of the cell of a child.
func (of *SweepOf) Cell(index int) int {
	if of == nil || of.cells == nil {
		return index
	}
	cell, ok := of.cells.At(index)
	if !ok {
		return index
	}
	return cell
}

// Values are those of a child's cell, in the order of names.
func (of *SweepOf) Values(index int) []string {
	cell := of.Cell(index)
	if len(of.Names()) == 0 || cell >= of.Sweep.Len() {
		return nil
	}
	return of.Sweep.Cell(cell)
}

// CellLine says for status what a child has of its array's matrix or table, or what the
// children of an array differ in; "" where that is unknown.
func CellLine(ctx context.Context, t *target.Target, job types.JobDetail) string {
	of, err := FindSweep(ctx, t, job)
	if err != nil || len(of.Names()) == 0 {
		return ""
	}
	if batch.ArraySize(job) > 0 {
		return fmt.Sprintf("%-12s%s\n", string(of.Sweep.Kind), diag.Printable(strings.Join(of.Names(), ", ")))
	}
	index := 0
	if job.ArrayProperties != nil {
		index = int(aws.ToInt32(job.ArrayProperties.Index))
	}
	var pairs []string
	for i, value := range of.Values(index) {
		pairs = append(pairs, of.Names()[i]+"="+value)
	}
	return fmt.Sprintf("%-12s%d: %s\n", "cell", of.Cell(index), diag.Printable(strings.Join(pairs, " ")))
}
