package plan

import (
	"fmt"
	"strconv"
	"strings"

	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"

	"github.com/batchctl/batchctl/pkg/catalog"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/sweep"
)

// Rules that only arrays with values can break, by their names in a report.
const (
	ruleArrayEmpty     = "array-empty"
	ruleArrayContainer = "array-container"
	ruleArrayCommand   = "array-command"
	ruleArraySize      = "array-size"
)

// arrays gives the children of an array their values.
type arrays struct {
	*variables
	cells *cells
}

// launch puts the launcher before the command of a job's container, and the data that it reads
// into the environment, so that each child runs its cell.
func (a *arrays) launch(g *group, job *Job) {
	j, s := g.Job, g.Sweep
	isSplit := s.Len() > catalog.MaxArraySize
	if s.Kind == sweep.Plain && !isSplit {
		return // AWS Batch sets the index; the children need no launcher
	}
	d := a.definition(job, g.known)
	if d != nil && d.ContainerProperties == nil || overridesSeveral(job) {
		a.fail(j.Array, ruleArrayContainer,
			"an array with values works only in a job with one container, in containerProperties",
			"write the job with image or containerProperties")
		return
	}
	if isSplit && s.Launcher == sweep.Image && s.Kind != sweep.Matrix && s.Kind != sweep.Table {
		a.fail(j.Array, ruleArraySize,
			fmt.Sprintf("%d children need several arrays, and the image's own program sees only its index within one array", s.Len()),
			fmt.Sprintf(`use at most %d children, or leave out "launcher": "image"`, catalog.MaxArraySize))
		return
	}
	a.wrap(j, job, d)
	if s.Kind == sweep.Commands {
		a.list(j, job)
	}
	if s.Kind != sweep.Commands || s.Launcher != sweep.Image {
		a.cells.document(j, job)
	}
}

// wrap puts the launcher before the effective command.
func (a *arrays) wrap(j *document.Job, job *Job, d *awsbatch.RegisterJobDefinitionInput) {
	s := j.Sweep
	if s.Launcher == sweep.Image {
		return
	}
	command := job.command(d)
	if s.Kind == sweep.Commands { // the lines are what runs
		command = nil
	} else if len(command) == 0 {
		hint := "give the job a command"
		if s.Kind != sweep.Plain {
			hint += `, or the array "launcher": "image"`
		}
		a.fail(j.Array, ruleArrayCommand, "the launcher needs the job's command, which is unknown here", hint)
		return
	}
	job.setCommand(j, s.Command(command))
}

// list describes how the children share a command list, in the variables that programs with
// their own list support read.
func (a *arrays) list(j *document.Job, job *Job) {
	s := j.Sweep
	a.setVariable(j, job, j.Array, sweep.SizeVariable, strconv.Itoa(s.Size))
	if s.KeepGoing {
		a.setVariable(j, job, j.Array, sweep.KeepGoingVariable, "1")
	}
	switch {
	case s.List != "":
		a.setVariable(j, job, j.Array, sweep.ListVariable, s.List)
	case s.Launcher == sweep.Image:
		text := strings.Join(s.Lines, "\n") + "\n"
		if url, ok := a.cells.stage(j, job, text,
			"the image's own program reads the command list from another location"); ok {
			a.setVariable(j, job, j.Array, sweep.ListVariable, url)
		}
	}
}
