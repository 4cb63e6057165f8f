package apply

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/document"
)

// Choose returns the state with the resources of these names, in files or in the account, and with the environments
// and policies of chosen queues. Without names it returns the whole state. missing are names that nothing has.
func (s *State) Choose(names []string) (chosen *State, missing []string) {
	if len(names) == 0 {
		return s, nil
	}
	chosen = &State{unread: s.unread}
	wanted := map[*Resource]bool{}
	for _, name := range names {
		found := false
		for _, r := range s.resources {
			if r.Name == name || r.Logical == name || r.ARN == name {
				found, wanted[r] = true, true
			}
		}
		if !found {
			missing = append(missing, name)
		}
	}
	for _, q := range s.of(document.KindJobQueue) {
		for _, ref := range q.refersTo() {
			if r := s.referred(ref); r != nil && wanted[q] {
				wanted[r] = true
			}
		}
	}
	for _, r := range s.resources {
		if wanted[r] {
			chosen.resources = append(chosen.resources, r)
		}
	}
	return chosen, missing
}

// reference is a resource to which another one refers, by its ARN or its name in the account.
type reference struct {
	of   document.Kind
	text string
}

// refersTo returns what a queue or a quota share refers to; nothing for other resources.
func (r *Resource) refersTo() (refs []reference) {
	add := func(of document.Kind, v any) {
		if text, ok := v.(string); ok && text != "" {
			refs = append(refs, reference{of, text})
		}
	}
	switch r.kind.Kind {
	case document.KindJobQueue:
		add(document.KindSchedulingPolicy, r.request["schedulingPolicyArn"])
		for _, entry := range objectsOf(r.request["computeEnvironmentOrder"]) {
			add(document.KindComputeEnvironment, entry["computeEnvironment"])
		}
		for _, entry := range objectsOf(r.request["serviceEnvironmentOrder"]) {
			add(document.KindServiceEnvironment, entry["serviceEnvironment"])
		}
	case document.KindQuotaShare:
		add(document.KindJobQueue, r.request["jobQueue"])
	}
	return refs
}

// referred returns the resource of a reference; nil if the state does not have it. A server that is not AWS may
// describe a resource by the name that the request had.
func (s *State) referred(ref reference) *Resource {
	for _, r := range s.of(ref.of) {
		if r.ARN == ref.text || !batch.IsARN(ref.text) && r.Name == ref.text {
			return r
		}
	}
	return nil
}

// Count returns how many resources Export writes.
func (s *State) Count() (n int) {
	for _, k := range kinds {
		n += len(s.newest(k.Kind))
	}
	return n
}

// Replaced returns the environments that others replace, each with the name of the other one. Export leaves them out:
// the next apply deletes them once no job runs on them.
func (s *State) Replaced() (replaced []string) {
	for _, r := range s.of(document.KindComputeEnvironment) {
		if newest := s.named(r.kind, r.Logical)[0]; newest != r {
			replaced = append(replaced, fmt.Sprintf("%s, which %s replaces", r.Name, newest.Name))
		}
	}
	return replaced
}

// Export returns a document of document.KindResources that creates the resources. Applying it changes nothing,
// except that it finishes the replacement of the environments that Replaced returns.
func (s *State) Export(schema string) ([]byte, error) {
	type member struct {
		name string
		v    any
	}
	doc := []member{{"$schema", schema}}
	for _, l := range document.ResourceLists {
		var list []any
		for _, r := range s.newest(l.Kind) {
			list = append(list, ordered(r.kind, s.portable(r)))
		}
		if len(list) > 0 {
			doc = append(doc, member{l.Member, list})
		}
	}
	var b strings.Builder
	b.WriteByte('{')
	for i, m := range doc {
		if i > 0 {
			b.WriteByte(',')
		}
		text, err := json.Marshal(m.v)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&b, "%q:%s", m.name, text)
	}
	b.WriteByte('}')
	return []byte(b.String()), nil
}

// newest returns the resources of a kind, sorted by name, without those that are being replaced.
func (s *State) newest(k document.Kind) (all []*Resource) {
	for _, r := range s.of(k) {
		if s.named(r.kind, r.Logical)[0] == r && !r.isMachine() {
			all = append(all, r)
		}
	}
	slices.SortStableFunc(all, func(a, b *Resource) int { return strings.Compare(a.Logical, b.Logical) })
	return all
}

// isMachine reports whether a compute environment stands for the machine of the local engine, which comes from the
// engine's options.
func (r *Resource) isMachine() bool {
	return r.kind.Kind == document.KindComputeEnvironment && batch.IsLocalMachine(r.ARN, r.cluster)
}

// portable returns the request that creates a resource under its name in files, with names instead of ARNs and without
// what the service chose.
func (s *State) portable(r *Resource) object {
	p := &planner{state: s}
	out := r.kind.comparable(r.request)
	if r.kind.Kind == document.KindComputeEnvironment {
		out[r.kind.name] = r.Logical
	}
	p.toLogical(r.kind, out)
	if strings.HasSuffix(fmt.Sprint(out["serviceRole"]), linkedRole) {
		delete(out, "serviceRole")
	}
	if kind := fmt.Sprint(out["jobQueueType"]); !strings.HasPrefix(kind, "SAGEMAKER") {
		delete(out, "jobQueueType") // the environments decide it
	}
	for path, absent := range r.kind.absent {
		if path != "state" && path != "computeResources.minvCpus" { // clearer if they are there
			dropAbsent(out, strings.Split(path, "."), absent)
		}
	}
	return out
}

// dropAbsent removes a member whose value means the same as its absence.
func dropAbsent(o object, path []string, absent any) {
	for ; len(path) > 1; path = path[1:] {
		inner, ok := o[path[0]].(object)
		if !ok {
			return
		}
		o = inner
	}
	v, ok := o[path[0]]
	if !ok {
		return
	}
	list, isList := v.([]any)
	inner, isObject := v.(object)
	if isList && len(list) == 0 || isObject && len(inner) == 0 || !isList && !isObject && same(absent, v) {
		delete(o, path[0])
	}
}

// orderedObject is an object whose members are written in an order.
type orderedObject struct {
	names  []string
	object object
}

// MarshalJSON writes the members in their order.
func (o orderedObject) MarshalJSON() ([]byte, error) {
	var b strings.Builder
	b.WriteByte('{')
	for i, name := range o.names {
		if i > 0 {
			b.WriteByte(',')
		}
		text, err := json.Marshal(o.object[name])
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&b, "%q:%s", name, text)
	}
	b.WriteByte('}')
	return []byte(b.String()), nil
}

// ordered returns a request whose members are in the order of the API reference, its name first.
func ordered(k *kind, request object) orderedObject {
	var names []string
	for _, m := range k.members {
		if _, ok := request[m]; ok {
			names = append(names, m)
		}
	}
	return orderedObject{names, request}
}

// Template returns a CloudFormation template of the resources. They stay when the stack is deleted, so that
// CloudFormation can import them: aws cloudformation create-change-set --change-set-type IMPORT.
func (s *State) Template() ([]byte, error) {
	ids := s.identifiers(func(r *Resource) string { return pascal(r.Logical) + pascal(r.kind.title) })
	for r, id := range ids {
		ids[r] = strings.ReplaceAll(id, "_", "X") // only letters and digits
	}
	resources := object{}
	for r, id := range ids {
		properties := capitals(s.portable(r), false).(object)
		refer := func(o object, member string, of document.Kind) {
			if name, ok := o[member].(string); ok {
				if other := s.find(kindOf(of), batch.Name(name)); other != nil && ids[other] != "" {
					o[member] = object{"Ref": ids[other]} // the ARN of each of these
				}
			}
		}
		refer(properties, "SchedulingPolicyArn", document.KindSchedulingPolicy)
		refer(properties, "JobQueue", document.KindJobQueue)
		for _, entry := range objectsOf(properties["ComputeEnvironmentOrder"]) {
			refer(entry, "ComputeEnvironment", document.KindComputeEnvironment)
		}
		for _, entry := range objectsOf(properties["ServiceEnvironmentOrder"]) {
			refer(entry, "ServiceEnvironment", document.KindServiceEnvironment)
		}
		if r.kind.Kind == document.KindConsumableResource { // CloudFormation requires both
			properties["ResourceType"], properties["TotalQuantity"] = r.request["resourceType"],
				r.request["totalQuantity"]
		}
		if r.Name != r.Logical { // a replacement: an import needs the name in the account
			properties[capital(r.kind.name)] = r.Name
		}
		resources[id] = object{"Type": "AWS::Batch::" + pascal(r.kind.title), "DeletionPolicy": "Retain",
			"UpdateReplacePolicy": "Retain", "Properties": properties}
	}
	return json.MarshalIndent(object{"AWSTemplateFormatVersion": "2010-09-09", "Resources": resources}, "", "  ")
}

// identifiers gives each resource a name of its own among those of its kind.
func (s *State) identifiers(name func(*Resource) string) map[*Resource]string {
	ids := map[*Resource]string{}
	for _, k := range kinds {
		taken := map[string]bool{}
		for _, r := range s.newest(k.Kind) {
			id := name(r)
			for n := 2; taken[id]; n++ {
				id = fmt.Sprintf("%s_%d", name(r), n)
			}
			ids[r], taken[id] = id, true
		}
	}
	return ids
}

// capitals returns a request with the names of CloudFormation: each begins with a capital. Names of tags stay.
func capitals(v any, isMap bool) any {
	switch v := v.(type) {
	case object:
		out := object{}
		for name, m := range v {
			if isMap {
				out[name] = m
			} else {
				out[capital(name)] = capitals(m, name == "tags")
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, m := range v {
			out[i] = capitals(m, false)
		}
		return out
	}
	return v
}

func capital(name string) string {
	return strings.ToUpper(name[:min(1, len(name))]) + name[min(1, len(name)):]
}

// pascal returns the letters and digits of a name, each word with a capital.
func pascal(name string) string {
	var b strings.Builder
	for _, word := range strings.FieldsFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9')
	}) {
		b.WriteString(capital(word))
	}
	return b.String()
}
