package apply

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// references reports what the files and the remaining queues refer to and what will not exist.
func (p *planner) references() {
	for _, w := range p.wants {
		switch w.kind.Kind {
		case document.KindJobQueue:
			for entry := range w.node.Get("computeEnvironmentOrder").Children() {
				p.exists(document.KindComputeEnvironment, entry.Get("computeEnvironment"))
			}
			for entry := range w.node.Get("serviceEnvironmentOrder").Children() {
				p.exists(document.KindServiceEnvironment, entry.Get("serviceEnvironment"))
			}
			p.exists(document.KindSchedulingPolicy, w.node.Get("schedulingPolicyArn"))
		case document.KindQuotaShare:
			p.exists(document.KindJobQueue, w.node.Get("jobQueue"))
		}
	}
	for _, q := range p.state.of(document.KindJobQueue) {
		if p.removed[q] {
			continue
		}
		for _, name := range p.usedBy(q) {
			i := slices.IndexFunc(p.state.resources, func(r *Resource) bool { return p.removed[r] && r.ARN == name })
			if i >= 0 {
				r := p.state.resources[i]
				p.blocked("mention it in a file, or remove it from the queue first", "%s %q cannot be deleted: job queue %q uses it", r.kind.title, r.Name, q.Name)
			}
		}
	}
}

// usedBy returns the ARNs of what a queue uses once the plan is carried out. Environments that are being replaced do
// not count.
func (p *planner) usedBy(q *Resource) (arns []string) {
	for _, w := range p.wants {
		if w.kind == q.kind && w.name == q.Logical {
			return nil // references has checked its file
		}
	}
	for _, arn := range q.refersTo() {
		if e := p.byARN(arn); e == nil || p.replacement(e) == e.Name {
			arns = append(arns, arn)
		}
	}
	return arns
}

// platforms marks the queues whose environments are of another platform afterwards.
func (p *planner) platforms() {
	for _, s := range p.plan.Steps {
		if s.kind.Kind != document.KindJobQueue || s.Verb != Update || !s.touches("computeEnvironmentOrder") {
			continue
		}
		before, after := map[string]bool{}, map[string]bool{}
		for _, entry := range listOf(s.live.request["computeEnvironmentOrder"]) {
			entry, _ := entry.(object)
			if e := p.byARN(fmt.Sprint(entry["computeEnvironment"])); e != nil {
				before[platformOf(e.request)] = true
				after[platformOf(p.afterwards(e.Logical, e.request))] = true
			}
		}
		if s.request != nil {
			after = map[string]bool{}
			for _, entry := range listOf(s.request["computeEnvironmentOrder"]) {
				entry, _ := entry.(object)
				name := fmt.Sprint(entry["computeEnvironment"])
				var now object
				if e := p.state.find(kindOf(document.KindComputeEnvironment), name); e != nil {
					now = e.request
				}
				after[platformOf(p.afterwards(name, now))] = true
			}
		}
		s.moves = !maps.Equal(before, after) && len(before) > 0
	}
}

// afterwards returns the request of an environment in the files, or else that of the account.
func (p *planner) afterwards(name string, now object) object {
	for _, w := range p.wants {
		if w.kind.Kind == document.KindComputeEnvironment && w.name == name {
			return w.request
		}
	}
	return now
}

// platformOf returns where the jobs of an environment run.
func platformOf(request object) string {
	resources, _ := request["computeResources"].(object)
	switch {
	case request["eksConfiguration"] != nil:
		return "EKS"
	case strings.HasPrefix(fmt.Sprint(resources["type"]), "FARGATE"):
		return "Fargate"
	}
	return "EC2"
}

// exists reports a name that is neither in the files nor in the account.
func (p *planner) exists(of document.Kind, n *jsontree.Node) {
	k, name := kindOf(of), batch.Name(n.Str())
	if name == "" || p.state.unread[of] != nil {
		return
	}
	var known []string
	for _, w := range p.wants {
		if w.kind == k {
			known = append(known, w.name)
		}
	}
	for _, r := range p.state.of(of) {
		if !p.removed[r] || len(p.state.named(k, r.Logical)) > 1 {
			known = append(known, r.Name, r.Logical)
		}
	}
	if slices.Contains(known, name) {
		return
	}
	if r := p.state.find(k, name); r != nil && p.removed[r] {
		p.report(n, "mention it in a file", "%s %q is deleted, because no file mentions it", k.title, name)
		return
	}
	hint := fmt.Sprintf("add the %s to the files", k.title)
	if near := diag.Near(name, slices.Values(known)); near != "" {
		hint = fmt.Sprintf("did you mean %q?", near)
	}
	p.report(n, hint, "%s %q exists neither in the files nor in the account", k.title, name)
}

// blocked reports a problem that has no place in a file.
func (p *planner) blocked(hint, format string, args ...any) {
	p.problems = append(p.problems, Blocker(hint, format, args...))
}

// account stands for the account in problems that have no place in a file.
var account = diag.NewSource("(account)", "")

// IsBlocker reports whether a problem is one of the account.
func IsBlocker(d diag.Diagnostic) bool { return d.Source == account }

// Blocker is a problem of the account, which has no place in a file.
func Blocker(hint, format string, args ...any) diag.Diagnostic {
	return diag.Diagnostic{Rule: ruleApply, Source: account, Hint: hint, Message: fmt.Sprintf(format, args...)}
}

// Stranded returns the changes of a plan that would end jobs or leave them without an environment: a queue or a quota
// share is deleted, or a queue moves to another platform, while it has jobs; or an environment gets new instances while
// jobs run on it.
func (a *Account) Stranded(ctx context.Context, plan *Plan, state *State) (problems diag.List, err error) {
	for _, s := range plan.Steps {
		if s.kind.Kind == document.KindComputeEnvironment && s.Verb == Update && replacesInstances(s.Changes) {
			jobs, err := a.jobsOn(ctx, s.live, state.of(document.KindJobQueue))
			if err != nil {
				return nil, fmt.Errorf("list the jobs on compute environment %s: %w", s.Name, err)
			}
			if jobs > 0 {
				problems = append(problems, Blocker("wait until they have ended, or replace the environment and let them end: --replace",
					"%s on compute environment %q; the update replaces its instances, and AWS Batch stops jobs that run for more than 30 more minutes", running(jobs), s.Name))
			}
		}
		queue := s.live
		if s.kind.Kind == document.KindQuotaShare && s.Verb == Delete {
			queue = state.find(kindOf(document.KindJobQueue), batch.Name(fmt.Sprint(s.live.request["jobQueue"])))
		} else if s.kind.Kind != document.KindJobQueue || s.Verb != Delete && !s.moves {
			continue
		}
		if queue == nil {
			continue
		}
		ids, err := a.waitingIn(ctx, queue)
		if err != nil {
			return nil, fmt.Errorf("list the jobs of queue %s: %w", queue.Name, err)
		}
		if len(ids) == 0 {
			continue
		}
		what := "deleting it would end them"
		switch {
		case s.moves:
			what = "its new environments cannot run the jobs of its old ones"
		case s.kind.Kind == document.KindQuotaShare:
			what = "deleting its quota share " + fmt.Sprintf("%q", s.Name) + " would end the jobs of the share"
		}
		problems = append(problems, Blocker("wait until they have ended, or stop them: batchctl stop "+batch.ShortID(ids[0]), "job queue %q has %s; %s", queue.Name, count(len(ids), "job"), what))
	}
	return problems, nil
}

// running is the beginning of a sentence about jobs that run.
func running(n int) string {
	if n == 1 {
		return "1 job runs"
	}
	return fmt.Sprintf("%d jobs run", n)
}

// waitingIn returns the ids of jobs of a queue that have not ended, at most mostDescribed. Those of SageMaker are in a
// list of their own.
func (a *Account) waitingIn(ctx context.Context, queue *Resource) (ids []string, err error) {
	if !strings.HasPrefix(fmt.Sprint(queue.request["jobQueueType"]), "SAGEMAKER") {
		return a.jobsIn(ctx, queue.ARN, active, mostDescribed)
	}
	for _, state := range [...]string{"SUBMITTED", "PENDING", "RUNNABLE", "SCHEDULED", "STARTING", "RUNNING"} {
		err := a.pages(ctx, "ListServiceJobs", object{"jobQueue": queue.ARN, "jobStatus": state}, func(page object) error {
			for _, j := range listOf(page["jobSummaryList"]) {
				j, _ := j.(object)
				if id := fmt.Sprint(j["jobId"]); !slices.Contains(ids, id) { // as in jobsIn
					ids = append(ids, id)
				}
			}
			return nil
		})
		if err != nil || len(ids) >= mostDescribed {
			return ids[:min(len(ids), mostDescribed)], err
		}
	}
	return ids, nil
}

// count returns a number with its noun.
func count(n int, noun string) string {
	switch {
	case n == 1:
		return "1 " + noun
	case n >= mostDescribed:
		return fmt.Sprintf("at least %d %ss", mostDescribed, noun)
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// show returns a JSON value for a message, or "nothing".
func show(v any) string {
	if v == nil {
		return "nothing"
	}
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(text)
}

// Show returns one side of a change for a table.
func Show(v any) string { return show(v) }

// Actions returns the IAM actions that the steps need, with the ARNs of the resources; ":job-queue/NAME" for one that
// does not exist yet.
func (p *Plan) Actions() map[string][]string {
	actions := map[string][]string{}
	add := func(action, arn string) {
		if list, ok := actions[action]; !ok || arn != "" && !slices.Contains(list, arn) {
			actions[action] = append(list, arn)
		}
	}
	for _, s := range p.Steps {
		arn := ":" + strings.ReplaceAll(s.kind.title, " ", "-") + "/" + s.Name
		if s.live != nil && s.Verb != Replace {
			arn = s.live.ARN
		}
		switch s.Verb {
		case Create, Replace:
			if s.kind.Kind == document.KindQuotaShare {
				arn = "" // in its queue's ARN
			}
			add("batch:"+string(s.kind.Kind), arn)
			if s.request["tags"] != nil {
				add("batch:TagResource", arn)
			}
			for _, role := range rolesIn(s.request) {
				add("iam:PassRole", role)
			}
		case Update:
			for _, c := range s.Changes {
				switch {
				case c.member() != "tags":
					add("batch:"+s.kind.update, arn)
				case c.To == nil:
					add("batch:UntagResource", arn)
				default:
					add("batch:TagResource", arn)
				}
			}
		case Retire, Delete:
			add("batch:"+s.kind.remove, arn)
			if s.kind.absent["state"] != nil {
				add("batch:"+s.kind.update, arn)
			}
		}
	}
	return actions
}

// rolesIn returns the roles that a request passes to AWS Batch.
func rolesIn(request object) (arns []string) {
	resources, _ := request["computeResources"].(object)
	for _, from := range []object{request, resources} {
		for _, member := range slices.Sorted(maps.Keys(from)) {
			if role, ok := from[member].(string); ok && strings.HasSuffix(member, "Role") && strings.Contains(role, ":role/") {
				arns = append(arns, role)
			}
		}
	}
	return arns
}
