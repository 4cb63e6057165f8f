package batchapi

import (
	"bytes"
	"cmp"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/local/api/call"
	"github.com/batchctl/batchctl/pkg/local/attempt"
	"github.com/batchctl/batchctl/pkg/local/model"
	"github.com/batchctl/batchctl/pkg/wire"
)

// serviceJobs has the operations on service jobs.
type serviceJobs struct{ *service }

// submitServiceJob records a service job. A call that the SDK repeats gets the job of the first one; a
// second call with the same client token and the same request is rejected, as the API reference says.
// The notice of the answer lists the members of the payload without effect here.
func (js serviceJobs) submitServiceJob(c *call.Call,
	in *awsbatch.SubmitServiceJobInput) (*awsbatch.SubmitServiceJobOutput, error) {
	if err := cmp.Or(checkServiceSubmit(in), js.check(c)); err != nil {
		return nil, err
	}
	training, err := model.ParseTraining(*in.ServiceRequestPayload)
	if err != nil {
		return nil, wire.ClientException("%s", err)
	}
	x, err := js.backend.Executor(c.Request.Context(), in.Tags[attempt.ExecutorTag])
	if err != nil {
		return nil, wire.ClientException("%s", err)
	}
	asked, queue := *in.JobQueue, model.ResourceName(*in.JobQueue, model.KindQueue)
	in.JobQueue = &queue
	request, err := model.ShapeOf(in, nil)
	if err != nil {
		return nil, err
	}
	s := &model.ServiceSubmission{ID: call.NewID(), Invocation: c.Invocation(), Request: request}
	err = js.backend.Change(func(m *model.Model) ([]model.Event, error) {
		if id, again := m.MadeBy(s.Invocation); again {
			s.ID = id
			return nil, nil
		}
		if err := js.backend.Accepting(); err != nil {
			return nil, err
		}
		q, ok := m.Queue(queue)
		switch {
		case !ok:
			return nil, unknownQueue(asked)
		case q.Service == "":
			return nil, wire.ClientException("Job Queue %s is not of type SAGEMAKER_TRAINING and accepts no service jobs.", queue)
		case q.Disabled:
			return nil, wire.ClientException("Job Queue %s is DISABLED and accepts no jobs.", queue)
		}
		if err := checkServiceShare(m, in, q); err != nil {
			return nil, err
		}
		return []model.Event{{ServiceSubmitted: s}}, checkToken(m, in)
	})
	if err != nil {
		return nil, err
	}
	c.Remark("a training job runs on the local machine, where these have no effect", training.Unhonoured())
	lacking := training.Unprovided()
	if !attempt.Contained(x) {
		lacking = append(lacking, attempt.NeedsContainer)
	}
	c.Remark("the local engine cannot provide these, so the job will fail", lacking)
	return &awsbatch.SubmitServiceJobOutput{JobArn: aws.String(model.ARN(model.KindServiceJob, s.ID)), JobId: &s.ID,
		JobName: in.JobName}, nil
}

// checkServiceSubmit checks what the request alone shows. The limits are those of the API reference.
func checkServiceSubmit(in *awsbatch.SubmitServiceJobInput) error {
	switch p := in.PreemptionConfiguration; {
	case !jobName().MatchString(aws.ToString(in.JobName)):
		return wire.ClientException("Job name should match valid pattern: 1 to 128 letters, digits, hyphens and underscores, the first one a letter or digit.")
	case aws.ToString(in.JobQueue) == "":
		return wire.ClientException("jobQueue is required.")
	case in.ServiceJobType != types.ServiceJobTypeSagemakerTraining:
		return wire.ClientException("Service job type %q is not valid. Valid types: %v", in.ServiceJobType,
			in.ServiceJobType.Values())
	case aws.ToString(in.ServiceRequestPayload) == "":
		return wire.ClientException("serviceRequestPayload is required.")
	case len(aws.ToString(in.ClientToken)) > 64:
		return wire.ClientException("clientToken can have at most 64 characters.")
	case in.ShareIdentifier != nil && in.QuotaShareName != nil:
		return wire.ClientException("Only one of shareIdentifier and quotaShareName can be given.")
	case p != nil && aws.ToInt32(p.PreemptionRetriesBeforeTermination) < 0:
		return wire.ClientException("preemptionRetriesBeforeTermination must be at least 0.")
	case in.TimeoutConfig != nil && aws.ToInt32(in.TimeoutConfig.AttemptDurationSeconds) < 1:
		return wire.ClientException("attemptDurationSeconds in timeoutConfig must be at least 1.")
	}
	return cmp.Or(checkServiceRetry(in.RetryStrategy), checkSchedulingPriority(in.SchedulingPriority),
		checkTags(in.Tags))
}

// checkServiceRetry rejects retry strategies with attempts outside 1 to 10, more than five rules, or an
// invalid rule (API reference of ServiceJobEvaluateOnExit; user guide, "Service job retry strategies").
// The patterns may have all printable characters, unlike those of other jobs.
func checkServiceRetry(r *types.ServiceJobRetryStrategy) error {
	if r == nil {
		return nil
	}
	if err := checkRetry(&types.RetryStrategy{Attempts: r.Attempts, EvaluateOnExit: make([]types.EvaluateOnExit, 0,
		1)}); err != nil {
		return err
	}
	if len(r.EvaluateOnExit) > 5 {
		return wire.ClientException("EvaluateOnExit can have at most 5 entries.")
	}
	for _, rule := range r.EvaluateOnExit {
		pattern := aws.ToString(rule.OnStatusReason)
		switch action := strings.ToUpper(string(rule.Action)); {
		case action != "RETRY" && action != "EXIT":
			return wire.ClientException("EvaluateOnExit action %q is not valid. Valid actions: [RETRY, EXIT]",
				rule.Action)
		case pattern == "":
			return wire.ClientException("EvaluateOnExit should contain onStatusReason.")
		case len(pattern) > 512:
			return wire.ClientException("Evaluate on exit condition cannot exceed 512 characters.")
		case strings.ContainsFunc(pattern, func(c rune) bool { return !unicode.IsPrint(c) }),
			strings.Contains(strings.TrimSuffix(pattern, "*"), "*"):
			return wire.ClientException("Evaluate on exit condition contains restricted characters.")
		}
	}
	return nil
}

// checkServiceShare rejects a share that does not fit the scheduling policy of the queue: each kind of
// policy needs its own, and excludes the other (API reference of SubmitServiceJob).
func checkServiceShare(m *model.Model, in *awsbatch.SubmitServiceJobInput, q *model.Queue) error {
	p := m.PolicyOf(q.Name)
	quota, fair := p != nil && p.Quota != nil, p != nil && p.Quota == nil
	switch {
	case quota && in.QuotaShareName == nil:
		return wire.ClientException("quotaShareName must be specified.")
	case !quota && in.QuotaShareName != nil:
		return wire.ClientException("Job with quotaShareName can only be submitted to job queue with quota share scheduling policy.")
	case quota:
		s := m.QuotaShares[model.QuotaShareOf(q.Name, *in.QuotaShareName)]
		switch {
		case s == nil:
			return wire.ClientException("Quota share %s does not exist.", *in.QuotaShareName)
		case s.Request.State == types.QuotaShareStateDisabled:
			return wire.ClientException("Quota share %s is DISABLED and accepts no jobs.", s.Name)
		}
		return nil
	case fair && in.ShareIdentifier == nil:
		return wire.ClientException("shareIdentifier must be specified.")
	case !fair && in.ShareIdentifier != nil:
		return wire.ClientException("Job with shareIdentifier can only be submitted to job queue with fair share scheduling policy.")
	case in.PreemptionConfiguration != nil:
		return wire.ClientException("preemptionConfiguration is only for jobs in a quota share.")
	case fair && !shareIdentifier().MatchString(*in.ShareIdentifier):
		return wire.ClientException("ShareIdentifier name should match a valid pattern.")
	case fair && !m.QueueJobs(q.Name).TakesShare(*in.ShareIdentifier, maxShares):
		return wire.ClientException("Job queue %s has %d active share identifiers already.", q.Name, maxShares)
	}
	return nil
}

// checkToken rejects a request that was accepted with its client token already. Its text is unknown.
func checkToken(m *model.Model, in *awsbatch.SubmitServiceJobInput) error {
	if in.ClientToken == nil {
		return nil
	}
	j := m.SubmittedWith(*in.ClientToken, time.Now().UnixMilli())
	if j == nil {
		return nil
	}
	now, err := wire.Marshal(in)
	before, otherErr := wire.Marshal(j.Service.Request)
	if err == nil && otherErr == nil && bytes.Equal(now, before) {
		return wire.ClientException("The same request with clientToken %s was accepted as service job %s.",
			*in.ClientToken, j.ID)
	}
	return nil
}

// serviceJob returns the service job that a request names by its id or ARN, or the error for an unknown
// one.
func serviceJob(m *model.Model, text *string) (*model.Job, error) {
	j := m.ServiceJob(model.ResourceName(aws.ToString(text), model.KindServiceJob))
	if j == nil {
		return nil, missing("Service job", text)
	}
	return j, nil
}

// updateServiceJob changes the scheduling priority of a job that has not ended.
func (js serviceJobs) updateServiceJob(c *call.Call,
	in *awsbatch.UpdateServiceJobInput) (*awsbatch.UpdateServiceJobOutput, error) {
	if in.SchedulingPriority == nil {
		return nil, wire.ClientException("schedulingPriority is required.")
	}
	if err := cmp.Or(checkSchedulingPriority(in.SchedulingPriority), js.check(c)); err != nil {
		return nil, err
	}
	out := &awsbatch.UpdateServiceJobOutput{}
	err := js.backend.Change(func(m *model.Model) ([]model.Event, error) {
		j, err := serviceJob(m, in.JobId)
		switch {
		case err != nil:
			return nil, err
		case j.State.Ended():
			return nil, wire.ClientException("Service job %s has ended; its priority cannot be changed.", j.ID)
		}
		out.JobId, out.JobName, out.JobArn = aws.String(j.ID), j.Request.JobName, aws.String(j.Task.ARN())
		return []model.Event{{Prioritized: &model.Prioritization{Job: j.ID, Priority: *in.SchedulingPriority}}}, nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// terminateServiceJob ends a job in any state. A started one gets SIGTERM, and SIGKILL after 120
// seconds, as SageMaker does.
func (js serviceJobs) terminateServiceJob(c *call.Call,
	in *awsbatch.TerminateServiceJobInput) (*awsbatch.TerminateServiceJobOutput, error) {
	if aws.ToString(in.Reason) == "" {
		return nil, wire.ClientException("reason is required.")
	}
	if err := checkReason(*in.Reason); err != nil {
		return nil, err
	}
	return &awsbatch.TerminateServiceJobOutput{}, js.backend.Change(func(m *model.Model) ([]model.Event, error) {
		j, err := serviceJob(m, in.JobId)
		if err != nil {
			return nil, err
		}
		return j.Stop(true, *in.Reason), nil
	})
}

// describeServiceJob returns one service job. Preempted attempts are only in its preemptionSummary.
func (js serviceJobs) describeServiceJob(_ *call.Call,
	in *awsbatch.DescribeServiceJobInput) (*awsbatch.DescribeServiceJobOutput, error) {
	m, done := js.backend.View()
	defer done()
	j, err := serviceJob(m, in.JobId)
	if err != nil {
		return nil, err
	}
	s, r := js.serviceSummary(j), j.Service.Request
	out := &awsbatch.DescribeServiceJobOutput{
		JobId: s.JobId, JobArn: s.JobArn, JobName: s.JobName,
		JobQueue:       aws.String(model.ARN(model.KindQueue, *j.Request.JobQueue)),
		ServiceJobType: s.ServiceJobType, Status: s.Status, StatusReason: s.StatusReason,
		CreatedAt: s.CreatedAt, ScheduledAt: s.ScheduledAt, StartedAt: s.StartedAt, StoppedAt: s.StoppedAt,
		LatestAttempt: s.LatestAttempt, ShareIdentifier: s.ShareIdentifier, QuotaShareName: s.QuotaShareName,
		IsTerminated: aws.Bool(j.Terminated), PreemptionConfiguration: r.PreemptionConfiguration,
		RetryStrategy:      describedServiceRetry(r.RetryStrategy),
		SchedulingPriority: j.SchedulingPriority(), ServiceRequestPayload: r.ServiceRequestPayload,
		TimeoutConfig: r.TimeoutConfig,
		Attempts:      []types.ServiceJobAttemptDetail{}, Tags: model.Merged(nil, m.Tags[j.Resource()]),
	}
	for _, u := range s.CapacityUsage {
		out.CapacityUsage = append(out.CapacityUsage, types.ServiceJobCapacityUsageDetail{CapacityUnit: u.CapacityUnit,
			Quantity: u.Quantity})
	}
	for i := range j.Attempts {
		t := &j.Attempts[i]
		switch d := (types.ServiceJobAttemptDetail{ServiceResourceId: trainingID(j, t),
			StartedAt: call.Moment(t.StartedAt), StoppedAt: call.Moment(t.StoppedAt),
			StatusReason: call.Optional(t.StatusReason)}); {
		case t.StoppedAt == 0: // Batch lists an attempt once it has ended
		case t.Preempted && out.PreemptionSummary == nil:
			out.PreemptionSummary = &types.ServiceJobPreemptionSummary{PreemptedAttemptCount: aws.Int32(1),
				RecentPreemptedAttempts: []types.ServiceJobPreemptedAttempt{types.ServiceJobPreemptedAttempt(d)}}
		case t.Preempted:
			*out.PreemptionSummary.PreemptedAttemptCount++
			out.PreemptionSummary.RecentPreemptedAttempts = append(out.PreemptionSummary.RecentPreemptedAttempts,
				types.ServiceJobPreemptedAttempt(d))
		default:
			out.Attempts = append(out.Attempts, d)
		}
	}
	return out, nil
}

// describedServiceRetry returns a retry strategy as Batch shows it: with its list of rules, which may be
// empty.
func describedServiceRetry(r *types.ServiceJobRetryStrategy) *types.ServiceJobRetryStrategy {
	if r == nil {
		return nil
	}
	return &types.ServiceJobRetryStrategy{Attempts: r.Attempts,
		EvaluateOnExit: append([]types.ServiceJobEvaluateOnExit{}, r.EvaluateOnExit...)}
}

// trainingID returns the identifier of the training job of an attempt.
func trainingID(j *model.Job, t *model.Attempt) *types.ServiceResourceId {
	return &types.ServiceResourceId{Name: types.ServiceResourceIdNameSagemakerTrainingJobArn,
		Value: aws.String(j.TrainingARN(t))}
}

// serviceSummary returns a service job as ListServiceJobs shows it.
func (js serviceJobs) serviceSummary(j *model.Job) types.ServiceJobSummary {
	status, reason := j.State.Status(), call.Optional(j.Reason)
	js.admit(&status, &reason, nil)
	s := types.ServiceJobSummary{JobId: &j.ID, JobArn: aws.String(j.Task.ARN()), JobName: j.Request.JobName,
		ServiceJobType: j.Service.Request.ServiceJobType,
		Status:         types.ServiceJobStatus(status), StatusReason: reason, CreatedAt: aws.Int64(j.CreatedAt),
		ScheduledAt: call.Moment(j.Service.ScheduledAt),
		StartedAt:   call.Moment(j.StartedAt), StoppedAt: call.Moment(j.StoppedAt),
		ShareIdentifier: j.Service.Request.ShareIdentifier,
		QuotaShareName:  j.Service.Request.QuotaShareName}
	for _, g := range j.Service.Training.Instances() {
		s.CapacityUsage = append(s.CapacityUsage,
			types.ServiceJobCapacityUsageSummary{CapacityUnit: aws.String(g.InstanceType),
				Quantity: aws.Float64(float64(g.InstanceCount))})
	}
	if t := j.Last(); t != nil {
		s.LatestAttempt = &types.LatestServiceJobAttempt{ServiceResourceId: trainingID(j, t)}
	}
	return s
}

// listServiceJobs returns a page of the service jobs of a queue, newest first. Without a status and a
// filter it lists RUNNING jobs only. Like ListJobs, it examines at most call.MaxExamined jobs for a page.
func (js serviceJobs) listServiceJobs(_ *call.Call,
	in *awsbatch.ListServiceJobsInput) (*awsbatch.ListServiceJobsOutput, error) {
	matches, err := serviceFilter(in)
	if err != nil {
		return nil, err
	}
	size := 100
	if in.MaxResults != nil {
		if size = min(size, int(*in.MaxResults)); size < 1 {
			return nil, wire.ClientException("maxResults must be at least 1.")
		}
	}
	after, err := call.ReadNumber(in.NextToken)
	if err != nil {
		return nil, err
	}
	m, done := js.backend.View()
	defer done()
	name := model.ResourceName(aws.ToString(in.JobQueue), model.KindQueue)
	l := m.Lines[name]
	if _, ok := m.Queue(name); !ok && l == nil {
		return nil, missing("Job Queue", in.JobQueue)
	}
	out := &awsbatch.ListServiceJobsOutput{JobSummaryList: []types.ServiceJobSummary{}}
	if l == nil {
		return out, nil
	}
	last, examined := int64(0), 0
	for t, wanted := range newestJobs(l.All, after, func(j *model.Job) bool { return j.Service != nil && matches(j) }) {
		if len(out.JobSummaryList) == size || examined == call.MaxExamined {
			out.NextToken = aws.String(call.NewToken(strconv.FormatInt(last, 10)))
			break
		}
		if examined, last = examined+1, t.Job.Seq; wanted {
			out.JobSummaryList = append(out.JobSummaryList, js.serviceSummary(t.Job))
		}
	}
	return out, nil
}

// serviceFilter returns which jobs a ListServiceJobs wants. Only a filter for a share can be used
// together with a status (API reference).
func serviceFilter(in *awsbatch.ListServiceJobsInput) (func(*model.Job) bool, error) {
	status := model.Running
	if in.JobStatus != "" {
		var ok bool
		if status, ok = model.ParseServiceState(in.JobStatus); !ok {
			return nil, wire.ClientException("Job status %s is not valid. Valid statuses: %v", in.JobStatus,
				in.JobStatus.Values())
		}
	}
	if len(in.Filters) == 0 {
		return func(j *model.Job) bool { return j.State == status }, nil
	}
	if err := checkOne(in.Filters); err != nil {
		return nil, err
	}
	value, given := in.Filters[0].Values[0], in.JobStatus != ""
	inStatus := func(j *model.Job) bool { return !given || j.State == status }
	switch name := aws.ToString(in.Filters[0].Name); name {
	case "JOB_NAME":
		pattern := strings.ToLower(value)
		return func(j *model.Job) bool { return model.Glob(&pattern, strings.ToLower(*j.Request.JobName)) }, nil
	case "BEFORE_CREATED_AT", "AFTER_CREATED_AT":
		at, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			return nil, wire.ClientException("%s: %q is not a number of milliseconds.", name, value)
		}
		before := name == "BEFORE_CREATED_AT"
		return func(j *model.Job) bool { return before && j.CreatedAt < at || !before && j.CreatedAt > at }, nil
	case "SHARE_IDENTIFIER":
		return func(j *model.Job) bool {
			return aws.ToString(j.Service.Request.ShareIdentifier) == value && inStatus(j)
		}, nil
	case "QUOTA_SHARE_NAME":
		return func(j *model.Job) bool {
			return aws.ToString(j.Service.Request.QuotaShareName) == value &&
				inStatus(j)
		}, nil
	default:
		return nil, wire.ClientException("Filter %s is not valid. Valid filters: [JOB_NAME, BEFORE_CREATED_AT, AFTER_CREATED_AT, SHARE_IDENTIFIER, QUOTA_SHARE_NAME]", name)
	}
}
