package explain

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	"github.com/aws/smithy-go"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/client"
	"github.com/batchctl/batchctl/pkg/rpc"
	"github.com/batchctl/batchctl/pkg/secret"
	"github.com/batchctl/batchctl/pkg/usage"
)

const (
	// sampleSize is how many failed children of an array are examined.
	sampleSize = 20
	// logTail is how many lines of a log are kept, and maxLine how many bytes of each.
	logTail = 40
	maxLine = 4096
	// maxChain limits the dependencies that are followed to a root cause.
	maxChain = 25
	// gatherTimeout limits the time for all evidence: any of it may be missing.
	gatherTimeout = 60 * time.Second
)

// Gatherer gathers evidence about jobs.
type Gatherer struct {
	Target string
	// Local means that the target is the local engine: it has only Batch and logs.
	Local bool

	batch *awsbatch.Client
	rpc   *rpc.Client
}

// NewGatherer returns a Gatherer for the account, Region or engine of cfg.
func NewGatherer(cfg aws.Config, target string, local bool) *Gatherer {
	return &Gatherer{Target: target, Local: local, batch: awsbatch.NewFromConfig(cfg), rpc: rpc.New(cfg)}
}

// Gather reads all evidence about a job, without credentials. The only error is a job that cannot
// be described; other evidence that cannot be read is recorded in the bundle.
func (g *Gatherer) Gather(ctx context.Context, id string) (*Bundle, error) {
	ctx, cancel := context.WithTimeout(ctx, gatherTimeout)
	defer cancel()
	b, err := g.glance(ctx, id)
	if err != nil {
		return nil, err
	}
	steps := []func(context.Context, *Bundle){g.end, g.chain}
	if !batch.HasEnded(b.Subject.Job.Status) {
		steps = append(steps, g.gatherQueue, g.consumables, g.fleet)
	}
	if !g.Local {
		steps = append(steps, g.image, g.roles, g.lost)
	}
	for _, step := range steps {
		step(ctx, b)
	}
	return Masked(b)
}

// Glance reads only the evidence on why a job waits: the job, its queue with the compute
// environments, and the queue's snapshot.
func (g *Gatherer) Glance(ctx context.Context, id string) (*Bundle, error) {
	b, err := g.glance(ctx, id)
	if err != nil {
		return nil, err
	}
	if !batch.HasEnded(b.Subject.Job.Status) {
		g.chain(ctx, b)
		g.gatherQueue(ctx, b)
	}
	return b, nil
}

// glance describes the job and some children of an array.
func (g *Gatherer) glance(ctx context.Context, id string) (*Bundle, error) {
	jobs, err := g.describe(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("describe job %s: %w", batch.ShortID(str(&id)), plain(err))
	}
	if len(jobs) == 0 {
		return nil, errors.New(client.NoJob(id))
	}
	b := &Bundle{Version: BundleVersion, Target: g.Target, Local: g.Local, At: time.Now().
		UnixMilli(), Subject: Subject{Job: &jobs[0]}}
	g.children(ctx, b, &b.Subject)
	b.Looks = []Sample{{At: b.At, Status: jobs[0].Status, Reason: b.Subject.reason()}}
	return b, nil
}

// describe returns the jobs that the service has, with the names that users gave them.
func (g *Gatherer) describe(ctx context.Context, ids ...string) ([]types.JobDetail, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	out, err := g.batch.DescribeJobs(ctx, &awsbatch.DescribeJobsInput{Jobs: ids})
	if err != nil {
		return nil, err
	}
	for i, job := range out.Jobs {
		if job.JobName != nil {
			out.Jobs[i].JobName = aws.String(client.DisplayName(*job.JobName))
		}
	}
	return out.Jobs, nil
}

// missing records evidence that could not be read; a nil error records nothing.
func (b *Bundle) missing(what string, err error) {
	if err != nil {
		b.NotGathered = append(b.NotGathered, Gap{What: what, Why: plain(err).Error(), Denied: denied(err)})
	}
}

// denied reports whether the caller is not allowed to call an operation.
func denied(err error) bool {
	if rpc.Denied(err) {
		return true
	}
	api, ok := errors.AsType[smithy.APIError](err)
	return ok && slices.Contains([]string{"AccessDeniedException", "AccessDenied", "UnauthorizedOperation"},
		api.ErrorCode())
}

// plain returns an error of the SDK without the layers around its cause.
func plain(err error) error {
	if denied(err) && !rpc.Denied(err) {
		if op, ok := errors.AsType[*smithy.OperationError](err); ok {
			return fmt.Errorf("not allowed: %s:%s", strings.ToLower(op.Service()), op.Operation())
		}
	}
	if api, ok := errors.AsType[smithy.APIError](err); ok && api.ErrorCode() != "UnknownError" {
		return fmt.Errorf("%s: %s", api.ErrorCode(), api.ErrorMessage())
	}
	var answer interface{ HTTPStatusCode() int }
	if errors.As(err, &answer) && answer.HTTPStatusCode() >= 300 {
		return fmt.Errorf("HTTP %d %s", answer.HTTPStatusCode(), http.StatusText(answer.HTTPStatusCode()))
	}
	if op, ok := errors.AsType[*smithy.OperationError](err); ok {
		return op.Unwrap()
	}
	return err
}

// children describes a sample of an array's failed children, and one that waits.
func (g *Gatherer) children(ctx context.Context, b *Bundle, s *Subject) {
	if !isArray(s.Job) {
		return
	}
	counts := s.Job.ArrayProperties.StatusSummary
	if counts[string(types.JobStatusFailed)] > 0 || s.Job.Status == types.JobStatusFailed {
		failed, err := g.sample(ctx, s.Job.JobId, types.JobStatusFailed)
		s.Failed = failed
		b.missing(evidenceChildren, err)
	}
	if !batch.HasEnded(s.Job.Status) && counts[string(types.JobStatusRunnable)] > 0 {
		waiting, err := g.sample(ctx, s.Job.JobId, types.JobStatusRunnable)
		if len(waiting) > 0 {
			s.Waiting = &waiting[0]
		}
		b.missing(evidenceChildren, err)
	}
}

// sample describes some children of an array in one status.
func (g *Gatherer) sample(ctx context.Context, array *string, status types.JobStatus) ([]types.JobDetail, error) {
	page, err := g.batch.ListJobs(ctx, &awsbatch.ListJobsInput{ArrayJobId: array, JobStatus: status})
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, j := range page.JobSummaryList[:min(len(page.JobSummaryList), sampleSize)] {
		ids = append(ids, str(j.JobId))
	}
	return g.describe(ctx, ids...)
}

// end reads the log of the job, or of the child that represents the others.
func (g *Gatherer) end(ctx context.Context, b *Bundle) {
	if e := b.Subject.end(); e != nil {
		b.Subject.Log = g.log(ctx, b, e.job)
	}
}

// log reads the end of the log of a job's last attempt; nil if it has none.
func (g *Gatherer) log(ctx context.Context, b *Bundle, job *types.JobDetail) *Log {
	l := logOf(job)
	if l == nil {
		return nil
	}
	out, err := g.rpc.GetLogEvents(ctx, &cloudwatchlogs.GetLogEventsInput{LogGroupName: &l.Group,
		LogStreamName: &l.Stream,
		Limit:         aws.Int32(logTail), StartFromHead: aws.Bool(false)})
	if rpc.Missing(err) {
		l.Missing = true
		return l
	}
	if err != nil {
		b.missing(evidenceLog, err)
		return nil
	}
	events := out.Events[max(0, len(out.Events)-logTail):]
	for _, e := range events {
		text, measured := usage.Cut(strings.TrimRight(str(e.Message), "\r\n"))
		if measured && text == "" {
			continue // batchctl's line, which says nothing about the cause
		}
		l.Lines = append(l.Lines, LogLine{num(e.Timestamp), cutLine(text)})
	}
	return l
}

// cutLine returns the beginning of a line of a log. It masks credentials before it cuts: half of
// a credential would not be recognised later.
func cutLine(text string) string {
	if len(text) > maxLine {
		text = secret.Mask("", text) // which may shorten the text
		text = text[:min(len(text), maxLine)]
	}
	return strings.ToValidUTF8(text, "\ufffd")
}

// logOf returns the stream of a job's last attempt, without lines; nil if it has none in
// CloudWatch Logs.
func logOf(job *types.JobDetail) *Log {
	l := &Log{Group: "/aws/batch/job"} // where Batch logs unless a job says otherwise
	use := func(c *types.LogConfiguration) bool {
		if c == nil {
			return true
		}
		l.Group = orElse(c.Options["awslogs-group"], l.Group)
		return c.LogDriver == "" || c.LogDriver == types.LogDriverAwslogs
	}
	if c := job.Container; c != nil {
		if !use(c.LogConfiguration) {
			return nil
		}
		l.Stream = str(c.LogStreamName)
	}
	if job.EcsProperties != nil {
		for _, task := range job.EcsProperties.TaskProperties {
			for _, c := range task.Containers {
				if l.Stream == "" && aws.ToInt32(c.ExitCode) != 0 && use(c.LogConfiguration) {
					l.Stream = str(c.LogStreamName)
				}
			}
		}
	}
	for _, a := range slices.Backward(job.EksAttempts) {
		if l.Stream == "" {
			l.Stream = batch.PodStream(*job, a.PodName, batch.PodEnd(a).Name)
		}
	}
	for _, a := range slices.Backward(job.Attempts) {
		if l.Stream == "" && a.Container != nil {
			l.Stream = str(a.Container.LogStreamName)
		}
	}
	if l.Stream == "" {
		return nil
	}
	return l
}

// chain describes the jobs that the job depends on, and follows a failed dependency to the job
// that failed first.
func (g *Gatherer) chain(ctx context.Context, b *Bundle) {
	next := dependencies(b.Subject.Job)
	for step := 0; len(next) > 0 && step < maxChain; step++ {
		jobs, err := g.describe(ctx, next...)
		if err != nil {
			b.missing(evidenceDependencies, err)
			return
		}
		if step == 0 {
			b.Dependencies = jobs
		}
		i := slices.IndexFunc(jobs, func(j types.JobDetail) bool { return j.Status == types.JobStatusFailed })
		if i < 0 || b.Subject.Job.Status != types.JobStatusFailed {
			return
		}
		b.Root = &Subject{Job: &jobs[i]}
		if next = nil; strings.HasPrefix(str(jobs[i].StatusReason), "Depend") {
			next = dependencies(&jobs[i])
		}
	}
	if b.Root != nil {
		g.children(ctx, b, b.Root)
		if ends := b.Root.ends(); len(ends) > 0 {
			b.Root.Log = g.log(ctx, b, ends[0].job)
		}
	}
}

// dependencies returns the ids of the jobs that a job depends on.
func dependencies(job *types.JobDetail) (ids []string) {
	for _, d := range job.DependsOn {
		if id := str(d.JobId); id != "" && id != str(job.JobId) {
			ids = append(ids, id)
		}
	}
	return ids
}

// gatherQueue describes the queue, its compute environments and its snapshot.
func (g *Gatherer) gatherQueue(ctx context.Context, b *Bundle) {
	queue := b.Subject.Job.JobQueue
	queues, err := g.batch.DescribeJobQueues(ctx, &awsbatch.DescribeJobQueuesInput{JobQueues: []string{str(queue)}})
	if err == nil && len(queues.JobQueues) == 0 {
		err = errors.New("the queue no longer exists")
	}
	b.missing(evidenceQueue, err)
	if err == nil {
		b.Queue = &queues.JobQueues[0]
		g.environments(ctx, b)
	} else {
		b.missing(evidenceEnvironments, errors.New("the job queue is unknown"))
	}
	snapshot, err := g.batch.GetJobQueueSnapshot(ctx, &awsbatch.GetJobQueueSnapshotInput{JobQueue: queue})
	b.missing(evidenceSnapshot, err)
	if err == nil {
		b.Front, b.Utilization = snapshot.FrontOfQueue, snapshot.QueueUtilization
	}
	if g.Local && b.Queue != nil && b.Subject.waiting() != nil {
		b.missing(evidenceCluster, g.machine(ctx, b))
	}
}

// machine reads the capacity of the local engine's machine, and which jobs run on it.
func (g *Gatherer) machine(ctx context.Context, b *Bundle) error {
	instances, err := g.rpc.ContainerInstances(ctx, batch.LocalCluster)
	if err != nil {
		return err
	}
	b.Clusters = []Cluster{{batch.LocalEnvironment, batch.LocalCluster, instances}}
	queues, err := g.batch.DescribeJobQueues(ctx, &awsbatch.DescribeJobQueuesInput{})
	if err != nil {
		return err
	}
	for _, q := range queues.JobQueues {
		if q.JobQueueType == types.JobQueueTypeSagemakerTraining {
			continue
		}
		jobs, err := g.batch.ListJobs(ctx, &awsbatch.ListJobsInput{JobQueue: q.JobQueueName,
			JobStatus: types.JobStatusRunning})
		if err != nil {
			return err
		}
		for _, job := range jobs.JobSummaryList {
			job.JobName = aws.String(client.DisplayName(str(job.JobName)))
			b.Running = append(b.Running, job)
		}
	}
	return nil
}

// environments describes the compute environments, in the order of the queue.
func (g *Gatherer) environments(ctx context.Context, b *Bundle) {
	var names []string
	for _, o := range b.Queue.ComputeEnvironmentOrder {
		names = append(names, str(o.ComputeEnvironment))
	}
	if len(names) == 0 {
		return
	}
	out, err := g.batch.DescribeComputeEnvironments(ctx,
		&awsbatch.DescribeComputeEnvironmentsInput{ComputeEnvironments: names})
	if err != nil {
		b.missing(evidenceEnvironments, err)
		return
	}
	b.Environments = out.ComputeEnvironments
	slices.SortStableFunc(b.Environments, func(x, y types.ComputeEnvironmentDetail) int {
		return slices.Index(names, str(x.ComputeEnvironmentArn)) - slices.Index(names, str(y.ComputeEnvironmentArn))
	})
}

// consumables describes the consumable resources that the job requests.
func (g *Gatherer) consumables(ctx context.Context, b *Bundle) {
	p := b.Subject.Job.ConsumableResourceProperties
	if p == nil {
		return
	}
	for _, r := range p.ConsumableResourceList {
		c := Consumable{Name: batch.Name(str(r.ConsumableResource)), Asked: num(r.Quantity)}
		out, err := g.batch.DescribeConsumableResource(ctx,
			&awsbatch.DescribeConsumableResourceInput{ConsumableResource: r.ConsumableResource})
		if api, ok := errors.AsType[smithy.APIError](err); ok && strings.Contains(api.ErrorMessage(), "not exist") {
			c.Missing, err = true, nil
		}
		if err != nil {
			b.missing(evidenceConsumables, err)
			continue
		}
		if out != nil {
			c.Available, c.Total = num(out.AvailableQuantity), num(out.TotalQuantity)
		}
		b.Consumables = append(b.Consumables, c)
	}
}
