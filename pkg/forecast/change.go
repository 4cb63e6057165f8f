package forecast

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/diag"
)

// Change is a proposed member of an environment or a queue, such as gpu.maxvCpus=512.
type Change struct {
	// Of is the environment or queue, Member its member as AWS Batch names it.
	Of, Member string
	// Operator is =, += or -=; the latter two are for lists.
	Operator string
	Value    string
}

// ParseChange reads NAME.MEMBER=VALUE, NAME.MEMBER+=VALUE or NAME.MEMBER-=VALUE.
func ParseChange(text string) (Change, error) {
	left, value, ok := strings.Cut(text, "=")
	operator := "="
	if ok && (strings.HasSuffix(left, "+") || strings.HasSuffix(left, "-")) {
		operator = left[len(left)-1:] + "="
		left = left[:len(left)-1]
	}
	at := strings.LastIndexByte(left, '.')
	if !ok || at <= 0 || at == len(left)-1 || value == "" {
		return Change{}, fmt.Errorf("invalid change %q: want NAME.MEMBER=VALUE, such as gpu.maxvCpus=512", text)
	}
	return Change{left[:at], left[at+1:], operator, value}, nil
}

// Members are the members that a Change may have, for messages.
func Members() []string {
	return append(slices.Sorted(maps.Keys(environmentMembers)), slices.Sorted(maps.Keys(queueMembers))...)
}

// Setter applies a change to a State.
type setter[T any] func(*T, Change, func(string) ([]InstanceType, error)) error

// environmentMembers are the members of an environment that a change may set.
var environmentMembers = map[string]setter[Environment]{
	"maxvCpus":                 number(func(e *Environment, n int64) { e.MaxvCpus = n }),
	"minvCpus":                 number(func(e *Environment, n int64) { e.MinvCpus = n }),
	"desiredvCpus":             number(func(e *Environment, n int64) { e.DesiredvCpus = n }),
	"minScaleDownDelayMinutes": number(func(e *Environment, n int64) { e.KeepIdle = n * 60_000 }),
	"allocationStrategy": func(e *Environment, c Change, _ func(string) ([]InstanceType, error)) error {
		v := types.CRAllocationStrategy(c.Value)
		if !slices.Contains(v.Values(), v) {
			return fmt.Errorf("allocationStrategy %s: want one of %v", c.Value, v.Values())
		}
		e.Strategy = v
		return nil
	},
	"type": func(e *Environment, c Change, expand func(string) ([]InstanceType, error)) error {
		v := types.CRType(c.Value)
		if v != types.CRTypeEc2 && v != types.CRTypeSpot || e.IsFargate() {
			return fmt.Errorf("type %s: want EC2 or SPOT, and a compute environment on instances", c.Value)
		}
		e.Type = v
		return e.expand(expand) // their prices differ
	},
	"instanceTypes": func(e *Environment, c Change, expand func(string) ([]InstanceType, error)) error {
		list := strings.Split(c.Value, ",")
		has := func(all []string) func(string) bool { return func(s string) bool { return slices.Contains(all, s) } }
		switch c.Operator {
		case "+=":
			list = append(slices.Clone(e.Entries), slices.DeleteFunc(list, has(e.Entries))...)
		case "-=":
			list = slices.DeleteFunc(slices.Clone(e.Entries), has(list))
		}
		e.Entries = list
		return e.expand(expand)
	},
}

// expand sets the instance types of the environment's entries.
func (e *Environment) expand(expand func(string) ([]InstanceType, error)) error {
	e.Types = nil
	for _, entry := range e.Entries {
		list, err := expand(entry)
		if err != nil {
			return err
		}
		e.Types = append(e.Types, list...)
	}
	return nil
}

// queueMembers are the members of a queue or of its policy that a change may set.
var queueMembers = map[string]setter[Queue]{
	"priority":           number(func(q *Queue, n int64) { q.Priority = int32(n) }),
	"shareDecaySeconds":  number(func(q *Queue, n int64) { q.policy().ShareDecaySeconds = aws.Int32(int32(n)) }),
	"computeReservation": number(func(q *Queue, n int64) { q.policy().ComputeReservation = aws.Int32(int32(n)) }),
	"weightFactor": func(q *Queue, c Change, _ func(string) ([]InstanceType, error)) error {
		share, text, ok := strings.Cut(c.Value, ":")
		weight, err := strconv.ParseFloat(text, 32)
		if !ok || err != nil || weight < 0.0001 || weight > 999.9999 {
			return fmt.Errorf("weightFactor %s: want SHARE:FACTOR with a factor of 0.0001 to 999.9999", c.Value)
		}
		p := q.policy()
		p.ShareDistribution = slices.DeleteFunc(slices.Clone(p.ShareDistribution),
			func(s types.ShareAttributes) bool { return aws.ToString(s.ShareIdentifier) == share })
		p.ShareDistribution = append(p.ShareDistribution, types.ShareAttributes{ShareIdentifier: &share,
			WeightFactor: aws.Float32(float32(weight))})
		return nil
	},
	"computeEnvironmentOrder": func(q *Queue, c Change, _ func(string) ([]InstanceType, error)) error {
		names := strings.Split(c.Value, ",")
		switch c.Operator {
		case "+=":
			names = append(slices.Clone(q.Environments), names...)
		case "-=":
			names = slices.DeleteFunc(slices.Clone(q.Environments),
				func(name string) bool { return slices.Contains(names, name) })
		}
		q.Environments = names
		return nil
	},
	"schedulingPolicy": func(q *Queue, c Change, _ func(string) ([]InstanceType, error)) error {
		switch c.Value {
		case "none":
			q.Policy = nil
		case "fair":
			q.Policy = &types.FairsharePolicy{}
		default:
			return fmt.Errorf("schedulingPolicy %s: want none (first in, first out) or fair (equal shares)", c.Value)
		}
		return nil
	},
}

// policy returns a copy of the queue's policy, which the queue then has.
func (q *Queue) policy() *types.FairsharePolicy {
	p := types.FairsharePolicy{}
	if q.Policy != nil {
		p = *q.Policy
	}
	q.Policy = &p
	return &p
}

// number sets a member that is a number.
func number[T any](set func(*T, int64)) setter[T] {
	return func(to *T, c Change, _ func(string) ([]InstanceType, error)) error {
		n, err := strconv.ParseInt(c.Value, 10, 32) // as in AWS's API
		if err != nil || n < 0 || c.Operator != "=" {
			return fmt.Errorf("%s%s%s: want a whole number from 0 to %d after =", c.Member, c.Operator, c.Value,
				math.MaxInt32)
		}
		set(to, n)
		return nil
	}
}

// Changed returns a State with changes. expand returns the instance types of an entry such as g6e or g6e.12xlarge, with
// the prices of an environment that is on Spot or not.
func (s *State) Changed(changes []Change,
	expand func(entry string, spot bool) ([]InstanceType, error)) (*State, error) {
	next := *s
	next.Environments, next.Queues = slices.Clone(s.Environments), slices.Clone(s.Queues)
	for _, c := range changes {
		if set, ok := queueMembers[c.Member]; ok {
			at := slices.IndexFunc(next.Queues, func(q Queue) bool { return q.Name == c.Of })
			if at < 0 {
				return nil, fmt.Errorf("%s.%s: no queue %s", c.Of, c.Member, c.Of)
			}
			if err := set(&next.Queues[at], c, nil); err != nil {
				return nil, err
			}
			continue
		}
		set, ok := environmentMembers[c.Member]
		if !ok {
			return nil, fmt.Errorf("%s.%s: unknown member; %s", c.Of, c.Member,
				diag.Instead(c.Member, Members(), diag.Offer{Near: "did you mean %s?", Are: "the members are"}))
		}
		at, err := next.environment(c.Of)
		if err != nil {
			return nil, err
		}
		e := &next.Environments[at]
		if err := set(e, c, func(entry string) ([]InstanceType, error) {
			return expand(entry,
				e.IsSpot())
		}); err != nil {
			return nil, fmt.Errorf("%s: %w", c.Of, err)
		}
	}
	return &next, nil
}

// environment returns the index of an environment by its name, or by that of a queue that has only one.
func (s *State) environment(name string) (int, error) {
	if at := slices.IndexFunc(s.Environments, func(e Environment) bool { return e.Name == name }); at >= 0 {
		return at, nil
	}
	at := slices.IndexFunc(s.Queues, func(q Queue) bool { return q.Name == name })
	switch {
	case at < 0:
		return 0, fmt.Errorf("no compute environment or queue %s", name)
	case len(s.Queues[at].Environments) != 1:
		return 0, fmt.Errorf("queue %s has several compute environments: name one of %s", name,
			strings.Join(s.Queues[at].Environments, " "))
	}
	return s.environment(s.Queues[at].Environments[0])
}

// Without returns a State without the jobs of a share that wait or come later.
func (s *State) Without(share string) *State {
	next := *s
	next.Jobs = slices.DeleteFunc(slices.Clone(s.Jobs), func(j Job) bool { return j.Share == share && j.Started == 0 })
	return &next
}

// Reclaimed returns a State in which EC2 takes the instances of an environment back so often in an hour while it is on
// Spot.
func (s *State) Reclaimed(perHour float64) *State {
	next := *s
	next.Environments = slices.Clone(s.Environments)
	for i := range next.Environments {
		if e := &next.Environments[i]; !e.IsFargate() && s.Machine == nil {
			e.ReclaimsPerHour = perHour
		}
	}
	return &next
}

// Patch returns what changes in the files of apply: the members of environments, queues and policies, as
// requests that mention only them.
func (s *State) Patch(next *State) map[string]any {
	patch := map[string]any{}
	var environments, queues []any
	for i, e := range next.Environments {
		if i >= len(s.Environments) {
			break
		}
		was, resources := s.Environments[i], map[string]any{}
		set := func(name string, changed bool, value any) {
			if changed {
				resources[name] = value
			}
		}
		set("maxvCpus", e.MaxvCpus != was.MaxvCpus, e.MaxvCpus)
		set("minvCpus", e.MinvCpus != was.MinvCpus, e.MinvCpus)
		set("desiredvCpus", e.DesiredvCpus != was.DesiredvCpus, e.DesiredvCpus)
		set("type", e.Type != was.Type, e.Type)
		set("allocationStrategy", e.Strategy != was.Strategy, e.Strategy)
		set("scalingPolicy", e.KeepIdle != was.KeepIdle,
			map[string]any{"minScaleDownDelayMinutes": e.KeepIdle / 60_000})
		set("instanceTypes", !slices.Equal(e.Entries, was.Entries), e.Entries)
		if len(resources) > 0 {
			environments = append(environments, map[string]any{"computeEnvironmentName": e.Name,
				"computeResources": resources})
		}
	}
	for i, q := range next.Queues {
		was, members := s.Queues[i], map[string]any{}
		if q.Priority != was.Priority {
			members["priority"] = q.Priority
		}
		if !slices.Equal(q.Environments, was.Environments) {
			var order []any
			for n, name := range q.Environments {
				order = append(order, map[string]any{"order": n + 1, "computeEnvironment": name})
			}
			members["computeEnvironmentOrder"] = order
		}
		if len(members) > 0 {
			members["jobQueueName"] = q.Name
			queues = append(queues, members)
		}
		if q.Policy != was.Policy {
			patch["schedulingPolicies"] = append(asList(patch["schedulingPolicies"]), policyPatch(q))
		}
	}
	if environments != nil {
		patch["computeEnvironments"] = environments
	}
	if queues != nil {
		patch["jobQueues"] = queues
	}
	return patch
}

func asList(v any) []any {
	list, _ := v.([]any)
	return list
}

// policyPatch returns the policy of a queue in the form of a request. Its name is that of the queue, because
// DescribeJobQueues has only the ARN.
func policyPatch(q Queue) map[string]any {
	if q.Policy == nil {
		return map[string]any{"name": q.Name, "fairsharePolicy": nil}
	}
	fair := map[string]any{}
	if v := q.Policy.ShareDecaySeconds; v != nil {
		fair["shareDecaySeconds"] = *v
	}
	if v := q.Policy.ComputeReservation; v != nil {
		fair["computeReservation"] = *v
	}
	var shares []any
	for _, d := range q.Policy.ShareDistribution {
		shares = append(shares, map[string]any{"shareIdentifier": aws.ToString(d.ShareIdentifier),
			"weightFactor": aws.ToFloat32(d.WeightFactor)})
	}
	if shares != nil {
		fair["shareDistribution"] = shares
	}
	return map[string]any{"name": q.Name, "fairsharePolicy": fair}
}

// PlatformPatch returns what changes in the platform file: the queues whose environments have other members, as the
// file describes them. alias returns the name of a queue in the file; "" if the file has no such queue.
func (s *State) PlatformPatch(next *State, alias func(queue string) string) map[string]any {
	changed := map[string]bool{}
	for i, e := range next.Environments {
		was := s.Environments[i]
		changed[e.Name] = e.MaxvCpus != was.MaxvCpus || e.Type != was.Type || !slices.Equal(e.Entries, was.Entries)
	}
	queues := map[string]any{}
	for i, q := range next.Queues {
		if slices.Equal(q.Environments, s.Queues[i].Environments) && !slices.ContainsFunc(q.Environments,
			func(name string) bool { return changed[name] }) {
			continue
		}
		environments := []any{}
		for _, name := range q.Environments {
			at := slices.IndexFunc(next.Environments, func(e Environment) bool { return e.Name == name })
			if at < 0 {
				continue // New reports it
			}
			e := &next.Environments[at]
			members := map[string]any{"computeEnvironment": name, "type": e.Type, "maxvCpus": e.MaxvCpus}
			if len(e.Entries) > 0 {
				members["instanceTypes"] = e.Entries
			}
			environments = append(environments, members)
		}
		queues[cmp.Or(alias(q.Name), q.Name)] = map[string]any{"jobQueue": q.Name, "computeEnvironments": environments}
	}
	if len(queues) == 0 {
		return nil
	}
	return map[string]any{"queues": queues}
}

// ParsePolicy reads a fair-share policy: the members of fairsharePolicy, or a CreateSchedulingPolicy request with them.
func ParsePolicy(text []byte) (*types.FairsharePolicy, error) {
	request := struct {
		Name, Arn       string
		Tags            map[string]string
		FairsharePolicy *types.FairsharePolicy
	}{}
	strict := func(into any) error {
		d := json.NewDecoder(bytes.NewReader(text))
		d.DisallowUnknownFields()
		return d.Decode(into)
	}
	p := &types.FairsharePolicy{}
	if err := strict(&request); err == nil && request.FairsharePolicy != nil {
		p = request.FairsharePolicy
	} else if bad := strict(p); bad != nil {
		return nil, fmt.Errorf("want a CreateSchedulingPolicy request with fairsharePolicy, or the members of fairsharePolicy: %w", bad)
	}
	// The limits are those of the API reference of FairsharePolicy and ShareAttributes.
	if n := aws.ToInt32(p.ComputeReservation); n < 0 || n > 99 {
		return nil, fmt.Errorf("computeReservation %d: want 0 to 99", n)
	}
	if n := aws.ToInt32(p.ShareDecaySeconds); n < 0 || n > 604_800 {
		return nil, fmt.Errorf("shareDecaySeconds %d: want 0 to 604800", n)
	}
	for _, d := range p.ShareDistribution {
		if w := aws.ToFloat32(d.WeightFactor); aws.ToString(d.ShareIdentifier) == "" || d.WeightFactor != nil &&
			(w < 0.0001 || w > 999.9999) {
			return nil, fmt.Errorf("share %q with weightFactor %g: want a shareIdentifier, and 0.0001 to 999.9999",
				aws.ToString(d.ShareIdentifier), w)
		}
	}
	return p, nil
}

// WithPolicy returns a State in which a queue has a policy.
func (s *State) WithPolicy(queue int, p *types.FairsharePolicy) *State {
	next := *s
	next.Queues = slices.Clone(s.Queues)
	next.Queues[queue].Policy = p
	return &next
}
