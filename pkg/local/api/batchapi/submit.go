package batchapi

import (
	"cmp"
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/local/api/call"
	"github.com/batchctl/batchctl/pkg/local/attempt"
	"github.com/batchctl/batchctl/pkg/local/model"
	"github.com/batchctl/batchctl/pkg/local/secretsource"
	"github.com/batchctl/batchctl/pkg/wire"

	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
)

// submitJob records a job once the queue, definition, dependencies and resources are checked
// against one state of the model. A call that the SDK repeats gets the job of the first one. The
// notice of the answer lists the members without effect here.
func (js jobs) submitJob(c *call.Call, in *awsbatch.SubmitJobInput) (*awsbatch.SubmitJobOutput, error) {
	if err := cmp.Or(checkSize(c), checkSubmit(in), js.check(c)); err != nil {
		return nil, err
	}
	directory, err := jobDirectory(in)
	if err != nil {
		return nil, err
	}
	asked, queue := aws.ToString(in.JobQueue), model.ResourceName(aws.ToString(in.JobQueue), "job-queue")
	// The journal keeps the body unchanged, unless an ARN has to be replaced by the name or id.
	text := c.Body
	if asked != queue {
		in.JobQueue, text = &queue, nil
	}
	for i, d := range in.DependsOn {
		if id := jobID(d.JobId); id != aws.ToString(d.JobId) {
			in.DependsOn[i].JobId, text = &id, nil
		}
	}
	request, err := model.ShapeOf(in, text)
	if err != nil {
		return nil, err
	}
	s := &model.Submission{ID: call.NewID(), Directory: directory, Invocation: c.Invocation(), Request: request}
	given, err := secretsource.Decode(c.Request.Header.Get(call.SecretsHeader))
	if err != nil {
		return nil, wire.ClientException("header %s: %s.", call.SecretsHeader, err)
	}
	var members []attempt.Member
	var missing []error
	x, err := js.backend.Executor(c.Request.Context(), "")
	if err != nil {
		return nil, err
	}
	name := ""
	decide := func(m *model.Model) ([]model.Event, error) {
		if id, again := m.MadeBy(s.Invocation); again {
			// An engine that was restarted since the first answer has the job without its secrets.
			if t := m.Jobs[id]; t != nil {
				missing = js.backend.ProvideSecrets(id, given, secretsOf(&t.Work))
			}
			s.ID = id
			return nil, nil
		}
		if err := js.backend.Accepting(); err != nil {
			return nil, err
		}
		q, err := openQueue(m, queue, asked)
		if err != nil {
			return nil, err
		}
		d, err := activeDefinition(m, aws.ToString(in.JobDefinition))
		if err != nil {
			return nil, err
		}
		// The definition may choose an executor, so the choice is unknown before the first read.
		if other := attempt.ChosenIn(d.Request, in); other != name {
			name = other
			return nil, errChosen
		}
		if err := js.mayStartProcesses(c, x); err != nil {
			return nil, err
		}
		if err := cmp.Or(checkPodOverrides(d.Request, in), checkNodeOverrides(d.Request, in),
			checkPartOverrides(d.Request, in)); err != nil {
			return nil, err
		}
		w, err := model.WorkOf(d, in)
		if err != nil {
			return nil, err
		}
		if err := cmp.Or(checkAgainst(m, in, d, w), checkPlatform(m, d, q), checkShare(m, in, d, q)); err != nil {
			return nil, err
		}
		members = unhonoured(x, d.Request, in, w)
		missing = js.backend.ProvideSecrets(s.ID, given, secretsOf(w))
		s.Definition, s.Work = d.ID(), w
		// A job without dependencies skips PENDING; see the moves in package model.
		if len(in.DependsOn) == 0 && in.ArrayProperties == nil {
			s.To = model.Runnable
		}
		return []model.Event{{Submitted: s}}, nil
	}
	// The definition may change between the reads, so decide runs until the choice is stable.
	for err = js.backend.Change(decide); errors.Is(err, errChosen); err = js.backend.Change(decide) {
		if x, err = js.backend.Executor(c.Request.Context(), name); err != nil {
			return nil, wire.ClientException("%s", err)
		}
	}
	if err != nil {
		return nil, err
	}
	for _, err := range missing {
		members = append(members, attempt.Member{Name: "secrets", Effect: attempt.Prevents, Why: err.Error()})
	}
	noticeMembers(c, x, members)
	return &awsbatch.SubmitJobOutput{JobArn: aws.String(model.ARN("job", s.ID)), JobId: &s.ID, JobName: in.JobName}, nil
}

// openQueue returns the queue of a submission, as it was asked for, if it accepts jobs.
func openQueue(m *model.Model, name, asked string) (*model.Queue, error) {
	q, ok := m.Queue(name)
	switch {
	case !ok:
		return nil, unknownQueue(asked)
	case q.Service != "":
		return nil, wire.ClientException("Job Queue %s is of type SAGEMAKER_TRAINING and accepts only service jobs.",
			name)
	case q.Disabled:
		return nil, wire.ClientException("Job Queue %s is DISABLED and accepts no jobs.", name)
	}
	return q, nil
}

// errChosen means that a job chooses another executor than the current one. Finding that one
// takes time, because it may start a program, so submitJob does it between two reads of the
// model.
var errChosen = errors.New("the executor is still to be found")

// checkSize rejects a body of 30 KiB or more, Batch's quota for the size of a job.
func checkSize(c *call.Call) error {
	if size := len(c.Body); size >= 30<<10 {
		return wire.ClientException("Job size must be less than 30 KiB, got %d KiB", size>>10)
	}
	return nil
}

// checkSubmit checks what the request alone shows.
func checkSubmit(in *awsbatch.SubmitJobInput) error {
	size := int32(2)
	if in.ArrayProperties != nil {
		size = aws.ToInt32(in.ArrayProperties.Size)
	}
	var environment []types.KeyValuePair
	if in.ContainerOverrides != nil {
		environment = in.ContainerOverrides.Environment
	}
	switch {
	case !jobName().MatchString(aws.ToString(in.JobName)):
		return failed("Job name should match valid pattern") // opensupplyhub/open-apparel-registry#2007
	case aws.ToString(in.JobQueue) == "":
		return wire.ClientException("jobQueue is required.")
	case aws.ToString(in.JobDefinition) == "":
		return wire.ClientException("jobDefinition is required.")
	}
	return cmp.Or(checkSubmitValues(in, size), checkCommand(in.ContainerOverrides), checkVariables(environment),
		checkRetry(in.RetryStrategy), checkTimeout(in.Timeout),
		checkTags(in.Tags), checkConsumables(in.ConsumableResourcePropertiesOverride))
}

// checkSubmitValues checks the values of members.
func checkSubmitValues(in *awsbatch.SubmitJobInput, size int32) error {
	switch {
	case size < 2 || size > 10000:
		return wire.ClientException("Array size must be between 2 and 10000, got %d.", size)
	case len(in.DependsOn) > 20:
		return wire.ClientException("Job cannot have more than 20 dependencies")
	case in.ShareIdentifier != nil && !shareIdentifier().MatchString(*in.ShareIdentifier):
		return wire.ClientException("ShareIdentifier name should match a valid pattern.")
	case in.ContainerOverrides != nil && in.ContainerOverrides.InstanceType != nil:
		return wire.ClientException("containerOverrides.instanceType is only for multi-node jobs.")
	}
	return checkSchedulingPriority(in.SchedulingPriorityOverride)
}

// checkShare rejects a share on a queue without policy, and a job without share on a queue with
// one.
func checkShare(m *model.Model, in *awsbatch.SubmitJobInput, d *model.Definition, q *model.Queue) error {
	l := m.QueueJobs(q.Name)
	switch {
	case q.Policy == "" && (in.ShareIdentifier != nil || in.SchedulingPriorityOverride != nil):
		return wire.ClientException("Job with shareIdentifier or schedulingPriority can only be submitted to job queue with fair share scheduling policy.")
	case q.Policy == "":
		return nil
	case in.ShareIdentifier == nil:
		return wire.ClientException("shareIdentifier must be specified.")
	case in.SchedulingPriorityOverride == nil && d.Request.SchedulingPriority == nil:
		return wire.ClientException("Either schedulingPriority in job definition or schedulingPriorityOverride should be specified.")
	case !l.TakesShare(*in.ShareIdentifier, maxShares):
		return wire.ClientException("Job queue %s has %d active share identifiers already.", q.Name, maxShares)
	}
	return nil
}

// checkAgainst checks the request against the definition, the existing jobs and the resources. w
// is what the job runs.
func checkAgainst(m *model.Model, in *awsbatch.SubmitJobInput, d *model.Definition, w *model.Work) error {
	commands := [][]string{w.Container.Command}
	for i := range w.Parts {
		commands = append(commands, w.Parts[i].Commands()...)
	}
	for _, command := range commands {
		if _, err := model.Substitute(command, model.Merged(d.Request.Parameters, in.Parameters)); err != nil {
			return err
		}
	}
	for _, r := range w.Consumes {
		if m.Consumables[r.Name] == nil {
			return wire.ClientException("Consumable resource %s does not exist.", r.Name)
		}
	}
	if err := cmp.Or(checkOverrides(d, in), checkWork(d, w, true)); err != nil {
		return err
	}
	for _, dep := range in.DependsOn {
		if err := checkDependency(m, in, dep); err != nil {
			return err
		}
	}
	return nil
}

// checkDependency rejects a dependency on an unknown job, or one whose type does not fit the two
// jobs. A job may depend on one that has ended already: then it starts at once, or fails at once.
func checkDependency(m *model.Model, in *awsbatch.SubmitJobInput, d types.JobDependency) error {
	array := in.ArrayProperties != nil
	switch {
	case d.Type != "" && d.Type != types.ArrayJobDependencyNToN && d.Type != types.ArrayJobDependencySequential:
		return wire.ClientException("Dependency type %s is not valid. Valid types: [N_TO_N, SEQUENTIAL]", d.Type)
	case d.JobId == nil && d.Type == types.ArrayJobDependencySequential && array:
		return nil
	case d.JobId == nil:
		return wire.ClientException("A dependency needs a jobId.")
	}
	on := taskOf(m, *d.JobId)
	switch {
	case on == nil:
		return wire.ClientException("Job %s in dependsOn does not exist.", *d.JobId)
	case d.Type == types.ArrayJobDependencySequential:
		return nil // without an array it is an ordinary dependency: public pipelines submit single jobs so
	case d.Type != "" && !array:
		return wire.ClientException("A dependency of type %s is only for array jobs.", d.Type)
	case d.Type != types.ArrayJobDependencyNToN:
		return nil
	case !on.IsParent():
		return wire.ClientException("A dependency of type N_TO_N needs an array job; %s is not an array.", *d.JobId)
	case len(on.Job.Children) != int(aws.ToInt32(in.ArrayProperties.Size)):
		return wire.ClientException("A dependency of type N_TO_N needs an array of the same size; %s has %d children.",
			*d.JobId, len(on.Job.Children))
	}
	return nil
}

// jobDirectory returns the directory of the job's file, which only batchctl names; "" for jobs of other clients. A
// definition cannot name it.
func jobDirectory(in *awsbatch.SubmitJobInput) (string, error) {
	dir := in.Parameters[batch.DirectoryParameter]
	switch {
	case dir == "":
		return "", nil
	case !filepath.IsAbs(dir) || strings.ContainsRune(dir, 0):
		return "", wire.ClientException("parameter %s: %q is not an absolute path.", batch.DirectoryParameter, dir)
	}
	return filepath.Clean(dir), nil
}

// mayStartProcesses rejects a job that would run as a process if the engine starts processes only
// for batchctl's own commands and another client made the request.
func (js jobs) mayStartProcesses(c *call.Call, x attempt.Executor) error {
	if !js.ProcessesForBatchctlOnly || attempt.Contained(x) || c.Request.Header.Get(call.ClientHeader) != "" {
		return nil
	}
	return wire.ClientException("The local engine runs as root and starts processes only for batchctl's own commands. "+
		"To accept jobs from every client that has the key: batchctl serve --allow-root. To run jobs in containers: batchctl serve --executor %s.", attempt.Containers())
}

// checkPlatform rejects a job if all environments of its queue have the other platform: it could
// never start.
func checkPlatform(m *model.Model, d *model.Definition, q *model.Queue) error {
	if slices.ContainsFunc(q.Environments, func(name string) bool {
		v := m.Environments[name]
		return v == nil ||
			v.Runs(d.Platform())
	}) {
		return nil
	}
	if d.Platform() == model.PlatformEKS {
		return wire.ClientException("Job Queue is attached to Compute Environment that can not run Batch on EKS jobs.")
	}
	return wire.ClientException("Job Queue is attached to Compute Environment that can not run Jobs with capability %s.", d.Platform())
}
