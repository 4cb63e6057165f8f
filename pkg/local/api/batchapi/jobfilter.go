package batchapi

import (
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/local/model"
	"github.com/batchctl/batchctl/pkg/wire"
)

// listableStatus returns the state with the name that a request has.
func listableStatus(name string) (model.State, error) {
	s, ok := model.ParseState(types.JobStatus(name))
	if !ok {
		return model.NoState, wire.ClientException("Job status %s is not valid. Valid statuses: %v", name,
			types.JobStatus("").Values())
	}
	return s, nil
}

// newest yields the tasks of a list from the newest one before seq (-1: the end). All of them
// match, except for service jobs: the list has only tasks of one status.
func newest(list model.Ordered, seq int64) iter.Seq2[*model.Task, bool] {
	if seq >= 0 {
		at, _ := slices.BinarySearchFunc(list, seq, func(t *model.Task, seq int64) int { return int(t.Job.Seq - seq) })
		list = list[:at]
	}
	return func(yield func(*model.Task, bool) bool) {
		for _, t := range slices.Backward(list) {
			if !yield(t, t.Job.Service == nil) {
				return
			}
		}
	}
}

// ordinaryJobs is newestJobs without service jobs.
func ordinaryJobs(list []*model.Job, seq int64, matches func(*model.Job) bool) iter.Seq2[*model.Task, bool] {
	return newestJobs(list, seq, func(j *model.Job) bool { return j.Service == nil && matches(j) })
}

// newestJobs does the same for jobs; matches selects them.
func newestJobs(list []*model.Job, seq int64, matches func(*model.Job) bool) iter.Seq2[*model.Task, bool] {
	if seq >= 0 {
		at, _ := slices.BinarySearchFunc(list, seq, func(j *model.Job, seq int64) int { return int(j.Seq - seq) })
		list = list[:at]
	}
	return func(yield func(*model.Task, bool) bool) {
		for _, j := range slices.Backward(list) {
			if !yield(&j.Task, matches(j)) {
				return
			}
		}
	}
}

// childrenIn yields the children after an index, and whether each is in the status; NoState
// matches all.
func childrenIn(j *model.Job, status model.State, after int64) iter.Seq2[*model.Task, bool] {
	return func(yield func(*model.Task, bool) bool) {
		for i := int(after + 1); i < len(j.Children); i++ {
			if t := &j.Children[i]; !yield(t, status == model.NoState || t.State == status) {
				return
			}
		}
	}
}

// filteredJobs yields the jobs that match a ListJobs filter. As in Batch, a request has at most
// one. It applies to jobs in any status, or with SHARE_IDENTIFIER to jobs in the request's
// status. It does not apply to the children of arrays.
func filteredJobs(l *model.QueueJobs, in *awsbatch.ListJobsInput, status model.State,
	after int64) (iter.Seq2[*model.Task, bool], error) {
	filters := in.Filters
	if err := checkOne(filters); err != nil {
		return nil, err
	}
	value := filters[0].Values[0]
	all := func(*model.Job) bool { return true }
	switch name := aws.ToString(filters[0].Name); name {
	case "JOB_NAME":
		// Names are compared without regard to case (API reference of ListJobs).
		pattern := strings.ToLower(value)
		if !strings.HasSuffix(pattern, "*") {
			return ordinaryJobs(l.ByName[pattern], after, all), nil
		}
		return ordinaryJobs(l.All, after,
			func(j *model.Job) bool { return model.Glob(&pattern, strings.ToLower(*j.Request.JobName)) }), nil
	case "JOB_STATUS":
		s, err := listableStatus(value)
		if err != nil {
			return nil, err
		}
		return newest(l.Jobs[s], after), nil
	case "JOB_DEFINITION":
		// An ARN selects one revision, a name all of them.
		if id := model.ResourceName(value, model.KindDefinition); id != value {
			name, _, _ := strings.Cut(id, ":")
			return ordinaryJobs(l.ByDefinition[name], after,
				func(j *model.Job) bool { return j.Definition.ID() == id }), nil
		}
		if !strings.HasSuffix(value, "*") {
			return ordinaryJobs(l.ByDefinition[value], after, all), nil
		}
		return ordinaryJobs(l.All, after, func(j *model.Job) bool { return model.Glob(&value, j.Definition.Name()) }),
			nil
	case "BEFORE_CREATED_AT", "AFTER_CREATED_AT":
		at, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			return nil, wire.ClientException("%s: %q is not a number of milliseconds.", name, value)
		}
		return ordinaryJobs(createdJobs(l, at, name == "BEFORE_CREATED_AT"), after, all), nil
	case "SHARE_IDENTIFIER":
		return ordinaryJobs(l.All, after, func(j *model.Job) bool {
			return model.Glob(&value, aws.ToString(j.Request.ShareIdentifier)) &&
				(in.JobStatus == "" || j.State == status)
		}), nil
	default:
		return nil, wire.ClientException("Filter %s is not valid. Valid filters: [JOB_NAME, JOB_STATUS, JOB_DEFINITION, "+
			"BEFORE_CREATED_AT, AFTER_CREATED_AT, SHARE_IDENTIFIER]", name)
	}
}

// checkOne rejects more than one filter, and filters without exactly one value, word for word as Batch does
// (boto3#3978, aws-cli#7982). Its text for a filter without a value is unknown.
func checkOne(filters []types.KeyValuesPair) error {
	switch {
	case len(filters) > 1:
		return failed("Only one filter key-value pair can be specified.")
	case len(filters[0].Values) > 1:
		return failed("Filter cannot take more than one value.")
	case len(filters[0].Values) == 0:
		return wire.ClientException("Filter %s needs a value.", aws.ToString(filters[0].Name))
	}
	return nil
}

// createdJobs returns the jobs of a queue that were created before a time, or after it. The list
// is sorted by time.
func createdJobs(l *model.QueueJobs, at int64, before bool) []*model.Job {
	n, _ := slices.BinarySearchFunc(l.All, at, func(j *model.Job, at int64) int {
		if j.CreatedAt < at || !before && j.CreatedAt == at {
			return -1
		}
		return 1
	})
	if before {
		return l.All[:n]
	}
	return l.All[n:]
}
