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
		if p.removed[q] || p.stepFor(q) != nil {
			continue
		}
		for _, entry := range listOf(q.request["computeEnvironmentOrder"]) {
			entry, _ := entry.(object)
			if e := p.byARN(fmt.Sprint(entry["computeEnvironment"])); e != nil && p.removed[e] {
				p.blocked("mention the environment in a file, or remove it from the queue first",
					"compute environment %q cannot be deleted: job queue %q uses it", e.Name, q.Name)
			}
		}
	}
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

// Blocker is a problem of the account, which has no place in a file.
func Blocker(hint, format string, args ...any) diag.Diagnostic {
	return diag.Diagnostic{Rule: ruleApply, Source: account, Hint: hint, Message: fmt.Sprintf(format, args...)}
}

// Stranded returns the changes of a plan that would end jobs or leave them without an environment: a queue is deleted,
// or changes between EC2 and Fargate, while it has jobs.
func (a *Account) Stranded(ctx context.Context, plan *Plan) (problems diag.List, err error) {
	for _, s := range plan.Steps {
		if s.kind.Kind != document.KindJobQueue || s.live == nil {
			continue
		}
		moves := s.Verb == Update && s.touches("computeEnvironmentOrder") && plan.movesPlatform(s)
		if s.Verb != Delete && !moves {
			continue
		}
		ids, err := a.jobsIn(ctx, s.live.ARN, active, mostDescribed)
		if err != nil {
			return nil, fmt.Errorf("list the jobs of queue %s: %w", s.Name, err)
		}
		if len(ids) == 0 {
			continue
		}
		what := "deleting it would end them"
		if moves {
			what = "its new environments cannot run jobs of its old ones"
		}
		problems = append(problems, Blocker("wait until they have ended, or stop them: batchctl stop "+batch.ShortID(ids[0]), "job queue %q has %s; %s", s.Name, count(len(ids), "job"), what))
	}
	return problems, nil
}

// movesPlatform reports whether a queue's environments change between EC2 and Fargate.
func (p *Plan) movesPlatform(s *Step) bool {
	for _, other := range p.Steps {
		if other.Verb != Replace || !strings.Contains(other.Why, "Fargate") {
			continue
		}
		for _, entry := range listOf(s.live.request["computeEnvironmentOrder"]) {
			if entry, ok := entry.(object); ok && batch.Name(fmt.Sprint(entry["computeEnvironment"])) == other.live.Name {
				return true
			}
		}
	}
	return false
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

// Actions returns the IAM actions that the steps need, with the ARNs of the resources where they are known.
func (p *Plan) Actions() map[string][]string {
	actions := map[string][]string{}
	add := func(action, arn string) {
		if list, ok := actions[action]; !ok || arn != "" && !slices.Contains(list, arn) {
			actions[action] = append(list, arn)
		}
	}
	for _, s := range p.Steps {
		arn := ""
		if s.live != nil {
			arn = s.live.ARN
		}
		switch s.Verb {
		case Create, Replace:
			add("batch:"+string(s.kind.Kind), "")
			for _, role := range rolesIn(s.request) {
				add("iam:PassRole", role)
			}
		case Update:
			for _, c := range s.Changes {
				if c.member() == "tags" {
					add("batch:TagResource", arn)
				} else {
					add("batch:"+s.kind.update, arn)
				}
			}
		case Retire, Delete:
			add("batch:"+s.kind.remove, arn)
			if s.kind.update != "" && s.kind.absent["state"] != nil {
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
