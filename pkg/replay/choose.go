package replay

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/text"
)

// Split parses JOB, JOB:index, JOB#attempt and JOB:index#attempt. job is the part before the
// attempt; attempt is 0 if the reference has none.
func Split(reference string) (job string, attempt int, err error) {
	job, text, named := strings.Cut(reference, "#")
	if job == "" {
		return "", 0, fmt.Errorf("%q does not name a job: write JOB, JOB:index or JOB:index#attempt", reference)
	}
	if !named {
		return job, 0, nil
	}
	attempt, err = strconv.Atoi(text)
	if err != nil || attempt < 1 || strconv.Itoa(attempt) != text {
		return "", 0, fmt.Errorf("%q: attempts are numbered from 1: write %s#1", reference, job)
	}
	return job, attempt, nil
}

// runnable returns an error for jobs that cannot run here.
func runnable(job *types.JobDetail) error {
	id := aws.ToString(job.JobId)
	switch p := job.ArrayProperties; {
	case p != nil && p.Index == nil && aws.ToInt32(p.Size) > 0:
		return fmt.Errorf("job %s is an array of %d children, and only its children ran; choose one, such as %s:0", id,
			*p.Size, id)
	case job.NodeProperties != nil, job.NodeDetails != nil:
		return fmt.Errorf("job %s has several nodes, and replay runs only jobs of one node: a node alone would wait for the others", id)
	case job.EksProperties != nil, len(job.EksAttempts) > 0:
		return fmt.Errorf("job %s ran in a pod on EKS, and replay cannot provide the pod's cluster", id)
	case job.EcsProperties != nil:
		return fmt.Errorf("job %s has several containers, and replay runs only jobs of one container; "+
			"the local engine runs such jobs: batchctl run FILE", id)
	case job.Container == nil:
		return fmt.Errorf("the description of job %s has no container: name the job by its id", id)
	}
	return nil
}

// choose returns the number of the attempt to run.
func choose(job *types.JobDetail, attempt int) (int, error) {
	id, over := aws.ToString(job.JobId), batch.HasEnded(job.Status)
	var ended []int
	for i, a := range job.Attempts {
		if over || a.StoppedAt != nil {
			ended = append(ended, i+1)
		}
	}
	switch {
	case attempt < 0:
		return 0, errors.New("attempts are numbered from 1")
	case len(ended) == 0 && over:
		return 0, fmt.Errorf("job %s never ran, so there is no attempt to replay: it is %s%s", id, job.Status,
			reason(job))
	case len(ended) == 0:
		return 0, fmt.Errorf("no attempt of job %s has ended: it is %s; wait for it: batchctl wait %s", id, job.Status,
			id)
	case attempt == 0:
		return ended[len(ended)-1], nil
	}
	for _, n := range ended {
		if n == attempt {
			return n, nil
		}
	}
	if !over && attempt <= len(ended)+1 {
		return 0, fmt.Errorf("attempt %d of job %s has not ended: the job is %s; %s", attempt, id, job.Status,
			listAttempts(ended))
	}
	return 0, fmt.Errorf("job %s has no attempt %d: %s ended", id, attempt, listAttempts(ended))
}

func reason(job *types.JobDetail) string {
	if r := aws.ToString(job.StatusReason); r != "" {
		return " (" + r + ")"
	}
	return ""
}

// listAttempts lists the attempts to choose from.
func listAttempts(ended []int) string {
	if len(ended) == 1 {
		return fmt.Sprintf("attempt %d has", ended[0])
	}
	words := make([]string, len(ended))
	for i, n := range ended {
		words[i] = strconv.Itoa(n)
	}
	return "attempts " + text.And(words) + " have"
}
