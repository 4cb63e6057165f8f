package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"path"
	"slices"
	"strings"
)

const agentAddress = "http://127.0.0.1:51678/v1/metadata"

// agentSays is the answer of the agent's introspection endpoint.
type agentSays struct {
	Cluster              string
	ContainerInstanceArn string
	Version              string
}

// agent looks at the ECS agent.
func (l *inspection) agent() {
	registered := false
	if l.canAsk() {
		registered = l.agentAnswers()
	} else {
		l.skip("agent's metadata", "a root that does not run has no agent to ask")
	}
	l.agentLog(registered)
	if s := l.facts.config.get("ECS_ENABLE_GPU_SUPPORT"); s != nil && isTrue(s.value) {
		l.gpuInfo()
	}
}

// agentAnswers asks the agent, and reports whether it is registered.
func (l *inspection) agentAnswers() bool {
	state := l.state("ecs")
	status, body, err := l.http("GET", agentAddress, nil)
	var m agentSays
	bad := json.Unmarshal([]byte(body), &m)
	evidence := []Evidence{seen(agentAddress, strings.Join(strings.Fields(orElse(body, "no answer")), " "))}
	if state != "" {
		evidence = append(evidence, seen("systemctl is-active ecs", state))
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		l.problem("agent-hangs", "the ECS agent does not answer", "it takes no more jobs, and loses its connection to ECS", "sudo systemctl restart --no-block ecs; see /var/log/ecs/ecs-agent.log", evidence...)
	case err != nil && (state == "active" || state == "activating"):
		l.problem("agent-starting", "the ECS agent's service is "+state+" and the agent does not answer", "without it AWS Batch gives this instance no job; where it stays so, ecs-init starts it again and again",
			"see /var/log/ecs/ecs-init.log: a driver that does not load stops it, as does Docker", evidence...)
	case err != nil:
		l.problem("agent-down", "the ECS agent is not running", "without it AWS Batch gives this instance no job", "see why: journalctl -u ecs, /var/log/ecs/ecs-init.log; then: sudo systemctl start --no-block ecs", evidence...)
	case status != 200 || bad != nil:
		l.warning("agent-answer", "the ECS agent's answer is not its metadata", "something else may listen on port 51678", "sudo ss -ltnp 'sport = :51678'", evidence...)
	case m.ContainerInstanceArn == "":
		l.problem("agent-not-registered", "the ECS agent runs and is not registered", "it has no cluster, so AWS Batch gives this instance no job", "its log says why: /var/log/ecs/ecs-agent.log", evidence...)
	default:
		l.ok("agent-registered", "the ECS agent "+clean(strings.TrimPrefix(m.Version, "Amazon ECS Agent - "))+" is registered in "+clean(m.Cluster), seen(agentAddress, m.ContainerInstanceArn))
		l.joined(m.Cluster)
		return true
	}
	return false
}

// joined compares the cluster that the agent is in with the one that it is told.
func (l *inspection) joined(cluster string) {
	s := l.facts.config.get("ECS_CLUSTER")
	told := "default"
	if s != nil && s.value != "" {
		told = s.value
	}
	if cluster == "" || path.Base(told) == path.Base(cluster) || // either may be an ARN
		l.facts.config.unread {
		return
	}
	evidence := []Evidence{seen(agentAddress, "Cluster "+cluster)}
	if s != nil {
		evidence = append(evidence, s.evidence())
	}
	l.problem("agent-other-cluster", "the ECS agent is in another cluster than ecs.config says", "it keeps what it joined first: the file was written after it started, or the image was made from an instance that had joined",
		"on this host: sudo systemctl stop ecs && sudo rm -r /var/lib/ecs/data && sudo systemctl start --no-block ecs; in the image: leave /var/lib/ecs/data out", evidence...)
}

// agentErrors returns the errors at the end of an agent's log, since it last
// registered.
func agentErrors(log []string) (errs []string) {
	for _, line := range log {
		switch {
		case strings.Contains(line, "Registered container instance with cluster"), strings.Contains(line, "Registration completed successfully"):
			errs = nil
		case strings.Contains(line, "level=error"), strings.Contains(line, "level=critical"), strings.Contains(line, "[ERROR]"), strings.Contains(line, "[CRITICAL]"):
			errs = append(errs, line)
		}
	}
	return errs
}

// agentCause is a known complaint of the agent.
type agentCause struct {
	id            string
	messages      []string
	what, why, do string
}

func agentCauses() []agentCause {
	return []agentCause{
		{"agent-access-denied", []string{"AccessDenied", "not authorized to perform"}, "the ECS agent may not register", "the instance's role does not allow ecs:RegisterContainerInstance",
			"give the instance role AmazonEC2ContainerServiceforEC2Role, and see that its profile is in the compute environment (instanceRole)"},
		{"agent-no-credentials", []string{"NoCredentialProviders", "no EC2 IMDS role found", "no valid providers in chain", "failed to refresh cached credentials"}, "the ECS agent has no credentials",
			"the instance has no profile, or the metadata service does not answer", "give the compute environment an instanceRole that is an instance profile"},
		{"agent-cluster-gone", []string{"ClusterNotFoundException", "Cluster not found"}, "the cluster that the ECS agent is to join is not there", "it was deleted, or the name is wrong", "correct ECS_CLUSTER; on a managed compute environment leave it out"},
		{"agent-no-network", []string{"i/o timeout", "no such host", "connection refused", "context deadline exceeded", "TLS handshake timeout", "network is unreachable"}, "the ECS agent does not reach ECS",
			"a private subnet without NAT needs the endpoints ecs, ecs-agent and ecs-telemetry, and their security group has to let the instance in", "add the VPC endpoints or a NAT gateway, and open port 443 between them"},
		{"agent-no-driver", []string{"nvml", "NVML", "NVIDIA", "nvidia"}, "ecs-init does not get on with the driver", "with ECS_ENABLE_GPU_SUPPORT it asks NVIDIA's library for the GPUs, and the agent does not start without", "mend the driver first"},
	}
}

// agentLog reads what the agent, or what starts it, last complained of.
func (l *inspection) agentLog(registered bool) {
	for _, name := range []string{"var/log/ecs/ecs-agent.log", "var/log/ecs/ecs-init.log"} {
		errs := agentErrors(l.tail(name))
		if len(errs) == 0 {
			continue
		}
		last := errs[len(errs)-1]
		if registered {
			l.note("agent-log-error", "the ECS agent's log has errors since it registered", "they may be of a single job", "see /"+name, at(name, last))
			return
		}
		for _, c := range agentCauses() {
			for _, line := range slices.Backward(errs) {
				if slices.ContainsFunc(c.messages, func(s string) bool { return strings.Contains(line, s) }) {
					l.problem(c.id, c.what, c.why, c.do, at(name, line))
					return
				}
			}
		}
		l.warning("agent-log-error", "the ECS agent's log ends with errors", "they may be why it does not register", "see /"+name, at(name, last))
		return
	}
}

const gpuInfoFile = "var/lib/ecs/gpu/nvidia-gpu-info.json"

// gpuInfo looks at the file in which ecs-init hands the GPUs to the agent.
func (l *inspection) gpuInfo() {
	text, ok := l.read(gpuInfoFile)
	if !ok {
		if !l.denied(gpuInfoFile) {
			l.problem("gpu-info-missing", "ecs-init has handed no GPUs to the agent", "the agent registers none, and GPU jobs stay in RUNNABLE",
				"see /var/log/ecs/ecs-init.log; when the driver works: sudo systemctl restart --no-block ecs", seen("/"+gpuInfoFile, "not there"))
		}
		return
	}
	var info struct {
		DriverVersion string
		GPUIDs        []string
	}
	err := json.Unmarshal([]byte(text), &info)
	switch {
	case err != nil:
		l.problem("gpu-info-invalid", "the list of GPUs for the agent cannot be read", "the agent registers no GPUs", "sudo systemctl restart --no-block ecs writes it anew", at(gpuInfoFile, err.Error()))
	case len(info.GPUIDs) == 0:
		l.problem("gpu-info-empty", "the list of GPUs for the agent is empty", "the agent registers none, and GPU jobs stay in RUNNABLE", "mend the driver, then: sudo systemctl restart --no-block ecs", at(gpuInfoFile, text))
	case len(l.facts.gpus) > len(info.GPUIDs):
		l.problem("gpu-info-short", "the agent was handed fewer GPUs than the machine has", "the others take no jobs", "sudo systemctl restart --no-block ecs; if it stays so, see the driver",
			at(gpuInfoFile, strings.Join(info.GPUIDs, ", ")), seen("/sys/bus/pci/devices", strings.Join(l.facts.gpus, ", ")))
	case l.facts.loaded != "" && l.facts.loaded != "loaded" && info.DriverVersion != l.facts.loaded:
		l.warning("gpu-info-old", "the agent was handed another driver than is loaded", "jobs placed by the driver's version go wrong; the image may have been made with the file in it",
			"sudo systemctl restart --no-block ecs", at(gpuInfoFile, "DriverVersion "+info.DriverVersion), seen("NVIDIA driver", l.facts.loaded))
	default:
		l.ok("gpu-info", "the agent was handed "+plural(len(info.GPUIDs), "GPU"), at(gpuInfoFile, strings.Join(info.GPUIDs, ", ")))
	}
}
