package plan

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/wire"
)

// snapshot is the state of the target on which a plan depends. A part that could not be read is
// absent, and NotChecked names it.
type snapshot struct {
	Target  string `json:"target"`
	Account string `json:"account,omitempty"`
	Region  string `json:"region,omitempty"`
	// Definitions are in the order of the plan.
	Definitions  []definitionState `json:"definitions,omitempty"`
	Queues       []json.RawMessage `json:"queues,omitempty"`
	Environments []json.RawMessage `json:"computeEnvironments,omitempty"`
	Policy       json.RawMessage   `json:"policy,omitempty"`
	NotChecked   []string          `json:"notChecked,omitempty"`
}

// definitionState has the newest ACTIVE revision of a job definition, and the one that the plan
// uses.
type definitionState struct {
	Name   string `json:"name"`
	Newest int    `json:"newest,omitempty"`
	Used   int    `json:"used,omitempty"`
}

// queueState and environmentState are the members that decide whether and where a job runs. The
// current load is not among them.
type queueState struct {
	Name             string          `json:"name"`
	State            types.JQState   `json:"state"`
	Status           types.JQStatus  `json:"status"`
	SchedulingPolicy string          `json:"schedulingPolicyArn,omitempty"`
	Environments     []orderedMember `json:"computeEnvironmentOrder"`
}

// orderedMember is one environment in a queue's order.
type orderedMember struct {
	Environment string `json:"computeEnvironment"`
	Order       int    `json:"order"`
}

type environmentState struct {
	Name      string          `json:"name"`
	State     types.CEState   `json:"state"`
	Status    types.CEStatus  `json:"status"`
	Type      types.CEType    `json:"type"`
	Resources json.RawMessage `json:"computeResources,omitempty"`
}

// snapshot returns the state on which the reviewed plan depends; nil if the
// target was not queried.
func (v *Review) snapshot() (*snapshot, error) {
	if v.Target == nil {
		return nil, nil
	}
	w := v.Target
	s := &snapshot{Target: w.Target, Account: w.Account(), Region: w.Region}
	if v.Policy != nil && v.Policy.policy != nil {
		s.Policy = v.Policy.policy.AppendJSON(nil)
	}
	if w.Unreached != "" {
		s.NotChecked = []string{w.Unreached}
		return s, nil
	}
	s.addDefinitions(v)
	if w.Local {
		return s, nil // submit creates its queues
	}
	if err := s.addQueues(w); err != nil {
		return nil, err
	}
	return s, s.addEnvironments(w)
}

// addDefinitions adds the definitions of the plan, each once.
func (s *snapshot) addDefinitions(v *Review) {
	seen := map[string]bool{}
	for _, j := range v.Jobs {
		name := j.definitionWord()
		r := v.Target.Definitions[name]
		switch {
		case seen[name]:
		case r.Err != "":
			s.NotChecked = append(s.NotChecked, r.Err)
		default:
			d := definitionState{Name: name}
			if r.Newest != nil {
				d.Newest = revision(r.Newest)
			}
			if used := cmp.Or(r.Same, r.Named); used != nil {
				d.Used = revision(used)
			}
			s.Definitions = append(s.Definitions, d)
		}
		seen[name] = true
	}
}

// addQueues adds the queues of the plan.
func (s *snapshot) addQueues(w *TargetState) error {
	if w.QueuesErr != "" {
		s.NotChecked = append(s.NotChecked, w.QueuesErr)
		return nil
	}
	for _, q := range w.Queues {
		state := queueState{Name: aws.ToString(q.JobQueueName), State: q.State, Status: q.Status,
			SchedulingPolicy: aws.ToString(q.SchedulingPolicyArn)}
		for i, name := range inOrder(q) {
			state.Environments = append(state.Environments, orderedMember{batch.Name(name), i + 1})
		}
		text, err := json.Marshal(state)
		if err != nil {
			return err
		}
		s.Queues = append(s.Queues, text)
	}
	return nil
}

// addEnvironments adds the compute environments of those queues.
func (s *snapshot) addEnvironments(w *TargetState) error {
	if w.EnvironmentsErr != "" {
		s.NotChecked = append(s.NotChecked, w.EnvironmentsErr)
		return nil
	}
	for _, e := range w.Environments {
		state := environmentState{Name: aws.ToString(e.ComputeEnvironmentName), State: e.State, Status: e.Status,
			Type: e.Type}
		if e.ComputeResources != nil {
			resources := *e.ComputeResources
			resources.DesiredvCpus = nil // it changes with the load
			text, err := wire.Marshal(resources)
			if err != nil {
				return err
			}
			state.Resources = text
		}
		text, err := json.Marshal(state)
		if err != nil {
			return err
		}
		s.Environments = append(s.Environments, text)
	}
	return nil
}

// Moved compares a saved plan with the plan of the same files now, both from JSON. changes are
// the differences of the requests and of the target's state. notChecked names the parts that one
// of the two could not read. The error means that then is not a plan.
func Moved(then, now []byte) (changes []Change, notChecked []string, err error) {
	old, err := planDocument(then)
	if err != nil {
		return nil, nil, err
	}
	new, err := planDocument(now)
	if err != nil {
		return nil, nil, err
	}
	changes = Diff(requestsByName(old), requestsByName(new))
	isSame := len(changes) == 0
	before, after := old.Get("checked"), new.Get("checked")
	for _, n := range []*jsontree.Node{before, after} {
		for reason := range n.Get("notChecked").Children() {
			notChecked = append(notChecked, reason.Str())
		}
	}
	if before == nil || after == nil {
		return changes, append(notChecked, "one of the plans was not compared with a target"), nil
	}
	changes = append(changes, Diff(pinned(before, after), pinned(after, before))...)
	for _, part := range []string{"definitions", "queues", "computeEnvironments"} {
		if len(notChecked) > 0 && (before.Get(part) == nil || after.Get(part) == nil) {
			continue
		}
		changes = append(changes, Diff(only(before, part), only(after, part))...)
	}
	if !isSame { // a changed definition always has another revision
		changes = slices.DeleteFunc(changes, func(c Change) bool {
			return strings.HasPrefix(c.Path, "definitions[") && strings.HasSuffix(c.Path, "].used")
		})
	}
	return changes, notChecked, nil
}

// pinned returns the members that must not change: Region, policy, and the account if both plans
// know it.
func pinned(checked, other *jsontree.Node) *jsontree.Node {
	n := jsontree.NewObject(checked)
	for _, member := range []string{"account", "region", "policy"} {
		if m := checked.Get(member); m != nil && (member != "account" || other.Get(member) != nil) {
			n.Set(member, m.Clone())
		}
	}
	return n
}

// only returns an object with one member of n.
func only(n *jsontree.Node, member string) *jsontree.Node {
	out := jsontree.NewObject(n)
	if m := n.Get(member); m != nil {
		out.Set(member, m.Clone())
	}
	return out
}

// isNewer reports whether a plan has a later version than this batchctl reads.
func isNewer(root *jsontree.Node) bool {
	if !root.Get("version").Is(jsontree.Number) {
		return false
	}
	version, ok := root.Get("version").Int()
	return !ok || version > FormatVersion
}

// planDocument reads what JSON wrote.
func planDocument(text []byte) (*jsontree.Node, error) {
	root, problems := jsontree.Parse(diag.NewSource("", string(text)))
	switch {
	case problems.HasErrors():
		return nil, fmt.Errorf("not JSON: %s", problems[0].Message)
	case isNewer(root):
		return nil, fmt.Errorf("written by a newer batchctl (version %s; this one reads %d): use that version",
			root.Get("version").Text, FormatVersion)
	case !root.Get("requests").Is(jsontree.Array) || !root.Get("jobs").Is(jsontree.Array):
		return nil, errors.New("it contains no requests and jobs: want a file that plan --out wrote")
	}
	return root, nil
}

// requestsByName returns the plan's requests with names such as "SubmitJob of train".
func requestsByName(document *jsontree.Node) *jsontree.Node {
	list := jsontree.NewArray(nil)
	jobs := document.Get("requests")
	for r := range jobs.Children() {
		input := r.Get("input")
		name := input.Get("jobName").Str()
		if name == "" {
			name = input.Get("jobDefinitionName").Str()
		}
		named := jsontree.NewObject(nil)
		named.Set("name", jsontree.NewString(r.Get("operation").Str()+" of "+name, r))
		for _, member := range []string{"when", "after", "maxParallel"} {
			if m := r.Get(member); m != nil {
				named.Set(member, m.Clone())
			}
		}
		for m := range input.Children() {
			named.Set(m.Name, m.Clone())
		}
		list.Append(named)
	}
	out := jsontree.NewObject(nil)
	out.Set("requests", list)
	return out
}
