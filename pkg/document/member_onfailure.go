package document

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/ladder"
)

// onFailureMember is how to resubmit a job after a failure.
var onFailureMember = member{name: "onFailure", oneContainer: true, subject: "onFailure", ofPlatform: true,
	read: readRungs, references: rungsReferences, native: rungsNative, find: findRungs}

// Rung is an entry of a job's onFailure.
type Rung struct {
	ladder.Rung
	// Node is the entry, and Queue the name of a queue in it; nil for none.
	Node, Queue *jsontree.Node
}

// Ladder returns the rungs with the queues that name returns for those of the file.
func (j *Job) Ladder(name func(queue string) string) (l ladder.Ladder) {
	for _, r := range j.Rungs {
		rung := r.Rung
		if rung.Queue != "" {
			rung.Queue = name(rung.Queue)
		}
		l = append(l, rung)
	}
	return l
}

// readRungs reads the rungs of a job and checks each of them.
func readRungs(l *lowering, list *jsontree.Node, job *Job) {
	if list.Len() == 0 {
		return
	}
	job.RungsNode = list
	seen := map[string]bool{}
	for entry := range list.Children() {
		cause := causeIn(entry)
		switch {
		case cause == nil && !l.readable(causeNames()...):
			continue
		case cause == nil:
			l.report(RuleBadValue, entry, entry.Span, `write one cause, such as { "hostError": { "attempts": 2 } }`,
				"a rung has exactly one cause")
			continue
		case seen[cause.Name]:
			l.report(RuleBadValue, cause, cause.Key, "write one rung for each cause", "%s has two rungs", cause.Name)
			continue
		}
		seen[cause.Name] = true
		if rung, ok := readRung(&l.problems, cause, l.readable(rungMembers[:]...)); ok {
			job.Rungs = append(job.Rungs, Rung{rung, cause, cause.Get("queue")})
		}
	}
}

// causeNames returns the names of all causes, which are members of a rung.
func causeNames() (names []string) {
	for _, c := range ladder.Causes() {
		names = append(names, string(c))
	}
	return names
}

// causeIn returns the only cause of an entry; nil if it has none or several.
func causeIn(entry *jsontree.Node) (cause *jsontree.Node) {
	for m := range entry.Children() {
		if !slices.Contains(ladder.Causes(), ladder.Cause(m.Name)) {
			continue
		}
		if cause != nil {
			return nil
		}
		cause = m
	}
	return cause
}

// rungMembers are the settings of a rung.
var rungMembers = [...]string{"attempts", "queue", "target", "codes", "after", "memory", "upTo"}

// readRung reads the settings of one rung. complete is false if the value of a setting is left out.
func readRung(p *problems, n *jsontree.Node, complete bool) (r ladder.Rung, ok bool) {
	before := len(p.diags)
	r = ladder.Rung{Cause: ladder.Cause(n.Name), Attempts: whole(n.Get("attempts")), Queue: n.Get("queue").
		Str(), Target: n.Get("target").Str()}
	if r.Cause == ladder.OutOfMemory {
		r.Factor = readFactor(p, n.Get("memory"))
		if most := n.Get("upTo"); most != nil {
			r.UpToMiB = int(max(0, readSize(p, most)))
		}
	}
	if after := n.Get("after"); after != nil {
		r.After = time.Duration(max(0, readDuration(p, after))) * time.Second
	}
	for code := range n.Get("codes").Children() {
		if c, ok := code.Int(); ok {
			r.Codes = append(r.Codes, int32(max(math.MinInt32, min(c, math.MaxInt32))))
		}
	}
	if len(p.diags) > before {
		return r, false
	}
	if err := (ladder.Ladder{r}).Check(); err != nil {
		if complete {
			p.report(RuleBadValue, n, n.Key, "see docs/retries.md for what each rung has", "%v", err)
		}
		return r, false
	}
	return r, true
}

// readFactor reads how memory grows: "x1.5", or a number.
func readFactor(p *problems, n *jsontree.Node) float64 {
	if n == nil {
		return ladder.DefaultFactor
	}
	f, err := strconv.ParseFloat(strings.TrimPrefix(strings.TrimSpace(n.Text), "x"), 64)
	if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
		p.report(RuleBadValue, n, n.Span, `write a factor such as "x1.5"`, "%q is not a factor", clip(n.Text))
	}
	return f
}

// findRungs finds the rungs in a submission, unless lowering would not add the same.
func findRungs(c *compaction) {
	v, rest := c.cutVariable(ladder.Variable)
	text := v.Get("value").Str()
	l, err := ladder.Parse(text)
	if err != nil || len(l) == 0 || l.Format() != text || strings.Contains(text, referenceMark) {
		return
	}
	rungs := jsontree.NewArray(v)
	for _, r := range l {
		entry := jsontree.NewObject(v)
		entry.Set(string(r.Cause), rungNode(r, v))
		rungs.Append(entry)
	}
	c.submit, c.found["onFailure"] = rest, rungs
}

// rungNode returns the settings of a rung as a job file has them.
func rungNode(r ladder.Rung, from *jsontree.Node) *jsontree.Node {
	n := jsontree.NewObject(from)
	if r.Cause == ladder.OutOfMemory {
		n.Set("memory", jsontree.NewString(fmt.Sprintf("x%g", r.Factor), from))
		n.Set("upTo", sizeNode(int64(r.UpToMiB), from))
	}
	if len(r.Codes) > 0 {
		codes := jsontree.NewArray(from)
		for _, c := range r.Codes {
			codes.Append(jsontree.NewInt(int64(c), from))
		}
		n.Set("codes", codes)
	}
	if r.Attempts > 0 {
		n.Set("attempts", jsontree.NewInt(int64(r.Attempts), from))
	}
	if r.After > 0 {
		n.Set("after", durationNode(int64(r.After/time.Second), from))
	}
	if r.Queue != "" {
		n.Set("queue", jsontree.NewString(r.Queue, from))
	}
	if r.Target != "" {
		n.Set("target", jsontree.NewString(r.Target, from))
	}
	return n
}

func rungsReferences(r *referring, job *Job) {
	r.misplaced(job.RungsNode, "the children of an array have the same rungs")
}

// rungsNative adds the rungs of a job to a copy of its submission, as pkg/plan does for requests that are sent.
func rungsNative(job *Job, _, submit *jsontree.Node) {
	if len(job.Rungs) > 0 {
		text := job.Ladder(func(queue string) string { return queue }).Format()
		addVariable(ownOverrides(submit), ladder.Variable, text)
	}
}
