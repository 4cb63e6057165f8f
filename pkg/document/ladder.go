package document

import (
	"fmt"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/ladder"
)

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

// climb reads the rungs of a job and checks each of them.
func (l *lowering) climb(job *Job) {
	list := l.job.Get("onFailure")
	if list.Len() == 0 || l.means == byFragment {
		return // reported with the conflicts
	}
	if m := l.severalContainers(job); m != nil {
		l.report(RuleMemberConflict, list, list.Key, `write the job with "image", or with "definition" and "command"`,
			"onFailure works only in a job with one container, and this job has %s", m.Name)
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
			l.report(RuleBadValue, entry, entry.Span, `write one cause, such as { "hostError": { "attempts": 2 } }`, "a rung has exactly one cause")
			continue
		case seen[cause.Name]:
			l.report(RuleBadValue, cause, cause.Key, "write one rung for each cause", "%s has two rungs", cause.Name)
			continue
		}
		seen[cause.Name] = true
		if rung, ok := l.rung(cause); ok {
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

// rung reads the settings of one rung.
func (l *lowering) rung(n *jsontree.Node) (r ladder.Rung, ok bool) {
	before := len(l.diags)
	r = ladder.Rung{Cause: ladder.Cause(n.Name), Attempts: whole(n.Get("attempts")), Queue: n.Get("queue").Str(), Target: n.Get("target").Str()}
	if r.Cause == ladder.OutOfMemory {
		r.Factor = l.factor(n.Get("memory"))
		if most := n.Get("upTo"); most != nil {
			r.UpToMiB = int(max(0, l.size(most)))
		}
	}
	if after := n.Get("after"); after != nil {
		r.After = time.Duration(max(0, l.duration(after))) * time.Second
	}
	for code := range n.Get("codes").Children() {
		if c, ok := code.Int(); ok {
			r.Codes = append(r.Codes, int32(max(math.MinInt32, min(c, math.MaxInt32))))
		}
	}
	if len(l.diags) > before {
		return r, false
	}
	if err := (ladder.Ladder{r}).Check(); err != nil {
		if l.readable("attempts", "queue", "target", "codes", "after", "memory", "upTo") {
			l.report(RuleBadValue, n, n.Key, "see docs/retries.md for what each rung has", "%v", err)
		}
		return r, false
	}
	return r, true
}

// factor reads how memory grows: "x1.5", or a number.
func (l *lowering) factor(n *jsontree.Node) float64 {
	if n == nil {
		return ladder.DefaultFactor
	}
	f, err := strconv.ParseFloat(strings.TrimPrefix(strings.TrimSpace(n.Text), "x"), 64)
	if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
		l.report(RuleBadValue, n, n.Span, `write a factor such as "x1.5"`, "%q is not a factor", clip(n.Text))
	}
	return f
}

// notify reads the receivers of notifications.
func (l *lowering) notify(job *Job) {
	n := l.job.Get("notify")
	receivers := []*jsontree.Node{n}
	if n.Is(jsontree.Array) {
		receivers = slices.Collect(n.Children())
	}
	for _, r := range receivers {
		if !r.Is(jsontree.String) || isPlaceholder(r) {
			continue
		}
		if why, hint := CheckReceiver(r.Text); why != "" {
			l.report(RuleBadValue, r, r.Span, hint, "%s", why)
			continue
		}
		if !slices.Contains(job.Notify, r.Text) {
			job.Notify, job.NotifyNodes = append(job.Notify, r.Text), append(job.NotifyNodes, r)
		}
	}
}

// CheckReceiver returns why a text is not a receiver of notifications, and a hint; "" for a URL or
// the ARN of a topic. It does not show the text, since a URL can contain a secret.
func CheckReceiver(text string) (why, hint string) {
	const form = `write an https:// URL, or the ARN of an SNS topic`
	if strings.HasPrefix(text, "arn:") {
		parts := strings.Split(text, ":")
		if len(parts) != 6 || parts[2] != "sns" || parts[3] == "" || parts[4] == "" || parts[5] == "" {
			return "this is not the ARN of an SNS topic", `write arn:aws:sns:REGION:ACCOUNT:NAME`
		}
		if !isTopicName(parts[5]) {
			return "the ARN has no name of an SNS topic", "a name has 1 to 256 letters, digits, hyphens and underscores; that of a FIFO topic ends in .fifo"
		}
		return "", ""
	}
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http":
		return "this is neither an https:// URL nor the ARN of an SNS topic", form
	case u.User != nil:
		return "the URL contains a user or a password, which every reader of this file sees", "put a token of the receiver into the path, or use an SNS topic"
	case u.Scheme == "http" && !isLoopback(u.Hostname()):
		return "the URL is not encrypted", "write https://; http:// works only for this machine"
	}
	return "", ""
}

// isTopicName reports whether SNS accepts a name (API reference, CreateTopic).
func isTopicName(name string) bool {
	return len(name) <= 256 && strings.Trim(strings.TrimSuffix(name, ".fifo"), "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_") == "" && name != ".fifo"
}

// isLoopback reports whether a host is this machine.
func isLoopback(host string) bool {
	return host == "localhost" || host == "::1" || strings.HasPrefix(host, "127.") && !strings.ContainsFunc(host, func(r rune) bool { return (r < '0' || r > '9') && r != '.' })
}

// climbNative adds the rungs of a job to a copy of its submission, as pkg/plan does for requests that are sent.
func climbNative(job *Job, submit *jsontree.Node) {
	if len(job.Rungs) == 0 {
		return
	}
	text := job.Ladder(func(queue string) string { return queue }).Format()
	environmentOf(submit).Append(newVariable(ladder.Variable, text, submit))
}

// environmentOf returns the list of variables in a submission's overrides. It creates a missing one.
func environmentOf(submit *jsontree.Node) *jsontree.Node {
	overrides := submit.Get("containerOverrides")
	if overrides == nil {
		overrides = jsontree.NewObject(submit)
		submit.Set("containerOverrides", overrides)
	}
	environment := overrides.Get("environment")
	if environment == nil {
		environment = jsontree.NewArray(overrides)
		overrides.Set("environment", environment)
	}
	return environment
}

// newVariable returns an entry of an environment.
func newVariable(name, value string, from *jsontree.Node) *jsontree.Node {
	v := jsontree.NewObject(from)
	v.Set("name", jsontree.NewString(name, from))
	v.Set("value", jsontree.NewString(value, from))
	return v
}

// withoutRungs finds the rungs in a submission. It returns a copy of the submission without them, and the member of a
// job from which lowering adds them again; nil if it would not add the same.
func withoutRungs(submit *jsontree.Node) (rest, rungs *jsontree.Node) {
	v, rest := cutLast(submit, ladder.Variable)
	if v == nil {
		return submit, nil
	}
	l, err := ladder.Parse(v.Get("value").Str())
	if err != nil || len(l) == 0 || l.Format() != v.Get("value").Str() || strings.Contains(v.Get("value").Str(), referenceMark) {
		return submit, nil
	}
	rungs = jsontree.NewArray(v)
	for _, r := range l {
		entry := jsontree.NewObject(v)
		entry.Set(string(r.Cause), rungNode(r, v))
		rungs.Append(entry)
	}
	return rest, rungs
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

// cutLast returns the last variable of a submission's environment if it has this name, and a copy of the submission
// without it; nil if another variable is last, or the submission has several containers.
func cutLast(submit *jsontree.Node, name string) (variable, rest *jsontree.Node) {
	environment := submit.Get("containerOverrides").Get("environment")
	last := environment.Len() - 1
	at := slices.IndexFunc(slices.Collect(environment.Children()), func(v *jsontree.Node) bool { return v.Get("name").Str() == name })
	v := environment.Index(last)
	if at < 0 || at != last || v.Len() != 2 || submit.Get("ecsPropertiesOverride") != nil || submit.Get("eksPropertiesOverride") != nil || submit.Get("nodeOverrides") != nil {
		return nil, nil
	}
	others := jsontree.NewArray(environment)
	for o := range environment.Children() {
		if others.Len() < last {
			others.Append(o.Clone())
		}
	}
	rest = without(submit, []string{"containerOverrides"})
	overrides := without(submit.Get("containerOverrides"), []string{"environment"})
	if others.Len() > 0 {
		overrides.Set("environment", others)
	}
	if overrides.Len() > 0 {
		rest.Set("containerOverrides", overrides)
	}
	return v, rest
}
