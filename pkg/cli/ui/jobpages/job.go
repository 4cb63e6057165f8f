package jobpages

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/cli/jobs"
	"github.com/batchctl/batchctl/pkg/cli/preview"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/cli/ui/page"
	"github.com/batchctl/batchctl/pkg/cli/ui/show"
	"github.com/batchctl/batchctl/pkg/cli/ui/source"
	"github.com/batchctl/batchctl/pkg/client"
	"github.com/batchctl/batchctl/pkg/cost"
	"github.com/batchctl/batchctl/pkg/explain"
	"github.com/batchctl/batchctl/pkg/secret"
	"github.com/batchctl/batchctl/pkg/sweep"
	"github.com/batchctl/batchctl/pkg/ui/chart"
	"github.com/batchctl/batchctl/pkg/wire"
)

// JobView is what the page of a job shows.
type JobView struct {
	types.JobDetail
	ID, Name string
	// Timeline is a chart of the statuses.
	Timeline                         string
	Queue, Definition, Run, Workflow string
	// Of is the job's array, and Index its number there; "" for a job that is no child.
	Of    string
	Index int
	// Size is the number of an array's children.
	Size int
	// Command is the user's command, without batchctl's launcher.
	Command     []string
	Environment []variable
	Tags        []variable
	Resources   []variable
	Attempts    []attemptView
	Parts       []string // ids of the nodes of a multi-node job
	HasEnded    bool
	// Source is the definition as text, line by line.
	Source []string
	// DependsOn are the ids of the jobs that it waits for.
	DependsOn []string
	// Chain are the job and those that run it again or that it runs again, the newest first; empty for a job that ran
	// once. Healed reports that the job FAILED, and that newer jobs SUCCEEDED with all that FAILED in it.
	Chain  []workflowJob
	Healed bool
	// Failed are the ids of failed children, and MoreFailed how many others failed.
	Failed     []string
	MoreFailed int
}

// NeedsVerdict reports whether explain can have an answer about the job.
func (v JobView) NeedsVerdict() bool {
	return !v.Healed && v.JobDetail.Status != types.JobStatusSucceeded && v.JobDetail.Status != types.JobStatusRunning
}

// Reasoned returns why the job has its status; "" for one that succeeded.
func (v JobView) Reasoned() string { return show.Text(jobs.Outcome(v.JobDetail)) }

// Version changes when a child of the array changes its status.
func (v JobView) Version() string {
	if v.ArrayProperties == nil {
		return ""
	}
	text, _ := json.Marshal(v.ArrayProperties.StatusSummary) // a map of numbers
	return string(text)
}

// CommandLine returns the command for a shell. The whole line is masked: an option can announce a credential.
func (v JobView) CommandLine() string {
	var words []string
	for _, arg := range v.Command {
		words = append(words, term.Quoted(arg))
	}
	return show.Lines(strings.Join(words, " "))
}

// maskedArgs returns a command without its credentials.
func maskedArgs(args []string) []string {
	masked := slices.Clone(args)
	for _, found := range secret.FindArgs(args) {
		masked[found.Index] = secret.Mask("password", masked[found.Index])
	}
	return masked
}

// addChain adds the jobs of the job's chain.
func (s *Jobs) addChain(ctx context.Context, v *JobView) error {
	chain, err := source.Ask(ctx, s.Commands, s.Age(), s.Status(v.ID))
	for _, job := range chain {
		v.Healed = v.Healed || aws.ToString(job.JobId) == v.ID && job.Added.Healed
		if len(chain) > 1 {
			v.Chain = append(v.Chain, workflowJobOf(job))
		}
	}
	return err
}

// variable is a name with a value.
type variable struct{ Name, Value string }

// attemptView is an attempt.
type attemptView struct {
	Number            int
	Started, Stopped  *int64
	ExitCode          *int32
	Reason, Stream    string
	ContainerInstance string
	Current           bool
}

// Jobs show one job.
type Jobs struct{ *source.Source }

// Routes are the addresses of the group.
func (s *Jobs) Routes() page.Routes {
	return page.Routes{
		Pages: map[string]func(*http.Request) (page.Page, error){
			"/jobs/{id}":              s.jobPage,
			"/jobs/{id}/explain":      s.explainPart,
			"/jobs/{id}/cost":         s.costPart,
			"/jobs/{id}/measurements": s.measuredPart,
		},
	}
}

// jobPage shows one job. The page of an array has a grid of its children.
func (s *Jobs) jobPage(r *http.Request) (page.Page, error) {
	id := r.PathValue("id")
	p := page.Page{Template: "job", Title: "Job", Section: "jobs", Topics: []string{"job:" + id}}
	d, err := s.Describe(r.Context(), s.Age(), id)
	if err != nil {
		return p, err
	}
	v := ViewOf(d)
	if v.ID != id { // a name or a short id: the page has one address
		p.Topics = []string{"job:" + v.ID}
	}
	p.Title = v.Name
	if err := s.addChain(r.Context(), &v); err != nil {
		return p, err
	}
	if v.Size > 0 {
		p.Template = "array"
		if err := s.AddFailed(r.Context(), &v); err != nil {
			return p, err
		}
	} else {
		p.Topics = append(p.Topics, "log:"+v.ID)
	}
	p.Body = v
	return p, nil
}

// mostFailed is how many failed children the page of an array links.
const mostFailed = 100

// AddFailed adds the failed children of an array.
func (s *Jobs) AddFailed(ctx context.Context, v *JobView) error {
	failed := 0
	if v.ArrayProperties != nil {
		failed = int(v.ArrayProperties.StatusSummary[string(types.JobStatusFailed)])
	}
	if failed == 0 {
		return nil
	}
	children, err := source.Ask(ctx, s.Commands, s.Age(), s.Children(v.ID, types.JobStatusFailed))
	if err != nil {
		return err
	}
	for _, child := range children.Shape {
		v.Failed = append(v.Failed, aws.ToString(child.JobId))
	}
	slices.SortStableFunc(v.Failed, func(a, b string) int {
		_, i, _ := batch.SplitChildID(a)
		_, j, _ := batch.SplitChildID(b)
		return cmp.Compare(i, j)
	})
	if more := len(v.Failed) - mostFailed; more > 0 {
		v.Failed, v.MoreFailed = v.Failed[:mostFailed], more
	}
	return nil
}

// ViewOf returns what the page of a job shows.
func ViewOf(d types.JobDetail) JobView {
	v := JobView{JobDetail: d, ID: aws.ToString(d.JobId), Name: show.Text(aws.ToString(d.JobName)),
		Queue:      batch.Name(aws.ToString(d.JobQueue)),
		Definition: batch.Name(aws.ToString(d.JobDefinition)), Run: d.Tags[client.RunTag],
		Workflow: show.Text(d.Tags[client.WorkflowTag]),
		HasEnded: batch.HasEnded(d.Status), Size: batch.ArraySize(d)}
	if array, index, ok := batch.SplitChildID(v.ID); ok {
		v.Of, v.Index = array, index
		v.Name = strings.TrimSuffix(v.Name, fmt.Sprintf(":%d", index)) + fmt.Sprintf(":%d", index)
	}
	if c := d.Container; c != nil {
		v.Command, _ = sweep.UserCommand(c.Command)
		for _, e := range c.Environment {
			v.Environment = append(v.Environment, variable{aws.ToString(e.Name), aws.ToString(e.Value)})
		}
		for _, e := range c.ResourceRequirements {
			v.Resources = append(v.Resources, variable{string(e.Type), aws.ToString(e.Value)})
		}
	}
	for name, value := range d.Tags {
		v.Tags = append(v.Tags, variable{name, value})
	}
	slices.SortStableFunc(v.Tags, func(a, b variable) int { return cmp.Compare(a.Name, b.Name) })
	for i, a := range d.Attempts {
		view := attemptView{Number: i + 1, Started: a.StartedAt, Stopped: a.StoppedAt,
			Reason: aws.ToString(a.StatusReason)}
		if c := a.Container; c != nil {
			view.ExitCode, view.Stream, view.ContainerInstance = c.ExitCode, aws.ToString(c.LogStreamName),
				batch.Name(aws.ToString(c.ContainerInstanceArn))
			view.Reason = show.Join(", ", view.Reason, aws.ToString(c.Reason))
		}
		if end, ok := batch.TaskEnd(a); ok {
			view.ExitCode, view.Stream = end.ExitCode, aws.ToString(end.LogStreamName)
			view.Reason = show.Join(", ", view.Reason, aws.ToString(end.Reason))
		}
		v.Attempts = append(v.Attempts, view)
	}
	for i, a := range d.EksAttempts {
		end := batch.PodEnd(a)
		v.Attempts = append(v.Attempts, attemptView{Number: i + 1, Started: a.StartedAt, Stopped: a.StoppedAt,
			ExitCode: end.ExitCode,
			Stream:   batch.PodStream(d, a.PodName, end.Name), Reason: show.Join(", ", aws.ToString(a.StatusReason),
				aws.ToString(end.Reason))})
	}
	for _, on := range d.DependsOn {
		if on.JobId != nil {
			v.DependsOn = append(v.DependsOn, *on.JobId)
		}
	}
	for i := range client.Nodes(d) {
		v.Parts = append(v.Parts, client.NodeID(v.ID, i))
	}
	v.Timeline = timeline(v)
	v.Source = sourceOf(d)
	return v
}

// sourceOf returns the definition and the submission of a job as indented JSON, with masked environment and without the
// directory of its file, because pages are passed on.
func sourceOf(d types.JobDetail) []string {
	shownDetail := d
	shownDetail.Attempts = nil
	shownDetail.Parameters = maps.Clone(d.Parameters)
	delete(shownDetail.Parameters, batch.DirectoryParameter)
	if c := d.Container; c != nil {
		container := *c
		container.Environment = nil
		for _, e := range c.Environment {
			masked := show.Value(aws.ToString(e.Name), aws.ToString(e.Value))
			container.Environment = append(container.Environment, types.KeyValuePair{Name: e.Name, Value: &masked})
		}
		command, _ := sweep.UserCommand(c.Command)
		container.Command = maskedArgs(command)
		shownDetail.Container = &container
	}
	text, err := apiJSON(shownDetail)
	if err != nil {
		return []string{err.Error()}
	}
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = show.Text(lines[i])
	}
	return lines
}

// timeline draws the statuses that a job went through: waiting, and each attempt.
func timeline(v JobView) string {
	created, started, stopped := page.TimeOf(aws.ToInt64(v.CreatedAt)), page.TimeOf(aws.ToInt64(v.StartedAt)),
		page.TimeOf(aws.ToInt64(v.StoppedAt))
	if created.IsZero() {
		return ""
	}
	end := stopped
	if end.IsZero() {
		end = time.Now()
	}
	c := chart.Timeline{ID: "timeline", Title: "States of " + v.Name, From: created, To: end}
	first := started
	if len(v.Attempts) > 0 {
		first = page.TimeOf(aws.ToInt64(v.Attempts[0].Started))
	}
	if first.IsZero() {
		first = end
	}
	waited := "RUNNABLE"
	if !v.HasEnded && started.IsZero() {
		waited = string(v.Status)
	}
	c.Lanes = append(c.Lanes,
		chart.Lane{Name: "waiting",
			Spans: []chart.Span{{From: created, To: first, Class: page.ClassOf(waited), Label: "waiting",
				Title: "waiting"}}})
	for _, a := range v.Attempts {
		from, to := page.TimeOf(aws.ToInt64(a.Started)), page.TimeOf(aws.ToInt64(a.Stopped))
		if from.IsZero() {
			continue
		}
		if to.IsZero() {
			to = end
		}
		class := "s-succeeded"
		if a.ExitCode == nil || *a.ExitCode != 0 {
			class = "s-failed"
		}
		name := fmt.Sprintf("attempt %d", a.Number)
		c.Lanes = append(c.Lanes,
			chart.Lane{Name: name, Spans: []chart.Span{{From: from, To: to, Class: class, Label: name, Title: name}}})
	}
	switch {
	case !started.IsZero() && stopped.IsZero():
		c.Lanes = append(c.Lanes,
			chart.Lane{Name: "now", Spans: []chart.Span{{From: started, To: end, Class: page.ClassOf(string(v.Status)),
				Label: string(v.Status), Title: string(v.Status)}}})
	case !started.IsZero() && len(v.Attempts) == 0:
		c.Lanes = append(c.Lanes,
			chart.Lane{Name: "ran", Spans: []chart.Span{{From: started, To: end, Class: page.ClassOf(string(v.Status)),
				Label: string(v.Status), Title: string(v.Status)}}})
	}
	return page.Timeline(c)
}

// explainPart is the verdict of explain.
func (s *Jobs) explainPart(r *http.Request) (page.Page, error) {
	id := r.PathValue("id")
	p := page.Page{Template: "explain", Part: true}
	d, err := s.Describe(r.Context(), s.Age(), id)
	if err != nil {
		return p, err
	}
	if d.Status == types.JobStatusSucceeded || d.Status == types.JobStatusRunning {
		p.Body = (*explain.Answer)(nil) // there is nothing to explain
		return p, nil
	}
	p.Body, err = source.Ask(r.Context(), s.Commands, 10*time.Second, s.Explain(id))
	return p, err
}

// costPart is what a job cost.
func (s *Jobs) costPart(r *http.Request) (page.Page, error) {
	p := page.Page{Template: "cost", Part: true}
	o := preview.CostOptions{}
	o.Args = []string{r.PathValue("id")}
	found, err := source.Ask(r.Context(), s.Commands, time.Minute, s.Cost(o, o.Args...))
	if err != nil {
		return p, err
	}
	p.Body = struct {
		*preview.SpentDocument
		Rows []cost.Row
	}{found, source.CostRows(found)}
	return p, nil
}

// apiJSON returns an SDK shape as indented JSON with the names of the AWS API.
func apiJSON(v any) (string, error) {
	text, err := json.Marshal(wire.Native[any]{Shape: v})
	if err != nil {
		return "", err
	}
	return show.Indented(text)
}
