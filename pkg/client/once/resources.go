package once

import (
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
