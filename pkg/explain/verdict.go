package explain

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/batchctl/batchctl/pkg/batch"
)

// Confidence says how sure a verdict is.
type Confidence string

// The confidences of verdicts.
const (
	// High: the service's message has only one meaning, or the cause is proved.
	High Confidence = "high"
	// Medium: it is by far the likeliest of few causes.
	Medium Confidence = "medium"
	// Low: it fits, as others might.
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
	Waits    bool       `json:"waits,omitempty"`
	Evidence []Evidence `json:"evidence"`
	Fix      Fix        `json:"fix"`

	// passes is set for what also appears while all is well, during scale-up: no
	// verdict until it has stood. It stands since then and was seen so often.
	passes bool
	// general is that of the rule.
	general bool
	since   int64
	seen    int
}

// Evidence is a fact, where it comes from, and when it was so.
type Evidence struct {
	From string `json:"from"`
	// At is RFC 3339; "" where the source has no time.
	At   string `json:"at,omitempty"`
	Text string `json:"text"`
}

// Fix is what to do: by the author of the job, or by the platform team.
type Fix struct {
	// Job is an edit of the job file; Member is what to edit, and Place where that
	// is: file:line:column.
	Job      string `json:"job,omitempty"`
	Member   string `json:"member,omitempty"`
	Location string `json:"place,omitempty"`
	// Platform is something for the platform team.
	Platform string `json:"platform,omitempty"`
}

// Rule is one cause.
type Rule struct {
	// Name is stable: it is Verdict.Cause.
	Name string
	// Doc says what the cause is.
	Doc string
	// Needs are the kinds of evidence without which the rule cannot speak.
	Needs []string
	// general says that the rule counts only where no other speaks.
	general bool
	// Run is nil unless the bundle shows the cause. It changes nothing.
	Run func(*Bundle) *Verdict
}

// Open is a cause that missing evidence leaves open.
type Open struct {
	Cause    string `json:"cause"`
	Evidence string `json:"evidence"`
	Why      string `json:"why"`
	Denied   bool   `json:"denied,omitempty"`
}

// Answer is what can be said about a job.
type Answer struct {
	Job    string `json:"job"`
	ID     string `json:"id"`
	Status string `json:"status"`
	Target string `json:"target,omitempty"`
	// Verdict is nil without a verdict.
	Verdict *Verdict `json:"verdict,omitempty"`
	// Standing describes the job without a verdict: "still normal: ..." or an unknown cause.
	Standing string `json:"standing,omitempty"`
	// AskAgain is when there will be more to say, RFC 3339; "" if that is now.
	AskAgain string `json:"askAgain,omitempty"`
	// Open are the causes that could not be looked at.
	Open []Open `json:"open,omitempty"`
}

// Firm reports whether asking again will not change the answer soon.
func (a Answer) Firm() bool { return a.AskAgain == "" }

const (
	// dwell is how long a reason must have stood that also appears during normal
	// scale-up. Batch was seen to set and drop such reasons within the 3 to 5
	// minutes in which an instance boots; twice that is taken.
	dwell = 10 * time.Minute
	// again is how far apart two looks are that count as two.
	again = 30 * time.Second
	// patience is how long a job may wait before the user gets an explanation: within a minute,
	// including the pause until the next query and the query itself.
	patience = 40 * time.Second
)

// unknown is the status of an unfinished job whose local engine is not running. Nothing explains it.
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
		if v.passes && b.restsUntil(v) > 0 {
			held = cmp.Or(held, v)
		} else if best == nil || rank(v) > rank(best) {
			best = v
		}
	}
	if len(b.ends()) > 0 || batch.HasEnded(job.Status) && best != nil {
		a.Open = nil // the rules for jobs that wait have nothing to add
	}
	switch {
	case best != nil && !(best.Waits && held != nil):
		best.Fix.Location = b.locationOf(best.Fix.Member)
		a.Verdict = best
	case held != nil:
		until := b.restsUntil(held)
		a.Standing = fmt.Sprintf("still normal: scaling up since %s; AWS Batch reports %q, which also appears while a queue scales up", clock(b.waitsSince()), held.firstEvidence())
		if b.At-b.waitsSince() >= dwell.Milliseconds() {
			a.Standing = fmt.Sprintf("not sure yet: %s since %s; AWS Batch has reported %q since %s, which also appears for some minutes while a queue scales up", job.Status, clock(b.waitsSince()), held.firstEvidence(), clock(held.since))
		}
		a.AskAgain = clock(until)
	default:
		a.Standing, a.AskAgain = withoutVerdict(b)
	}
	return a
}

// firstEvidence is the first evidence of a verdict.
func (v *Verdict) firstEvidence() string {
	if len(v.Evidence) == 0 {
		return v.Summary
	}
	return v.Evidence[0].Text
}

// rank orders verdicts: faults before waits, what is special before what is
// general, then by confidence.
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

// restsUntil is until when a passing reason is held back; 0 if it is firm. It is held back
// while a recently launched instance may still take the job, but not indefinitely.
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

// service is who runs the job.
func (b *Bundle) service() string {
	if b.Local {
		return "the local engine"
	}
	return "AWS Batch"
}

// reason is what the service says of the job, or of the child of an array that waits.
func (b *Bundle) reason() string {
	if w := b.waiting(); w != nil {
		return str(w.StatusReason)
	}
	return str(b.Subject.Job.StatusReason)
}

// withoutVerdict is the answer when no rule has spoken.
func withoutVerdict(b *Bundle) (text, askAgain string) {
	job := b.Subject.Job
	waited := b.At - b.waitsSince()
	switch {
	case job.Status == "SUCCEEDED":
		return "the job SUCCEEDED: there is nothing to explain", ""
	case job.Status == "RUNNING":
		return fmt.Sprintf("the job has been running since %s: nothing is wrong", clock(num(job.StartedAt))), ""
	case job.Status == "FAILED" && str(job.StatusReason) == "":
		return "unknown cause: " + b.service() + " gave no reason, and batchctl found no evidence why it FAILED", ""
	case job.Status == "FAILED":
		return fmt.Sprintf("unknown cause of %q", str(job.StatusReason)), ""
	case b.At-b.launchedAt() < dwell.Milliseconds():
		return fmt.Sprintf("still normal: %s since %s, and an instance was launched at %s", job.Status, clock(b.waitsSince()), clock(b.launchedAt())), clock(b.launchedAt() + dwell.Milliseconds())
	case b.Local || waited >= dwell.Milliseconds():
		where := ""
		if at, _ := b.position(); at == 1 {
			where = ", the first of its queue"
		}
		if reason := b.reason(); reason != "" {
			return fmt.Sprintf("%s for %s%s; %s reports %q, and batchctl found no other evidence", job.Status, duration(waited), where, b.service(), reason), ""
		}
		return fmt.Sprintf("%s for %s%s, and batchctl found no evidence why", job.Status, duration(waited), where), ""
	case job.Status == "RUNNABLE":
		return fmt.Sprintf("still normal: RUNNABLE since %s; an instance takes some minutes to start", clock(b.waitsSince())), clock(b.waitsSince() + dwell.Milliseconds())
	case job.Status == "STARTING":
		return fmt.Sprintf("still normal: STARTING since %s, while the image is pulled and the container created", clock(b.waitsSince())), clock(b.waitsSince() + dwell.Milliseconds())
	}
	return fmt.Sprintf("still normal: %s since %s", job.Status, clock(b.waitsSince())), clock(b.At + patience.Milliseconds())
}
