package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"path"
	"slices"
	"strings"

	"github.com/batchctl/batchctl/pkg/text"
)

// agentAddress is the introspection endpoint of the ECS agent (ECS developer guide).
const agentAddress = "http://127.0.0.1:51678/v1/metadata"

// agentMetadata is the answer of the agent's introspection endpoint.
type agentMetadata struct {
	Cluster              string
	ContainerInstanceArn string
	Version              string
}

// agentCheck examines the ECS agent: its answer, its log and its list of GPUs.
type agentCheck struct {
	host   *probe
	report *findings
	config *config
	gpus   []string
	// loaded is the version of the driver.
	loaded string
}

// checkAgent is the check of the topic agent.
func checkAgent(in *inspection) {
	c := agentCheck{in.host, in.report, in.facts.config, in.facts.gpus, in.facts.loaded}
	c.check()
}

// check examines the ECS agent: its answer, its log and its list of GPUs.
func (c *agentCheck) check() {
	registered := false
	if c.host.canAsk() {
		registered = c.agentAnswers()
	} else {
		c.host.skip("agent's metadata", "the files do not belong to a running system")
	}
	c.agentLog(registered)
	if s := c.config.get("ECS_ENABLE_GPU_SUPPORT"); s != nil && isTrue(s.value) {
		c.gpuInfo()
	}
}

// agentAnswers queries the agent, and reports whether it is registered.
func (c *agentCheck) agentAnswers() bool {
	// A hanging agent and a missing one need different remedies, so both answers count.
	state := c.host.state("ecs")
	status, body, err := c.host.http("GET", agentAddress, nil)
	var m agentMetadata
	bad := json.Unmarshal([]byte(body), &m)
	evidence := []Evidence{seen(agentAddress, strings.Join(strings.Fields(orElse(body, "no answer")), " "))}
	if state != "" {
		evidence = append(evidence, seen("systemctl is-active ecs", state))
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		c.report.problem("agent-hangs", "the ECS agent does not answer",
			"it accepts no more jobs, and loses its connection to ECS",
			"sudo systemctl restart --no-block ecs; see /var/log/ecs/ecs-agent.log", evidence...)
	case err != nil && (state == "active" || state == "activating"):
		c.report.problem("agent-starting", "the ECS agent's service is "+state+", but the agent does not answer",
			"without the agent AWS Batch places no job on this instance; if this lasts, ecs-init restarts it again and again",
			"see /var/log/ecs/ecs-init.log; it does not start without Docker, or if the GPU driver does not load",
			evidence...)
	case err != nil:
		c.report.problem("agent-down", "the ECS agent is not running",
			"without the agent AWS Batch places no job on this instance",
			"find the cause: journalctl -u ecs, /var/log/ecs/ecs-init.log; then: sudo systemctl start --no-block ecs",
			evidence...)
	case status != 200 || bad != nil:
		c.report.warning("agent-answer", "the ECS agent's answer is not its metadata",
			"another program may be listening on port 51678", "sudo ss -ltnp 'sport = :51678'", evidence...)
	case m.ContainerInstanceArn == "":
		c.report.problem("agent-not-registered", "the ECS agent runs, but is not registered",
			"it has no cluster, so AWS Batch places no job on this instance",
			"find the cause in /var/log/ecs/ecs-agent.log", evidence...)
	default:
		c.report.ok("agent-registered", "the ECS agent "+clean(strings.TrimPrefix(m.Version, "Amazon ECS Agent - "))+
			" is registered in "+clean(m.Cluster), seen(agentAddress, m.ContainerInstanceArn))
		c.joined(m.Cluster)
		return true
	}
	return false
}

// joined compares the agent's cluster with the configured one. The agent joins a cluster once and
// keeps it.
func (c *agentCheck) joined(cluster string) {
	s := c.config.get("ECS_CLUSTER")
	configured := "default"
	if s != nil && s.value != "" {
		configured = s.value
	}
	if cluster == "" || path.Base(configured) == path.Base(cluster) || // either may be an ARN
		c.config.unread {
		return
	}
	// The agent keeps its cluster in its data directory, whatever the file contains later.
	evidence := []Evidence{seen(agentAddress, "Cluster "+cluster)}
	if s != nil {
		evidence = append(evidence, s.evidence())
	}
	c.report.problem("agent-other-cluster", "the ECS agent is not in the cluster that ecs.config names",
		"it stays in the first cluster that it joined: the file was written after the agent started, or the image was created from an instance that had joined a cluster",
		"on this host: sudo systemctl stop ecs && sudo rm -r /var/lib/ecs/data && sudo systemctl start --no-block ecs; in the image: remove /var/lib/ecs/data", evidence...)
}

// agentErrors returns the errors at the end of an agent's log, after its last registration.
func agentErrors(log []string) (errs []string) {
	for _, line := range log {
		switch {
		case strings.Contains(line, "Registered container instance with cluster"),
			strings.Contains(line, "Registration completed successfully"):
			errs = nil
		case strings.Contains(line, "level=error"), strings.Contains(line, "level=critical"),
			strings.Contains(line, "[ERROR]"), strings.Contains(line, "[CRITICAL]"):
			errs = append(errs, line)
		}
	}
	return errs
}

// agentCause is a known error of the agent. The first cause with a message in the log counts.
type agentCause struct {
	id       string
	messages []string
	// what, why and do are the summary, the consequence and the remedy of the finding.
	what, why, do string
}

// agentCauses returns the known errors, the most specific first.
func agentCauses() []agentCause {
	return []agentCause{
		{"agent-access-denied", []string{"AccessDenied", "not authorized to perform"},
			"the ECS agent is not allowed to register",
			"the instance's role does not allow ecs:RegisterContainerInstance",
			"give the instance role AmazonEC2ContainerServiceforEC2Role, and check that the compute environment has its profile (instanceRole)"},
		{"agent-no-credentials", []string{"NoCredentialProviders", "no EC2 IMDS role found",
			"no valid providers in chain", "failed to refresh cached credentials"}, "the ECS agent has no credentials",
			"the instance has no profile, or the metadata service does not answer",
			"give the compute environment an instanceRole that is an instance profile"},
		{"agent-cluster-gone", []string{"ClusterNotFoundException", "Cluster not found"},
			"the cluster that the ECS agent should join does not exist", "it was deleted, or the name is wrong",
			"correct ECS_CLUSTER; on a managed compute environment, remove it"},
		{"agent-no-network", []string{"i/o timeout", "no such host", "connection refused", "context deadline exceeded",
			"TLS handshake timeout", "network is unreachable"}, "the ECS agent does not reach ECS",
			"a private subnet without NAT needs the endpoints ecs, ecs-agent and ecs-telemetry, and their security group must allow the instance", "add the VPC endpoints or a NAT gateway, and open port 443 between them"},
		{"agent-no-driver", []string{"nvml", "NVML", "NVIDIA", "nvidia"}, "ecs-init cannot use the GPU driver",
			"with ECS_ENABLE_GPU_SUPPORT it gets the GPUs from NVIDIA's library; if that fails, the agent does not start", "fix the driver first"},
	}
}

// agentLog reads the last errors of the agent, or of ecs-init, which starts it.
func (c *agentCheck) agentLog(registered bool) {
	for _, name := range []string{"var/log/ecs/ecs-agent.log", "var/log/ecs/ecs-init.log"} {
		errs := agentErrors(c.host.tail(name))
		if len(errs) == 0 {
			continue
		}
		last := errs[len(errs)-1]
		// A registered agent works, so its errors cannot explain a missing registration.
		if registered {
			c.report.note("agent-log-error", "the ECS agent's log has errors since it registered",
				"they may concern a single job", "see /"+name, at(name, last))
			return
		}
		for _, cause := range agentCauses() {
			for _, line := range slices.Backward(errs) {
				if slices.ContainsFunc(cause.messages, func(s string) bool { return strings.Contains(line, s) }) {
					c.report.problem(cause.id, cause.what, cause.why, cause.do, at(name, line))
					return
				}
			}
		}
		c.report.warning("agent-log-error", "the ECS agent's log ends with errors",
			"they may be the reason why it does not register", "see /"+name, at(name, last))
		return
	}
}

// gpuInfoFile is the file in which ecs-init passes the GPUs to the agent.
const gpuInfoFile = "var/lib/ecs/gpu/nvidia-gpu-info.json"

// gpuInfo compares that file with the GPUs on the PCI bus and with the loaded driver.
func (c *agentCheck) gpuInfo() {
	content, ok := c.host.read(gpuInfoFile)
	if !ok {
		if !c.host.mayExist(gpuInfoFile) {
			c.report.problem("gpu-info-missing", "ecs-init has passed no GPUs to the agent",
				"the agent registers none, and GPU jobs stay in RUNNABLE",
				"see /var/log/ecs/ecs-init.log; once the driver works: sudo systemctl restart --no-block ecs",
				seen("/"+gpuInfoFile, "missing"))
		}
		return
	}
	var info struct {
		DriverVersion string
		GPUIDs        []string
	}
	err := json.Unmarshal([]byte(content), &info)
	switch {
	case err != nil:
		c.report.problem("gpu-info-invalid", "the list of GPUs for the agent cannot be read",
			"the agent registers no GPUs", "write it again: sudo systemctl restart --no-block ecs",
			at(gpuInfoFile, err.Error()))
	case len(info.GPUIDs) == 0:
		c.report.problem("gpu-info-empty", "the list of GPUs for the agent is empty",
			"the agent registers none, and GPU jobs stay in RUNNABLE",
			"fix the driver, then: sudo systemctl restart --no-block ecs", at(gpuInfoFile, content))
	// ecs-init writes the file when it starts: GPUs that appear later are missing.
	case len(c.gpus) > len(info.GPUIDs):
		c.report.problem("gpu-info-short", "the agent has fewer GPUs than the machine", "the other GPUs get no jobs",
			"sudo systemctl restart --no-block ecs; if that does not help, check the driver",
			at(gpuInfoFile, strings.Join(info.GPUIDs, ", ")), seen("/sys/bus/pci/devices", strings.Join(c.gpus, ", ")))
	case c.loaded != "" && c.loaded != "loaded" && info.DriverVersion != c.loaded:
		c.report.warning("gpu-info-old", "the agent's driver version differs from the loaded driver",
			"jobs that are placed by driver version get the wrong instance; the image may contain an old file",
			"sudo systemctl restart --no-block ecs", at(gpuInfoFile, "DriverVersion "+info.DriverVersion),
			seen("NVIDIA driver", c.loaded))
	default:
		c.report.ok("gpu-info", "the agent has "+text.Count(len(info.GPUIDs), "GPU"),
			at(gpuInfoFile, strings.Join(info.GPUIDs, ", ")))
	}
}
