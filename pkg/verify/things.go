package verify

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"

	"github.com/batchctl/batchctl/pkg/catalog"
	"github.com/batchctl/batchctl/pkg/plan"
	"github.com/batchctl/batchctl/pkg/rpc"
)

// tasksService is the service that assumes the roles of a job (ECS developer guide, task IAM role).
const tasksService = "ecs-tasks.amazonaws.com"

// checkImages checks each container's image for the CPU architecture of the job, if the
// definition has one.
func checkImages(ctx context.Context, v *Verifier, j *job) (results []Result) {
	containers, tasks := j.containers()
	arch := ""
	for _, t := range tasks {
		arch = map[string]string{"ARM64": "arm64", "X86_64": "amd64"}[strings.ToUpper(t.Get("runtimePlatform").
			Get("cpuArchitecture").Str())]
	}
	for _, c := range containers {
		name := c.Get("image").Str()
		if name == "" {
			continue
		}
		r := v.once("image", name+"\x00"+arch, func() Result { return v.image(ctx, name, arch) })
		r.What = name
		results = append(results, r)
	}
	return results
}

// image queries one image. arch is "amd64", "arm64" or "" for any.
func (v *Verifier) image(ctx context.Context, name, arch string) Result {
	// Batch replaces parameters only when it starts the job.
	if strings.Contains(name, "Ref::") {
		return notChecked("its name contains parameters")
	}
	i, ok := rpc.ParseImage(name)
	if !ok {
		return notChecked("it is not in a private ECR registry, and batchctl does not query other registries")
	}
	i, err := v.rpc.FindImage(ctx, i)
	switch {
	case err != nil:
		return unknown(err)
	case i.NoRepository:
		return failed("push the image, or correct its name", "no repository %s in registry %s, Region %s", i.Repository,
			i.Registry, i.Region)
	case !i.Found:
		return failed("push the image, or correct its tag", "the repository has no image %s", i.Tag+i.Digest)
	case arch != "" && len(i.Architectures) > 0 && !slices.Contains(i.Architectures, arch):
		return failed("build it for "+arch+": docker buildx build --platform linux/"+arch,
			"it is built for %s, but the job runs on %s", strings.Join(i.Architectures, ", "), arch)
	case len(i.Architectures) > 0:
		return pass("it exists, for %s", strings.Join(i.Architectures, ", "))
	}
	return pass("it exists; its manifest does not name a CPU architecture")
}

// checkRoles checks the roles of each task.
func checkRoles(ctx context.Context, v *Verifier, j *job) (results []Result) {
	_, tasks := j.containers()
	for _, t := range tasks {
		for _, member := range []string{"jobRoleArn", "taskRoleArn", "executionRoleArn"} {
			if arn := t.Get(member).Str(); arn != "" {
				results = append(results, v.once("roles", arn, func() Result { return v.role(ctx, arn) }))
			}
		}
	}
	return results
}

// role checks that a role exists and that ECS tasks may assume it.
func (v *Verifier) role(ctx context.Context, arn string) Result {
	if strings.Contains(arn, "Ref::") {
		return notChecked("its ARN contains parameters")
	}
	role, err := v.rpc.FindRole(ctx, arn)
	switch {
	case err != nil:
		return unknown(err)
	case !role.Found:
		return failed("correct the ARN, or create the role", "no role %s in this account", role.Name)
	case !role.Trusts(tasksService):
		return failed("add "+tasksService+" to its trust policy", "its trust policy does not allow %s to assume it",
			tasksService)
	case role.Conditional:
		return pass("%s may assume it; the conditions of its trust policy are not checked", tasksService)
	}
	return pass("%s may assume it", tasksService)
}

// checkSecrets checks secrets in environment variables, in log options and for private
// registries.
func checkSecrets(ctx context.Context, v *Verifier, j *job) (results []Result) {
	containers, _ := j.containers()
	for _, c := range containers {
		for _, list := range [][]string{{"secrets"}, {"logConfiguration", "secretOptions"}} {
			for s := range c.At(list...).Children() {
				if from := s.Get("valueFrom").Str(); from != "" {
					results = append(results, v.once("secrets", from, func() Result { return v.secret(ctx, from) }))
				}
			}
		}
		if from := c.Get("repositoryCredentials").Get("credentialsParameter").Str(); from != "" {
			results = append(results, v.once("secrets", from, func() Result { return v.secret(ctx, from) }))
		}
	}
	return results
}

// secret checks that a secret or parameter exists. It never reads the value.
func (v *Verifier) secret(ctx context.Context, from string) Result {
	s, err := v.rpc.FindSecret(ctx, from)
	switch {
	case err != nil:
		return unknown(err)
	case !s.Found:
		return failed("correct valueFrom, or create it", "it does not exist")
	case s.Deleted:
		return failed("aws secretsmanager restore-secret, or use another one",
			"it is scheduled for deletion and cannot be read")
	case s.Key != "" && !strings.HasPrefix(s.Key, "alias/aws/"):
		return pass("it exists; the execution role's permission to read it and to use its key is not checked")
	}
	return pass("it exists; the execution role's permission to read it is not checked")
}

// defaultLogGroup is the log group that AWS Batch creates (user guide, awslogs log driver).
const defaultLogGroup = "/aws/batch/job"

// checkLogGroup checks the log group of each container that logs to CloudWatch Logs. A missing
// group is no failure if it will be created.
func checkLogGroup(ctx context.Context, v *Verifier, j *job) (results []Result) {
	containers, _ := j.containers()
	for _, c := range containers {
		l := c.Get("logConfiguration")
		if driver := l.Get("logDriver").Str(); driver != "" && driver != "awslogs" {
			// Other log drivers do not need a group in CloudWatch Logs.
			r := notChecked("jobs that log with the driver %s do not use CloudWatch Logs", driver)
			r.What = driver
			results = append(results, r)
			continue
		}
		options := l.Get("options")
		group := options.Get("awslogs-group").Str()
		switch {
		case group == "" || group == defaultLogGroup:
			r := pass("AWS Batch creates it")
			r.What = defaultLogGroup
			results = append(results, r)
		case options.Get("awslogs-create-group").Str() == "true":
			r := pass("it is created when the job starts: awslogs-create-group")
			r.What = group
			results = append(results, r)
		default:
			region := options.Get("awslogs-region").Str()
			results = append(results,
				v.once("log-group", group, func() Result { return v.logGroup(ctx, group, region) }))
		}
	}
	return results
}

// logGroup queries one log group; region "" means the target's.
func (v *Verifier) logGroup(ctx context.Context, group, region string) Result {
	out, err := v.rpc.In(region).
		DescribeLogGroups(ctx, &cloudwatchlogs.DescribeLogGroupsInput{LogGroupNamePrefix: &group})
	if err != nil {
		return unknown(err)
	}
	// The request filters by prefix, so the answer may have other groups.
	for _, g := range out.LogGroups {
		if aws.ToString(g.LogGroupName) == group {
			return pass("it exists")
		}
	}
	return failed("aws logs create-log-group --log-group-name "+group+", or set awslogs-create-group to \"true\"",
		"no such log group: jobs that use it do not start")
}

// quotaOf returns the service and the code of the quota that counts the vCPUs of an instance type
// (Service Quotas, Amazon EC2 and AWS Fargate). Both are "" for types with their own quota.
func quotaOf(kind types.CRType, instance string) (service, code string) {
	spot := kind == types.CRTypeSpot
	choose := func(onDemand, onSpot string) string {
		if spot {
			return onSpot
		}
		return onDemand
	}
	switch {
	case kind == types.CRTypeFargate:
		return "fargate", "L-3032A538"
	case kind == types.CRTypeFargateSpot:
		return "fargate", "L-36FBB829"
	case instance == "":
		return "", ""
	}
	// The family is the part before the first digit: g5.xlarge is in "g".
	family := strings.TrimRight(instance[:strings.IndexAny(instance+"0", "0123456789")], "-")
	switch {
	case family == "g" || family == "vt" || family == "gr":
		return "ec2", choose("L-DB2E81BA", "L-3819A6DF")
	case family == "p":
		return "ec2", choose("L-417A185B", "L-7212CCBC")
	case len(family) > 0 && strings.ContainsRune("acdhimrtz", rune(family[0])) && family != "inf" && family != "trn" &&
		family != "hpc" && family != "dl":
		return "ec2", choose("L-1216C47A", "L-34B43A08")
	}
	return "", ""
}

// checkQuota checks that the account's quota allows at least one instance that fits the job. It
// does not know how much of the quota is in use.
func checkQuota(ctx context.Context, v *Verifier, j *job) (results []Result) {
	request, known := plan.RequestOf(j.definition, j.submit)
	if j.Submit == nil || !known {
		return nil
	}
	for _, e := range v.queue(ctx, aws.ToString(j.Submit.JobQueue)).environments {
		p := fit(e, plan.OneMachine(request), v.Types)
		if p == nil || !p.Fits || p.Reason != "" {
			continue
		}
		service, code := quotaOf(e.ComputeResources.Type, p.Instance.Name)
		if code == "" {
			r := notChecked("the quota for %s is unknown", p.Instance.Name)
			r.What = "vCPUs of " + p.Instance.Name
			results = append(results, r)
			continue
		}
		// EC2 counts the vCPUs of whole instances, Fargate those of the job.
		needs := request.VCPUs
		if p.Instance.VCPUs > 0 {
			needs = float64(p.Instance.VCPUs)
		}
		r := v.quota(ctx, service, code, needs)
		r.What = strings.Join([]string{service, code, string(e.ComputeResources.Type)}, " ")
		results = append(results, r)
	}
	return results
}

// quota compares a quota with the vCPUs of one instance.
func (v *Verifier) quota(ctx context.Context, service, code string, needs float64) Result {
	value, known, err := v.rpc.Quota(ctx, service, code)
	switch {
	case err != nil:
		return unknown(err)
	case !known:
		return unknown(errors.New("the account has no value for this quota"))
	case value < needs:
		return failed("request more: aws service-quotas request-service-quota-increase --service-code "+service+
			" --quota-code "+code+" --desired-value N",
			"the quota allows %s of this kind, but one instance for the job has %s", catalog.VCPUs(value),
			catalog.VCPUs(needs))
	}
	return pass("the quota allows %s of this kind; one instance for the job has %s", catalog.VCPUs(value),
		catalog.VCPUs(needs))
}
