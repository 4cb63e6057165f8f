package plan

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/batch"
)

// Problem is why a job would be rejected, or would wait indefinitely, in the target's current state.
type Problem struct {
	// Job is the name of the job.
	Job string
	// Text says what is wrong.
	Text string
	// Remedy says what to do; "" for the usual: fix it, or request less.
	Remedy string
}

// String names the job and says what is wrong.
func (p Problem) String() string { return "job " + p.Job + ": " + p.Text }

// Problems returns what would make AWS Batch reject the plan, or leave a job waiting indefinitely, in the target's
// current state. plan reports it, and submit and run send nothing to the local engine if there is any.
func (v *Review) Problems() (list []Problem) {
	for _, j := range v.Jobs {
		list = append(list, j.problems(v.Target)...)
	}
	return list
}

// Blocked counts the jobs that have problems.
func (v *Review) Blocked() (n int) {
	for _, j := range v.Jobs {
		if len(j.problems(v.Target)) > 0 {
			n++
		}
	}
	return n
}

func (v JobReview) problems(w *TargetState) (list []Problem) {
	say := func(remedy, format string, args ...any) {
		list = append(list, Problem{v.Name, fmt.Sprintf(format, args...), remedy})
	}
	if v.Definition.Verdict == DefinitionMissing {
		say("register it, or correct its name", "no ACTIVE job definition %s at %s", v.definitionWord(), w.Target)
	}
	if v.Submit == nil {
		return list
	}
	queue := aws.ToString(v.Submit.JobQueue)
	switch q := v.QueueReview; {
	case q.Asked && !q.Found && !w.Local:
		say("", "no job queue %s at %s", queue, w.Target)
	case q.Found && q.State == types.JQStateDisabled:
		say("enable it: aws batch update-job-queue --job-queue "+batch.Name(queue)+" --state ENABLED",
			"job queue %s is DISABLED and rejects jobs", queue)
	case q.Found && (q.Status == types.JQStatusInvalid || q.Status == types.JQStatusDeleting ||
		q.Status == types.JQStatusDeleted):
		say("", "job queue %s is %s: %s", queue, q.Status, cmp.Or(q.StatusReason, "AWS Batch gives no reason"))
	}
	if _, ok := v.Environment(); !ok && len(v.Environments) > 0 && v.Environments[0].IsLocal {
		say(v.remedy(w), "%s", v.refusal(w))
	} else if !ok && len(v.Environments) > 0 {
		say(v.remedy(w), "no compute environment of %s accepts it: %s", queue, v.refusals())
	}
	if w == nil || w.Consumables == nil {
		return list
	}
	for _, name := range slices.Sorted(maps.Keys(v.Need.Consumes)) {
		asked := v.Need.Consumes[name]
		switch total, exists := w.Consumables[name]; {
		case !exists:
			say("create it: batchctl apply FILE", "the consumable resource %s does not exist", name)
		case total < asked:
			say(fmt.Sprintf("ask for less of it, or raise its total: aws batch update-consumable-resource --consumable-resource %s --operation SET --quantity %d", name, asked),
				"it asks for %d of the consumable resource %s, more than its total of %d", asked, name, total)
		}
	}
	return list
}

// refusal says why the local engine never starts the job.
func (v JobReview) refusal(w *TargetState) string {
	if v.fitsMachine(w) {
		return fmt.Sprintf("no compute environment of %s accepts it: %s", aws.ToString(v.Submit.JobQueue), v.refusals())
	}
	return "does not fit this machine: " + v.refusals()
}

// fitsMachine reports whether the job is small enough for the machine of the local engine, whatever its queue allows.
func (v JobReview) fitsMachine(w *TargetState) bool {
	all := w.Machines[batch.LocalEnvironment]
	return len(all) > 0 && all[0].Total.Excess(v.Need.Total()) == ""
}

// remedy says what to do if no environment of the queue takes the job. Otherwise the usual applies: request less.
func (v JobReview) remedy(w *TargetState) string {
	for _, r := range v.Environments {
		if r.State == types.CEStateDisabled && r.Fits {
			return "enable it: aws batch update-compute-environment --compute-environment " + r.Name +
				" --state ENABLED"
		}
	}
	if w != nil && w.Local && v.fitsMachine(w) {
		return "submit to another queue, or change the compute environments of " + aws.ToString(v.Submit.JobQueue)
	}
	return ""
}

// ProblemTexts returns the problems as texts; nil if there are none.
func (v *Review) ProblemTexts() (texts []string) {
	for _, p := range v.Problems() {
		texts = append(texts, p.String())
	}
	return texts
}
