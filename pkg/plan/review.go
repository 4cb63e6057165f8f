package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/catalog"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/forecast"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/ladder"
)

// Review is a plan compared with a target: what would change there, where the jobs would run,
// and what they cost.
type Review struct {
	// TargetState is nil if the target was not queried.
	Target *TargetState
	Jobs   []JobReview // in the order of the plan's
	// Policy is nil without a platform file.
	Policy *PolicyReview
	// When is when the jobs start; empty if that was not asked.
	When []forecast.Answer
}

// PolicyReview is the result of checking the platform file's policy.
type PolicyReview struct {
	// File is the platform file.
	File string `json:"file"`
	// PolicyRules are the members of the policy that were checked. A job that breaks one is an
	// error, and then there is no plan.
	PolicyRules []string `json:"rules"`
	Waived      []Waived `json:"waived,omitempty"`
	// NotChecked are properties that the policy limits and that are unknown: those of a definition that a job runs.
	NotChecked []string `json:"notChecked,omitempty"`
	// Problems are those of the definitions that jobs name, which only the target has. With an error among them, there
	// is no plan.
	Problems diag.List `json:"-"`
	// policy is the policy itself.
	policy *jsontree.Node
}

// Waived is a policy rule that a job may break.
type Waived struct {
	Rule   string `json:"rule"`
	Reason string `json:"reason"`
	Until  string `json:"until,omitempty"`
}

// PolicyOf returns the review of a platform's policy.
func PolicyOf(platform *document.Platform, file string, waived []Waived) *PolicyReview {
	v := &PolicyReview{File: file, PolicyRules: []string{}, Waived: waived, policy: platform.Policy.Node}
	for _, m := range platform.Policy.Rules() {
		v.PolicyRules = append(v.PolicyRules, m.Name)
	}
	return v
}

// JobReview is one job compared with a target.
type JobReview struct {
	*Job
	Definition DefinitionReview
	// QueueReview is what the target says of the job's queue; the zero value where it was
	// not asked, or is about to make it (the local engine).
	QueueReview QueueReview
	// Environments are the compute environments behind the queue, in order, and RoomsFrom
	// who described them: the target, or FromPlatform.
	Environments     []EnvironmentFit
	EnvironmentsFrom string
	// Cost is nil where nothing is to be paid: for a definition alone, and on this
	// machine.
	Cost *Cost
	// NotChecked is what the plan cannot check of the job, beside what Definition, QueueReview and Environments say.
	NotChecked []string
	// Need is what the job asks for, if that is known here.
	Need Need
	// Worst is the job with the largest request that its rungs lead to, in each queue that they may
	// use. Need.Attempts counts all jobs that may follow one another. It is empty for a job without
	// rungs.
	Worst []JobReview
}

// FromPlatform is the source of compute environments if no target was queried.
const FromPlatform = "the platform file"

// Verdict is the effect that a submission would have on a job definition.
type Verdict string

// The verdicts.
const (
	// DefinitionSame: an ACTIVE revision has this content, and is used.
	DefinitionSame Verdict = "no change"
	// DefinitionNew: no revision is ACTIVE, so the first one would be registered.
	DefinitionNew Verdict = "new"
	// DefinitionChanged: another revision would be registered.
	DefinitionChanged Verdict = "change"
	// DefinitionNamed: the submission names a definition that is ACTIVE.
	DefinitionNamed Verdict = "registered"
	// DefinitionMissing: the submission names one that is not ACTIVE there.
	DefinitionMissing Verdict = "missing"
	// DefinitionNotChecked: the target was not asked, or did not say.
	DefinitionNotChecked Verdict = "not checked"
	// DefinitionEarlier: another job of the plan registers it.
	DefinitionEarlier Verdict = "registered by the plan"
)

// DefinitionReview describes the effect of a submission on a job's definition.
type DefinitionReview struct {
	Verdict Verdict
	// Revision is the revision in use, or the one that the changes refer to; 0: none.
	Revision int
	Changes  []Change
	// Reason says why it was not checked.
	Reason string
}

// QueueReview is the state of a queue, as the target reports it.
type QueueReview struct {
	// Asked reports whether the target answered, and Found whether the queue exists.
	Asked, Found bool
	State        types.JQState
	Status       types.JQStatus
	StatusReason string
	// Reason says why there is no answer.
	Reason string
}

// Review holds a plan against what a target said; nil stands for a target that was
// not asked. The platform and the prices may be nil. region is the one to take
// prices of, "" for the table's own.
func (p *Plan) Review(w *TargetState, platform *document.Platform, prices *catalog.Prices) *Review {
	v := &Review{Target: w}
	for i, j := range p.Jobs {
		v.Jobs = append(v.Jobs, p.review(i, j, w, platform, prices))
	}
	return v
}

func (p *Plan) review(i int, j *Job, w *TargetState, platform *document.Platform, prices *catalog.Prices) JobReview {
	v := JobReview{Job: j, Definition: w.definition(j)}
	isLocal := w != nil && w.Local
	if !isLocal && j.NeedsBatchctl(false) {
		v.NotChecked = append(v.NotChecked, UncheckedImage)
	}
	if !isLocal && j.Join {
		v.NotChecked = append(v.NotChecked, "whether the image has the command that this inserted step runs: true")
	}
	definition := p.definitionOf(i, w)
	if v.Definition.Verdict == DefinitionMissing && j.Register == nil && p.registers(j, i) {
		v.Definition = DefinitionReview{Verdict: DefinitionEarlier}
	}
	if j.Submit == nil {
		return v
	}
	v.QueueReview = w.queueReview(aws.ToString(j.Submit.JobQueue))
	submit, err := tree(j.Submit)
	if err != nil {
		return v
	}
	var ok bool
	if v.Need, ok = NeedOf(definition, submit); !ok {
		v.Cost = &Cost{Unknown: "the job's request is unknown here"}
		return v
	}
	v.Need.MaxParallel = j.MaxParallel
	v.findEnvironments(w, platform)
	if w != nil && w.Local {
		return v
	}
	v.Cost = v.cost(prices, w)
	v.worst(w, platform, prices)
	return v
}

// worst adds what the job costs at most with its rungs: with the largest request that they lead to,
// in each queue, for all jobs that may follow one another.
func (v *JobReview) worst(w *TargetState, platform *document.Platform, prices *catalog.Prices) {
	if len(v.Ladder) == 0 || len(v.Need.Parts) != 1 {
		return
	}
	part := v.Need.Parts[0]
	for _, queue := range append([]string{aws.ToString(v.Submit.JobQueue)}, v.Ladder.Queues()...) {
		job, submit := *v.Job, *v.Submit
		job.Submit, submit.JobQueue = &submit, &queue
		other := JobReview{Job: &job, Need: v.Need, QueueReview: w.queueReview(queue)}
		isFargate := slices.ContainsFunc(v.Environments, EnvironmentFit.IsFargate)
		most, jobs := v.Ladder.Most(ladder.Need{MemoryMiB: part.MemoryMiB, VCPUs: part.VCPUs, Fargate: isFargate})
		larger := part
		larger.MemoryMiB, larger.VCPUs = most.MemoryMiB, most.VCPUs
		other.Need.Parts, other.Need.Attempts = []Part{larger}, max(1, v.Need.Attempts)*jobs
		other.findEnvironments(w, platform)
		other.Cost = other.cost(prices, w)
		v.Worst = append(v.Worst, other)
	}
}

// registers reports whether a job of the plan before number i registers the
// definition that j names.
func (p *Plan) registers(j *Job, i int) bool {
	return slices.ContainsFunc(p.Jobs[:i], func(o *Job) bool {
		return o.Register != nil && aws.ToString(o.Register.JobDefinitionName) == strings.SplitN(j.definitionWord(),
			":", 2)[0]
	})
}

// definitionOf is the definition that job number i runs, as a document: that of the plan, or
// the registered one. It is nil if it is unknown.
func (p *Plan) definitionOf(i int, w *TargetState) *jsontree.Node {
	j := p.Jobs[i]
	word := j.definitionWord()
	for _, o := range slices.Backward(p.Jobs[:i+1]) {
		if o.Register != nil && aws.ToString(o.Register.JobDefinitionName) == word {
			n, _ := tree(o.Register)
			return n
		}
	}
	if w == nil {
		return nil
	}
	n, _ := w.Definitions[word].Tree()
	return n
}

func (w *TargetState) definition(j *Job) DefinitionReview {
	switch {
	case w == nil:
		return DefinitionReview{Verdict: DefinitionNotChecked, Reason: "the target was not queried"}
	case w.Unreached != "":
		return DefinitionReview{Verdict: DefinitionNotChecked, Reason: w.Unreached}
	}
	r := w.Definitions[j.definitionWord()]
	switch {
	case r.Err != "":
		return DefinitionReview{Verdict: DefinitionNotChecked, Reason: r.Err}
	case j.Register == nil && r.Named == nil:
		return DefinitionReview{Verdict: DefinitionMissing}
	case j.Register == nil:
		return DefinitionReview{Verdict: DefinitionNamed, Revision: revision(r.Named)}
	case r.Same != nil:
		return DefinitionReview{Verdict: DefinitionSame, Revision: revision(r.Same)}
	case r.Newest == nil:
		return DefinitionReview{Verdict: DefinitionNew}
	}
	return DefinitionReview{Verdict: DefinitionChanged, Revision: revision(r.Newest),
		Changes: definitionDiff(r.Newest, j)}
}

func revision(d *types.JobDefinition) int { return int(aws.ToInt32(d.Revision)) }

// definitionDiff compares what is registered with what would be.
func definitionDiff(old *types.JobDefinition, j *Job) []Change {
	was, errWas := tree(old)
	now, errNow := tree(j.Register)
	if errWas != nil || errNow != nil {
		return nil
	}
	return Diff(described(was), described(now))
}

// described is a definition without what only the answer or only the request has,
// and without the tags that batchctl sets itself.
func described(n *jsontree.Node) *jsontree.Node {
	out := jsontree.NewObject(n)
	for m := range n.Children() {
		switch m.Name {
		case "jobDefinitionName", "jobDefinitionArn", "revision", "status", "containerOrchestrationType":
		case "tags":
			tags := jsontree.NewObject(m)
			for t := range m.Children() {
				if !strings.HasPrefix(t.Name, "batchctl:") {
					tags.Set(t.Name, t.Clone())
				}
			}
			out.Set(m.Name, tags)
		case "platformCapabilities":
			if m.Len() != 1 || m.Index(0).
				Str() != string(types.PlatformCapabilityEc2) { // the default, which Batch fills in
				out.Set(m.Name, m.Clone())
			}
		default:
			out.Set(m.Name, m.Clone())
		}
	}
	return out
}

func (w *TargetState) queueReview(word string) QueueReview {
	switch {
	case w == nil:
		return QueueReview{Reason: "the target was not queried"}
	case cmp.Or(w.Unreached, w.QueuesErr) != "":
		return QueueReview{Reason: cmp.Or(w.Unreached, w.QueuesErr)}
	}
	q, found := w.queue(word)
	return QueueReview{Asked: true, Found: found, State: q.State, Status: q.Status,
		StatusReason: aws.ToString(q.StatusReason)}
}

// findEnvironments finds the compute environments of the job's queue: the target's, or those of the
// platform file if the target's cannot be read. On the local engine, all jobs run on one machine.
func (v *JobReview) findEnvironments(w *TargetState, platform *document.Platform) {
	var catalogue *catalog.Catalog
	word := aws.ToString(v.Submit.JobQueue)
	var described document.Queue
	if platform != nil {
		catalogue = platform.Catalog
		described, _ = platform.Queue(word)
	}
	isDescribed := len(described.Environments) > 0
	isLocal := w != nil && w.Local
	if isLocal || v.QueueReview.Found && !(isDescribed && w.EnvironmentsErr != "") {
		q, found := w.queue(word)
		if !found { // submit creates it
			q.ComputeEnvironmentOrder = []types.ComputeEnvironmentOrder{{ComputeEnvironment: aws.String(batch.LocalEnvironment)}}
		}
		v.Environments, v.EnvironmentsFrom = w.fits(catalogue, q, v.Need), "the target"
	} else if isDescribed {
		v.Environments, v.EnvironmentsFrom = fitsOf(catalogue, described, v.Need), FromPlatform
	}
}

// cost is that of the first environment that takes the job, with the order if several take it.
func (v *JobReview) cost(prices *catalog.Prices, w *TargetState) *Cost {
	region := ""
	if w != nil {
		region = w.Region
	}
	r, ok := v.Environment()
	if !ok {
		return &Cost{Unknown: "no known compute environment fits the job"}
	}
	c := CostIn(r, v.Need, prices, region)
	steps := v.Steps(prices, region)
	for _, fit := range v.Environments { // one without a price leaves the others' known
		if c.Unknown != "" && fit.Usable() && fit.Fits {
			if other := CostIn(fit, v.Need, prices, region); other.Unknown == "" {
				c = other
			}
		}
	}
	if (len(steps) > 1 || c.Spot) && c.Unknown == "" {
		c.Order = steps
	}
	return &c
}

// Environment returns the first environment that is usable and holds the job: a proven
// one, if there is one.
func (v JobReview) Environment() (EnvironmentFit, bool) {
	for _, proven := range []bool{true, false} {
		for _, r := range v.Environments {
			if r.Usable() && r.Fits && (r.Proven() || !proven) {
				return r, true
			}
		}
	}
	return EnvironmentFit{}, false
}

// refusals says for each environment why it does not take the job.
func (v JobReview) refusals() string {
	if r := v.Environments[0]; len(v.Environments) == 1 && r.IsLocal && r.Name == batch.LocalEnvironment {
		return cmp.Or(r.Why(), r.Reason)
	}
	var parts []string
	for _, r := range v.Environments {
		parts = append(parts, fmt.Sprintf("%s (%s)", cmp.Or(r.Name, r.Type), cmp.Or(r.Why(), r.Reason)))
	}
	return strings.Join(parts, ", ")
}

// Steps returns what the job costs in each environment of its queue that takes it, in the order in
// which AWS Batch tries them. An environment takes the job if those before it cannot: they are at
// their maxvCpus, or EC2 has no capacity for them.
func (v JobReview) Steps(prices *catalog.Prices, region string) (steps []Step) {
	for _, fit := range v.Environments {
		if fit.Usable() && fit.Fits {
			steps = append(steps, stepOf(fit, v.Need, prices, region))
		}
	}
	return steps
}

// Changes reports whether submitting would register a job definition; known is
// false while that has not been checked of some definition, and nothing else would.
func (v *Review) Changes() (changes, known bool) {
	known = true
	for _, j := range v.Jobs {
		switch j.Definition.Verdict {
		case DefinitionNew, DefinitionChanged:
			return true, true
		case DefinitionNotChecked:
			known = known && j.Register == nil
		}
	}
	return false, known
}
