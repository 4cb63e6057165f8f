package once

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/client"
	"github.com/batchctl/batchctl/pkg/plan"
)

// definitions registers the definitions of one run, at each target. It looks for each content once, so that two
// jobs with the same content do not register it twice.
type definitions struct {
	mu    sync.Mutex
	byRef map[string]*registered
}

// registered is a definition by its ARN; fresh means that it was registered just now.
type registered struct {
	once  sync.Once
	arn   string
	fresh bool
	err   error
}

// of returns the definition for a request at a target, and registers it if necessary.
func (d *definitions) of(ctx context.Context, c *client.Client, target string,
	in *awsbatch.RegisterJobDefinitionInput) (*registered, error) {
	hash, err := client.ContentHash(in)
	if err != nil {
		return nil, fmt.Errorf("register job definition %s: %w", aws.ToString(in.JobDefinitionName), err)
	}
	d.mu.Lock()
	if d.byRef == nil {
		d.byRef = map[string]*registered{}
	}
	r := d.byRef[target+hash]
	if r == nil {
		r = &registered{}
		d.byRef[target+hash] = r
	}
	d.mu.Unlock()
	r.once.Do(func() { r.arn, r.fresh, r.err = register(ctx, c, in, hash) })
	return r, r.err
}

// register returns the ARN of an ACTIVE revision with this content. If there is none, it
// registers one, and fresh is true.
func register(ctx context.Context, c *client.Client, in *awsbatch.RegisterJobDefinitionInput,
	hash string) (arn string, fresh bool, err error) {
	name := aws.ToString(in.JobDefinitionName)
	if arn, err = findDefinition(ctx, c, name, hash); arn != "" || err != nil {
		return arn, false, err
	}
	out, err := c.API.RegisterJobDefinition(ctx, client.WithHash(in, hash))
	if err != nil {
		return "", false, client.Failed(client.ActionRegister+name, err)
	}
	return aws.ToString(out.JobDefinitionArn), true, nil
}

// findDefinition returns the newest ACTIVE revision with the hash, or "".
func findDefinition(ctx context.Context, c *client.Client, name, hash string) (string, error) {
	var newest types.JobDefinition
	pages := awsbatch.NewDescribeJobDefinitionsPaginator(c.API, &awsbatch.DescribeJobDefinitionsInput{
		JobDefinitionName: &name, Status: aws.String("ACTIVE")})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return "", client.Failed("describe job definitions "+name, err)
		}
		for _, d := range page.JobDefinitions {
			if d.Tags[client.ContentTag] == hash && aws.ToInt32(d.Revision) > aws.ToInt32(newest.Revision) {
				newest = d
			}
		}
	}
	return aws.ToString(newest.JobDefinitionArn), nil
}

// stagedOf returns the texts that a job of a plan needs.
func stagedOf(texts []plan.Staged) (all []staged) {
	for _, t := range texts {
		sum := sha256.Sum256([]byte(t.Text))
		all = append(all, staged{t.URL, hex.EncodeToString(sum[:]), &t.Text})
	}
	return all
}

// errNoStage is why a plan with texts to stage cannot be submitted.
var errNoStage = errors.New("batchctl cannot write to this staging location")

// checkStaged refuses a run with texts to stage if this client cannot stage any.
func checkStaged(r *run, canStage bool) error {
	for _, t := range r.tasks {
		if len(t.staged) > 0 && !canStage && t.open() {
			return fmt.Errorf("stage %s for job %s: %w", t.staged[0].URL, t.name, errNoStage)
		}
	}
	return nil
}

// stager writes the texts that jobs of a run need to their locations, each once in this process. The
// location contains the hash, so that writing a text again after a crash changes nothing.
type stager struct {
	log  *runLog // has the texts of a resumed run
	done onceEach
}

// stage writes the texts of one job. write is Client.Stage of the job's target.
func (s *stager) stage(ctx context.Context, t *plannedJob, write func(ctx context.Context, url,
	text string) error) error {
	for _, one := range t.staged {
		err := s.done.do(one.URL, func() error {
			text, err := s.stagedText(one)
			if err != nil {
				return err
			}
			return write(ctx, one.URL, text)
		})
		if err != nil {
			return fmt.Errorf("stage %s for job %s: %w", one.URL, t.name, err)
		}
	}
	return nil
}

// stagedText returns the text that belongs to the intent. A text that was changed on disk is an error.
func (s *stager) stagedText(one staged) (string, error) {
	if one.text != nil {
		return *one.text, nil
	}
	path := filepath.Join(s.log.stagedDir(), one.SHA256)
	text, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("read the staged text of the intent: %w", err)
	}
	if sum := sha256.Sum256(text); hex.EncodeToString(sum[:]) != one.SHA256 {
		return "", fmt.Errorf("%s has changed: its sha256 does not match", path)
	}
	return string(text), nil
}

// A limit on concurrent children of an array is a consumable resource of Batch. Its quantity is the
// limit, and each attempt holds one unit from STARTING until it finishes. The run creates the
// resource before the first job that requests it.

const (
	// RunTag is the tag of a consumable resource with the id of the run that created it.
	RunTag = "batchctl:run"
	// MaxParallelTag is the tag of a job with the limit on concurrent children of its group. The
	// group's resource is removed after the jobs.
	MaxParallelTag = "batchctl:max-parallel"

	resourcePrefix = "batchctl-"
	// maxResourceName is the limit for other names in Batch (API reference). The API reference has
	// no limit for names of consumable resources.
	maxResourceName = 128
	// maxResources is how many consumable resources a job may request (user guide, resource-aware
	// scheduling).
	maxResources = 5
	// replenishable is the type of a resource that becomes available again when a job finishes.
	replenishable = "REPLENISHABLE"
)

// resourceName returns the resource name for a group of a run. A long name is cut and gets a hash.
func resourceName(run, group string) string {
	prefix := resourcePrefix + run + "-"
	if len(prefix)+len(group) <= maxResourceName {
		return prefix + group
	}
	sum := sha256.Sum256([]byte(group))
	end := "-" + hex.EncodeToString(sum[:4])
	return prefix + group[:maxResourceName-len(prefix)-len(end)] + end
}

// group contains the jobs of a plan that share a limit.
type group struct {
	name     string
	children int // of all its jobs
	tasks    []*plannedJob
}

// groups sorts the jobs that have a limit. The arrays of one sweep have different names. A repeated
// name starts a new group: it belongs to another file.
func groups(p *plan.Plan, tasks []*plannedJob) (all []*group) {
	latest, times := map[string]*group{}, map[string]int{}
	for i, t := range tasks {
		if t.maxParallel == 0 || t.submit == nil {
			continue
		}
		name := cmp.Or(p.Jobs[i].Group, t.name)
		g := latest[name]
		if g == nil || slices.ContainsFunc(g.tasks, func(o *plannedJob) bool { return o.name == t.name }) {
			g = &group{name: name}
			if times[name]++; times[name] > 1 {
				g.name += "-" + strconv.Itoa(times[name])
			}
			latest[name], all = g, append(all, g)
		}
		g.tasks = append(g.tasks, t)
		g.children += max(1, arraySize(t.submit))
	}
	return all
}

// boundGroups adds the resource of its group to each job's request. A group that is no larger than
// its limit needs none.
func boundGroups(ctx context.Context, c *client.Client, r *run, p *plan.Plan) error {
	for _, g := range groups(p, r.tasks) {
		for _, t := range g.tasks {
			if g.children <= t.maxParallel {
				continue
			}
			t.resource = resourceName(r.name, g.name)
			if err := bound(ctx, c, r, t); err != nil {
				return fmt.Errorf("submit job %s: %w", t.name, err)
			}
		}
	}
	return nil
}

// bound adds the group's resource to the request of a job. The request's list replaces that of the
// definition, so the definition's resources are added too.
func bound(ctx context.Context, c *client.Client, r *run, t *plannedJob) error {
	asked := t.submit.ConsumableResourcePropertiesOverride
	if asked == nil {
		var err error
		if asked, err = resourcesOf(ctx, c, r, t); err != nil {
			return err
		}
	}
	var list []types.ConsumableResourceRequirement
	if asked != nil {
		list = slices.Clone(asked.ConsumableResourceList)
	}
	if len(list) >= maxResources {
		return fmt.Errorf("it requests %d consumable resources and maxParallel adds one, but AWS Batch accepts at most %d: request fewer, or remove maxParallel",
			len(list), maxResources)
	}
	in := *t.submit
	in.ConsumableResourcePropertiesOverride = &types.ConsumableResourceProperties{ConsumableResourceList: append(list,
		types.ConsumableResourceRequirement{ConsumableResource: &t.resource, Quantity: aws.Int64(1)})}
	if len(in.Tags) < client.TagLimit {
		in.Tags = maps.Clone(in.Tags)
		if in.Tags == nil {
			in.Tags = map[string]string{}
		}
		in.Tags[MaxParallelTag] = strconv.Itoa(t.maxParallel)
	}
	t.submit = &in
	return nil
}

// resourcesOf returns the resources in the job's definition: that of the plan, or a registered one.
func resourcesOf(ctx context.Context, c *client.Client, r *run,
	t *plannedJob) (*types.ConsumableResourceProperties, error) {
	if t.definer >= 0 {
		return r.tasks[t.definer].register.ConsumableResourceProperties, nil
	}
	d, err := c.RegisteredDefinition(ctx, aws.ToString(t.submit.JobDefinition))
	if err != nil {
		return nil, err
	}
	return d.ConsumableResourceProperties, nil
}

// makeResource creates the resource of the job's group, once in this process. If it exists,
// another process of this run created it. fresh means that it is so new that the service may not
// know it everywhere.
func makeResource(ctx context.Context, c *client.Client, r *run, t *plannedJob,
	done *onceEach) (fresh bool, err error) {
	if t.resource == "" {
		return false, nil
	}
	return true, done.do(t.at+" "+t.resource, func() error {
		if err := r.noteResource(t.resource, t.maxParallel); err != nil {
			return err
		}
		_, err := c.API.CreateConsumableResource(ctx,
			&awsbatch.CreateConsumableResourceInput{ConsumableResourceName: &t.resource,
				ResourceType: aws.String(replenishable), TotalQuantity: aws.Int64(int64(t.maxParallel)),
				Tags: map[string]string{RunTag: r.name}})
		if err == nil {
			return nil
		}
		if client.Refused(err) && !client.Throttled(err) {
			existing, describeErr := c.API.DescribeConsumableResource(ctx,
				&awsbatch.DescribeConsumableResourceInput{ConsumableResource: &t.resource})
			if describeErr == nil && existing.Tags[RunTag] == r.name {
				return nil
			}
		}
		return client.Failed(client.ActionCreateResource+t.resource+" for maxParallel of job "+t.name, err)
	})
}

// onceEach does something once for each name, however many jobs of a run ask for it concurrently.
// Its zero value is ready to use.
type onceEach struct {
	mu  sync.Mutex
	all map[string]*errand
}

// errand is an action that is done or in progress.
type errand struct {
	over chan struct{}
	err  error
}

// do calls action, unless it was called for this name before, and returns its error. Concurrent
// callers wait for the first call.
func (o *onceEach) do(name string, action func() error) error {
	o.mu.Lock()
	e, known := o.all[name]
	if !known {
		if o.all == nil {
			o.all = map[string]*errand{}
		}
		e = &errand{over: make(chan struct{})}
		o.all[name] = e
	}
	o.mu.Unlock()
	if known {
		<-e.over
		return e.err
	}
	defer close(e.over)
	e.err = action()
	return e.err
}

// eachJob processes jobs, n concurrently, each after the jobs that it needs and otherwise in the
// order of the plan. After an error, or when ctx ends, it starts no further job and waits for
// those in progress.
func eachJob(ctx context.Context, tasks []*plannedJob, n int, do func(*plannedJob) error,
	needs func(*plannedJob, int) []int) (first error) {
	waits, dependents := make([]int, len(tasks)), make([][]int, len(tasks))
	var ready []int
	for i, t := range tasks {
		for _, on := range needs(t, i) {
			waits[i]++
			dependents[on] = append(dependents[on], i)
		}
		if waits[i] == 0 {
			ready = append(ready, i)
		}
	}
	type outcome struct {
		task int
		err  error
	}
	outcomes := make(chan outcome)
	for running := 0; ; {
		for running < n && len(ready) > 0 && first == nil {
			if ctx.Err() != nil {
				first = context.Cause(ctx)
				break
			}
			i := ready[0]
			ready = ready[1:]
			running++
			go func() { outcomes <- outcome{i, do(tasks[i])} }()
		}
		if running == 0 {
			return first
		}
		o := <-outcomes
		running--
		first = cmp.Or(first, o.err)
		for _, i := range dependents[o.task] {
			if waits[i]--; waits[i] == 0 {
				at, _ := slices.BinarySearch(ready, i)
				ready = slices.Insert(ready, at, i)
			}
		}
	}
}
