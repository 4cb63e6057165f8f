package session

import (
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/client"
	"github.com/batchctl/batchctl/pkg/client/once"
)

// PartOf is the index in a job's id, of a child (:3) or a node (#0); "" for a whole job.
func PartOf(id string) string {
	if i := strings.IndexAny(id, ":#"); i >= 0 {
		return id[i:]
	}
	return ""
}

// JobName is a job's name, with the index of a child or node.
func JobName(name, id string) string {
	part := PartOf(id)
	return strings.TrimSuffix(name, part) + part
}

// NameOf is jobName of a described job.
func NameOf(job types.JobDetail) string {
	return JobName(aws.ToString(job.JobName), aws.ToString(job.JobId))
}

// Labels tell the lines of several jobs apart, by job id: each begins with the job's name,
// with the index of a child or node, or with the short id where two jobs have one name.
func Labels(jobs []once.Submitted) map[string]string {
	first := map[string]string{} // the job of each name, without an index
	shared := map[string]bool{}
	for _, j := range jobs {
		whole := strings.TrimSuffix(j.ID, PartOf(j.ID))
		if other, seen := first[j.Name]; seen && other != whole {
			shared[j.Name] = true
		}
		first[j.Name] = whole
	}
	all := map[string]string{}
	for _, j := range jobs {
		all[j.ID] = JobName(j.Name, j.ID)
		if shared[j.Name] {
			all[j.ID] = batch.ShortID(j.ID)
		}
	}
	return all
}

// Parts are the ids of an array's children, or of the nodes of a job of several, each of
// which has a log of its own; none for any other job.
func Parts(job types.JobDetail) (ids []string) {
	id := aws.ToString(job.JobId)
	for i := range batch.ArraySize(job) {
		ids = append(ids, batch.ChildID(id, i))
	}
	for i := range client.Nodes(job) {
		ids = append(ids, client.NodeID(id, i))
	}
	return ids
}

// IDs are the ids of jobs.
func IDs(jobs []once.Submitted) []string {
	var out []string
	for _, j := range WithID(jobs) {
		out = append(out, j.ID)
	}
	return out
}

// WithID keeps the jobs that have an id.
func WithID(jobs []once.Submitted) []once.Submitted {
	var out []once.Submitted
	for _, j := range jobs {
		if j.ID != "" {
			out = append(out, j)
		}
	}
	return out
}
