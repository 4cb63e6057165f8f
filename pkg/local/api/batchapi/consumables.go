package batchapi

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/local/api/call"
	"github.com/batchctl/batchctl/pkg/local/model"
	"github.com/batchctl/batchctl/pkg/wire"
)

// consumables has the operations on consumable resources.
type consumables struct{ *service }

// checkConsumables rejects lists of requirements that Batch rejects: quantities below 1, a
// resource named twice, more than five (API reference of ConsumableResourceProperties).
func checkConsumables(p *types.ConsumableResourceProperties) error {
	if p == nil {
		return nil
	}
	seen := map[string]bool{}
	for _, r := range p.ConsumableResourceList {
		name := model.ResourceName(aws.ToString(r.ConsumableResource), model.KindConsumable)
		switch {
		case name == "":
			return wire.ClientException("A consumable resource requirement needs consumableResource and quantity.")
		case r.Quantity == nil || *r.Quantity < 1:
			return wire.ClientException("quantity of consumable resource %s should be at least 1.", name)
		case seen[name]:
			return wire.ClientException("Cannot have duplicate consumableResource in consumableResourceProperties")
		}
		seen[name] = true
	}
	if len(p.ConsumableResourceList) > 5 {
		return wire.ClientException("Each ConsumableResourceProperty can have at most 5 consumableResources")
	}
	return nil
}

// createConsumableResource records a new resource with its total quantity. A name that exists is
// an error, even with the same values.
func (cs consumables) createConsumableResource(c *call.Call,
	in *awsbatch.CreateConsumableResourceInput) (*awsbatch.CreateConsumableResourceOutput, error) {
	name, kind := aws.ToString(in.ConsumableResourceName), aws.ToString(in.ResourceType)
	switch {
	case !definitionName().MatchString(name):
		return nil, wire.ClientException("ConsumableResource name should match a valid pattern: 1 to 128 letters, digits, hyphens and underscores.")
	case kind != "" && kind != model.Replenishable && kind != model.NonReplenishable:
		return nil, wire.ClientException("Resource type %q is not valid. Valid types: [REPLENISHABLE, NON_REPLENISHABLE]", kind)
	case aws.ToInt64(in.TotalQuantity) < 0:
		return nil, wire.ClientException("totalQuantity cannot be a negative number.")
	}
	if err := cmp.Or(checkTags(in.Tags), cs.check(c)); err != nil {
		return nil, err
	}
	err := cs.backend.Change(func(m *model.Model) ([]model.Event, error) {
		if m.Consumables[name] != nil {
			return nil, already("Consumable resource", name)
		}
		return []model.Event{{ConsumableCreated: &model.Shape[*awsbatch.CreateConsumableResourceInput]{V: in}}}, nil
	})
	if err != nil {
		return nil, err
	}
	return &awsbatch.CreateConsumableResourceOutput{ConsumableResourceArn: aws.String(model.ARN(model.KindConsumable,
		name)), ConsumableResourceName: &name}, nil
}

// consumableNamed returns the resource with a name or ARN, or the error for an unknown one. The
// caller must hold the model's view.
func consumableNamed(m *model.Model, text *string) (*model.Consumable, error) {
	r := m.Consumables[model.ResourceName(aws.ToString(text), model.KindConsumable)]
	if r == nil {
		return nil, missing("Consumable resource", text)
	}
	return r, nil
}

// updateConsumableResource changes the total quantity. A repeated client token changes nothing
// and gets the current total.
func (cs consumables) updateConsumableResource(c *call.Call,
	in *awsbatch.UpdateConsumableResourceInput) (*awsbatch.UpdateConsumableResourceOutput, error) {
	if err := cs.check(c); err != nil {
		return nil, err
	}
	out := &awsbatch.UpdateConsumableResourceOutput{}
	err := cs.backend.Change(func(m *model.Model) ([]model.Event, error) {
		r, err := consumableNamed(m, in.ConsumableResource)
		if err != nil {
			return nil, err
		}
		out.ConsumableResourceArn, out.ConsumableResourceName = aws.String(model.ARN(model.KindConsumable, r.Name)),
			aws.String(r.Name)
		out.TotalQuantity = aws.Int64(r.Total)
		token := aws.ToString(in.ClientToken)
		// A repeated request must not add or remove the quantity twice.
		if r.Repeats(token, time.Now().UnixMilli()) {
			return nil, nil
		}
		total, err := changedTotal(r, aws.ToString(in.Operation), in.Quantity)
		if err != nil {
			return nil, err
		}
		out.TotalQuantity = &total
		return []model.Event{{ConsumableUpdated: &model.ConsumableTotal{Consumable: r.Name, Total: total,
			Token: token}}}, nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// changedTotal returns the total after an operation of UpdateConsumableResource. It may be less
// than what is in use; then no job that requests the resource starts for a while.
func changedTotal(r *model.Consumable, operation string, by *int64) (int64, error) {
	n := aws.ToInt64(by)
	switch {
	case by == nil || n < 0:
		return 0, wire.ClientException("quantity is required, and cannot be a negative number.")
	case operation == "SET":
		return n, nil
	case operation == "ADD" && n > math.MaxInt64-r.Total:
		return 0, wire.ClientException("quantity %d is too large.", n)
	case operation == "ADD":
		return r.Total + n, nil
	case operation == "REMOVE" && n > r.Total:
		return 0, wire.ClientException("Cannot remove %d from the total quantity of %d.", n, r.Total)
	case operation == "REMOVE":
		return r.Total - n, nil
	}
	return 0, wire.ClientException("Operation %q is not valid. Valid operations: [SET, ADD, REMOVE]", operation)
}

// deleteConsumableResource removes a resource. Jobs that request it wait with a reason until a
// resource with that name exists again.
func (cs consumables) deleteConsumableResource(_ *call.Call,
	in *awsbatch.DeleteConsumableResourceInput) (*awsbatch.DeleteConsumableResourceOutput, error) {
	return &awsbatch.DeleteConsumableResourceOutput{}, cs.backend.Change(func(m *model.Model) ([]model.Event, error) {
		r, err := consumableNamed(m, in.ConsumableResource)
		if err != nil {
			return nil, err
		}
		return []model.Event{{Deleted: &model.Deletion{Resource: model.ResourceOf(model.KindConsumable, r.Name)}}}, nil
	})
}

// describeConsumableResource returns a resource with the quantities at this moment: in total, in
// use by started jobs, and available.
func (cs consumables) describeConsumableResource(_ *call.Call,
	in *awsbatch.DescribeConsumableResourceInput) (*awsbatch.DescribeConsumableResourceOutput, error) {
	m, done := cs.backend.View()
	defer done()
	r, err := consumableNamed(m, in.ConsumableResource)
	if err != nil {
		return nil, err
	}
	name := model.ResourceOf(model.KindConsumable, r.Name)
	return &awsbatch.DescribeConsumableResourceOutput{
		ConsumableResourceArn:  aws.String(name.ARN()),
		ConsumableResourceName: aws.String(r.Name),
		ResourceType:           aws.String(r.Kind),
		TotalQuantity:          aws.Int64(r.Total),
		InUseQuantity:          aws.Int64(r.InUse),
		AvailableQuantity:      aws.Int64(r.Available()),
		CreatedAt:              aws.Int64(r.CreatedAt),
		Tags:                   m.Tags[name],
	}, nil
}

// listConsumableResources returns resources by name, optionally those that match one filter, with
// their current quantities.
func (cs consumables) listConsumableResources(_ *call.Call,
	in *awsbatch.ListConsumableResourcesInput) (*awsbatch.ListConsumableResourcesOutput, error) {
	matches, err := oneFilter(in.Filters, "CONSUMABLE_RESOURCE_NAME")
	if err != nil {
		return nil, err
	}
	m, done := cs.backend.View()
	defer done()
	names := call.SortedKeys(m.Consumables)
	names = slices.DeleteFunc(names, func(name string) bool { return !matches["CONSUMABLE_RESOURCE_NAME"].fits(name) })
	page, next, err := call.Page(names, in.MaxResults, 100, in.NextToken, func(name string) string { return name })
	if err != nil {
		return nil, err
	}
	out := &awsbatch.ListConsumableResourcesOutput{NextToken: next,
		ConsumableResources: []types.ConsumableResourceSummary{}}
	for _, name := range page {
		r := m.Consumables[name]
		out.ConsumableResources = append(out.ConsumableResources,
			types.ConsumableResourceSummary{ConsumableResourceArn: aws.String(model.ARN(model.KindConsumable, name)),
				ConsumableResourceName: aws.String(name), InUseQuantity: aws.Int64(r.InUse),
				TotalQuantity: aws.Int64(r.Total), ResourceType: aws.String(r.Kind)})
	}
	return out, nil
}

// oneFilter returns the filters of a request by name. Each must be among the allowed names and
// have one value; a missing one is nil in the map.
func oneFilter(filters []types.KeyValuesPair, allowed ...string) (map[string]*nameFilter, error) {
	found := map[string]*nameFilter{}
	for _, f := range filters {
		name := aws.ToString(f.Name)
		switch {
		case !slices.Contains(allowed, name):
			return nil, wire.ClientException("Filter %s is not valid. Valid filters: [%s]", name,
				strings.Join(allowed, ", "))
		case found[name] != nil:
			return nil, wire.ClientException("Filter %s is given twice.", name)
		}
		if err := checkOne([]types.KeyValuesPair{f}); err != nil {
			return nil, err
		}
		found[name] = &nameFilter{strings.ToLower(f.Values[0])}
	}
	return found, nil
}

// nameFilter matches names without regard to case, or only their beginning if it ends in an
// asterisk. nil matches every name.
// pattern is in lower case.
type nameFilter struct{ pattern string }

// fits reports whether a name matches.
func (f *nameFilter) fits(name string) bool {
	return f == nil || model.Glob(&f.pattern, strings.ToLower(name))
}

// listJobsByConsumableResource returns jobs that request a resource, newest first. Like ListJobs,
// it examines at most call.MaxExamined jobs for a page.
func (cs consumables) listJobsByConsumableResource(_ *call.Call,
	in *awsbatch.ListJobsByConsumableResourceInput) (*awsbatch.ListJobsByConsumableResourceOutput, error) {
	filters, err := oneFilter(in.Filters, "JOB_STATUS", "JOB_NAME")
	if err != nil {
		return nil, err
	}
	wanted := model.NoState
	if f := filters["JOB_STATUS"]; f != nil {
		if wanted, err = listableStatus(strings.ToUpper(f.pattern)); err != nil {
			return nil, err
		}
	}
	m, done := cs.backend.View()
	defer done()
	r, err := consumableNamed(m, in.ConsumableResource)
	if err != nil {
		return nil, err
	}
	after, err := call.ReadNumber(in.NextToken)
	if err != nil {
		return nil, err
	}
	size := 100
	if in.MaxResults != nil {
		if size = min(size, int(*in.MaxResults)); size < 1 {
			return nil, wire.ClientException("maxResults must be at least 1.")
		}
	}
	out := &awsbatch.ListJobsByConsumableResourceOutput{Jobs: []types.ListJobsByConsumableResourceSummary{}}
	// last is the sequence number of the last examined job, where the next page continues.
	last, examined := int64(0), 0
	for t, wanted := range newestJobs(r.Jobs, after, func(j *model.Job) bool {
		return (wanted == model.NoState || j.State == wanted) && filters["JOB_NAME"].fits(*j.Request.JobName)
	}) {
		if len(out.Jobs) == size || examined == call.MaxExamined {
			out.NextToken = aws.String(call.NewToken(strconv.FormatInt(last, 10)))
			break
		}
		examined, last = examined+1, t.Job.Seq
		if wanted {
			out.Jobs = append(out.Jobs, consumer(t.Job, r))
		}
	}
	return out, nil
}

// consumer describes a job for ListJobsByConsumableResource. The job must request the resource.
func consumer(j *model.Job, r *model.Consumable) types.ListJobsByConsumableResourceSummary {
	at := slices.IndexFunc(j.Consumes, func(q model.Requirement) bool { return q.Name == r.Name })
	return types.ListJobsByConsumableResourceSummary{
		ConsumableResourceProperties: consumableProperties(j),
		CreatedAt:                    &j.CreatedAt,
		JobArn:                       aws.String(model.ARN(model.KindJob, j.ID)),
		JobDefinitionArn:             aws.String(model.ARN(model.KindDefinition, j.Definition.ID())),
		JobName:                      j.Request.JobName,
		JobQueueArn:                  aws.String(model.ARN(model.KindQueue, *j.Request.JobQueue)),
		JobStatus:                    aws.String(j.State.String()),
		Quantity:                     aws.Int64(j.Consumes[at].Quantity),
		ShareIdentifier:              j.Request.ShareIdentifier,
		StartedAt:                    call.Moment(j.StartedAt),
		StatusReason:                 call.Optional(j.Reason),
	}
}
