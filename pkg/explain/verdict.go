package explain

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/batchctl/batchctl/pkg/batch"
)

// Confidence is how certain a verdict is.
type Confidence string

// The confidences of verdicts.
const (
	// High means that the cause is proved, or that the service's message has only one meaning and is known as a whole.
	High Confidence = "high"
	// Medium means that it is by far the most likely of few causes.
	Medium Confidence = "medium"
	// Low means that it fits, as other causes may.
	Low Confidence = "low"
)

// Verdict is the cause of a job's state.
type Verdict struct {
	// Cause is the rule's name.
	Cause string `json:"cause"`
	// Summary is the cause in one sentence.
	Summary    string     `json:"summary"`
	Confidence Confidence `json:"confidence"`
	// Waits reports that nothing is wrong: the job will start on its own.
	Waits bool `json:"waits,omitempty"`
	// Evidence are the facts that prove the cause, the most important one first.
	Evidence []Evidence `json:"evidence"`
	Fix      Fix        `json:"fix"`

	// told are the reasons on which the verdict rests. It is nil for a verdict with another proof.
	told []string
	// passes is set for a reason that also appears during normal scale-up: it becomes a verdict
	// only after some time. since is when it first appeared, seen how often it was observed.
	passes bool
	// quotes means that Summary is the program's own message, so that Text leaves out the evidence. exit is the exit code.
	quotes bool
	exit   string
	// general is copied from the rule.
	general bool
	since   int64
	seen    int
}

// Evidence is a fact with its source and its time.
type Evidence struct {
	From string `json:"from"`
	// At is RFC 3339; "" if the source has no time.
	At   string `json:"at,omitempty"`
	Text string `json:"text"`
}

// Fix is the advice for the author of the job and for the platform team.
type Fix struct {
	// Job is an edit of the job file. Member is the member to edit, and Location its position:
	// file:line:column.
	Job      string `json:"job,omitempty"`
	Member   string `json:"member,omitempty"`
	Location string `json:"place,omitempty"`
	// Platform is advice for the platform team.
	Platform string `json:"platform,omitempty"`
}

// Rule finds one cause.
type Rule struct {
	// Name is stable: it is Verdict.Cause.
	Name string
	// Doc describes the cause.
	Doc string
	// Needs are the kinds of evidence without which the rule finds nothing.
	Needs []string
	// general means that the rule counts only if no special one finds a cause.
	general bool
	// Run is nil unless the bundle shows the cause. It changes nothing.
	Run func(*Bundle) *Verdict
}

// Open is a possible cause for which evidence is missing.
type Open struct {
	// Cause is the name of the rule.
	Cause string `json:"cause"`
	// Evidence is the missing kind, and Why the reason why it is missing.
	Evidence string `json:"evidence"`
	Why      string `json:"why"`
	Denied   bool   `json:"denied,omitempty"`
}

// Answer is the explanation of a job.
type Answer struct {
	// Job is the name of the job, ID its id and Status its status in the bundle.
	Job    string `json:"job"`
	ID     string `json:"id"`
	Status string `json:"status"`
	Target string `json:"target,omitempty"`
	// Verdict is nil if no rule found a cause.
	Verdict *Verdict `json:"verdict,omitempty"`
	// Standing describes the job without a verdict: "normal so far: ..." or an unknown cause.
	Standing string `json:"standing,omitempty"`
	// AskAgain is when a new query can give a better answer, RFC 3339; "" if the answer is final.
	AskAgain string `json:"askAgain,omitempty"`
	// Open are the causes that could not be checked.
	Open []Open `json:"open,omitempty"`
}

// Firm reports whether a later query will soon give the same answer.
func (a Answer) Firm() bool { return a.AskAgain == "" }

const (
	// dwell is how long a reason must be reported that also appears during normal scale-up. Batch
	// sets and drops such reasons within the 3 to 5 minutes in which an instance boots; dwell is
	// twice that.
	dwell = 10 * time.Minute
	// again is the distance between two queries that count as two observations.
	again = 30 * time.Second
	// patience is how long a job may wait before the user gets an explanation: within a minute,
	// including the pause until the next query and the query itself.
	patience = 40 * time.Second
)

// unknown is the status of an unfinished job whose local engine is not running. It needs no
// explanation.
const unknown = "UNKNOWN"

// Explain runs the rules. Of several verdicts, the one with the highest confidence counts, the
// first of equals. A verdict that may pass on its own counts only after some time.
func Explain(b *Bundle) Answer {
	job := b.Subject.Job
	a := Answer{Job: str(job.JobName), ID: str(job.JobId), Status: string(job.Status), Target: b.Target}
	if job.Status == unknown {
		a.Standing = str(job.StatusReason)
		return a
	}
	var best, held *Verdict
	for _, r := range Rules() {
		v := r.Run(b)
		if v == nil {
			if g, missing := b.gap(r.Needs); missing {
				a.Open = append(a.Open, Open{r.Name, g.What, g.Why, g.Denied})
			}
			continue
		}
		v.Cause, v.general = r.Name, r.general
		if v.told != nil && v.Confidence == High && !slices.ContainsFunc(v.told, isKnown) {
			v.Confidence = Medium
		}
		if v.passes && b.restsUntil(v) > 0 {
			held = cmp.Or(held, v)
		} else if best == nil || rank(v) > rank(best) {
			best = v
		}
	}
	if len(b.Subject.ends()) > 0 || batch.HasEnded(job.Status) && best != nil {
		a.Open = nil // rules for waiting jobs find nothing in a job that has ended
	}
	switch {
	case best != nil && !(best.Waits && held != nil):
		best.Fix.Location = b.locationOf(best.Fix.Member)
		a.Verdict = best
	case held != nil:
		until := b.restsUntil(held)
		a.Standing = fmt.Sprintf("normal so far: scaling up since %s; AWS Batch reports %q, which also appears during scaling", clock(b.waitsSince()), held.firstEvidence())
		if b.At-b.waitsSince() >= dwell.Milliseconds() {
			a.Standing = fmt.Sprintf("not sure yet: %s since %s; AWS Batch has reported %q since %s, which also appears for some minutes while a queue scales up", job.Status, clock(b.waitsSince()), held.firstEvidence(), clock(held.since))
		}
		a.AskAgain = clock(until)
	default:
		a.Standing, a.AskAgain = withoutVerdict(b)
	}
	return a
}

// firstEvidence returns the text of the first evidence of a verdict.
func (v *Verdict) firstEvidence() string {
	if len(v.Evidence) == 0 {
		return v.Summary
	}
	return v.Evidence[0].Text
}

// rank orders verdicts: faults before waits, special causes before general ones, then by
// confidence.
func rank(v *Verdict) int {
	n := slices.Index([]Confidence{Low, Medium, High}, v.Confidence)
	if !v.Waits {
		n += 6
	}
	if !v.general {
		n += 3
	}
	return n
}

// restsUntil returns until when a passing reason is held back; 0 if it counts now. It is held
// back while a recently launched instance may still run the job, but not indefinitely.
func (b *Bundle) restsUntil(v *Verdict) int64 {
	if b.Local {
		return 0 // the machine does not grow, and the reason does not pass
	}
	until := v.since + dwell.Milliseconds()
	if launched := b.launchedAt(); launched > 0 {
		until = max(until, min(launched, v.since+2*dwell.Milliseconds())+dwell.Milliseconds())
	}
	switch {
	case b.At < until:
		return until
	case v.seen < 2:
		return b.At + again.Milliseconds()
	}
	return 0
}

// service names the service that runs the job.
func (b *Bundle) service() string {
	if b.Local {
		return "the local engine"
	}
	return "AWS Batch"
}

// reason returns the status reason of the job, or of the waiting child of an array.
func (s *Subject) reason() string {
	if w := s.waiting(); w != nil {
		return str(w.StatusReason)
	}
	return str(s.Job.StatusReason)
}

// withoutVerdict describes a job for which no rule found a cause. askAgain is when a new query is
// useful.
func withoutVerdict(b *Bundle) (text, askAgain string) {
	job := b.Subject.Job
	waited := b.At - b.waitsSince()
	switch {
	case job.Status == "SUCCEEDED":
		return "the job SUCCEEDED: there is nothing to explain", ""
	case job.Status == "RUNNING":
		return fmt.Sprintf("the job has been running since %s: nothing is wrong", clock(num(job.StartedAt))), ""
	case job.Status == "FAILED":
		if reason := cmp.Or(b.Subject.end().specificReason(), str(job.StatusReason)); reason != "" {
			return fmt.Sprintf("unknown cause: %q", reason), ""
		}
		return "unknown cause: " + b.service() + " gave no reason, and batchctl found no evidence why it FAILED", ""
	case b.At-b.launchedAt() < dwell.Milliseconds():
		return fmt.Sprintf("normal so far: %s since %s, and an instance was launched at %s", job.Status,
			clock(b.waitsSince()), clock(b.launchedAt())), clock(b.launchedAt() + dwell.Milliseconds())
	case b.Local || waited >= dwell.Milliseconds():
		where := ""
		if at, _ := b.position(); at == 1 {
			where = ", the first of its queue"
		}
		if reason := b.Subject.reason(); reason != "" {
			return fmt.Sprintf("%s for %s%s; %s reports %q, and batchctl found no other evidence", job.Status,
				duration(waited), where, b.service(), reason), ""
		}
		return fmt.Sprintf("%s for %s%s, and batchctl found no evidence why", job.Status, duration(waited), where), ""
	case job.Status == "RUNNABLE":
		return fmt.Sprintf("normal so far: RUNNABLE since %s; an instance takes some minutes to start",
			clock(b.waitsSince())), clock(b.waitsSince() + dwell.Milliseconds())
	case job.Status == "STARTING":
		return fmt.Sprintf("normal so far: STARTING since %s, while the image is pulled and the container created",
			clock(b.waitsSince())), clock(b.waitsSince() + dwell.Milliseconds())
	}
	return fmt.Sprintf("normal so far: %s since %s", job.Status, clock(b.waitsSince())),
		clock(b.At + patience.Milliseconds())
}
