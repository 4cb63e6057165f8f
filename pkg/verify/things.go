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

// tasksService is who assumes the roles of a job (ECS developer guide, task IAM role).
const tasksService = "ecs-tasks.amazonaws.com"

func checkImages(ctx context.Context, v *Verifier, j *job) (results []Result) {
	containers, tasks := j.containers()
	arch := ""
	for _, t := range tasks {
		arch = map[string]string{"ARM64": "arm64", "X86_64": "amd64"}[strings.ToUpper(t.Get("runtimePlatform").Get("cpuArchitecture").Str())]
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

func (v *Verifier) image(ctx context.Context, name, arch string) Result {
	if strings.Contains(name, "Ref::") {
		return notChecked("its name is made of parameters")
	}
	i, ok := rpc.ParseImage(name)
	if !ok {
		return notChecked("it is in a registry that is not a private one of ECR, which batchctl does not ask")
	}
	i, err := v.rpc.FindImage(ctx, i)
	switch {
	case err != nil:
		return unknown(err)
	case i.NoRepository:
		return failed("push the image, or correct its name", "there is no repository %s in registry %s, Region %s", i.Repository, i.Registry, i.Region)
	case !i.Found:
		return failed("push the image, or correct its tag", "the repository holds no %s", i.Tag+i.Digest)
	case arch != "" && len(i.Architectures) > 0 && !slices.Contains(i.Architectures, arch):
		return failed("build it for "+arch+": docker buildx build --platform linux/"+arch, "it is built for %s, and the job runs on %s", strings.Join(i.Architectures, ", "), arch)
	case len(i.Architectures) > 0:
		return pass("it is there, for %s", strings.Join(i.Architectures, ", "))
	}
	return pass("it is there; its manifest does not say for which CPU architecture")
}

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

func (v *Verifier) role(ctx context.Context, arn string) Result {
	if strings.Contains(arn, "Ref::") {
		return notChecked("its ARN is made of parameters")
	}
	role, err := v.rpc.FindRole(ctx, arn)
	switch {
	case err != nil:
		return unknown(err)
	case !role.Found:
		return failed("correct the ARN, or create the role", "there is no role %s in this account", role.Name)
	case !role.Trusts(tasksService):
		return failed("add "+tasksService+" to its trust policy", "its trust policy does not let %s assume it", tasksService)
	case role.Conditional:
		return pass("%s may assume it, under the conditions of its trust policy, which are not looked at", tasksService)
	}
	return pass("%s may assume it", tasksService)
}

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

func (v *Verifier) secret(ctx context.Context, from string) Result {
	s, err := v.rpc.FindSecret(ctx, from)
	switch {
	case err != nil:
		return unknown(err)
	case !s.Found:
		return failed("correct valueFrom, or create it", "it is not there")
	case s.Deleted:
		return failed("aws secretsmanager restore-secret, or name another one", "it is scheduled for deletion and cannot be read")
	case s.Key != "" && !strings.HasPrefix(s.Key, "alias/aws/"):
		return pass("it is there; whether the execution role may read it, and use its key, is not looked at")
	}
	return pass("it is there; whether the execution role may read it is not looked at")
}

// defaultLogGroup is made by AWS Batch itself (user guide, awslogs log driver).
const defaultLogGroup = "/aws/batch/job"

func checkLogGroup(ctx context.Context, v *Verifier, j *job) (results []Result) {
	containers, _ := j.containers()
	for _, c := range containers {
		l := c.Get("logConfiguration")
		if driver := l.Get("logDriver").Str(); driver != "" && driver != "awslogs" {
			r := notChecked("jobs that log with the driver %s do not use CloudWatch Logs", driver)
			r.What = driver
			results = append(results, r)
			continue
		}
		options := l.Get("options")
		group := options.Get("awslogs-group").Str()
		switch {
		case group == "" || group == defaultLogGroup:
			r := pass("AWS Batch makes it")
			r.What = defaultLogGroup
			results = append(results, r)
		case options.Get("awslogs-create-group").Str() == "true":
			r := pass("it is made when the job starts: awslogs-create-group")
			r.What = group
			results = append(results, r)
		default:
			region := options.Get("awslogs-region").Str()
			results = append(results, v.once("log-group", group, func() Result { return v.logGroup(ctx, group, region) }))
		}
	}
	return results
}

func (v *Verifier) logGroup(ctx context.Context, group, region string) Result {
	out, err := v.rpc.In(region).DescribeLogGroups(ctx, &cloudwatchlogs.DescribeLogGroupsInput{LogGroupNamePrefix: &group})
	if err != nil {
		return unknown(err)
	}
	for _, g := range out.LogGroups {
		if aws.ToString(g.LogGroupName) == group {
			return pass("it is there")
		}
	}
	return failed("aws logs create-log-group --log-group-name "+group+", or set awslogs-create-group to \"true\"", "there is no such log group: jobs that name it do not start")
}

// quotaOf returns the code of the quota that counts the vCPUs of an instance type,
// from the service quotas of EC2 and Fargate; "" for types with a quota of their own.
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
	family := strings.TrimRight(instance[:strings.IndexAny(instance+"0", "0123456789")], "-")
	switch {
	case family == "g" || family == "vt" || family == "gr":
		return "ec2", choose("L-DB2E81BA", "L-3819A6DF")
	case family == "p":
		return "ec2", choose("L-417A185B", "L-7212CCBC")
	case len(family) > 0 && strings.ContainsRune("acdhimrtz", rune(family[0])) && family != "inf" && family != "trn" && family != "hpc" && family != "dl":
		return "ec2", choose("L-1216C47A", "L-34B43A08")
	}
	return "", ""
}

// checkQuota looks whether the account's quota allows even one instance that holds
// the job.
func checkQuota(ctx context.Context, v *Verifier, j *job) (results []Result) {
	demand, known := plan.RequestOf(j.definition, j.submit)
	if j.Submit == nil || !known {
		return nil
	}
	for _, e := range v.queue(ctx, aws.ToString(j.Submit.JobQueue)).environments {
		p := place(e, demand, v.Types)
		if p == nil || !p.Fits || p.Reason != "" {
			continue
		}
		service, code := quotaOf(e.ComputeResources.Type, p.Instance.Name)
		if code == "" {
			r := notChecked("the quota of %s is not known to batchctl", p.Instance.Name)
			r.What = "vCPUs of " + p.Instance.Name
			results = append(results, r)
			continue
		}
		needs := demand.VCPUs
		if p.Instance.VCPUs > 0 {
			needs = float64(p.Instance.VCPUs)
		}
		r := v.quota(ctx, service, code, needs)
		r.What = strings.Join([]string{service, code, string(e.ComputeResources.Type)}, " ")
		results = append(results, r)
	}
	return results
}

func (v *Verifier) quota(ctx context.Context, service, code string, needs float64) Result {
	value, known, err := v.rpc.Quota(ctx, service, code)
	switch {
	case err != nil:
		return unknown(err)
	case !known:
		return unknown(errors.New("the account has no value of its own for this quota"))
	case value < needs:
		return failed("ask for more: aws service-quotas request-service-quota-increase --service-code "+service+" --quota-code "+code+" --desired-value N",
			"the account may run %s of this kind, and one instance for the job has %s", catalog.VCPUs(value), catalog.VCPUs(needs))
	}
	return pass("the account may run %s of this kind, one instance for the job has %s", catalog.VCPUs(value), catalog.VCPUs(needs))
}
