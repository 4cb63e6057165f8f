package once

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/client"
)

// minResourceAge is the age below which a resource is not removed if its run is unknown: that run
// may be about to submit the first job that requests it.
const minResourceAge = 24 * time.Hour

// Resource is a consumable resource that a run created for plan.Job.MaxParallel, with the reason to
// keep it.
type Resource struct {
	Name string
	// Run is the run that created it, MaxParallel its total quantity.
	Run         string
	MaxParallel int
	// Kept is the reason to keep the resource; empty if it can be removed.
	Kept string
}

// Resources returns the consumable resources that batchctl created. It keeps those that an
// unfinished job or an open run of this ledger requests, and those created less than a day ago.
func (c *Client) Resources(ctx context.Context) ([]Resource, error) {
	pages := awsbatch.NewListConsumableResourcesPaginator(c.API, &awsbatch.ListConsumableResourcesInput{
		Filters: []types.KeyValuesPair{{Name: aws.String("CONSUMABLE_RESOURCE_NAME"),
			Values: []string{resourcePrefix + "*"}}}})
	var names []string
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, client.Failed("list consumable resources", err)
		}
		for _, r := range page.ConsumableResources {
			names = append(names, aws.ToString(r.ConsumableResourceName))
		}
	}
	return resourceFinder{c.Client, c.Ledger}.ours(ctx, names, minResourceAge)
}

// ReleaseResources removes the consumable resources that limited these jobs, if nothing needs them
// any more. It returns those that it removed. Call it after the jobs have ended. Jobs without such
// a resource are ignored.
func (c *Client) ReleaseResources(ctx context.Context, ids ...string) (removed []Resource, err error) {
	jobs, err := c.ByID(ctx, client.Distinct(ids))
	if err != nil {
		return nil, err
	}
	var names []string
	for _, id := range client.Distinct(ids) {
		names = append(names, boundsOf(jobs[id])...)
	}
	ours, err := resourceFinder{c.Client, c.Ledger}.ours(ctx, client.Distinct(names), 0)
	for _, r := range ours {
		if r.Kept != "" {
			continue
		}
		if removeErr := c.RemoveResource(ctx, r); removeErr != nil {
			err = errors.Join(err, removeErr)
			continue
		}
		removed = append(removed, r)
	}
	return removed, err
}

// RemoveResource deletes a consumable resource. A missing one is no error.
func (c *Client) RemoveResource(ctx context.Context, r Resource) error {
	_, err := c.API.DeleteConsumableResource(ctx, &awsbatch.DeleteConsumableResourceInput{ConsumableResource: &r.Name})
	if err != nil && !resourceNotFound(err) {
		return client.Failed("delete consumable resource "+r.Name, err)
	}
	return nil
}

// boundsOf returns the names of batchctl's resources that a job requests.
func boundsOf(job types.JobDetail) (names []string) {
	if job.ConsumableResourceProperties == nil {
		return nil
	}
	for _, r := range job.ConsumableResourceProperties.ConsumableResourceList {
		if name := batch.Name(aws.ToString(r.ConsumableResource)); strings.HasPrefix(name, resourcePrefix) {
			names = append(names, name)
		}
	}
	return names
}

// resourceFinder finds out which consumable resources at a target batchctl created, and who needs them.
type resourceFinder struct {
	service *client.Client
	ledger  *Ledger // may be nil
}

// ours describes the resources with these names that batchctl created.
func (f resourceFinder) ours(ctx context.Context, names []string, minAge time.Duration) (ours []Resource, err error) {
	if len(names) == 0 {
		return nil, nil
	}
	intended, err := f.intended()
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	for _, name := range names {
		out, err := f.service.API.DescribeConsumableResource(ctx,
			&awsbatch.DescribeConsumableResourceInput{ConsumableResource: &name})
		if resourceNotFound(err) {
			continue // removed just now
		}
		if err != nil {
			return ours, client.Failed("describe consumable resource "+name, err)
		}
		r := Resource{Name: name, Run: out.Tags[RunTag], MaxParallel: int(aws.ToInt64(out.TotalQuantity))}
		if r.Run == "" || !strings.HasPrefix(name, resourcePrefix+r.Run+"-") {
			continue
		}
		switch created := time.UnixMilli(aws.ToInt64(out.CreatedAt)); {
		case intended[name]:
			r.Kept = "used by submission " + r.Run
		case time.Since(created) < minAge:
			r.Kept = "created less than a day ago"
		default:
			if r.Kept, err = f.usedBy(ctx, name, r.Run); err != nil {
				return ours, err
			}
		}
		ours = append(ours, r)
	}
	return ours, nil
}

// usedBy names an unfinished job that requests the resource; "" for none. The listing may
// lag behind SubmitJob, so it also queries the run's jobs in the ledger.
func (f resourceFinder) usedBy(ctx context.Context, name, run string) (string, error) {
	if by, err := f.runUses(ctx, name, run); by != "" || err != nil {
		return by, err
	}
	for _, status := range client.NotEnded {
		pages := awsbatch.NewListJobsByConsumableResourcePaginator(f.service.API,
			&awsbatch.ListJobsByConsumableResourceInput{ConsumableResource: &name,
				Filters: []types.KeyValuesPair{{Name: aws.String("JOB_STATUS"), Values: []string{string(status)}}}})
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			if err != nil {
				return "", client.Failed("list jobs by consumable resource "+name, err)
			}
			for _, job := range page.Jobs {
				if !batch.HasEnded(types.JobStatus(aws.ToString(job.JobStatus))) {
					id := batch.Name(aws.ToString(job.JobArn))
					return fmt.Sprintf("used by job %s (%s)", client.DisplayName(aws.ToString(job.JobName)),
						batch.ShortID(id)), nil
				}
			}
		}
	}
	return "", nil
}

// runUses names an unfinished job of a run in the ledger that requests the resource.
func (f resourceFinder) runUses(ctx context.Context, name, run string) (string, error) {
	if f.ledger == nil {
		return "", nil
	}
	entries, err := f.ledger.Own()
	if err != nil {
		return "", err
	}
	entries = slices.DeleteFunc(entries, func(e Entry) bool { return e.Run != run })
	var ids []string
	for _, e := range entries {
		ids = append(ids, e.ID)
	}
	jobs, err := f.service.ByID(ctx, ids)
	if err != nil {
		return "", err
	}
	for _, e := range entries {
		job, shown := jobs[e.ID]
		lags := !shown && time.Since(e.Time) < client.JustNow
		if lags || shown && !batch.HasEnded(job.Status) && slices.Contains(boundsOf(job), name) {
			return fmt.Sprintf("used by job %s (%s)", e.Name, batch.ShortID(e.ID)), nil
		}
	}
	return "", nil
}

// intended returns the resources that open runs of this target will still use.
func (f resourceFinder) intended() (map[string]bool, error) {
	will := map[string]bool{}
	err := f.ledger.eachOpen(func(_ string, r *run) error {
		for _, t := range r.tasks {
			if t.resource != "" && t.open() {
				will[t.resource] = true
			}
		}
		return nil
	})
	return will, err
}

// dropResources removes the resources that a rejected or abandoned run created and no job requests.
// gc finds those that it fails to remove.
func dropResources(ctx context.Context, c *Client, r *run) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), submitGrace)
	defer cancel()
	unused := map[string]bool{}
	for name := range r.resources {
		unused[name] = true
	}
	for _, t := range r.tasks {
		if t.isAccepted() || t.sent {
			delete(unused, t.resource)
		}
	}
	for name := range unused {
		if err := c.RemoveResource(ctx, Resource{Name: name}); err != nil {
			c.progress("%v; remove it with batchctl gc", err)
		}
	}
}

// Revision is an ACTIVE revision of a job definition, with the reason to keep it.
type Revision struct {
	ARN, Name string
	Revision  int
	// Kept is the reason to keep the revision; empty if it can be removed.
	Kept string

	content string
}

// Revisions returns the ACTIVE revisions that batchctl registered, by name and newest first. It
// keeps the last keep revisions of each name, and those that an unfinished job or an open run uses.
// Names may restrict the search. Other counts the revisions that batchctl did not register.
func (c *Client) Revisions(ctx context.Context, keep int, names ...string) (ours []Revision, other int, err error) {
	found := revisionFinder{c.Client, c.Ledger}
	ours, other, err = found.registeredByUs(ctx, names)
	if err != nil || len(ours) == 0 {
		return nil, other, err
	}
	inUse, err := found.inUse(ctx)
	if err != nil {
		return nil, other, err
	}
	intended, err := found.intended()
	if err != nil {
		return nil, other, err
	}
	rank := 0
	for i := range ours {
		r := &ours[i]
		if rank++; i == 0 || ours[i-1].Name != r.Name {
			rank = 1
		}
		switch {
		case rank <= keep:
			r.Kept = fmt.Sprintf("one of the last %d", keep)
		case inUse[batch.Name(r.ARN)] != "":
			r.Kept = "used by job " + inUse[batch.Name(r.ARN)]
		case intended[r.content] != "":
			r.Kept = "used by submission " + intended[r.content]
		case intended[batch.Name(r.ARN)] != "":
			r.Kept = "used by submission " + intended[batch.Name(r.ARN)]
		}
	}
	return ours, other, nil
}

// Deregister makes a revision INACTIVE, so that no job can be submitted with it.
func (c *Client) Deregister(ctx context.Context, r Revision) error {
	if _, err := c.API.DeregisterJobDefinition(ctx,
		&awsbatch.DeregisterJobDefinitionInput{JobDefinition: &r.ARN}); err != nil {
		return client.Failed("deregister "+batch.Name(r.ARN), err)
	}
	return nil
}

// revisionFinder finds the revisions of job definitions that are registered at a target, and those that
// are needed.
type revisionFinder struct {
	service *client.Client
	ledger  *Ledger // may be nil
}

// registeredByUs returns the ACTIVE revisions with batchctl's tag, by name and newest first.
// other counts the rest.
func (f revisionFinder) registeredByUs(ctx context.Context, names []string) (ours []Revision, other int, err error) {
	inputs := []*awsbatch.DescribeJobDefinitionsInput{{Status: aws.String("ACTIVE")}}
	if len(names) > 0 {
		inputs = nil
		for _, n := range client.Distinct(names) {
			inputs = append(inputs, &awsbatch.DescribeJobDefinitionsInput{Status: aws.String("ACTIVE"),
				JobDefinitionName: &n})
		}
	}
	for _, in := range inputs {
		pages := awsbatch.NewDescribeJobDefinitionsPaginator(f.service.API, in)
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			if err != nil {
				return nil, 0, client.Failed("describe job definitions", err)
			}
			for _, d := range page.JobDefinitions {
				if d.Tags[client.ContentTag] == "" {
					other++
					continue
				}
				ours = append(ours, Revision{ARN: aws.ToString(d.JobDefinitionArn),
					Name:     aws.ToString(d.JobDefinitionName),
					Revision: int(aws.ToInt32(d.Revision)), content: d.Tags[client.ContentTag]})
			}
		}
	}
	slices.SortStableFunc(ours, func(a, b Revision) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), b.Revision-a.Revision)
	})
	return ours, other, nil
}

// inUse returns one unfinished job for each name:revision in use. It calls DescribeJobs
// where a listing does not name definitions.
func (f revisionFinder) inUse(ctx context.Context) (map[string]string, error) {
	used := map[string]string{}
	var unnamed []string
	for job, err := range f.service.List(ctx, client.Filter{Statuses: client.NotEnded}) {
		if err != nil {
			return nil, err
		}
		if job.JobDefinition == nil {
			unnamed = append(unnamed, aws.ToString(job.JobId))
			continue
		}
		used[batch.Name(*job.JobDefinition)] = usedBy(job.JobName, job.JobId)
	}
	details, err := f.service.ByID(ctx, unnamed)
	if err != nil {
		return nil, err
	}
	for _, id := range unnamed {
		d, known := details[id]
		if !known {
			return nil, fmt.Errorf("list the job definitions in use: %w", &client.MissingError{IDs: []string{id}})
		}
		used[batch.Name(aws.ToString(d.JobDefinition))] = usedBy(d.JobName, &id)
	}
	return used, nil
}

// usedBy describes a job by its name and id.
func usedBy(name, id *string) string {
	return aws.ToString(name) + " (" + batch.ShortID(aws.ToString(id)) + ")"
}

// intended returns the contents and name:revision that open runs of this target will
// still submit, each with the id of its run.
func (f revisionFinder) intended() (map[string]string, error) {
	will := map[string]string{}
	err := f.ledger.eachOpen(func(name string, r *run) error {
		for _, t := range r.tasks {
			if t.submit != nil && !t.isAccepted() {
				will[batch.Name(aws.ToString(t.submit.JobDefinition))] = name
			}
			if t.register == nil {
				continue
			}
			hash, err := client.ContentHash(t.register)
			if err != nil {
				return err
			}
			will[hash] = name
		}
		return nil
	})
	return will, err
}
