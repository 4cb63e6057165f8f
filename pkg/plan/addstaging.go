package plan

import (
	"cmp"
	"fmt"
	"path"
	"strconv"
	"strings"

	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/stage"
)

// The rules that only inputs and outputs can break, by their names in a report.
const (
	ruleStageContainer = "stage-container"
	ruleStageCommand   = "stage-command"
	ruleStageSize      = "stage-size"
	ruleStageNoPlace   = "stage-no-place"
	ruleStageChanged   = "stage-changed"
)

// outputsBelow is the part of the staging location for outputs that are downloaded. Only the
// container knows the job's id, so the variable is expanded there.
const outputsBelow = "outputs/${AWS_BATCH_JOB_ID}"

// checkpointsBelow is the part of the staging location for checkpoints without a location. Each job has its own place
// below it.
const checkpointsBelow = "checkpoints/"

// staging moves the files of jobs.
type staging struct {
	*variables
	options Options
}

// addStaging puts batchctl stage before the command of a job with inputs or
// outputs, and the document that stage reads into its environment.
func (s *staging) addStaging(g *group, job *Job) {
	j := g.Job
	if !j.IsStaged() {
		return
	}
	by := stagedBy(j)
	d := s.definition(job, g.known)
	if d != nil && d.ContainerProperties == nil || overridesSeveral(job) {
		s.fail(by, ruleStageContainer,
			"inputs, outputs and checkpoints work only in a job with one container, in containerProperties",
			"write the job with image or containerProperties")
		return
	}
	command := job.command(d)
	if len(command) == 0 {
		s.fail(by, ruleStageCommand,
			"batchctl stage needs the job's command, which is in another file's definition or in the image",
			"give the job a command")
		return
	}
	staged, ok := s.stageDocument(j, job)
	if !ok {
		return
	}
	job.Stage, job.Places = staged, j
	job.setCommand(j, document.StagedCommand("", command))
	s.setVariable(j, job, by, stage.Variable, document.StageText(staged))
	s.fits(j, job, by)
}

// stagedBy returns the member of the file for problems of staging: the first input, or else the
// first output, or the checkpoint. Its name is that of the member.
func stagedBy(j *document.Job) *jsontree.Node {
	at, name := (*jsontree.Node)(nil), "inputs"
	switch {
	case len(j.Inputs) > 0:
		at = j.Inputs[0].Node
	case len(j.Outputs) > 0:
		at, name = j.Outputs[0].Node, "outputs"
	default:
		at, name = j.Checkpoint.Path, "checkpoint"
	}
	src, span := at.Location()
	return &jsontree.Node{Kind: jsontree.String, Name: name, Source: src, Span: span}
}

// stageDocument returns the job's document with the URLs of local inputs and outputs. It returns
// false after a problem.
func (s *staging) stageDocument(j *document.Job, job *Job) (*stage.Document, bool) {
	staged := j.Document()
	for i, in := range j.Inputs {
		if !document.IsLocal(in.Source.Text) {
			continue
		}
		published, ok := s.options.Published[in.Local.Path]
		if !ok || s.options.Staging == "" {
			s.noPlace(in.Source, "input")
			return nil, false
		}
		to := &staged.Inputs[i]
		if pinned := to.SHA256; pinned != "" && pinned != published.SHA256 {
			s.fail(in.SHA256, ruleStageChanged, fmt.Sprintf("%s does not match this checksum: its sha256 is %s",
				in.Source.Text, published.SHA256),
				"if the file is right, write this checksum, or leave it out: submit adds one")
			return nil, false
		}
		to.SHA256 = published.SHA256
		to.From, to.Tree, to.Executable = literal(published.URL), published.Tree, published.Executable
		job.Published = append(job.Published, published)
	}
	for i, out := range j.Outputs {
		if !document.IsLocal(out.Destination.Text) {
			continue
		}
		if s.options.Staging == "" {
			s.noPlace(out.Destination, "output")
			return nil, false
		}
		to := &staged.Outputs[i]
		to.To = literal(strings.TrimRight(s.options.Staging, "/")) + "/" + outputsBelow + "/" + strconv.Itoa(i) + "/"
		if !strings.HasSuffix(to.Local, "/") {
			to.To += literal(path.Base(strings.ReplaceAll(to.Local, `\`, "/")))
		}
	}
	if c := j.Checkpoint; c != nil && c.IsStaged() {
		if s.options.Staging == "" {
			s.noPlace(cmp.Or(c.To, c.Path), "checkpoint")
			return nil, false
		}
		staged.Checkpoint.To = literal(strings.TrimRight(s.options.Staging, "/")) + "/" + checkpointsBelow
	}
	return staged, true
}

// literal escapes a URL, so that stage expands no variable in it.
func literal(url string) string { return strings.ReplaceAll(url, "${", "$${") }

// noPlace reports that the target has no staging location. what is "input", "output" or
// "checkpoint".
func (s *staging) noPlace(n *jsontree.Node, what string) {
	s.fail(n, ruleStageNoPlace, fmt.Sprintf("a local %s needs a staging location, and the target has none", what),
		`add it to the target in the platform file: "staging": "s3://bucket/prefix"; or write an s3:// URL here`)
}

// fits reports a problem if the request is too large with the document.
func (s *staging) fits(j *document.Job, job *Job, by *jsontree.Node) {
	const hint = "name a directory or an S3 prefix instead of single files"
	if j.Register == nil {
		s.fitsOverrides(job, by, ruleStageSize, "inputs and outputs", hint)
		return
	}
	if size, limit := sizeOf(job.Register), MaxDefinition-tagReserve; size > limit {
		s.fail(by, ruleStageSize,
			fmt.Sprintf("with its inputs and outputs, the job definition has %d bytes, more than the limit of %d", size,
				limit), hint)
	}
}
