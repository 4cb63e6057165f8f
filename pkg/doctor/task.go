package doctor

import (
	"encoding/json"
	"fmt"
	"path"
	"strings"
)

// taskCheck examines what ECS and AWS Batch pass to a container.
type taskCheck struct {
	host   *probe
	report *findings
}

// checkTask is the check of the topic task.
func checkTask(in *inspection) {
	c := taskCheck{in.host, in.report}
	c.check()
}

// check examines what ECS and AWS Batch pass to a container.
func (c *taskCheck) check() {
	c.batchJob()
	c.taskMetadata()
	c.credentials()
}

// batchJob reports the job that the container belongs to.
func (c *taskCheck) batchJob() {
	id := c.host.Env("AWS_BATCH_JOB_ID")
	if id == "" {
		c.report.note("no-batch-job", "this container is not a job of AWS Batch",
			"the variables AWS_BATCH_… are not set: programs that read them use their defaults",
			"submit it: batchctl submit FILE", seen("AWS_BATCH_JOB_ID", "not set"))
		return
	}
	var evidence []Evidence
	for _, name := range []string{"AWS_BATCH_JOB_ID", "AWS_BATCH_JOB_ATTEMPT", "AWS_BATCH_JQ_NAME", "AWS_BATCH_CE_NAME",
		"AWS_BATCH_JOB_ARRAY_INDEX", "AWS_BATCH_JOB_NODE_INDEX"} {
		if v := c.host.Env(name); v != "" {
			evidence = append(evidence, seen(name, v))
		}
	}
	c.report.ok("batch-job", "a job of AWS Batch: "+clean(id), evidence...)
}

// taskMetadata is the part of the task's metadata (version 4) that is reported.
type taskMetadata struct {
	Cluster, TaskARN, LaunchType string
	Limits                       struct{ CPU, Memory float64 }
}

// taskMetadata queries the task's metadata endpoint.
func (c *taskCheck) taskMetadata() {
	address := c.host.Env("ECS_CONTAINER_METADATA_URI_V4")
	if address == "" || !c.host.canAsk() {
		return
	}
	if !isECSAddress(address) {
		c.report.warning("task-metadata", "ECS_CONTAINER_METADATA_URI_V4 is not an address of ECS",
			"the SDKs and agents that read it query another server", "do not set it in the image or the job",
			seen("ECS_CONTAINER_METADATA_URI_V4", address))
		return
	}
	// The path /task describes all containers (ECS developer guide, task metadata endpoint version 4).
	status, body, err := c.host.http("GET", address+"/task", nil)
	var t taskMetadata
	if err == nil && status == 200 {
		err = json.Unmarshal([]byte(body), &t)
	} else if err == nil {
		err = fmt.Errorf("status %d", status)
	}
	if err != nil {
		c.report.warning("task-metadata", "the task's metadata endpoint does not answer",
			"the ECS agent on the host is not running, or the container's network does not reach it",
			"run batchctl doctor on the host", seen("GET "+address+"/task", errorText(err)))
		return
	}
	c.report.ok("task-metadata", "the task's metadata endpoint answers: cluster "+clean(path.Base(t.Cluster))+
		", launch type "+clean(orElse(t.LaunchType, "not given")), seen("GET "+address+"/task", t.TaskARN))
}

// isECSAddress reports whether an address is one that ECS provides. Others are not queried: the
// variable may come with an image.
func isECSAddress(address string) bool {
	return strings.HasPrefix(address, "http://169.254.170.2/") || strings.HasPrefix(address, "http://[fd00:ec2::")
}

// credentials checks whether the job's role has credentials. It discards the answer.
func (c *taskCheck) credentials() {
	if c.host.Env("AWS_ACCESS_KEY_ID") != "" {
		c.report.warning("static-credentials", "the environment contains an access key",
			"SDKs prefer it to the job's role, and everyone with permission to describe the job or pull the image can read it", "remove it, and give the job a jobRoleArn", seen("AWS_ACCESS_KEY_ID", "set"))
	}
	uri := roleURI(c.host)
	if !hasOwnRole(c.host) {
		c.report.note("no-job-role", "the job has no role of its own",
			"calls to AWS use the instance role if the metadata service answers, and otherwise fail",
			"jobRoleArn in the job file, if the job calls AWS", seen("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
				"not set"))
		return
	}
	// Credentials of EKS have another endpoint, which is not queried.
	if !c.host.canAsk() || !strings.HasPrefix(uri, "/") {
		return
	}
	status, _, err := c.host.http("GET", "http://169.254.170.2"+uri, nil)
	if err == nil && status != 200 {
		err = fmt.Errorf("status %d", status)
	}
	if err != nil {
		c.report.problem("job-role-fails", "the job's role has no credentials", "calls to AWS fail without credentials",
			"check that the role's trust policy names ecs-tasks.amazonaws.com, and that the host's agent is running",
			seen("GET http://169.254.170.2/…", errorText(err)))
		return
	}
	c.report.ok("job-role", "the job's role has credentials", seen("GET http://169.254.170.2/…", "status 200"))
}
