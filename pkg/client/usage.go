package client

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"

	"github.com/batchctl/batchctl/pkg/usage"
)

// usageWindow is how many lines at the end of a log are searched for a measurement. Other processes of the container
// may print after the launcher.
const usageWindow = 10

// IsMeasured reports whether a job asks for the measurement of its attempts.
func IsMeasured(job types.JobDetail) bool {
	asks := func(environment []types.KeyValuePair) (asked bool) {
		for _, v := range environment { // the last one of a name counts
			if aws.ToString(v.Name) == usage.Variable {
				asked = usage.IsAsked(aws.ToString(v.Value))
			}
		}
		return asked
	}
	if job.Container != nil && asks(job.Container.Environment) {
		return true
	}
	if job.EcsProperties != nil {
		for _, task := range job.EcsProperties.TaskProperties {
			for _, c := range task.Containers {
				if asks(c.Environment) {
					return true
				}
			}
		}
	}
	return false
}

// Usage reads what an attempt of a job used, from the end of the log of each of its containers. number is from 1.
func (l *JobLogs) Usage(ctx context.Context, job types.JobDetail, number int) (used []usage.Usage, err error) {
	attempts, err := logStreams(job)
	if err != nil {
		return nil, err
	}
	if number < 1 || number > len(attempts) {
		return nil, fmt.Errorf("job %s has no attempt %d: it has had %d", aws.ToString(job.JobName), number,
			len(attempts))
	}
	for _, s := range attempts[number-1] {
		events, _, err := l.lastEvents(ctx, &cloudwatchlogs.GetLogEventsInput{LogGroupName: &s.group,
			LogStreamName: &s.name}, usageWindow)
		if err != nil {
			return used, err
		}
		for i := len(events) - 1; i >= 0; i-- {
			if u, ok := usage.Parse(s.line(events[i]).Text); ok {
				used = append(used, u)
				break
			}
		}
	}
	return used, nil
}
