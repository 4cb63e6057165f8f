package lint

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/batchctl/batchctl/pkg/catalog"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/text"
)

// policyRules returns the rules about the policy of the platform file: limits that the
// organisation sets, below those of AWS Batch. A limit that is absent is not checked.
func policyRules() []*Rule {
	return []*Rule{
		over("policy-required-tags", High, (*Pass).Jobs, checkRequiredTags,
			"The platform file requires a tag that the job does not have, or the value of the tag is blank.",
			policySource+", requiredTags"),
		rule("policy-allowed-images", High, checkAllowedImages,
			"The image matches none of the patterns that the platform file allows.", policySource+", allowedImages"),
		rule("policy-latest-tag", High, checkDeniedLatestTag,
			"The platform file denies images without a tag or with the tag latest, because such an image can change at any time.",
			policySource+", denyLatestTag"),
		over("policy-max-attempts", High, retries, checkMaxAttempts,
			"The job requests more attempts than the platform file allows.", policySource+", maxAttempts"),
		rule("policy-max-timeout", High, checkMaxTimeout,
			"The job's timeout is longer than the platform file allows, or the job has no timeout.",
			policySource+", maxTimeout"),
		rule("policy-max-array-size", High, checkMaxArraySize,
			"The array has more children than the platform file allows. For a matrix or a table, all cells count, even if they run in several arrays.",
			policySource+", maxArraySize"),
		rule("policy-max-vcpus", High, func(p *Pass) {
			checkLimit(p, "VCPU", p.policy().MaxvCpus, p.policy().MaxvCpus > 0, catalog.VCPUs)
		}, "The job requests more vCPUs than the platform file allows. "+wholeJob, policySource+", maxvCpus"),
		rule("policy-max-memory", High, checkMaxMemory,
			"The job, or the rung outOfMemory of its onFailure, requests more memory than the platform file allows. "+
				wholeJob,
			policySource+", maxMemory"),
		rule("policy-max-gpus", High, checkMaxGPUs,
			"The job requests more GPUs than the platform file allows. "+wholeJob, policySource+", maxGpus"),
		allowedRoles("policy-allowed-job-roles", "jobRoleArn", "taskRoleArn", "allowedJobRoles",
			func(p document.Policy) []string { return p.AllowedJobRoles }),
		allowedRoles("policy-allowed-execution-roles", "executionRoleArn", "executionRoleArn", "allowedExecutionRoles",
			func(p document.Policy) []string { return p.AllowedExecutionRoles }),
		rule("policy-allowed-queues", High, checkAllowedQueues,
			"The job names a queue that the platform file does not allow.", policySource+", allowedQueues"),
	}
}

// wholeJob describes what counts for a limit.
const wholeJob = "The sum includes all containers of all nodes, with the submission's overrides. Each child of an array counts on its own."

// checkRequiredTags reports required tags that neither request of a job has.
func checkRequiredTags(j Job) {
	for _, tag := range j.pass.policy().RequiredTags {
		registered, own := j.Register.Get("tags").Get(tag), j.Submit.Get("tags").Get(tag)
		switch {
		case registered == nil && own == nil:
			checkTag(j, tag)
		case isBlank(registered) && isBlank(own):
			j.Report(fmt.Sprintf("the policy requires a value for the tag %s, but the job's value is blank",
				quote(tag)), "write the value", own, registered)
		}
	}
}

// isBlank reports whether a tag has no value, or one without any visible character. A value of another type is not
// blank; another rule reports it.
func isBlank(value *jsontree.Node) bool {
	return value == nil || value.Is(jsontree.String) && !strings.ContainsFunc(value.Text,
		func(r rune) bool { return unicode.IsGraphic(r) && !unicode.IsSpace(r) })
}

// checkAllowedImages reports images that match none of the allowed patterns, also those
// with which submissions override the definition.
func checkAllowedImages(p *Pass) {
	allowed := p.policy().AllowedImages
	for i := range p.imagesThatRun() {
		if ref := i.Image.Str(); ref != "" && !p.policy().AllowsImage(ref) {
			i.Site.Report(fmt.Sprintf("the platform file does not allow the image %s", quote(ref)),
				"allowed: "+strings.Join(allowed, ", "), i.Image)
		}
	}
}

// checkDeniedLatestTag reports the same images as image-latest, as errors.
func checkDeniedLatestTag(p *Pass) {
	if !p.policy().DenyLatestTag {
		return
	}
	for i := range p.imagesThatRun() {
		reportLatest(i)
	}
}

// checkMaxAttempts reports retry strategies with more attempts than the policy allows.
func checkMaxAttempts(s Site) {
	n, most := s.Node.Get("attempts"), s.pass.policy().MaxAttempts
	if a, ok := n.Int(); ok && most > 0 && a > int64(most) {
		s.Report(fmt.Sprintf("the policy allows %s, but the job requests %d", text.Count(most, "attempt"), a), "", n)
	}
}

// checkMaxTimeout reports timeouts above the limit, and definitions without a timeout. A
// submission alone may use the timeout of a definition that is not in the files.
func checkMaxTimeout(p *Pass) {
	most := p.policy().MaxTimeout
	for _, j := range p.Jobs() {
		if most == 0 {
			return
		}
		// A submission's timeout replaces that of the definition, so both must be below
		// the limit.
		own, registered := j.Own("timeout"), j.Register.Get("timeout")
		for _, t := range []*jsontree.Node{registered, own} {
			n := t.Get("attemptDurationSeconds")
			if s, ok := n.Int(); ok && s > int64(most) {
				allowed, asked := formatTimeouts(j, int64(most), s, n)
				j.Report(fmt.Sprintf("the policy allows a timeout of at most %s, but the job has %s", allowed, asked),
					"", n)
			}
		}
		isSet := func(t *jsontree.Node) bool {
			return t != nil && !(t.Is(jsontree.Object) && j.lacks(t, "attemptDurationSeconds"))
		}
		if j.Register != nil && !isSet(own) && !isSet(registered) {
			j.Report(fmt.Sprintf("the policy requires a timeout of at most %s, but the job has no timeout",
				inUnits(j, int64(most))), "add "+timeoutExample(j, min(exampleTimeout, int64(most))))
		}
	}
}

// checkMaxArraySize reports arrays with more children than the policy allows.
func checkMaxArraySize(p *Pass) {
	most := p.policy().MaxArraySize
	if most == 0 {
		return
	}
	for _, j := range p.Submits() {
		n := arraySize(j.Job)
		switch size, ok := children(j.Job); {
		case !ok || size <= int64(most):
		case most < catalog.MinArraySize:
			j.Report("the policy allows no arrays", "", n)
		default:
			j.Report(fmt.Sprintf("the policy allows arrays of at most %s, but the job has %d",
				text.Count(most, "child", "children"), size), fmt.Sprintf("split it into arrays of at most %d", most),
				n)
		}
	}
}

// checkMaxMemory reports jobs that request more memory than the policy allows.
func checkMaxMemory(p *Pass) {
	most := p.policy().MaxMemoryMiB
	checkLimit(p, "MEMORY", float64(most), most > 0,
		func(mib float64) string { return text.ExactSize(mib * (1 << 20)) })
	for _, r := range rungs.of(p) {
		if most > 0 && r.Rung.UpToMiB > most {
			r.Job.Report(fmt.Sprintf("the policy allows %s, but outOfMemory goes up to %s", text.ExactSize(most<<20),
				text.ExactSize(r.Rung.UpToMiB<<20)), "", r.Node.Get("upTo"))
		}
	}
}

// checkMaxGPUs reports jobs that request more GPUs than the policy allows, which may be 0.
func checkMaxGPUs(p *Pass) {
	if most := p.policy().MaxGPUs; most != nil {
		checkLimit(p, "GPU", float64(*most), true, func(n float64) string { return text.Count(int(n), "GPU") })
	}
}

// checkAllowedQueues reports queues that the policy does not allow. A job without a queue
// is reported only if batchctl cannot choose an allowed one.
func checkAllowedQueues(p *Pass) {
	allowed := p.policy().AllowedQueues
	if len(allowed) == 0 {
		return
	}
	hint := "allowed: " + strings.Join(allowed, ", ")
	for _, j := range p.Submits() {
		n := j.Submit.Get("jobQueue")
		switch queue := n.Str(); {
		case queue == "" && allowsNoQueue(p):
			j.Report("the platform file allows none of its queues", hint, n)
		case queue == "" || isPlaceholder(queue) || p.Platform.AllowsQueue(queue):
		default:
			j.Report(fmt.Sprintf("the platform file does not allow the queue %s", quote(queue)), hint, n)
		}
	}
}

// allowsNoQueue reports whether the policy allows none of the platform file's queues.
func allowsNoQueue(p *Pass) bool {
	queues := creations.of(p).platform.Queues
	return len(queues) > 0 && !slices.ContainsFunc(queues, p.policy().AllowsQueue)
}

// checkLimit reports the jobs that request more of a resource than the policy allows, at
// the largest request.
func checkLimit(p *Pass, kind string, most float64, bounded bool, format func(float64) string) {
	if !bounded {
		return
	}
	for _, j := range p.Jobs() {
		if j.Submit == nil && len(runs.of(p)[j.Register]) > 0 {
			continue // counted with the submissions that run it
		}
		d := j.resolved().requestsFor(kind)
		if d.total <= most {
			continue
		}
		allowed, asked := format(most), format(d.total)
		if kind == "MEMORY" && !j.compact() {
			allowed, asked = inMiB(most), inMiB(d.total)
		}
		j.Report(fmt.Sprintf("the policy allows %s, but the job requests %s%s", allowed, asked, d.spread()), "",
			d.largest())
	}
}

// spread describes the containers or nodes of a sum; it is empty for a single container.
func (d requested) spread() string {
	nodes := 0
	for _, s := range d.shares {
		nodes = max(nodes, s.nodes)
	}
	switch {
	case nodes > 1:
		return " on all its nodes together"
	case len(d.shares) > 1:
		return fmt.Sprintf(" in its %d containers together", len(d.shares))
	}
	return ""
}

// inMiB formats an amount of memory in MiB, as in requests of AWS, and in a larger unit.
func inMiB(mib float64) string {
	size := decimal(mib) + " MiB"
	if short := text.ExactSize(mib * (1 << 20)); short != size {
		size += " (" + short + ")"
	}
	return size
}

// inUnits formats a time as the job's file does: 24h in a job file, and also in seconds
// in a request of AWS.
func inUnits(j Job, seconds int64) string {
	short := text.ExactDuration(time.Duration(seconds) * time.Second)
	if j.compact() {
		return short
	}
	text := fmt.Sprintf("%d seconds", seconds)
	if seconds >= 60 {
		text += " (" + short + ")"
	}
	return text
}

// formatTimeouts formats the timeout that the policy allows and the job's timeout at n, in
// the units of the job's file.
func formatTimeouts(j Job, most, asked int64, n *jsontree.Node) (string, string) {
	src, span := n.Location()
	if j.compact() && src != nil && span.End <= len(src.Text) {
		if written := src.Text[span.Start:span.End]; len(written) > 2 && written[0] == '"' {
			return inUnits(j, most), diag.Printable(strings.Trim(written, `"`))
		}
	}
	return inUnits(j, most), inUnits(j, asked)
}

// checkTag reports a tag that the policy requires. AWS tells tags apart by case.
func checkTag(j Job, tag string) {
	for _, tags := range []*jsontree.Node{j.Register.Get("tags"), j.Submit.Get("tags")} {
		for t := range tags.Children() {
			if strings.EqualFold(t.Name, tag) {
				j.ReportFix(rename(t, tag), fmt.Sprintf("the policy requires the tag %s, but the job has %s",
					quote(tag), quote(t.Name)), fmt.Sprintf("write %q: case matters", tag), key(t))
				return
			}
		}
	}
	j.Report("the policy requires the tag "+quote(tag), fmt.Sprintf(`add "tags": { %q: "..." }`, tag),
		j.Node.Get("tags"))
}

// allowedRoles returns the rule for a kind of role. In a task of several containers the
// member has another name.
func allowedRoles(name, member, ofTask, list string, allowed func(document.Policy) []string) *Rule {
	return rule(name, High, func(p *Pass) {
		patterns := allowed(p.policy())
		if len(patterns) == 0 {
			return
		}
		for _, s := range bodies(p) {
			n := s.Node.Get(member)
			if s.Node.Get("containers") != nil {
				n = s.Node.Get(ofTask)
			}
			if n.Str() != "" && !document.AllowsRole(patterns, n.Str()) {
				s.Report(fmt.Sprintf("the platform file does not allow the role %q as %s", n.Str(), n.Name),
					"allowed: "+strings.Join(patterns, ", "), n)
			}
		}
	}, "The job runs with a role that the platform file does not allow as its "+member+".", policySource+", "+list)
}
