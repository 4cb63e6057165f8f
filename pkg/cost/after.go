package cost

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/catalog"
	"github.com/batchctl/batchctl/pkg/plan"
)

// Spent is what jobs took, and what that costs. Seconds are those between startedAt and
// stoppedAt of their attempts.
type Spent struct {
	// Runs counts jobs that are not arrays, and children of arrays. Unended of them have not
	// ended, Unseen ended, but were forgotten before batchctl saw it, and Failed have FAILED.
	Runs    int `json:"runs"`
	Unended int `json:"unended,omitempty"`
	Unseen  int `json:"unseen,omitempty"`
	Failed  int `json:"failed"`
	// Attempts are those that started; Retried of them had another one after them.
	Attempts int     `json:"attempts"`
	Retried  int     `json:"retried"`
	Seconds  float64 `json:"seconds"`
	// RetriedSeconds and FailedSeconds are waste: of attempts with another one after
	// them, and of the last attempts of jobs that FAILED.
	RetriedSeconds float64 `json:"retriedSeconds"`
	FailedSeconds  float64 `json:"failedSeconds"`
	// Cost is by the share of the machines, and Waste the part of it that is of no use.
	// Alone is what it costs at most: every attempt alone on its machine.
	Cost  Range  `json:"cost"`
	Waste Range  `json:"waste"`
	Alone Amount `json:"alone"`

	// attempts are the parts of Seconds until At has priced them: AWS bills each of them on its own.
	attempts []attempt
}

// attempt is one that started.
type attempt struct {
	seconds float64
	isWaste bool
}

// WasteSeconds is those of retried and failed attempts.
func (s Spent) WasteSeconds() float64 { return s.RetriedSeconds + s.FailedSeconds }

// Plus returns the sum of both.
func (s Spent) Plus(o Spent) Spent {
	return Spent{
		Runs: s.Runs + o.Runs, Unended: s.Unended + o.Unended, Unseen: s.Unseen + o.Unseen, Failed: s.Failed + o.Failed,
		Attempts: s.Attempts + o.Attempts, Retried: s.Retried + o.Retried,
		Seconds: s.Seconds + o.Seconds, RetriedSeconds: s.RetriedSeconds + o.RetriedSeconds,
		FailedSeconds: s.FailedSeconds + o.FailedSeconds,
		Cost:          s.Cost.Plus(o.Cost), Waste: s.Waste.Plus(o.Waste), Alone: s.Alone.Plus(o.Alone),
		attempts: slices.Concat(s.attempts, o.attempts),
	}
}

// Took returns the seconds of a job that is no array, or of a child, without money. An
// attempt that runs counts until now, and is no waste yet.
func Took(d types.JobDetail, now time.Time) Spent {
	s := Spent{Runs: 1}
	ended := batch.HasEnded(d.Status)
	if d.Status == types.JobStatusFailed {
		s.Failed = 1
	}
	if !slices.Contains(d.Status.Values(), d.Status) {
		s.Unseen = 1
	} else if !ended {
		s.Unended = 1
	}
	all := attemptsOf(d, ended, now)
	for i, a := range all {
		if a.from == 0 {
			continue // it never started
		}
		seconds := max(0, float64(a.to-a.from)/1000)
		s.Attempts++
		s.Seconds += seconds
		isRetried := i < len(all)-1 || !ended && !a.running
		switch {
		case isRetried:
			s.Retried++
			s.RetriedSeconds += seconds
		case s.Failed > 0:
			s.FailedSeconds += seconds
		}
		s.attempts = append(s.attempts, attempt{seconds, isRetried || s.Failed > 0})
	}
	return s
}

// attemptTimes is an attempt in epoch milliseconds.
type attemptTimes struct {
	from, to int64
	running  bool
}

// attemptsOf are a job's attempts in their order, with the one that runs, which the
// service does not list among them.
func attemptsOf(d types.JobDetail, ended bool, now time.Time) (all []attemptTimes) {
	from, to := aws.ToInt64(d.StartedAt), aws.ToInt64(d.StoppedAt)
	listed := false
	for _, a := range d.Attempts {
		all = append(all, attemptTimes{from: aws.ToInt64(a.StartedAt), to: aws.ToInt64(a.StoppedAt)})
	}
	for _, a := range d.EksAttempts {
		all = append(all, attemptTimes{from: aws.ToInt64(a.StartedAt), to: aws.ToInt64(a.StoppedAt)})
	}
	for i := range all {
		at := &all[i]
		if at.from > 0 && at.to == 0 {
			at.to, at.running = now.UnixMilli(), !ended
			if ended {
				at.to = max(at.from, to)
			}
		}
		listed = listed || at.from == from
	}
	switch {
	case from == 0 || listed:
	case d.Status == types.JobStatusRunning:
		all = append(all, attemptTimes{from, now.UnixMilli(), true})
	case ended && len(all) == 0:
		all = append(all, attemptTimes{from, max(from, to), false})
	}
	return all
}

// At adds what the attempts cost that have no price yet.
func (s Spent) At(r Rate) Spent {
	all := s.attempts
	waste := slices.DeleteFunc(slices.Clone(all), func(a attempt) bool { return !a.isWaste })
	s.Cost, s.Waste, s.Alone, s.attempts = s.Cost.Plus(r.of(all)), s.Waste.Plus(r.of(waste)),
		s.Alone.Plus(r.alone(all)), nil
	if s.Unseen > 0 && r.Free == "" {
		noAmount := unknown("the target deleted the job before batchctl saw it end: its run time is unknown")
		s.Cost, s.Waste, s.Alone = Range{noAmount, noAmount}, Range{noAmount, noAmount}, noAmount
	}
	return s
}

// why is the reason why the upper end of a rate is unknown.
func (r Rate) why() string { return cmp.Or(r.Unknown, r.MostUnknown) }

// of is what attempts cost by the share of a machine.
func (r Rate) of(all []attempt) Range {
	if r.Free != "" {
		return Range{}
	}
	return Range{sum(all, r.Meter, r.Least, cmp.Or(r.Unknown, r.LeastUnknown)), sum(all, r.Meter, r.Highest, r.why())}
}

// alone is what attempts cost if each has its machines alone.
func (r Rate) alone(all []attempt) Amount {
	if r.Free != "" {
		return Amount{}
	}
	return sum(all, r.Meter.Whole(), r.Alone, r.why())
}

// sum is what attempts cost at a price per hour. why says why that is unknown; "" if it is known.
func sum(all []attempt, m catalog.Meter, perHour float64, why string) (a Amount) {
	if len(all) > 0 && why != "" {
		return unknown("%s", why)
	}
	for _, one := range all {
		a.USD += m.USD(perHour, one.seconds, 1)
	}
	return a
}

// ShareUSD returns what one attempt of some seconds costs on its share of the cheapest machine, on demand, in US
// dollars.
func (r Rate) ShareUSD(seconds float64) float64 { return r.Meter.USD(r.Share, seconds, 1) }

// PlanOf returns the plan of a submitted job, as far as its request is known. A queue other
// than "" replaces its own.
func PlanOf(d types.JobDetail, queue string) (*plan.Plan, error) {
	name := aws.ToString(d.JobName)
	if queue == "" {
		queue = aws.ToString(d.JobQueue)
	}
	in := &awsbatch.RegisterJobDefinitionInput{JobDefinitionName: &name, Type: types.JobDefinitionTypeContainer,
		PlatformCapabilities: d.PlatformCapabilities,
		RetryStrategy:        d.RetryStrategy, Timeout: d.Timeout, NodeProperties: d.NodeProperties}
	if err := like(d.Container, &in.ContainerProperties); err != nil {
		return nil, err
	}
	if err := like(d.EcsProperties, &in.EcsProperties); err != nil {
		return nil, err
	}
	if err := like(d.EksProperties, &in.EksProperties); err != nil {
		return nil, err
	}
	if d.NodeProperties != nil || d.EcsProperties != nil || d.EksProperties != nil {
		in.ContainerProperties = nil
	}
	if d.NodeProperties != nil { // the others are those of the main node
		in.EcsProperties, in.EksProperties = nil, nil
	}
	submit := &awsbatch.SubmitJobInput{JobName: &name, JobQueue: &queue, JobDefinition: &name}
	return &plan.Plan{Name: name,
		Jobs: []*plan.Job{{Name: name, Register: in, Submit: submit, Queue: plan.Choice{Queue: queue}}}}, nil
}

// like fills a shape of a definition with what the shape of a job's description has
// under the same names.
func like(from, to any) error {
	text, err := json.Marshal(from)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, to)
}

// Key is what a job that ran is added up by.
type Key struct {
	// Job is its name and short id, Array the name of the array it is or belongs to, and
	// Workflow what it was submitted with.
	Job, Array, Workflow string
	Tags                 map[string]string
}

// KeyOf returns the key of a job, which workflow submitted; "" if that is unknown. A child belongs to its array, and an
// array to itself.
func KeyOf(d types.JobDetail, workflow string) Key {
	id, name := aws.ToString(d.JobId), aws.ToString(d.JobName)
	k := Key{Job: name + " " + batch.ShortID(id), Workflow: workflow, Tags: d.Tags}
	if parent, _, isChild := batch.SplitChildID(id); isChild || batch.ArraySize(d) > 0 {
		k.Array = name + " " + batch.ShortID(parent)
	}
	return k
}

// Row is what a group of jobs took.
type Row struct {
	Name string `json:"name"`
	// Jobs counts an array once.
	Jobs int `json:"jobs"`
	Spent
}

// Sums adds up what jobs took, group by group. It holds a row a group, however many
// children are added.
type Sums struct {
	By By
	// Rows are in the order in which their names came, and Total is of all.
	Rows  []*Row
	Total Row

	byName map[string]*Row
}

// Begin returns the row of a job, which counts it.
func (s *Sums) Begin(k Key) *Row {
	if s.byName == nil {
		s.byName = map[string]*Row{}
		s.Total.Name = "total"
	}
	name := s.By.name(k.Job, k.Array, k.Workflow, k.Tags)
	row := s.byName[name]
	if row == nil {
		row = &Row{Name: name}
		s.byName[name] = row
		s.Rows = append(s.Rows, row)
	}
	row.Jobs++
	s.Total.Jobs++
	return row
}

// Add adds what a run of the row's jobs took.
func (s *Sums) Add(row *Row, took Spent) {
	row.Spent = row.Plus(took)
	s.Total.Spent = s.Total.Plus(took)
}
