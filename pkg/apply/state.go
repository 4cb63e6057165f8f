package apply

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/rpc"
	"github.com/batchctl/batchctl/pkg/text"
)

// The tags that apply puts on resources.
const (
	// OwnerTag has the owner of a resource: what apply --prune may delete.
	OwnerTag = "batchctl:owner"
	// NameTag has the name in the files of an environment that replaces another one, because two environments cannot
	// have the same name.
	NameTag = "batchctl:name"
)

// Account is the account and Region, or the engine, in which resources are.
type Account struct {
	RPC *rpc.Client
	API *awsbatch.Client
}

// Resource is a resource in the account.
type Resource struct {
	kind *kind
	// Name is its name in the account. Logical is its name in files. Those of a quota share begin with its queue: two
	// queues may have shares of one name.
	Name, Logical string
	ARN           string
	// request is the request that would create it, with ARNs; its tags are complete.
	request object
	// Status is VALID, INVALID and so on; "" for kinds without a status. Reason explains it.
	Status, Reason string
	cluster        string // of a compute environment
	owner          string
}

// The states of a resource in which AWS Batch rejects changes, and the one in which it cannot use it.
const (
	statusCreating = "CREATING"
	statusUpdating = "UPDATING"
	statusDeleting = "DELETING"
	statusDeleted  = "DELETED"
	statusInvalid  = "INVALID"
)

// invalid is the error about a resource that AWS Batch cannot use.
func (r *Resource) invalid() *InvalidError {
	return &InvalidError{Title: r.kind.title, Name: r.Name, Reason: r.Reason,
		Environment: r.kind.Kind == document.KindComputeEnvironment}
}

// State holds the resources of an account.
type State struct {
	resources []*Resource
	// deleting are those that are being deleted: their names are taken for a while.
	deleting []*Resource
	// locked is true if the account has a lock of an apply, which may have ended.
	locked bool
	// unread holds the error of each kind that could not be read.
	unread map[document.Kind]error
}

// Read reads the resources of the account, of all kinds.
func (a *Account) Read(ctx context.Context) (*State, error) {
	s := &State{unread: map[document.Kind]error{}}
	for _, k := range kinds {
		found, err := a.read(ctx, k, s)
		switch {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case err != nil && !k.mayStayUnread(err):
			return nil, fmt.Errorf("read the %s: %w", text.Plural(k.title), err)
		case err != nil:
			s.unread[k.Kind] = err
		}
		for _, r := range found {
			switch r.Status {
			case statusDeleted:
			case statusDeleting:
				s.deleting = append(s.deleting, r)
			default:
				s.resources = append(s.resources, r)
			}
		}
	}
	return s, nil
}

// mayStayUnread reports whether apply works without the resources of the kind: the server does not have them, or the
// user may not see them. Every decision needs the environments and the queues.
func (k *kind) mayStayUnread(err error) bool {
	needed := k.Kind == document.KindComputeEnvironment || k.Kind == document.KindJobQueue
	return !needed && (rpc.Denied(err) || isUnknown(err))
}

// isUnknown reports whether the server does not have an operation.
func isUnknown(err error) bool {
	e, ok := errors.AsType[*rpc.Error](err)
	return ok && (e.Status == http.StatusNotFound || e.Status == http.StatusNotImplemented ||
		e.Status == http.StatusMethodNotAllowed || e.Code == "UnknownOperationException" ||
		strings.Contains(e.Message, "does not implement this operation")) // the local engine
}

// read reads the resources of a kind.
func (a *Account) read(ctx context.Context, k *kind, s *State) (all []*Resource, err error) {
	switch k.Kind {
	case document.KindSchedulingPolicy:
		return a.readPolicies(ctx, k, s)
	case document.KindConsumableResource:
		return a.readEach(ctx, k, "ListConsumableResources", object{}, "consumableResources",
			"DescribeConsumableResource")
	case document.KindQuotaShare:
		for _, q := range s.of(document.KindJobQueue) {
			if !strings.HasPrefix(fmt.Sprint(q.request["jobQueueType"]), "SAGEMAKER") &&
				q.request["schedulingPolicyArn"] == nil {
				continue // a queue without a scheduling policy has no quota shares
			}
			found, err := a.readEach(ctx, k, "ListQuotaShares", object{"jobQueue": q.ARN}, "quotaShares",
				"DescribeQuotaShare")
			if err != nil {
				return all, err
			}
			all = append(all, found...)
		}
		return all, nil
	}
	err = a.pages(ctx, k.describe, object{}, func(page object) error {
		for _, d := range objectsOf(page[k.list]) {
			all = append(all, k.described(d))
		}
		return nil
	})
	return all, err
}

// pages calls an operation that lists, until the last page.
func (a *Account) pages(ctx context.Context, operation string, in object, read func(page object) error) error {
	return rpc.Pages(func(token *string) (*string, error) {
		in := clone(in).(object)
		if token != nil {
			in["nextToken"] = *token
		}
		var page object
		if err := a.call(ctx, operation, in, &page); err != nil {
			return nil, err
		}
		next, _ := page["nextToken"].(string)
		return &next, read(page)
	})
}

// readEach reads the resources that one operation lists and another describes.
func (a *Account) readEach(ctx context.Context, k *kind, list string, in object, member,
	describe string) (all []*Resource, err error) {
	err = a.pages(ctx, list, in, func(page object) error {
		for _, summary := range objectsOf(page[member]) {
			var d object
			if err := a.call(ctx, describe, object{k.reference: summary[k.arn]}, &d); err != nil {
				if rpc.Missing(err) {
					continue // deleted since
				}
				return err
			}
			all = append(all, k.described(d))
		}
		return nil
	})
	return all, err
}

// mostPolicies is how many policies DescribeSchedulingPolicies accepts.
const mostPolicies = 100

// readPolicies reads the scheduling policies, without the lock, which it notes in the state.
func (a *Account) readPolicies(ctx context.Context, k *kind, s *State) (all []*Resource, err error) {
	var arns []any
	err = a.pages(ctx, "ListSchedulingPolicies", object{}, func(page object) error {
		for _, p := range objectsOf(page["schedulingPolicies"]) {
			if batch.Name(fmt.Sprint(p["arn"])) == lockName {
				s.locked = true
			} else {
				arns = append(arns, p["arn"])
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for some := range slices.Chunk(arns, mostPolicies) {
		var out object
		if err := a.call(ctx, "DescribeSchedulingPolicies", object{"arns": some}, &out); err != nil {
			return nil, err
		}
		for _, p := range objectsOf(out["schedulingPolicies"]) {
			all = append(all, k.described(p))
		}
	}
	return all, nil
}

// described returns the resource of a description.
func (k *kind) described(d object) *Resource {
	text := func(member string) string { s, _ := d[member].(string); return s }
	r := &Resource{kind: k, Name: text(k.name), Logical: text(k.name), ARN: text(k.arn), Status: text("status"),
		Reason: text("statusReason"), cluster: batch.Name(text("ecsClusterArn"))}
	r.request = object{}
	for _, m := range k.members {
		v := d[m]
		if m == "jobQueue" && v == nil {
			v = d["jobQueueArn"] // of a quota share
		}
		if v != nil {
			r.request[m] = v
		}
	}
	if k.Kind == document.KindQuotaShare {
		r.Name = k.logical(r.request)
		r.Logical = r.Name
	}
	tags, _ := r.request["tags"].(object)
	if name, ok := tags[NameTag].(string); ok {
		r.Logical = name
	}
	r.owner, _ = tags[OwnerTag].(string)
	return r
}

// logical returns the name of a request's resource in files.
func (k *kind) logical(request object) string {
	name, _ := request[k.name].(string)
	if k.Kind == document.KindQuotaShare {
		return batch.Name(fmt.Sprint(request["jobQueue"])) + "/" + name
	}
	return name
}

// isEKS reports whether a compute environment is on EKS.
func (r *Resource) isEKS() bool { return r.request["eksConfiguration"] != nil }

// call calls an operation of AWS Batch, and repeats it while the service is busy. An operation that changes something
// has the same effect if it is repeated.
func (a *Account) call(ctx context.Context, operation string, in, out any) (err error) {
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		if err = a.RPC.REST(ctx, rpc.Batch, operation, in, out); !rpc.Throttled(err) || pause == longestPause {
			return err
		}
		if err := rpc.Sleep(ctx, pause); err != nil {
			return err
		}
	}
}

// of returns the resources of a kind.
func (s *State) of(k document.Kind) (all []*Resource) {
	for _, r := range s.resources {
		if r.kind.Kind == k {
			all = append(all, r)
		}
	}
	return all
}

// named returns the resources that have that name in files, the newest first. More than one exist while a compute
// environment is being replaced.
func (s *State) named(k *kind, logical string) (all []*Resource) {
	for _, r := range s.of(k.Kind) {
		if r.Logical == logical {
			all = append(all, r)
		}
	}
	slices.SortStableFunc(all, func(a, b *Resource) int { return cmp.Compare(b.generation(), a.generation()) })
	return all
}

// find returns the resource with a name in files, or its name in the account; nil without one.
func (s *State) find(k *kind, name string) *Resource {
	if all := s.named(k, name); len(all) > 0 {
		return all[0]
	}
	if i := slices.IndexFunc(s.resources, func(r *Resource) bool { return r.kind == k && r.Name == name }); i >= 0 {
		return s.resources[i]
	}
	return nil
}

// generation counts the replacements of a compute environment: 3 for the one named train-3 that is called train in
// files, 1 for the first.
func (r *Resource) generation() int {
	number, ok := strings.CutPrefix(r.Name, r.Logical+"-")
	n, err := strconv.Atoi(number)
	if !ok || err != nil || r.Name == r.Logical {
		return 1
	}
	return n
}

// active are the states of jobs that have not ended.
var active = []types.JobStatus{types.JobStatusSubmitted, types.JobStatusPending, types.JobStatusRunnable,
	types.JobStatusStarting, types.JobStatusRunning}

// jobsIn returns the ids of the jobs of a queue in some states, at most that many.
func (a *Account) jobsIn(ctx context.Context, queue string, states []types.JobStatus,
	most int) (ids []string, err error) {
	for _, state := range states {
		pages := awsbatch.NewListJobsPaginator(a.API, &awsbatch.ListJobsInput{JobQueue: &queue, JobStatus: state})
		for pages.HasMorePages() && len(ids) < most {
			page, err := pages.NextPage(ctx)
			if err != nil {
				return nil, err
			}
			for _, j := range page.JobSummaryList {
				id := aws.ToString(j.JobId)
				if j.NodeProperties != nil && j.NodeProperties.NumNodes != nil {
					id += "#0" // a node tells where the job runs
				}
				if !slices.Contains(ids, id) { // a job whose status changes meanwhile is listed twice
					ids = append(ids, id)
				}
			}
		}
	}
	return ids[:min(len(ids), most)], nil
}

// mostDescribed is how many jobs DescribeJobs accepts.
const mostDescribed = 100

// jobsOn counts the jobs that run on a compute environment, in any queue. A job counts too if nothing tells on which
// environment of the platform it runs, since deleting the environment would end it.
func (a *Account) jobsOn(ctx context.Context, environment *Resource, queues []*Resource) (count int, err error) {
	for _, q := range queues {
		ids, err := a.startedIn(ctx, q.ARN)
		if err != nil {
			return 0, err
		}
		for some := range slices.Chunk(ids, mostDescribed) {
			out, err := a.API.DescribeJobs(ctx, &awsbatch.DescribeJobsInput{Jobs: some})
			if err != nil {
				return 0, err
			}
			for _, j := range out.Jobs {
				on, known := clusterOf(j)
				if known && on == environment.cluster || !known && (j.EksProperties != nil) == environment.isEKS() {
					count++
				}
			}
		}
	}
	return count, nil
}

// startedIn returns the ids of the jobs and children of a queue that have started and not ended.
func (a *Account) startedIn(ctx context.Context, queue string) (ids []string, err error) {
	started := []types.JobStatus{types.JobStatusStarting, types.JobStatusRunning}
	const all = 1 << 20
	if ids, err = a.jobsIn(ctx, queue, started, all); err != nil {
		return nil, err
	}
	arrays, err := a.jobsIn(ctx, queue, []types.JobStatus{types.JobStatusPending}, all)
	if err != nil {
		return nil, err
	}
	for _, array := range arrays { // an array is PENDING until all its children have ended
		for _, state := range started {
			pages := awsbatch.NewListJobsPaginator(a.API, &awsbatch.ListJobsInput{ArrayJobId: &array, JobStatus: state})
			for pages.HasMorePages() {
				page, err := pages.NextPage(ctx)
				if err != nil {
					return nil, err
				}
				for _, j := range page.JobSummaryList {
					ids = append(ids, aws.ToString(j.JobId))
				}
			}
		}
	}
	return ids, nil
}

// clusterOf returns the ECS cluster on which a job runs, from the ARN of its task or of its instance.
func clusterOf(j types.JobDetail) (cluster string, known bool) {
	var arns []string
	if c := j.Container; c != nil {
		arns = append(arns, aws.ToString(c.TaskArn), aws.ToString(c.ContainerInstanceArn))
	}
	if e := j.EcsProperties; e != nil {
		for _, t := range e.TaskProperties {
			arns = append(arns, aws.ToString(t.TaskArn), aws.ToString(t.ContainerInstanceArn))
		}
	}
	for _, arn := range arns {
		// arn:aws:ecs:REGION:ACCOUNT:task/CLUSTER/ID
		if parts := strings.Split(arn, "/"); len(parts) == 3 {
			return parts[1], true
		}
	}
	return "", false
}
