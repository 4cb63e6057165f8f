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
	"github.com/batchctl/batchctl/pkg/text"
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
	p.taken()
}

// taken reports the resources that the plan deletes or disables, and that a queue or a quota share outside of the
// files refers to.
func (p *planner) taken() {
	for _, user := range p.state.resources {
		if p.removed[user] || p.want(user) != nil {
			continue // references has checked its file
		}
		for _, ref := range user.refersTo() {
			used := p.state.referred(ref)
			switch {
			case used == nil:
			case p.disables(used):
				p.report(p.want(used).node.Get("state"), "remove the reference first",
					"%s %q cannot be disabled: %s %q, which is in no file, uses it", used.kind.title, used.Name,
					user.kind.title, user.Name)
			case used.kind.Kind == document.KindComputeEnvironment && p.replacement(used) != used.Name:
				// The queue gets the replacement.
			case p.removed[used]:
				p.blocked("mention it in a file, or remove the reference first",
					"%s %q cannot be deleted: %s %q uses it", used.kind.title, used.Name, user.kind.title, user.Name)
			}
		}
	}
}

// want returns what the files have about a resource; nil if they do not mention it.
func (p *planner) want(r *Resource) *wanted {
	if i := slices.IndexFunc(p.wants, func(w *wanted) bool { return w.kind == r.kind && w.name == r.Logical }); i >= 0 {
		return p.wants[i]
	}
	return nil
}

// disables reports whether the plan disables a resource, or replaces it by one that is disabled, without deleting it.
// A queue that is DISABLED finishes its jobs.
func (p *planner) disables(r *Resource) bool {
	return r.kind.Kind != document.KindJobQueue && slices.ContainsFunc(p.plan.Steps,
		func(s *Step) bool { return s.live == r && s.disables() })
}

// disables reports whether a step changes the state of its resource to DISABLED.
func (s *Step) disables() bool {
	return slices.ContainsFunc(s.Changes, func(c Change) bool { return c.Path == "state" && c.To == "DISABLED" })
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
			if e := p.environment(entry); e != nil {
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

// Stranded returns the changes of a plan that would end jobs or leave them without what they need: a queue, a quota
// share or a consumable resource is deleted, a quota share is disabled, or a queue moves to another platform, while it
// has jobs; or an environment gets new instances while jobs run on it.
func (a *Account) Stranded(ctx context.Context, plan *Plan, state *State) (problems diag.List, err error) {
	for _, s := range plan.Steps {
		if s.kind.Kind == document.KindComputeEnvironment && s.Verb == Update && replacesInstances(s.Changes) {
			jobs, err := a.jobsOn(ctx, s.live, state.of(document.KindJobQueue))
			if err != nil {
				return nil, fmt.Errorf("list the jobs on compute environment %s: %w", s.Name, err)
			}
			if jobs > 0 {
				problems = append(problems,
					Blocker("wait until they have ended, or replace the environment and let them end: --replace",
						"%s on compute environment %q; the update replaces its instances, and AWS Batch stops jobs that run for more than 30 more minutes", running(jobs), s.Name))
			}
		}
		if s.kind.Kind == document.KindConsumableResource && s.Verb == Delete {
			user, err := a.consumer(ctx, s.live)
			switch {
			case err != nil && ctx.Err() != nil:
				return nil, context.Cause(ctx)
			case err != nil:
				problems = append(problems, Blocker("mention it in a file, or ask for the permission",
					"consumable resource %q cannot be deleted: who uses it is unknown: %v", s.Name, err))
			case user != "":
				problems = append(problems, Blocker("mention it in a file, or remove the reference first",
					"consumable resource %q cannot be deleted: %s uses it", s.Name, user))
			}
			continue
		}
		queue := s.live
		if s.kind.Kind == document.KindQuotaShare && (s.Verb == Delete || s.disables()) {
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
			what = fmt.Sprintf("its quota share %q may have some of them", s.Name)
		}
		problems = append(problems, Blocker("wait until they have ended, or stop them: batchctl stop "+
			batch.ShortID(ids[0]), "job queue %q has %s; %s", queue.Name, jobCount(len(ids)), what))
	}
	return problems, nil
}

// consumer returns a job that has not ended, or an active job definition, that needs a consumable resource; "" if
// there is none. A server that lacks the operation has none.
func (a *Account) consumer(ctx context.Context, resource *Resource) (user string, err error) {
	err = a.pages(ctx, "ListJobsByConsumableResource", object{"consumableResource": resource.ARN},
		func(page object) error {
			for _, j := range objectsOf(page["jobs"]) {
				if status := fmt.Sprint(j["jobStatus"]); user == "" && status != "SUCCEEDED" && status != "FAILED" {
					user = fmt.Sprintf("job %s %q", batch.ShortID(batch.Name(fmt.Sprint(j["jobArn"]))), j["jobName"])
				}
			}
			return nil
		})
	if err != nil && !isUnknown(err) || user != "" {
		return user, err
	}
	err = a.pages(ctx, "DescribeJobDefinitions", object{"status": "ACTIVE"}, func(page object) error {
		for _, d := range objectsOf(page["jobDefinitions"]) {
			if user == "" && refersToConsumable(d, resource) {
				user = fmt.Sprintf("job definition \"%v:%v\"", d["jobDefinitionName"], d["revision"])
			}
		}
		return nil
	})
	if isUnknown(err) {
		err = nil
	}
	return user, err
}

// refersToConsumable reports whether a definition, or a part of it such as a range of nodes, names a consumable
// resource.
func refersToConsumable(v any, resource *Resource) bool {
	switch v := v.(type) {
	case object:
		if text, ok := v["consumableResource"].(string); ok && (text == resource.ARN || text == resource.Name) {
			return true
		}
		return slices.ContainsFunc(slices.Collect(maps.Values(v)),
			func(m any) bool { return refersToConsumable(m, resource) })
	case []any:
		return slices.ContainsFunc(v, func(m any) bool { return refersToConsumable(m, resource) })
	}
	return false
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
		err := a.pages(ctx, "ListServiceJobs", object{"jobQueue": queue.ARN, "jobStatus": state},
			func(page object) error {
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

// jobCount counts jobs, of which batchctl lists at most mostDescribed.
func jobCount(n int) string {
	if n >= mostDescribed {
		return "at least " + text.Count(mostDescribed, "job")
	}
	return text.Count(n, "job")
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
			if role, ok := from[member].(string); ok && strings.HasSuffix(member, "Role") &&
				strings.Contains(role, ":role/") {
				arns = append(arns, role)
			}
		}
	}
	return arns
}
