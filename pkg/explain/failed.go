package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/stage"
)

// The texts below are those that AWS Batch, ECS and the container engines write; pkg/batch has
// their sources.

// because returns a verdict on an end that rests on its reasons, with these as evidence.
func (e *end) because(c Confidence, fix Fix, format string, args ...any) *Verdict {
	told := slices.DeleteFunc([]string{e.JobReason, e.StatusReason, e.Reason}, isGeneral)
	return &Verdict{Summary: fmt.Sprintf(format, args...), Confidence: c, Evidence: e.evidence(), Fix: fix, told: told}
}

// proved returns a verdict that rests on more than reasons: facts, which follow as evidence.
func (v *Verdict) proved(facts ...Evidence) *Verdict {
	v.told, v.Evidence = nil, append(v.Evidence, facts...)
	return v
}

// failedDependency finds a job whose dependency failed, and explains the job that failed first.
func failedDependency(b *Bundle) *Verdict {
	e := b.Subject.end()
	if e == nil || !e.Mentions("Dependent Job failed", "Dependency failed") {
		return nil
	}
	v := e.because(High, Fix{Job: "fix the failed job, then submit this one again"}, "a job that it depends on failed")
	if b.Root == nil || b.Root.Job == nil {
		return v
	}
	root := b.Root.Job
	name := fmt.Sprintf("%s (%s)", str(root.JobName), batch.ShortID(str(root.JobId)))
	v.Summary = "job " + name + ", which it waited for, FAILED"
	v.proved(Evidence{"DescribeJobs, job " + batch.ShortID(str(root.JobId)) + ", status", clock(num(root.StoppedAt)),
		fmt.Sprintf("%s %s", root.Status, str(root.StatusReason))})
	why := Explain(&Bundle{Local: b.Local, At: b.At, Subject: *b.Root, Image: b.Image, Roles: b.Roles,
		Instances: b.Instances, Spot: b.Spot}).Verdict
	if why == nil {
		return v
	}
	v.Summary += ": " + why.Summary
	v.Confidence = why.Confidence
	v.Evidence = append(v.Evidence, why.Evidence...)
	v.Fix = why.Fix
	if v.Fix.Job != "" {
		v.Fix.Job = "in job " + str(root.JobName) + ": " + v.Fix.Job
	}
	v.Fix.Member = "" // its positions are in the root's file, which is unknown here
	return v
}

// stateTimeLimit finds a job that its queue ended because it waited too long.
func stateTimeLimit(b *Bundle) *Verdict {
	e := b.Subject.end()
	if e == nil || !e.Mentions("JobStateTimeLimit action") {
		return nil
	}
	_, reason, _ := strings.Cut(e.JobReason, "reason: ")
	return e.because(High, Fix{Platform: "fix the reason, or increase maxTimeSeconds in the queue's jobStateTimeLimitActions, which end jobs that wait for this reason"},
		"the queue ended it because it waited too long: %s", orElse(reason,
			"for the reason in its jobStateTimeLimitActions"))
}

// stopped finds a job that a user, or the end of the local engine, stopped.
func stopped(b *Bundle) *Verdict {
	job := b.Subject.Job
	if !batch.HasEnded(job.Status) || !aws.ToBool(job.IsCancelled) && !aws.ToBool(job.IsTerminated) {
		return nil
	}
	if b.unplaced() != "" {
		return nil
	}
	how := "terminated"
	if aws.ToBool(job.IsCancelled) {
		how = "cancelled"
	}
	summary := fmt.Sprintf("the job was %s: %s", how, str(job.StatusReason))
	fix := "if that was a mistake, submit it again: batchctl retry " + batch.ShortID(str(job.JobId))
	switch {
	case b.Local && strings.HasPrefix(str(job.StatusReason), "The local engine was stopped"):
		summary = "the local engine was stopped before the job ended; its jobs stop with it"
		fix = "submit it again: batchctl retry " + batch.ShortID(str(job.JobId))
	case !b.Local:
		fix += "; CloudTrail shows who stopped it (TerminateJob, CancelJob)"
	}
	return &Verdict{Summary: summary, Confidence: High,
		Evidence: []Evidence{{"DescribeJobs, job " + batch.ShortID(str(job.JobId)) + ", status reason",
			clock(num(job.StoppedAt)), str(job.StatusReason)}},
		Fix: Fix{Job: fix}}
}

// Unplaced follows a job's name in the reason with which batchctl run ends jobs that can never
// fit the machine. The job's request follows it.
const Unplaced = " cannot be placed on this machine"

// unplaced returns that reason, if the job itself ended with it.
func (b *Bundle) unplaced() string {
	job := b.Subject.Job
	if reason := str(job.StatusReason); b.Local && batch.HasEnded(job.Status) &&
		strings.Contains(reason, "job "+str(job.JobName)+Unplaced) {
		return reason
	}
	return ""
}

// spotReclaim finds a job that lost its instance. On a local engine, the engine itself ended.
func spotReclaim(b *Bundle) *Verdict {
	e := b.Subject.end()
	if e == nil {
		return nil
	}
	if lost, _ := e.LostInstance(); !lost {
		return nil
	}
	if b.Local {
		return e.because(High, Fix{Job: "submit it again, or resubmit failed jobs: batchctl retry " +
			batch.ShortID(str(e.job.JobId))}, "the local engine ended while the job ran").proved()
	}
	fix := Fix{Member: "retryStrategy",
		Job: "retry after the loss of an instance: \"retryStrategy\": {\"attempts\": 5, \"evaluateOnExit\": " +
			"[{\"onStatusReason\": \"Host EC2*\", \"action\": \"RETRY\"}, {\"onReason\": \"*\", \"action\": \"EXIT\"}]}; write checkpoints, or use a queue without Spot"}
	v := e.because(High, fix, "it lost its instance while it ran, which is normal on Spot")
	spot := b.spotEvidence()
	v.Evidence = append(v.Evidence, spot...)
	if len(spot) == 0 && !slices.ContainsFunc(b.Environments, isSpot) && !e.Mentions("spot") {
		v.Confidence = Medium
		v.Summary = "its instance was terminated while it ran"
	}
	return v
}

// spotEvidence quotes EC2 about the instances that were terminated.
func (b *Bundle) spotEvidence() (all []Evidence) {
	for _, r := range b.Spot {
		all = append(all, Evidence{"DescribeSpotInstanceRequests " + r.Id, clock(r.At), joined(r.Code, r.Message)})
	}
	for _, i := range b.Instances {
		if strings.Contains(i.Reason, "Spot") {
			all = append(all, Evidence{"DescribeInstances " + i.Id, "", i.Reason})
		}
	}
	return all
}

// isSpot reports whether an environment uses Spot capacity.
func isSpot(e types.ComputeEnvironmentDetail) bool {
	return e.ComputeResources != nil && (e.ComputeResources.Type == types.CRTypeSpot ||
		e.ComputeResources.Type == types.CRTypeFargateSpot)
}

// timedOut finds an attempt that took longer than its timeout.
func timedOut(b *Bundle) *Verdict {
	e := b.Subject.end()
	if e == nil || !e.Mentions("Job attempt duration exceeded timeout") {
		return nil
	}
	limit := ""
	if t := e.job.Timeout; t != nil && t.AttemptDurationSeconds != nil {
		limit = fmt.Sprintf(" of %d s", *t.AttemptDurationSeconds)
	}
	v := e.because(High, Fix{Member: "timeout", Job: "raise the timeout, or do less work in each attempt"},
		"an attempt took longer than the timeout%s", limit)
	v.Evidence = append(v.Evidence, b.Subject.logLines(3)...)
	return v
}

// secretsNotReadable finds a secret that ECS could not read, and tells missing ones from missing
// permissions and routes.
func secretsNotReadable(b *Bundle) *Verdict {
	e := b.Subject.end()
	if e == nil || e.noLogin() || !e.Starting("ResourceInitializationError", "unable to retrieve secret",
		"fetching secret data", "retrieve the secret", "cannot pull secrets") {
		return nil
	}
	// ECS begins messages about secrets and about the registry alike.
	about := strings.ReplaceAll(strings.ToLower(e.JobReason+e.StatusReason+e.Reason), "pull secrets or registry auth",
		"")
	if !slices.ContainsFunc([]string{"secret", "ssm", "parameter"},
		func(text string) bool { return strings.Contains(about, text) }) {
		return nil
	}
	role := "the execution role"
	if c := e.job.Container; c != nil && c.ExecutionRoleArn != nil {
		role += " " + batch.Name(str(c.ExecutionRoleArn))
	}
	fix := Fix{Member: "secrets",
		Platform: "allow " + role +
			" to read it: secretsmanager:GetSecretValue or ssm:GetParameters, and kms:Decrypt for a key of your own"}
	what := role + " could not read a secret"
	c := Medium
	switch {
	case b.Local:
		fix = Fix{Member: "secrets", Job: "submit it again with --secrets-from env or --secrets-from file:PATH"}
		what, c = "this machine has no value for a secret", High
	case e.Mentions("Access to KMS is not allowed"):
		fix.Platform = "allow " + role + " kms:Decrypt in its policy and in the policy of the secret's key"
		what, c = role+" could not decrypt a secret", High
	case e.Mentions("AccessDenied", "not authorized", "kms"):
		c = High
	case e.Mentions("ResourceNotFoundException", "ParameterNotFound", "invalid ssm parameters", "invalid parameters: ",
		"whether the secret exists", "secret ARN is correct"):
		fix = Fix{Member: "secrets",
			Job: "correct valueFrom: the secret or parameter does not exist in this account and Region"}
		what, c = "a secret that the job names does not exist", High
	case e.Mentions("did not contain json key", "retrieved secret from Secrets Manager did not contain"):
		fix = Fix{Member: "secrets",
			Job: "correct the key after the secret's ARN in valueFrom: the secret does not have this key"}
		what, c = "a secret does not have the key that the job names", High
	case e.Mentions("looking for beginning of"):
		fix = Fix{Member: "secrets", Job: "store the secret as JSON, or name no key after its ARN in valueFrom"}
		what, c = "a secret is not JSON, but the job names a key in it", High
	case e.Mentions("deadline exceeded", "i/o timeout", "no such host", "check your network connection",
		"RequestError: send request failed", "RequestCanceled"):
		fix = Fix{Platform: e.route("Secrets Manager or SSM", "secretsmanager, ssm and kms")}
		what, c = "the secrets could not be read: the subnet does not reach the service", High
	default:
		fix.Platform += "; or let the subnet reach the service: a NAT gateway, or VPC endpoints for secretsmanager, ssm and kms"
	}
	v := e.because(c, fix, "%s", what)
	if b.Local {
		v.proved()
	}
	return v
}

// overridesTooLong finds a job whose overrides Amazon ECS rejected.
func overridesTooLong(b *Bundle) *Verdict {
	e := b.Subject.end()
	if e == nil || !e.Mentions("Container Overrides length must be at most") {
		return nil
	}
	// The words of the rule submit-overrides-8192, which finds it before the job is submitted.
	return e.because(High, Fix{Member: "containerOverrides",
		Job: "use fewer than 7680 characters: store long data in S3 and pass its location"},
		"the overrides are too long: together with the characters that AWS Batch adds, the limit is 8192")
}

// logStreamMissing finds a container that did not start because its log could not be opened.
func logStreamMissing(b *Bundle) *Verdict {
	e := b.Subject.end()
	if e == nil || !e.Starting("failed to validate logger args", "failed to initialize logging driver",
		"failed to create Cloudwatch log stream", "specified log group does not exist") {
		return nil
	}
	fix := Fix{Member: "logConfiguration",
		Platform: "create the log group, or set awslogs-create-group to \"true\" and allow logs:CreateLogGroup"}
	what, c := "the log could not be opened, so the container did not start", Medium
	switch {
	case e.Mentions("ResourceNotFoundException", "log group does not exist"):
		what, c = "the log group does not exist, so the container did not start", High
	case e.Mentions("unknown log opt", "log-opt", "log option"):
		fix = Fix{Member: "logConfiguration",
			Job: "correct the options of the log driver: the reason names the wrong one"}
		what, c = "the log driver rejects an option, so the container did not start", High
	case e.Mentions("AccessDenied", "not authorized"):
		fix = Fix{Platform: "allow the execution role (on Fargate) or the instance role (on EC2) logs:CreateLogStream and logs:PutLogEvents"}
		if e.Mentions("create Cloudwatch log group") {
			fix.Platform = "create the log group, or allow the execution role (on Fargate) or the instance role (on EC2) logs:CreateLogGroup"
		}
		what, c = "the log could not be opened: the role has no permission to write to the log group", High
	case e.Mentions("i/o timeout", "deadline exceeded", "connection", "RequestError"):
		fix = Fix{Platform: e.route("CloudWatch Logs", "logs")}
		what = "the log could not be opened: CloudWatch Logs is unreachable"
		if e.Mentions("connection issue between the task") {
			c = High
		}
	default:
		fix.Platform += "; allow the execution or instance role logs:CreateLogStream; check that the subnet reaches CloudWatch Logs"
	}
	return e.because(c, fix, "%s", what)
}

// roleNotAssumable finds a role that ECS could not assume.
func roleNotAssumable(b *Bundle) *Verdict {
	e := b.Subject.end()
	if e == nil || !e.Starting("unable to assume the role", "unable to assume role", "cannot be assumed",
		"sts:AssumeRole", "Role is not valid") {
		return nil
	}
	which := "a role of the job"
	if _, rest, found := strings.Cut(e.JobReason+e.StatusReason+e.Reason, "the role '"); found {
		arn, _, _ := strings.Cut(rest, "'")
		which = "the role " + batch.Name(arn)
	}
	v := e.because(High, Fix{Member: "jobRoleArn",
		Platform: "allow ecs-tasks.amazonaws.com in the role's trust policy, and check that the role is in this account"},
		"ECS could not assume %s", which)
	for _, r := range b.Roles {
		switch {
		case !r.Found:
			v.proved(Evidence{"iam GetRole " + r.Name, "", "no such role"})
			v.Summary = "the role " + r.Name + " of the job does not exist"
			v.Fix = Fix{Member: "jobRoleArn", Job: "correct the ARN of the role " + r.Name + ": it does not exist"}
		case !r.Trusts(tasksService):
			v.proved(Evidence{"iam GetRole " + r.Name, "", fmt.Sprintf("its trust policy names %s, not %s",
				orElse(strings.Join(r.Services, ", "), "no service"), tasksService)})
			v.Summary = "the trust policy of role " + r.Name + " does not allow " + tasksService + " to assume it"
		}
	}
	return v
}

// tasksService is the service that assumes the roles of a job (ECS developer guide, task IAM
// role).
const tasksService = "ecs-tasks.amazonaws.com"

// outOfDisk finds a full disk in the reasons or in the log.
func outOfDisk(b *Bundle) *Verdict {
	e := b.Subject.end()
	if e == nil {
		return nil
	}
	full := []string{"no space left on device", "disk quota exceeded", "insufficient free space in thin pool",
		"dm.min_free_space", "Thin Pool has"}
	line := b.Subject.logSays(full...)
	if !e.Mentions(full...) && (line == nil || e.Exited(0)) {
		return nil
	}
	fix := Fix{Member: "ephemeralStorage",
		Platform: "give the instances a larger root volume: blockDeviceMappings in the launch template of the compute environment"}
	disk := "the disk"
	switch {
	case b.Local:
		disk, fix = "a disk on this machine", Fix{Job: "free disk space on this machine: df -h"}
	case onFargate(e.job):
		fix = Fix{Member: "ephemeralStorage",
			Job: "request more disk: \"ephemeralStorage\": {\"sizeInGiB\": 100}; the default on Fargate is 20 GiB, the maximum 200"}
	}
	if e.Mentions("Thin Pool") {
		fix.Platform = "give the instances a larger volume for images, /dev/xvdcz on Amazon Linux 1; or use a current ECS-optimized image, which has one volume"
	}
	when := "while it ran"
	c := Medium // the program may have survived the full disk
	if e.Starting(full...) {
		when, c = "before its program began", High
	}
	v := e.because(c, fix, "%s was full %s", disk, when)
	v.Evidence = append(line, v.Evidence...)
	return v
}

// onFargate reports whether a job runs on Fargate.
func onFargate(job *types.JobDetail) bool {
	return slices.Contains(job.PlatformCapabilities, types.PlatformCapabilityFargate)
}

// outOfMemory finds a job that was killed for its memory. Exit code 137 alone is less certain:
// anything can send SIGKILL.
func outOfMemory(b *Bundle) *Verdict {
	e := b.Subject.end()
	if e == nil {
		return nil
	}
	killed, atStart := e.OutOfMemory()
	atStart = atStart || e.Starting("memory.limit_in_bytes") // less than the process that starts it already uses
	// The engine names the processes that it kills for their memory.
	if !killed && !atStart && !(e.Exited(137) && !e.Process && !e.Stopping() &&
		!e.Mentions("timeout", "Host EC2", "CannotStart")) {
		return nil
	}
	asked := ""
	if r, ok := requestOf(e.job); ok {
		asked = fmt.Sprintf(" than the %d MiB that it requested", r.MemoryMiB)
	}
	fix := Fix{Member: "memory",
		Job: "request as much memory as the program needs at its peak; a retry with the same memory will probably fail again"}
	if atStart {
		return e.because(High, fix, "its container was killed when it started: the requested memory is too small")
	}
	if killed {
		return e.because(High, fix, "it used more memory%s and was killed", asked)
	}
	v := e.because(Medium, fix,
		"it was killed by SIGKILL (exit code 137), which usually means that it used more memory%s", asked)
	v.Evidence = append(v.Evidence, b.Subject.logLines(3)...)
	return v
}

// launched returns the verdict on a job that batchctl's launcher ended before or after its
// program. The launcher's exit code and the beginning of its last line identify it.
func (b *Bundle) launched(code int32, fix Fix, what string, starts ...string) *Verdict {
	e, line := b.Subject.end(), b.Subject.logLines(1)
	if e == nil || !e.Exited(code) || line == nil {
		return nil
	}
	if !slices.ContainsFunc(starts, func(s string) bool { return strings.HasPrefix(line[0].Text, "batchctl: "+s) }) {
		return nil
	}
	v := e.because(High, fix, "%s", what).proved()
	v.Evidence = append(line, v.Evidence...)
	return v
}

// cellNotRead finds a child that could not read its cell.
func cellNotRead(b *Bundle) *Verdict {
	return cmp.Or(
		b.launched(64, Fix{Job: "restore the file in the log, or submit the job again",
			Platform: "or allow the job role to read it: s3:GetObject"},
			"its cell or command list could not be read, so its program did not start", "cannot read "),
		b.launched(64, Fix{Job: "submit it again with batchctl, which gives each child its cell: the cell is missing or was changed"},
			"the launcher did not find its cell, so its program did not start",
			"there is no cell ", "AWS_BATCH_JOB_ARRAY_INDEX ", "BATCHCTL_CELLS ", "neither BATCHCTL_ARRAY ",
			"BATCHCTL_ARRAY ", "s3:", "/"))
}

// inputsNotBrought finds a job whose input could not be downloaded.
func inputsNotBrought(b *Bundle) *Verdict {
	return b.launched(66, Fix{Member: "inputs",
		Job:      "correct the location of the input in the log, or upload the missing file",
		Platform: "or allow the job role to read it: s3:GetObject, s3:ListBucket"},
		"an input could not be downloaded, so its program did not start", "input ")
}

// outputsNotCarried finds a job whose output could not be uploaded. Its program succeeded.
func outputsNotCarried(b *Bundle) *Verdict {
	v := b.launched(73, Fix{Member: "outputs",
		Job:      "make the program write this output, or correct the path or location in the log",
		Platform: "or allow the job role to write there: s3:PutObject"},
		"its program succeeded, but an output was not uploaded", "output ")
	if v == nil {
		return nil
	}
	if path, missing := strings.CutSuffix(strings.TrimPrefix(v.Evidence[0].Text, "batchctl: output "),
		stage.NotCreated); missing {
		v.Summary = fmt.Sprintf("%q was not created, so nothing was uploaded", path)
		if d, err := stage.Parse(stageDocument(b.Subject.end())); err == nil && len(d.Outputs) > 1 {
			v.Summary = fmt.Sprintf("%q was not created, so it was not uploaded", path)
		}
		v.Fix = Fix{Member: "outputs", Job: "make the program write it, or correct its path"}
	}
	return v
}

// orElse returns a text, or another one if it is empty.
func orElse(text, other string) string {
	if text == "" {
		return other
	}
	return text
}

// joined joins the parts that are not empty.
func joined(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), ": ")
}
