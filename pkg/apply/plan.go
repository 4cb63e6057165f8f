package apply

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// Options say what apply may do. The tags are flags, which cmdline.Command reads.
type Options struct {
	// Owner is the name under which the resources of these files are known; "" to mark none.
	Owner string `flag:"owner" usage:"mark the resources of these files with this <NAME>, in the tag batchctl:owner"`
	// Prune deletes the owner's resources that no file mentions.
	Prune bool `flag:"prune" usage:"delete the owner's resources that no file mentions"`
	// Take makes resources of other owners the owner's.
	Take bool `flag:"take" usage:"take over resources of another owner"`
	// Replace replaces compute environments whose update would replace their instances.
	Replace bool `flag:"replace" usage:"replace compute environments instead of updating their instances"`
}

// Verb is the action of a step.
type Verb string

// The verbs of steps.
const (
	Create  Verb = "create"
	Update  Verb = "update"
	Replace Verb = "replace" // create an environment next to the one of that name
	Retire  Verb = "retire"  // delete an environment once no job runs on it
	Delete  Verb = "delete"
)

// Step is a change to one resource.
type Step struct {
	Verb Verb   `json:"verb"`
	Kind string `json:"kind"` // compute environment
	// Name is the resource's name in the account; of a replacement, it is the new one.
	Name    string   `json:"name"`
	Changes []Change `json:"changes,omitempty"`
	// Why says what makes the step necessary, if the files do not show it.
	Why string `json:"why,omitempty"`

	// moves is true if a queue's environments are of another platform afterwards.
	moves   bool
	kind    *kind
	request object    // the request of the file, with names instead of ARNs; nil if no file mentions the resource
	live    *Resource // the resource in the account; nil for Create
}

// Plan lists the changes that make the account match the files.
type Plan struct {
	Steps []*Step `json:"steps"`
	// Equal counts the resources that need no change.
	Equal int `json:"unchanged"`
	// kept are the requests of the files whose resources exist unchanged, and sent are the others.
	kept, sent []*wanted
	// unsettled are resources of the files that AWS Batch is still creating or changing, and that no step changes.
	unsettled []*Step
	// Invalid are resources of the files that AWS Batch cannot use and that no step changes.
	Invalid []*InvalidError `json:"invalid,omitempty"`
}

// wanted is a resource in a file.
type wanted struct {
	kind    *kind
	name    string
	request object // comparable, with the owner's tag
	node    *jsontree.Node
}

// planner makes a plan.
type planner struct {
	Options
	state *State
	wants []*wanted
	// removed are the resources that this plan deletes.
	removed  map[*Resource]bool
	plan     Plan
	problems diag.List
}

// The rule of problems between the files and the account.
const ruleApply = "apply"

// NewPlan compares files with the account. The problems are reasons not to begin: a reference to something that does
// not exist, a change that AWS Batch does not allow, two files for one resource.
func NewPlan(files []*document.File, state *State, o Options) (*Plan, diag.List) {
	p := &planner{Options: o, state: state, removed: map[*Resource]bool{}}
	p.collect(files)
	for _, w := range p.wants {
		kept := len(p.plan.kept)
		if p.resource(w); len(p.plan.kept) == kept {
			p.plan.sent = append(p.plan.sent, w)
		}
	}
	p.switchQueues()
	p.prune()
	p.references()
	p.platforms()
	// Creations go from policies to queues, deletions the other way.
	slices.SortStableFunc(p.plan.Steps, func(a, b *Step) int { return cmp.Compare(a.position(), b.position()) })
	p.problems.Sort()
	return &p.plan, p.problems
}

// Keeps reports whether a place in a file belongs only to requests that no step sends, and that refer to nothing that
// a step changes. The account has those resources, so AWS Batch has accepted the requests. With teams, several
// requests have one place.
func (p *Plan) Keeps(src *diag.Source, span diag.Span) bool {
	contains := func(w *wanted) bool {
		from, at := w.node.Location()
		return from == src && at.Start <= span.Start && span.End <= at.End
	}
	changed := func(w *wanted) bool { return contains(w) && slices.ContainsFunc(p.Steps, w.refersTo) }
	return slices.ContainsFunc(p.kept, contains) && !slices.ContainsFunc(p.kept, changed) &&
		!slices.ContainsFunc(p.sent, contains)
}

// Others returns the resources of the account that no file mentions and that the plan does not delete.
func (p *Plan) Others(s *State) *State {
	others := &State{}
	for _, r := range s.resources {
		mentions := func(w *wanted) bool { return w.kind == r.kind && w.name == r.Logical }
		deletes := func(step *Step) bool { return step.live == r && (step.Verb == Delete || step.Verb == Retire) }
		if !slices.ContainsFunc(p.kept, mentions) && !slices.ContainsFunc(p.sent, mentions) &&
			!slices.ContainsFunc(p.Steps, deletes) {
			others.resources = append(others.resources, r)
		}
	}
	return others
}

// refersTo reports whether the request refers to the resource of a step.
func (w *wanted) refersTo(s *Step) bool {
	r := &Resource{kind: w.kind, request: w.request}
	return slices.ContainsFunc(r.refersTo(), func(ref reference) bool {
		return ref.of == s.kind.Kind && (ref.text == s.Name || s.live != nil && ref.text == s.live.Logical)
	})
}

// Equals reports whether another plan has the same steps.
func (p *Plan) Equals(other *Plan) bool {
	return slices.EqualFunc(p.Steps, other.Steps, func(a, b *Step) bool {
		return a.Verb == b.Verb && a.Kind == b.Kind && a.Name == b.Name && a.Why == b.Why &&
			reflect.DeepEqual(a.Changes, b.Changes)
	})
}

// position orders steps.
func (s *Step) position() int {
	if s.Verb == Retire || s.Verb == Delete {
		return 2*len(kinds) - s.kind.rank()
	}
	return s.kind.rank()
}

// report adds a problem at a node of a file.
func (p *planner) report(n *jsontree.Node, hint, format string, args ...any) {
	src, span := n.Location()
	p.problems = append(p.problems, diag.Diagnostic{Rule: ruleApply, Source: src, Span: span, Hint: hint,
		Message: fmt.Sprintf(format, args...)})
}

// collect reads the resources of the files.
func (p *planner) collect(files []*document.File) {
	first := map[string]*jsontree.Node{}
	for _, f := range files {
		for _, r := range f.Requests {
			k := kindOf(r.Kind)
			at := r.Get(k.name)
			raw, err := requestOf(r)
			if err != nil {
				p.report(at, "", "%v", err)
				continue
			}
			name := k.logical(raw)
			if before := first[string(r.Kind)+" "+name]; before != nil {
				src, span := before.Location()
				line, column := src.Position(span.Start)
				p.report(at, "keep one of them", "%s %q is also at %s:%d:%d", k.title, name, src.Name, line, column)
				continue
			}
			first[string(r.Kind)+" "+name] = at
			p.wants = append(p.wants, &wanted{kind: k, name: name, request: k.comparable(raw), node: r.Node})
		}
	}
}

// resource plans the steps for one resource.
func (p *planner) resource(w *wanted) {
	if err := p.state.unread[w.kind.Kind]; err != nil {
		p.report(w.node.Get(w.kind.name), "", "cannot compare the %s: %v", w.kind.title, err)
		return
	}
	all := p.state.named(w.kind, w.name)
	if len(all) == 0 {
		if other := p.state.find(w.kind, w.name); other != nil && other.Logical != w.name {
			p.report(w.node.Get(w.kind.name), "choose another name", "%s %q replaces %q", w.kind.title, w.name,
				other.Logical)
			return
		}
		p.step(&Step{Verb: Create, Name: w.name, kind: w.kind, request: p.owned(w.request)})
		return
	}
	live := all[0]
	if p.Owner != "" && live.owner != "" && live.owner != p.Owner && !p.Take {
		p.report(w.node.Get(w.kind.name), "remove it from the files, or take it over: --take",
			"%s %q belongs to the owner %q", w.kind.title, live.Name, live.owner)
		return
	}
	changes := p.changes(w, live)
	if reason := p.needsReplacement(w, live, changes); reason != "" {
		p.replace(w, live, changes, reason)
		return
	}
	if len(changes) > 0 {
		p.step(&Step{Verb: Update, Name: live.Name, Changes: changes, kind: w.kind, live: live, request: w.request})
	} else {
		p.plan.Equal++
		p.plan.kept = append(p.plan.kept, w)
		if live.Status == statusCreating || live.Status == statusUpdating {
			p.plan.unsettled = append(p.plan.unsettled, &Step{Verb: Update, Kind: w.kind.title, Name: live.Name,
				kind: w.kind, live: live})
		}
		if live.Status == statusInvalid {
			invalid := live.invalid()
			p.plan.Invalid = append(p.plan.Invalid, invalid)
			if len(all) > 1 {
				invalid.Replaces = all[1].Name
				return // so that the queues keep the one that it should replace
			}
		}
	}
	for _, old := range all[1:] { // of a replacement that was interrupted
		p.retire(old, "replaced by "+live.Name)
	}
}

// step adds a step.
func (p *planner) step(s *Step) {
	s.Kind = s.kind.title
	p.plan.Steps = append(p.plan.Steps, s)
}

// owned returns a request with the owner's tag.
func (p *planner) owned(request object) object {
	if p.Owner == "" {
		return request
	}
	return tagged(request, OwnerTag, p.Owner)
}

// tagged returns a request with one more tag.
func tagged(request object, name, value string) object {
	out := maps.Clone(request)
	tags, _ := request["tags"].(object)
	tags = maps.Clone(tags)
	if tags == nil {
		tags = object{}
	}
	tags[name] = value
	out["tags"] = tags
	return out
}

// changes returns what an update of a resource has to change.
func (p *planner) changes(w *wanted, live *Resource) []Change {
	now := w.kind.comparable(live.request)
	now[w.kind.name] = w.request[w.kind.name] // a replacement has another name
	p.toLogical(w.kind, now)
	want := clone(w.request).(object)
	if w.kind.Kind == document.KindComputeEnvironment && strings.HasSuffix(fmt.Sprint(now["serviceRole"]),
		linkedRole) && strings.HasSuffix(fmt.Sprint(want["serviceRole"]), linkedRole) {
		want["serviceRole"] = now["serviceRole"]
	}
	changes := w.kind.differences(want, now)
	if p.Owner != "" && live.owner != p.Owner {
		changes = append(changes, Change{"tags." + OwnerTag, valueOrNil(live.owner), p.Owner})
	}
	return changes
}

// valueOrNil returns a text, or nil for "".
func valueOrNil(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// toLogical replaces the names of environments in a comparable queue by those in files.
func (p *planner) toLogical(k *kind, request object) {
	if k.Kind != document.KindJobQueue {
		return
	}
	environments := kindOf(document.KindComputeEnvironment)
	for _, entry := range listOf(request["computeEnvironmentOrder"]) {
		if entry, ok := entry.(object); ok {
			name := fmt.Sprint(entry["computeEnvironment"])
			for _, r := range p.state.of(environments.Kind) {
				// An old one, which is being replaced, is a difference.
				if r.Name == name && p.state.named(environments, r.Logical)[0] == r {
					entry["computeEnvironment"] = r.Logical
				}
			}
		}
	}
}

// needsReplacement returns why an update cannot make these changes; "" if it can. A change that only another resource
// could have is a problem.
func (p *planner) needsReplacement(w *wanted, live *Resource, changes []Change) string {
	reason := ""
	for _, c := range changes {
		if c.Path == "serviceRole" && isLinked(c.From) != isLinked(c.To) {
			reason = "an update cannot switch between a service role and AWS Batch's own role"
		}
		for fixed, hint := range w.kind.fixed {
			if c.Path != fixed && !strings.HasPrefix(c.Path, fixed+".") {
				continue
			}
			if hint != "" {
				p.report(nodeAt(w.node, c.Path), hint, "%s of %s %q is %s and cannot become %s", fixed, w.kind.title,
					live.Name, show(c.From), show(c.To))
				continue
			}
			reason = "an update cannot change " + fixed
		}
		if c.Path == "schedulingPolicyArn" && c.From != nil && c.To != nil &&
			p.hasQuota(c.From, false) != p.hasQuota(c.To, true) {
			p.report(nodeAt(w.node, c.Path), anotherName,
				"job queue %q has the scheduling policy %s; one with quotaSharePolicy cannot replace one without, or the reverse", live.Name, show(c.From))
		}
		if strings.HasPrefix(c.Path, "fairsharePolicy") && live.request["quotaSharePolicy"] != nil {
			p.report(nodeAt(w.node, c.Path), anotherName,
				"scheduling policy %q has quotaSharePolicy and cannot have fairsharePolicy", live.Name)
			break
		}
		if (c.member() == "computeEnvironmentOrder" || c.member() == "serviceEnvironmentOrder") &&
			len(listOf(live.request[c.member()])) == 0 {
			p.report(nodeAt(w.node, c.Path), anotherName, "job queue %q has no %s and cannot get one", live.Name,
				c.member())
		}
		if c.Path == "schedulingPolicyArn" && (c.From == nil || c.To == nil) {
			p.report(nodeAt(w.node, c.Path), anotherName,
				"job queue %q has %s; a scheduling policy cannot be added to a queue or removed from it later",
				live.Name, orNo(c.From, "scheduling policy"))
		}
	}
	if w.kind.Kind != document.KindComputeEnvironment {
		return reason
	}
	if reason == "" {
		reason = infrastructureChange(live, changes)
	}
	if reason == "" && p.Replace && replacesInstances(changes) {
		reason = "an update would replace its instances"
	}
	if reason != "" && live.request["type"] == "UNMANAGED" {
		p.report(w.node.Get(w.kind.name), anotherName,
			"compute environment %q is UNMANAGED and cannot be replaced, because its instances belong to its cluster: %s", live.Name, reason)
		return ""
	}
	return reason
}

// hasQuota reports whether a scheduling policy, by its name, has quotaSharePolicy: in the files, or else in the
// account.
func (p *planner) hasQuota(name any, inFiles bool) bool {
	for _, w := range p.wants {
		if inFiles && w.kind.Kind == document.KindSchedulingPolicy && w.name == name {
			return w.request["quotaSharePolicy"] != nil
		}
	}
	policy := p.state.find(kindOf(document.KindSchedulingPolicy), fmt.Sprint(name))
	return policy != nil && policy.request["quotaSharePolicy"] != nil
}

// isLinked reports whether a value is AWS Batch's service-linked role, which is also the default.
func isLinked(role any) bool { return role == nil || strings.HasSuffix(fmt.Sprint(role), linkedRole) }

// replacesInstances reports whether an update with these changes replaces the instances of an environment.
func replacesInstances(changes []Change) bool {
	return slices.ContainsFunc(changes, func(c Change) bool { return slices.Contains(infrastructure, c.under()) })
}

// orNo returns "no NAME" for nil, and else the value.
func orNo(v any, name string) string {
	if v == nil {
		return "no " + name
	}
	return name + " " + show(v)
}

// infrastructureChange returns why an environment cannot get a new infrastructure by an update; "" if it can, or needs
// none.
func infrastructureChange(live *Resource, changes []Change) string {
	resources, _ := live.request["computeResources"].(object)
	fargate := strings.HasPrefix(fmt.Sprint(resources["type"]), "FARGATE")
	for _, c := range changes {
		member := c.under()
		if !slices.Contains(infrastructure, member) {
			continue
		}
		toFargate := member == "type" && strings.HasPrefix(fmt.Sprint(c.To), "FARGATE")
		switch strategy := resources["allocationStrategy"]; {
		case member == "type" && toFargate != fargate:
			return "an update cannot switch between EC2 and Fargate"
		case fargate && !slices.Contains(ofFargate, member):
			return "on Fargate, an update cannot change " + member
		case fargate:
		case c.To == "BEST_FIT":
			return "an update cannot change allocationStrategy to BEST_FIT"
		case strategy == nil || strategy == "BEST_FIT":
			return "with the allocation strategy BEST_FIT, an update cannot change " + member
		case live.request["serviceRole"] != nil && !strings.HasSuffix(fmt.Sprint(live.request["serviceRole"]),
			linkedRole):
			return "without AWS Batch's service-linked role, an update cannot change " + member
		}
	}
	return ""
}

// replace plans an environment next to the one that an update cannot change.
func (p *planner) replace(w *wanted, live *Resource, changes []Change, reason string) {
	name := p.nextName(w, live)
	if len(name) > longestName {
		p.report(w.node.Get(w.kind.name), anotherName,
			"compute environment %q must be replaced (%s), and the name of the replacement, %q, is too long", live.Name,
			reason, name)
		return
	}
	request := tagged(p.owned(w.request), NameTag, w.name)
	if p.Owner == "" && live.owner != "" {
		request = tagged(request, OwnerTag, live.owner)
	}
	request[w.kind.name] = name
	p.step(&Step{Verb: Replace, Name: name, Changes: changes, Why: reason, kind: w.kind, request: request, live: live})
	for _, old := range p.state.named(w.kind, w.name) {
		p.retire(old, "replaced by "+name)
	}
}

// longestName is the most characters of the name of a compute environment.
const longestName = 128

// nextName returns the first free name for a replacement.
func (p *planner) nextName(w *wanted, live *Resource) string {
	for n := live.generation() + 1; ; n++ {
		name := fmt.Sprintf("%s-%d", w.name, n)
		inFile := slices.ContainsFunc(p.wants, func(o *wanted) bool { return o.kind == w.kind && o.name == name })
		if !inFile && p.state.find(w.kind, name) == nil {
			return name
		}
	}
}

// retire plans the deletion of an environment once no job runs on it.
func (p *planner) retire(old *Resource, why string) {
	p.removed[old] = true
	p.step(&Step{Verb: Retire, Name: old.Name, Why: why, kind: old.kind, live: old})
}

// switchQueues updates every queue that has an environment which is being replaced, also those that are in no file.
func (p *planner) switchQueues() {
	queues := kindOf(document.KindJobQueue)
	for _, q := range p.state.of(queues.Kind) {
		if slices.ContainsFunc(p.plan.Steps, func(s *Step) bool {
			return s.live == q &&
				s.touches("computeEnvironmentOrder")
		}) {
			continue // its file names the environments
		}
		for _, entry := range listOf(q.request["computeEnvironmentOrder"]) {
			entry, _ := entry.(object)
			old := p.environment(entry)
			if old == nil || !p.removed[old] {
				continue
			}
			order := Change{"computeEnvironmentOrder", old.Name, p.replacement(old)}
			if s := p.stepFor(q); s != nil {
				s.Changes = append(s.Changes, order)
				continue
			}
			if p.want(q) != nil {
				p.plan.Equal--
			}
			p.step(&Step{Verb: Update, Name: q.Name, Changes: []Change{order},
				Why: "it has an environment that is being replaced", kind: queues, live: q})
		}
	}
}

// touches reports whether a step changes a member of the request.
func (s *Step) touches(member string) bool {
	return slices.ContainsFunc(s.Changes, func(c Change) bool { return c.member() == member })
}

// stepFor returns the update of a resource; nil without one.
func (p *planner) stepFor(r *Resource) *Step {
	if i := slices.IndexFunc(p.plan.Steps, func(s *Step) bool { return s.live == r && s.Verb == Update }); i >= 0 {
		return p.plan.Steps[i]
	}
	return nil
}

// environment returns the environment of an entry of computeEnvironmentOrder; nil if the account does not have it.
func (p *planner) environment(entry object) *Resource {
	return p.state.referred(reference{document.KindComputeEnvironment, fmt.Sprint(entry["computeEnvironment"])})
}

// replacement returns the name of the environment that replaces another one.
func (p *planner) replacement(old *Resource) string {
	for _, s := range p.plan.Steps {
		if s.Verb == Replace && s.live.Logical == old.Logical {
			return s.Name
		}
	}
	return p.state.named(old.kind, old.Logical)[0].Name
}

// prune plans the deletion of the owner's resources that no file mentions.
func (p *planner) prune() {
	if !p.Prune || p.Owner == "" {
		return
	}
	for _, r := range p.state.resources {
		if r.owner != p.Owner || p.want(r) != nil || p.removed[r] {
			continue
		}
		p.removed[r] = true
		verb := Delete
		if r.kind.Kind == document.KindComputeEnvironment {
			verb = Retire
		}
		p.step(&Step{Verb: verb, Name: r.Name, Why: "no file mentions it", kind: r.kind, live: r})
	}
}

// nodeAt returns the node of a file at the path of a change, or the nearest one above it.
func nodeAt(n *jsontree.Node, path string) *jsontree.Node {
	for name := range strings.SplitSeq(path, ".") {
		name, index, inList := strings.Cut(name, "[")
		child := n.Get(name)
		if inList && child != nil {
			var i int
			if _, err := fmt.Sscanf(index, "%d]", &i); err == nil && child.Index(i) != nil {
				child = child.Index(i)
			}
		}
		if child == nil {
			return n
		}
		n = child
	}
	return n
}
