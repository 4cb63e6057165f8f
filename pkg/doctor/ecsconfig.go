package doctor

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/batchctl/batchctl/pkg/text"
)

// ofBatch reports whether a cluster has the form that Batch uses for a managed compute
// environment: AWSBatch-NAME-UUID, formerly NAME_Batch_UUID.
func ofBatch(cluster string) bool {
	return strings.HasPrefix(path.Base(cluster), "AWSBatch-") || strings.Contains(cluster, "_Batch_")
}

// ecsConfigCheck examines the configuration of the ECS agent.
type ecsConfigCheck struct {
	host   *probe
	report *findings
	config *config
	gpu    bool
	gpuWhy []Evidence
}

// checkECSConfig is the check of the topic ecs.config.
func checkECSConfig(in *inspection) {
	c := ecsConfigCheck{in.host, in.report, in.facts.config, in.facts.gpu, in.facts.gpuWhy}
	c.check()
}

// check examines the configuration of the agent.
func (c *ecsConfigCheck) check() {
	if c.config.unread {
		return
	}
	if !c.config.exists {
		c.report.problem("ecs-config-missing", "there is no /etc/ecs/ecs.config",
			"the agent joins the cluster default, which AWS Batch does not use, if it starts at all",
			"on a managed compute environment Batch writes it: check that user data is MIME multi-part and did not fail", seen("/etc/ecs", "no ecs.config"))
		return
	}
	for _, s := range c.config.slips {
		severity, is := Problem, "is not"
		if s.harmless {
			severity, is = Warning, "may not be"
		}
		c.report.found(severity, "ecs-config-syntax", fmt.Sprintf("line %d of ecs.config %s read as intended", s.line,
			is), s.what,
			"write NAME=value: no export, no quotes, no blanks", Evidence{fmt.Sprintf("/%s:%d", s.file, s.line),
				clean(s.text)})
	}
	c.duplicates()
	c.cluster()
	c.gpuSupport()
	c.values()
	if !c.report.has(Problem) {
		c.report.ok("ecs-config", "the agent's configuration can be read",
			at(hostConfig, text.Count(len(c.config.settings), "setting")))
	}
}

// duplicates finds names with two values in one file. ECS_CLUSTER has its own finding.
func (c *ecsConfigCheck) duplicates() {
	first := map[string]setting{}
	for _, s := range c.config.settings {
		key := s.file + " " + s.name
		before, twice := first[key]
		if !twice {
			first[key] = s
		} else if before.value != s.value && s.name != "ECS_CLUSTER" {
			c.report.warning("ecs-config-duplicate", s.name+" is set twice", "only the last value counts",
				"keep one line", before.evidence(), s.evidence())
		}
	}
}

// cluster checks ECS_CLUSTER, which user data must not change on a managed compute environment.
func (c *ecsConfigCheck) cluster() {
	// Batch's user data adds its line first; a later one overrides it.
	var batch *setting
	for i := range c.config.settings {
		if s := &c.config.settings[i]; s.name == "ECS_CLUSTER" && ofBatch(s.value) {
			batch = s
		}
	}
	switch last := c.config.get("ECS_CLUSTER"); {
	case last == nil || strings.TrimSpace(last.value) == "":
		c.report.problem("ecs-cluster-missing", "ECS_CLUSTER is not set",
			"the agent joins the cluster default: AWS Batch waits for it in its own cluster, and jobs stay in RUNNABLE",
			"on a managed compute environment Batch adds the line: append to the file (>>), never overwrite it (>); elsewhere set ECS_CLUSTER", at(hostConfig, "no ECS_CLUSTER"))
	case batch != nil && !ofBatch(last.value):
		c.report.problem("ecs-cluster-overridden", "the ECS_CLUSTER of AWS Batch is overridden",
			"the instance joins another cluster: Batch never places a job on it, and launches more instances",
			"on managed compute environments, remove ECS_CLUSTER from user data", batch.evidence(), last.evidence())
	case !ofBatch(last.value):
		c.report.note("ecs-cluster-by-hand", "ECS_CLUSTER is set by hand",
			"correct for your own cluster or an unmanaged compute environment; on a managed one AWS Batch sets it, and with another value jobs stay in RUNNABLE",
			"on a managed compute environment, remove ECS_CLUSTER from user data", last.evidence())
	default:
		c.report.ok("ecs-cluster", "ECS_CLUSTER is a cluster of AWS Batch", last.evidence())
	}
}

// gpuSupport checks that the agent registers GPUs on a host that has some.
func (c *ecsConfigCheck) gpuSupport() {
	if !c.gpu {
		return
	}
	s := c.config.get("ECS_ENABLE_GPU_SUPPORT")
	if s != nil && isTrue(s.value) {
		c.report.ok("gpu-support", "ECS_ENABLE_GPU_SUPPORT is true", s.evidence())
		return
	}
	evidence := append(slices.Clone(c.gpuWhy), at(hostConfig, "no ECS_ENABLE_GPU_SUPPORT"))
	if s != nil {
		evidence[len(evidence)-1] = s.evidence()
	}
	c.report.problem("gpu-support-off", "ECS_ENABLE_GPU_SUPPORT is not true",
		"the agent registers no GPUs, and GPU jobs stay in RUNNABLE",
		"echo ECS_ENABLE_GPU_SUPPORT=true >> /etc/ecs/ecs.config in user data; on this host as well: sudo systemctl restart --no-block ecs", evidence...)
}

// values checks settings whose values are JSON.
func (c *ecsConfigCheck) values() {
	for _, name := range []string{"ECS_INSTANCE_ATTRIBUTES", "ECS_CONTAINER_INSTANCE_TAGS"} {
		s := c.config.get(name)
		if s == nil {
			continue
		}
		var pairs map[string]string
		if err := json.Unmarshal([]byte(s.value), &pairs); err != nil {
			c.report.problem("ecs-json-value", name+" is not a JSON object of strings",
				"the agent ignores it or does not start, so placement constraints find no instance",
				`write it on one line, such as `+name+`={"gpu":"a10g"}`, s.evidence())
		}
	}
	if s := c.config.get("ECS_AVAILABLE_LOGGING_DRIVERS"); s != nil {
		var drivers []string
		if err := json.Unmarshal([]byte(s.value), &drivers); err != nil {
			c.report.problem("ecs-json-value", "ECS_AVAILABLE_LOGGING_DRIVERS is not a JSON list of strings",
				"the agent offers no log driver, and jobs with awslogs are not placed",
				`ECS_AVAILABLE_LOGGING_DRIVERS=["json-file","awslogs"]`, s.evidence())
		} else if !slices.Contains(drivers, "awslogs") {
			c.report.problem("no-awslogs", "the agent does not offer the log driver awslogs",
				"jobs of AWS Batch use it by default, and are not placed without it",
				`ECS_AVAILABLE_LOGGING_DRIVERS=["json-file","awslogs"]`, s.evidence())
		}
	}
}
