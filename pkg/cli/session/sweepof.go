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
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/plan"
	"github.com/batchctl/batchctl/pkg/sweep"
	"github.com/batchctl/batchctl/pkg/target"
	"github.com/batchctl/batchctl/pkg/text"
)

// SweepOf is what the children of a submitted job differ in, from its
// environment. A nil *SweepOf means that they differ only in their index.
type SweepOf struct {
	Sweep *sweep.Sweep // nil if there are only cells
	cells *sweep.Cells // nil if cell i belongs to child i
}

// FindSweep reads the sweep of a job from its environment. It returns nil if the
// job is not an array and has no variables of one.
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

// launchDocument returns the text of a job's sweep; "" for a job without one.
// Large documents are staged, and the environment has their URL.
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

// openURL opens a staged text: a file on the local target, or else an object in
// S3.
func openURL(ctx context.Context, t *target.Target, url string) (io.ReadCloser, error) {
	if t.IsLocal() {
		return os.Open(url)
	}
	return t.Objects().Open(ctx, url)
}

// PlannedSweep returns what the children of a planned job differ in. It returns
// nil if they differ only in their index, or if only the child can read it.
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
		return nil // the staged text is a list of commands
	}
	return s
}

// DescribeSweep returns what children differ in, such as "matrix lr x seed".
func DescribeSweep(s *sweep.Sweep) string {
	switch {
	case s == nil:
		return ""
	case s.Kind == sweep.Commands && s.List != "":
		return "commands of " + s.List
	case s.Kind == sweep.Commands:
		return text.Count(len(s.Lines), "command line")
	}
	return fmt.Sprintf("%s %s", s.Kind, strings.Join(s.Names, " x "))
}

// variable returns an environment variable of a job's container; "" if it is not
// set.
func variable(job types.JobDetail, name string) string {
	if job.Container == nil {
		return ""
	}
	return ValueIn(job.Container.Environment, name)
}

// ValueIn returns the value of a variable in an environment; "" if it is not set.
func ValueIn(environment []types.KeyValuePair, name string) string {
	for _, v := range environment {
		if aws.ToString(v.Name) == name {
			return aws.ToString(v.Value)
		}
	}
	return ""
}

// Names returns the names of the values that each cell has; nil for a nil
// SweepOf.
func (of *SweepOf) Names() []string {
	if of == nil || of.Sweep == nil {
		return nil
	}
	return of.Sweep.Names
}

// Cell returns the number of a child's cell.
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

// Values returns the values of a child's cell, in the order of Names.
func (of *SweepOf) Values(index int) []string {
	cell := of.Cell(index)
	if len(of.Names()) == 0 || cell >= of.Sweep.Len() {
		return nil
	}
	return of.Sweep.Cell(cell)
}

// CellLine returns the line of status about a child's values, or about what the
// children of an array differ in. It returns "" if that is unknown.
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
