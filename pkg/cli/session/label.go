package session

import (
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/client"
	"github.com/batchctl/batchctl/pkg/client/once"
)

// PartOf returns the index part of a job id: ":3" of a child, "#0" of a node, ""
// of a whole job.
func PartOf(id string) string {
	if i := strings.IndexAny(id, ":#"); i >= 0 {
		return id[i:]
	}
	return ""
}

// JobName returns a job's name with the index of a child or node.
func JobName(name, id string) string {
	part := PartOf(id)
	return strings.TrimSuffix(name, part) + part
}

// NameOf is JobName for a described job.
func NameOf(job types.JobDetail) string {
	return JobName(aws.ToString(job.JobName), aws.ToString(job.JobId))
}

// Labels returns a distinct prefix for the log lines of each job, by job id. It
// is the name with the index of a child or node, or the short id if two jobs have
// the same name.
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

// Parts returns the ids of an array's children or a multi-node job's nodes, each
// of which has its own log. It returns nil for other jobs.
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

// IDs returns the ids of jobs. Steps without an id are left out.
func IDs(jobs []once.Submitted) []string {
	var out []string
	for _, j := range WithID(jobs) {
		out = append(out, j.ID)
	}
	return out
}

// WithID returns the jobs that have an id.
func WithID(jobs []once.Submitted) []once.Submitted {
	var out []once.Submitted
	for _, j := range jobs {
		if j.ID != "" {
			out = append(out, j)
		}
	}
	return out
}
