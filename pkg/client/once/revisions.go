package once

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/client"
)

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
