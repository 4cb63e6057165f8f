package plan

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/forecast"
	"github.com/batchctl/batchctl/pkg/wire"
)

// Request is one AWS request of a plan.
type Request struct {
	// Job is the name of the job it belongs to.
	Job string
	// Operation is RegisterJobDefinition or SubmitJob. Command is the aws command that sends
	// it: "aws batch submit-job --cli-input-json".
	Operation, Command string
	// Input is the SDK's input struct. The id of a job that this plan submits earlier is
	// ${name}, the last one of that name; the id of a job submitted before this plan is
	// ${earlier:name}.
	Input any
	// When, After and MaxParallel are what the client does beside the request, see Job. After
	// has ids in the form of Input. When is document.WhenSuccess if the client awaits the rungs of
	// the jobs in After.
	When        string   `json:",omitempty"`
	After       []string `json:",omitempty"`
	MaxParallel int      `json:",omitempty"`
}

// Requests returns the plan's requests in the order in which they can be sent.
func (p *Plan) Requests() []Request {
	var list []Request
	awaited := Awaited(p.Jobs...)
	for _, j := range p.Jobs {
		if j.Register != nil {
			list = append(list, request(j, document.KindJobDefinition, j.Register))
		}
		if j.Submit != nil {
			list = append(list, j.submission(awaited[j]))
		}
	}
	return list
}

// request returns a request of a job.
func request(j *Job, kind document.Kind, input any) Request {
	return Request{Job: j.Name, Operation: string(kind), Command: kind.Command() + " --cli-input-json", Input: input}
}

// submission returns the SubmitJob with its dependencies by name. If the client waits for them,
// as for the awaited ones, they are in After.
func (j *Job) submission(awaited []string) Request {
	in := *j.Submit
	in.DependsOn = slices.Clone(j.Submit.DependsOn)
	r := request(j, document.KindSubmitJob, &in)
	r.When, r.MaxParallel = j.When, j.MaxParallel
	if len(awaited) > 0 {
		r.When = document.WhenSuccess
	}
	add := func(list []document.Dependency, before string) {
		for _, d := range list {
			id := before + d.Job + "}"
			if j.When != "" || before == "${" && slices.Contains(awaited, d.Job) {
				r.After = append(r.After, id)
				continue
			}
			in.DependsOn = append(in.DependsOn, types.JobDependency{JobId: &id, Type: types.ArrayJobDependency(d.Type)})
		}
	}
	add(j.Earlier, "${earlier:")
	add(j.After, "${")
	return r
}

// Document is a plan as JSON writes it. The documents below are its parts.
type Document struct {
	// Version is FormatVersion.
	Version  int               `json:"version"`
	Name     string            `json:"name,omitempty"`
	Requests []requestDocument `json:"requests"`
	Jobs     []jobDocument     `json:"jobs"`
	Policy   *PolicyReview     `json:"policy,omitempty"`
	Problems []string          `json:"problems,omitempty"`
	Checked  *snapshot         `json:"checked,omitempty"`
	// When is the forecast of plan --when.
	When []forecast.Answer `json:"when,omitempty"`
}

type requestDocument struct {
	Operation   string          `json:"operation"`
	CLI         string          `json:"cli"`
	When        string          `json:"when,omitempty"`
	After       []string        `json:"after,omitempty"`
	MaxParallel int             `json:"maxParallel,omitempty"`
	Input       json.RawMessage `json:"input"`
}

type jobDocument struct {
	Name            string              `json:"name"`
	Group           string              `json:"group,omitempty"`
	Join            bool                `json:"join,omitempty"`
	Queue           string              `json:"queue,omitempty"`
	Reason          string              `json:"reason,omitempty"`
	InstanceType    string              `json:"instanceType,omitempty"`
	JobsPerInstance int                 `json:"jobsPerInstance,omitempty"`
	ArraySize       int32               `json:"arraySize,omitempty"`
	Cells           string              `json:"cells,omitempty"`
	MaxParallel     int                 `json:"maxParallel,omitempty"`
	When            string              `json:"when,omitempty"`
	After           []string            `json:"after,omitempty"`
	Earlier         []string            `json:"earlier,omitempty"`
	Staged          []stagedDocument    `json:"staged,omitempty"`
	Published       []publishedDocument `json:"published,omitempty"`
	// Command is what a container starts, if batchctl changed the command of the file; as one line, see CommandText.
	Command    string   `json:"command,omitempty"`
	NotChecked []string `json:"notChecked,omitempty"`

	Definition   *definitionDocument   `json:"definition,omitempty"`
	Environments []environmentDocument `json:"computeEnvironments,omitempty"`
	Cost         *costDocument         `json:"cost,omitempty"`
}

type stagedDocument struct {
	URL   string `json:"url"`
	Bytes int    `json:"bytes"`
}

type publishedDocument struct {
	Path  string `json:"path"`
	URL   string `json:"url"`
	Files int    `json:"files"`
	Bytes int64  `json:"bytes"`
}

type definitionDocument struct {
	Verdict  Verdict  `json:"verdict"`
	Revision int      `json:"revision,omitempty"`
	Changes  []Change `json:"changes,omitempty"`
	Reason   string   `json:"reason,omitempty"`
}

type environmentDocument struct {
	Name            string `json:"computeEnvironment,omitempty"`
	From            string `json:"from"`
	Type            string `json:"type"`
	State           string `json:"state,omitempty"`
	Status          string `json:"status,omitempty"`
	Usable          bool   `json:"usable"`
	Fits            bool   `json:"fits"`
	Reason          string `json:"reason,omitempty"`
	InstanceType    string `json:"instanceType,omitempty"`
	JobsPerInstance int    `json:"jobsPerInstance,omitempty"`
	JobsAtOnce      int    `json:"jobsAtOnce,omitempty"`
	MaxvCpus        int    `json:"maxvCpus,omitempty"`
	DesiredvCpus    int    `json:"desiredvCpus,omitempty"`
	// Machines are those of an environment that AWS Batch does not scale.
	Machines []batch.Machine `json:"machines,omitempty"`
}

// costDocument is the cost of a job in US dollars. StandsFor is the Region of the job if the
// table has no prices for it.
type costDocument struct {
	Unknown   string  `json:"unknown,omitempty"`
	Prices    string  `json:"prices,omitempty"`
	Region    string  `json:"region,omitempty"`
	StandsFor string  `json:"standsForRegion,omitempty"`
	Least     float64 `json:"least,omitempty"`
	Most      float64 `json:"most,omitempty"`
	PerHour   bool    `json:"perHour,omitempty"`
	ShareHour float64 `json:"shareAnHour,omitempty"`
	WholeHour float64 `json:"wholeAnHour,omitempty"`
	Spot      bool    `json:"spot,omitempty"`
	// Order is the environments that take the job, in the order in which AWS Batch tries them; Least
	// and Most are then over all of them.
	Order []stepDocument `json:"order,omitempty"`
}

// stepDocument is an environment among several that take a job. Low and High are the price an hour of
// the job's share there.
type stepDocument struct {
	Name    string  `json:"computeEnvironment,omitempty"`
	Type    string  `json:"type"`
	Low     float64 `json:"lowAnHour,omitempty"`
	High    float64 `json:"highAnHour,omitempty"`
	Least   float64 `json:"least,omitempty"`
	Most    float64 `json:"most,omitempty"`
	Unknown string  `json:"unknown,omitempty"`
}

// JSON returns the plan as an indented document: name, requests and jobs. Each request's input
// is what its cli command reads; other actions of the client are beside it. With a review, it
// also contains the target's answers, so that Moved can tell later whether the plan still
// applies.
func (p *Plan) JSON(v *Review) ([]byte, error) {
	d := Document{Version: FormatVersion, Name: p.Name, Requests: []requestDocument{}, Jobs: []jobDocument{}}
	for _, r := range p.Requests() {
		input, err := wire.Marshal(r.Input)
		if err != nil {
			return nil, err
		}
		d.Requests = append(d.Requests, requestDocument{r.Operation, r.Command, r.When, r.After, r.MaxParallel, input})
	}
	for i, j := range p.Jobs {
		d.Jobs = append(d.Jobs, j.document())
		if v != nil {
			v.Jobs[i].describe(&d.Jobs[i])
		}
	}
	if v != nil {
		checked, err := v.snapshot()
		if err != nil {
			return nil, err
		}
		d.Policy, d.Problems, d.Checked, d.When = v.Policy, v.ProblemTexts(), checked, v.When
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(d)
	return b.Bytes(), err
}

// document returns the job's part of the JSON, without a review.
func (j *Job) document() jobDocument {
	d := jobDocument{Name: j.Name, Queue: j.Queue.Queue, Reason: j.Queue.Reason,
		Join: j.Join, Cells: j.Cells, MaxParallel: j.MaxParallel, When: j.When, Command: CommandText(j.Sent)}
	if j.Group != j.Name {
		d.Group = j.Group
	}
	if p := j.Queue.Placement; p != nil {
		d.InstanceType, d.JobsPerInstance = p.Instance.Name, p.PerInstance
	}
	if j.Submit != nil && j.Submit.ArrayProperties != nil {
		d.ArraySize = aws.ToInt32(j.Submit.ArrayProperties.Size)
	}
	for _, a := range j.After {
		d.After = append(d.After, a.Job)
	}
	for _, e := range j.Earlier {
		d.Earlier = append(d.Earlier, e.Job)
	}
	for _, s := range j.Staged {
		d.Staged = append(d.Staged, stagedDocument{s.URL, len(s.Text)})
	}
	for _, p := range j.Published {
		d.Published = append(d.Published, publishedDocument{p.Path, p.URL, p.Files, p.Bytes})
	}
	return d
}

// describe adds what the review found to the job's document.
func (v JobReview) describe(d *jobDocument) {
	d.Definition = &definitionDocument{v.Definition.Verdict, v.Definition.Revision, v.Definition.Changes,
		v.Definition.Reason}
	d.NotChecked = v.NotChecked
	for _, r := range v.Environments {
		e := environmentDocument{Name: r.Name, From: v.EnvironmentsFrom, Type: r.Type, State: string(r.State),
			Status: string(r.Status), Usable: r.Usable(),
			Fits: r.Fits, Reason: r.Reason, JobsAtOnce: r.AtOnce, MaxvCpus: r.MaxvCpus, DesiredvCpus: r.DesiredvCpus,
			Machines: r.Machines}
		if len(r.Holds) > 0 {
			e.InstanceType, e.JobsPerInstance = r.Holds[0].Instance.Name, r.Holds[0].PerInstance
		}
		d.Environments = append(d.Environments, e)
	}
	if c := v.Cost; c != nil && c.Unknown != "" {
		d.Cost = &costDocument{Unknown: c.Unknown}
	} else if c != nil {
		least, most := c.Range()
		d.Cost = &costDocument{Prices: c.Prices.String(), Region: c.Region, StandsFor: c.Replaces, Least: least,
			Most: most, PerHour: c.Hours == 0,
			ShareHour: c.ShareHour, WholeHour: c.WholeHour, Spot: c.Spot}
		for _, s := range c.Order {
			d.Cost.Order = append(d.Cost.Order, stepDocument{s.Name, s.Type, s.Low, s.High, s.Least, s.Most,
				cmp.Or(s.Unknown, s.LowUnknown)})
		}
	}
}
