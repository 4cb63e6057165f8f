package apply

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/rpc"
	"github.com/batchctl/batchctl/pkg/text"
)

// Runner carries out plans.
type Runner struct {
	*Account
	// Who names this user and machine to others who find the lock.
	Who string
	// Process identifies this process to others; "" if this system has no such identity. Ended reports whether the
	// process with an identity has ended for certain; nil never does.
	Process string
	Ended   func(process string) bool
	// Progress receives each step as it begins, and what it waits for. It may be nil.
	Progress func(s *Step, doing string)
	// Warn receives the problems that do not stop the run. It may be nil.
	Warn func(error)
	// Settle limits the wait until a resource is VALID, or gone.
	Settle time.Duration
	// Drain limits the wait until no job runs on an environment that is to be deleted.
	Drain time.Duration

	lock  *lock
	arns  map[string]string // by kind and name in the account
	plan  *Plan
	state *State
}

// DrainingError reports that jobs still run on an environment that is to be deleted. Everything else is done, and the
// next apply continues.
type DrainingError struct {
	Environment string
	Jobs        int
}

// Error names the environment and counts its jobs.
func (e *DrainingError) Error() string {
	return fmt.Sprintf("%s still on compute environment %s, which is DISABLED", jobCount(e.Jobs), e.Environment)
}

// InvalidError reports that AWS Batch cannot use a resource.
type InvalidError struct {
	Title  string `json:"kind"`
	Name   string `json:"name"`
	Reason string `json:"reason"`
	// Replaces is the environment that it should replace; "" for none. That one stays in use.
	Replaces string `json:"replaces,omitempty"`
	// Environment is true for a compute environment, whose reasons batchctl explain knows.
	Environment bool `json:"-"`
}

// Error has AWS Batch's reason.
func (e *InvalidError) Error() string {
	text := fmt.Sprintf("%s %s is INVALID: %s", e.Title, e.Name, e.Reason)
	if e.Replaces != "" {
		text += fmt.Sprintf(", so it cannot replace %q", e.Replaces)
	}
	return text
}

// Lock makes sure that no other apply changes the account meanwhile. The caller calls Unlock, also after an error.
// Without the permission to create the lock it warns.
func (r *Runner) Lock(ctx context.Context) (err error) {
	l, err := r.take(ctx)
	if rpc.Denied(err) || isUnknown(err) {
		r.warn(fmt.Errorf("cannot lock out another apply while this one runs: %w", err))
		return nil
	}
	if err == nil {
		r.lock = l
	}
	return err
}

// Unlock ends what Lock began.
func (r *Runner) Unlock(ctx context.Context) error {
	err := r.lock.release(ctx)
	r.lock = nil
	return err
}

func (r *Runner) warn(err error) {
	if r.Warn != nil {
		r.Warn(err)
	}
}

func (r *Runner) progress(s *Step, doing string) {
	if r.Progress != nil {
		r.Progress(s, doing)
	}
}

// Run carries out a plan that was made from a state. It stops at the first error; what it has done then remains, and
// the next plan begins there. A *DrainingError means that all but the deletion of environments is done.
func (r *Runner) Run(ctx context.Context, plan *Plan, state *State) error {
	r.plan, r.state, r.arns = plan, state, map[string]string{}
	for _, known := range state.resources {
		r.arns[key(known.kind, known.Name)] = known.ARN
	}
	for _, s := range plan.unsettled { // others may need them
		if err := r.settle(ctx, s); err != nil {
			return fmt.Errorf("%s %s: %w", s.kind.title, s.Name, err)
		}
	}
	var draining error
	for _, s := range plan.Steps {
		if err := r.lock.keep(ctx); err != nil {
			return err
		}
		err := r.step(ctx, s)
		if _, ok := errors.AsType[*DrainingError](err); ok {
			draining = errors.Join(draining, err)
			continue
		}
		if err != nil {
			return fmt.Errorf("%s %s %s: %w", s.Verb, s.kind.title, s.Name, err)
		}
	}
	return draining
}

// key identifies a resource in Runner.arns.
func key(k *kind, name string) string { return k.title + " " + name }

// step carries out one step.
func (r *Runner) step(ctx context.Context, s *Step) error {
	if s.live != nil && s.Verb != Replace && (s.live.Status == statusCreating || s.live.Status == statusUpdating) {
		// AWS Batch rejects changes to a resource that it is still changing.
		if err := r.settle(ctx, s); err != nil {
			if _, invalid := errors.AsType[*InvalidError](err); !invalid { // the change may be the cure
				return err
			}
		}
	}
	switch s.Verb {
	case Create, Replace:
		return r.create(ctx, s)
	case Update:
		return r.update(ctx, s)
	case Retire:
		return r.retire(ctx, s)
	default:
		return r.remove(ctx, s)
	}
}

// create creates a resource, and waits until it can be used.
func (r *Runner) create(ctx context.Context, s *Step) error {
	r.progress(s, "")
	if slices.ContainsFunc(r.state.deleting, func(d *Resource) bool { return d.kind == s.kind && d.Name == s.Name }) {
		if err := r.gone(ctx, s); err != nil {
			return err
		}
	}
	request := r.withARNs(s.kind, s.request)
	if err := r.settleUsed(ctx, s, request); err != nil {
		return err
	}
	disabled := s.kind.Kind == document.KindComputeEnvironment && request["state"] == "DISABLED"
	if disabled {
		request["state"] = "ENABLED" // AWS Batch creates no other ones
	}
	var out object
	if err := r.call(ctx, string(s.kind.Kind), request, &out); err != nil {
		return err
	}
	r.arns[key(s.kind, s.Name)], _ = out[s.kind.arn].(string)
	if err := r.settle(ctx, s); err != nil || !disabled {
		return err
	}
	if err := r.call(ctx, s.kind.update, object{s.kind.reference: r.arns[key(s.kind, s.Name)], "state": "DISABLED"},
		&object{}); err != nil {
		return err
	}
	return r.settle(ctx, s)
}

// settleUsed waits until the environments of a queue, or the queue of a quota share, are VALID: AWS Batch accepts no
// others.
func (r *Runner) settleUsed(ctx context.Context, s *Step, request object) error {
	of, used := map[document.Kind]document.Kind{document.KindJobQueue: document.KindComputeEnvironment,
		document.KindQuotaShare: document.KindJobQueue}[s.kind.Kind], []any{}
	if of == "" {
		return nil
	}
	for _, entry := range listOf(request["computeEnvironmentOrder"]) {
		if entry, ok := entry.(object); ok {
			used = append(used, entry["computeEnvironment"])
		}
	}
	if s.kind.Kind == document.KindQuotaShare {
		used = []any{request["jobQueue"]}
	}
	for _, arn := range used {
		if arn, ok := arn.(string); ok && arn != "" {
			if err := r.settle(ctx, &Step{Kind: kindOf(of).title, Name: batch.Name(arn),
				kind: kindOf(of)}); err != nil {
				return err
			}
		}
	}
	return nil
}

// withARNs returns a request with the ARNs of what it refers to.
func (r *Runner) withARNs(k *kind, request object) object {
	out := clone(request).(object)
	resolve := func(o object, member string, of document.Kind) {
		if name, ok := o[member].(string); ok {
			if arn := r.arnOf(kindOf(of), name); arn != "" {
				o[member] = arn
			}
		}
	}
	switch k.Kind {
	case document.KindJobQueue:
		resolve(out, "schedulingPolicyArn", document.KindSchedulingPolicy)
		for _, entry := range listOf(out["computeEnvironmentOrder"]) {
			if entry, ok := entry.(object); ok {
				resolve(entry, "computeEnvironment", document.KindComputeEnvironment)
			}
		}
		for _, entry := range listOf(out["serviceEnvironmentOrder"]) {
			if entry, ok := entry.(object); ok {
				resolve(entry, "serviceEnvironment", document.KindServiceEnvironment)
			}
		}
	case document.KindQuotaShare:
		resolve(out, "jobQueue", document.KindJobQueue)
	}
	return out
}

// arnOf returns the ARN of what files call by a name: of the newest replacement, if there is one.
func (r *Runner) arnOf(k *kind, name string) string {
	for _, s := range r.plan.Steps {
		if s.Verb == Replace && s.kind == k && s.live.Logical == name {
			return r.arns[key(k, s.Name)]
		}
	}
	if known := r.state.find(k, name); known != nil {
		return known.ARN
	}
	return r.arns[key(k, name)]
}

// update changes a resource, its tags first, and waits until it can be used again.
func (r *Runner) update(ctx context.Context, s *Step) error {
	r.progress(s, "")
	if err := r.tag(ctx, s); err != nil {
		return err
	}
	request := r.updateRequest(s)
	if request == nil {
		return nil
	}
	if err := r.settleUsed(ctx, s, request); err != nil {
		return err
	}
	if err := r.call(ctx, s.kind.update, request, &object{}); err != nil {
		return err
	}
	return r.settle(ctx, s)
}

// tag changes the tags of a resource.
func (r *Runner) tag(ctx context.Context, s *Step) error {
	set := map[string]string{}
	var remove []string
	for _, c := range s.Changes {
		name, ok := strings.CutPrefix(c.Path, "tags.")
		switch {
		case !ok:
		case c.To == nil:
			remove = append(remove, name)
		default:
			set[name] = fmt.Sprint(c.To)
		}
	}
	if len(set) > 0 {
		if _, err := r.API.TagResource(ctx, &awsbatch.TagResourceInput{ResourceArn: &s.live.ARN,
			Tags: set}); err != nil {
			return err
		}
	}
	if len(remove) > 0 {
		if _, err := r.API.UntagResource(ctx, &awsbatch.UntagResourceInput{ResourceArn: &s.live.ARN,
			TagKeys: remove}); err != nil {
			return err
		}
	}
	return nil
}

// updateRequest returns the request of the kind's update operation; nil if only tags change.
func (r *Runner) updateRequest(s *Step) object {
	want := r.wanted(s)
	request, resources := object{}, object{}
	for _, c := range s.Changes {
		switch member := c.member(); {
		case member == "tags":
		case c.under() != "":
			in, _ := want["computeResources"].(object)
			resources[c.under()] = orCleared(in[c.under()], s.kind.absent["computeResources."+c.under()])
		default:
			request[member] = orCleared(want[member], s.kind.absent[member])
		}
	}
	if len(resources) > 0 {
		request["computeResources"] = resources
	}
	for _, member := range ofImages {
		if _, ok := resources[member]; ok {
			resources["updateToLatestImageVersion"] = true
		}
	}
	if len(request) == 0 {
		return nil
	}
	if s.kind.Kind == document.KindConsumableResource {
		request = object{"operation": "SET", "quantity": request["totalQuantity"]}
	}
	request[s.kind.reference] = s.live.ARN
	return request
}

// orCleared returns the value of a file, or the value that clears the member.
func orCleared(want, absent any) any {
	if want != nil {
		return want
	}
	return absent
}

// wanted returns the request that the resource of an update should equal, with ARNs: the account's, with the changes.
func (r *Runner) wanted(s *Step) object {
	if s.request != nil {
		return r.withARNs(s.kind, s.request)
	}
	// A queue of no file: only its environments change.
	out := clone(s.live.request).(object)
	for _, entry := range listOf(out["computeEnvironmentOrder"]) {
		entry, _ := entry.(object)
		for _, c := range s.Changes {
			if from, ok := c.From.(string); ok && c.Path == "computeEnvironmentOrder" &&
				batch.Name(fmt.Sprint(entry["computeEnvironment"])) == from {
				entry["computeEnvironment"] = r.arns[key(kindOf(document.KindComputeEnvironment), fmt.Sprint(c.To))]
			}
		}
	}
	return out
}

// settle waits until a resource is VALID. Kinds without a status are at once.
func (r *Runner) settle(ctx context.Context, s *Step) error {
	if !s.kind.hasStatus() {
		return nil
	}
	return r.poll(ctx, r.Settle, func() (bool, error) {
		now, err := r.describe(ctx, s)
		switch {
		case err != nil:
			return false, err
		case now == nil || now.Status == statusCreating || now.Status == statusUpdating:
			r.progress(s, "until it is VALID")
			return false, nil
		case now.Status == statusInvalid:
			return false, now.invalid()
		}
		return true, nil
	})
}

// describe returns the current description of a resource; nil if it does not exist.
func (r *Runner) describe(ctx context.Context, s *Step) (now *Resource, err error) {
	if s.kind.Kind == document.KindQuotaShare {
		return r.describeShare(ctx, s)
	}
	plural := map[string]string{"computeEnvironment": "computeEnvironments", "jobQueue": "jobQueues",
		"serviceEnvironment": "serviceEnvironments"}[s.kind.reference]
	err = r.pages(ctx, s.kind.describe, object{plural: []string{s.Name}}, func(page object) error {
		for _, d := range objectsOf(page[s.kind.list]) {
			if found := s.kind.described(d); found.Name == s.Name && found.Status != statusDeleted {
				now = found
			}
		}
		return nil
	})
	return now, err
}

// describeShare is describe for a quota share.
func (r *Runner) describeShare(ctx context.Context, s *Step) (*Resource, error) {
	var d object
	err := r.call(ctx, "DescribeQuotaShare", object{s.kind.reference: r.arns[key(s.kind, s.Name)]}, &d)
	if e, ok := errors.AsType[*rpc.Error](err); ok && e.Status == http.StatusBadRequest || rpc.Missing(err) {
		return nil, nil // AWS Batch names no error of its own for what does not exist
	}
	if err != nil {
		return nil, err
	}
	if d == nil {
		return nil, nil
	}
	if now := s.kind.described(d); now.ARN != "" && now.Status != statusDeleted {
		return now, nil
	}
	return nil, nil
}

// hasStatus reports whether resources of the kind become VALID some time after a change.
func (k *kind) hasStatus() bool { return k.describe != "" || k.Kind == document.KindQuotaShare }

// ErrSlow reports that a resource did not become VALID, or go away, in time.
var ErrSlow = errors.New("AWS Batch is still working on it")

// poll calls done with growing pauses until it returns true. It keeps the lock meanwhile.
func (r *Runner) poll(ctx context.Context, limit time.Duration, done func() (bool, error)) error {
	start := time.Now()
	for pause := firstPause; ; pause = min(pause*3/2, longestPause) {
		ok, err := done()
		if ok || err != nil {
			return err
		}
		if time.Since(start) >= limit {
			return ErrSlow
		}
		if err := rpc.Sleep(ctx, min(pause, max(limit-time.Since(start), time.Millisecond))); err != nil {
			return err
		}
		if err := r.lock.keep(ctx); err != nil {
			return err
		}
	}
}

// retire deletes a compute environment: DISABLED first, so that no job starts there; deleted once none runs there.
func (r *Runner) retire(ctx context.Context, s *Step) error {
	if s.live.request["state"] != "DISABLED" {
		r.progress(s, "")
		if err := r.call(ctx, s.kind.update, object{s.kind.reference: s.live.ARN, "state": "DISABLED"},
			&object{}); err != nil {
			return err
		}
		if err := r.settle(ctx, s); err != nil {
			if _, invalid := errors.AsType[*InvalidError](err); !invalid { // an INVALID one can be deleted
				return err
			}
		}
	}
	queues, err := r.read(ctx, kindOf(document.KindJobQueue), r.state)
	if err != nil {
		return err
	}
	jobs := 0
	err = r.poll(ctx, r.Drain, func() (bool, error) {
		jobs, err = r.jobsOn(ctx, s.live, queues)
		if jobs > 0 {
			r.progress(s, "for "+jobCount(jobs))
		}
		return jobs == 0, err
	})
	if errors.Is(err, ErrSlow) {
		return &DrainingError{s.Name, jobs}
	}
	if err != nil {
		return err
	}
	return r.remove(ctx, s)
}

// remove deletes a resource, a queue after disabling it, and waits until it is gone.
func (r *Runner) remove(ctx context.Context, s *Step) error {
	r.progress(s, "")
	switch s.kind.Kind {
	case document.KindJobQueue, document.KindServiceEnvironment, document.KindQuotaShare:
		if s.live.request["state"] != "DISABLED" {
			if err := r.call(ctx, s.kind.update, object{s.kind.reference: s.live.ARN, "state": "DISABLED"},
				&object{}); err != nil {
				return err
			}
			if err := r.settle(ctx, s); err != nil {
				if _, invalid := errors.AsType[*InvalidError](err); !invalid { // an INVALID one can be deleted
					return err
				}
			}
		}
		// A job may have arrived since the plan was made.
		if s.kind.Kind == document.KindJobQueue {
			if ids, err := r.waitingIn(ctx, s.live); err != nil || len(ids) > 0 {
				return errors.Join(err, fmt.Errorf("it has %s", jobCount(len(ids))))
			}
		}
	}
	err := r.call(ctx, s.kind.remove, object{s.kind.reference: s.live.ARN}, &object{})
	if err != nil && !rpc.Missing(err) {
		return err
	}
	return r.gone(ctx, s)
}

// gone waits until a resource does not exist any more.
func (r *Runner) gone(ctx context.Context, s *Step) error {
	if !s.kind.hasStatus() {
		return nil
	}
	deleting := false
	return r.poll(ctx, r.Settle, func() (bool, error) {
		now, err := r.describe(ctx, s)
		if now == nil || err != nil {
			return now == nil, err
		}
		r.progress(s, "until it is deleted")
		if deleting = deleting || now.Status == statusDeleting; deleting && now.Status == statusInvalid {
			return false, now.invalid() // the deletion failed
		}
		return false, nil
	})
}

// Unread returns the titles of the kinds that you may not read, with the errors. Kinds that the server does not have
// are not among them.
func (s *State) Unread() map[string]error {
	out := map[string]error{}
	for _, k := range slices.Collect(maps.Keys(s.unread)) {
		if !isUnknown(s.unread[k]) {
			out[text.Plural(kindOf(k).title)] = s.unread[k]
		}
	}
	return out
}
