package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
)

// registered is a place that registers a runtime with Docker.
type registered struct {
	// path is the runtime's program, which may be a name without a directory.
	from, path string
	flag       bool // on dockerd's command line, not in daemon.json
}

// registrations returns the places that register the runtime nvidia. Amazon Linux's docker
// package adds every program in /etc/docker-runtimes.d by a flag.
func (c *dockerCheck) registrations(d daemon) (all []registered) {
	if r, ok := d.Runtimes["nvidia"]; ok {
		all = append(all, registered{daemonFile, r.Path, false})
	}
	if c.host.exists("etc/docker-runtimes.d/nvidia") {
		all = append(all, registered{"etc/docker-runtimes.d/nvidia", "/etc/docker-runtimes.d/nvidia", true})
	}
	// Files from which the unit reads dockerd's flags.
	names := append([]string{"etc/sysconfig/docker", "etc/default/docker"},
		c.host.glob("etc/systemd/system/docker.service.d/*.conf")...)
	for _, name := range names {
		text, _ := c.host.read(name)
		for _, line := range lines(text) {
			if strings.HasPrefix(strings.TrimSpace(line), "#") {
				continue
			}
			if _, value, ok := strings.Cut(line, "nvidia="); ok && strings.Contains(line, "--add-runtime") {
				value, _, _ = strings.Cut(strings.TrimSpace(value), " ")
				all = append(all, registered{name, strings.Trim(value, `"'`), true})
			}
		}
	}
	return all
}

// dockerCheck examines Docker's daemon and its runtimes.
type dockerCheck struct {
	host   *probe
	report *findings
	kind   HostKind
	gpu    bool
}

// checkDocker is the check of the topic docker.
func checkDocker(in *inspection) {
	c := dockerCheck{in.host, in.report, in.facts.kind, in.facts.gpu}
	c.check()
}

// check examines the daemon and its runtimes.
func (c *dockerCheck) check() {
	if c.host.program("dockerd") == "" && !c.host.exists("etc/docker") && c.kind != ECSInstance {
		return // a machine without Docker is not faulty
	}
	d, exists, err := loadDaemon(c.host)
	state := c.host.state("docker")
	switch {
	case errors.Is(err, errEmpty):
		if err = nil; state != "active" {
			c.report.warning("daemon-json-empty", "daemon.json is empty",
				"Docker before version 23.0 does not start with it", "remove the file, or write {}",
				at(daemonFile, errEmpty.Error()))
		}
	case err != nil:
		c.report.problem("daemon-json-invalid", "Docker cannot read daemon.json",
			"dockerd does not start with it, and neither does the ECS agent",
			"correct it, then: sudo dockerd --validate && sudo systemctl restart --no-block docker",
			at(daemonFile, err.Error()))
	case exists:
		c.report.ok("daemon-json", "daemon.json is valid", at(daemonFile,
			"default-runtime: "+orElse(d.DefaultRuntime, "not set")))
	}
	c.dockerState(state)
	if c.gpu {
		c.toolkit()
		if err == nil {
			c.runtimes(d, state)
		}
	}
}

// dockerState judges the state of the docker unit.
func (c *dockerCheck) dockerState(state string) {
	switch state {
	case "active", "reloading":
		c.report.ok("docker-active", "the docker service is active", seen("systemctl is-active docker", state))
	case "activating":
		c.report.warning("docker-starting", "the docker service is starting", "the ECS agent waits for it",
			"check again in a minute; if this lasts: journalctl -u docker", seen("systemctl is-active docker", state))
	case "":
		if !c.host.canAsk() {
			c.host.skip("docker service", "the files do not belong to a running system")
		} else {
			c.host.skip("docker service", "systemctl does not report it")
		}
	default:
		c.report.problem("docker-not-active", "the docker service is "+state,
			"no container starts, not even the ECS agent's",
			"find the cause: sudo journalctl -u docker -n 50; then: sudo systemctl restart --no-block docker",
			seen("systemctl is-active docker", state))
	}
}

// toolkit checks for the programs that add GPUs to containers.
func (c *dockerCheck) toolkit() {
	for _, name := range []string{"nvidia-container-runtime", "nvidia-ctk", "nvidia-container-cli"} {
		if p := c.host.program(name); p != "" {
			c.report.ok("nvidia-toolkit", "the NVIDIA container toolkit is installed", at(p, "exists"))
			return
		}
	}
	c.report.problem("nvidia-toolkit-missing", "the NVIDIA container toolkit is not installed",
		"containers get neither the GPU nor its libraries: jobs find no libcuda",
		"install nvidia-container-toolkit, or use the ECS GPU-optimized AMI",
		seen("/usr/bin", "neither nvidia-container-runtime, nvidia-ctk nor nvidia-container-cli"))
}

// runtimes checks the registrations of the runtime nvidia, and the running daemon.
func (c *dockerCheck) runtimes(d daemon, state string) {
	all := c.registrations(d)
	if len(all) == 0 {
		c.report.problem("nvidia-runtime-missing", "Docker has no runtime nvidia",
			"the ECS agent starts GPU jobs with this runtime: they fail with \"unknown or invalid runtime name: nvidia\"",
			"sudo nvidia-ctk runtime configure --runtime=docker && sudo systemctl restart --no-block docker",
			at(daemonFile, "no runtimes.nvidia"), seen("/etc/docker-runtimes.d", "no nvidia"))
		return
	}
	var inFile, byFlag *registered
	for i := range all {
		if all[i].flag {
			byFlag = &all[i]
		} else {
			inFile = &all[i]
		}
		c.runtimePath(all[i])
	}
	// A running daemon shows that it has not been restarted since, so it still works.
	if inFile != nil && byFlag != nil {
		severity := Problem
		if state == "active" {
			severity = Warning
		}
		c.report.found(severity, "runtime-twice", "the runtime nvidia is set by a flag and in daemon.json",
			"dockerd does not start if an option is set in both: it fails at its next restart, if it has not failed yet",
			"remove runtimes from daemon.json: the image sets it already", at(inFile.from, "runtimes.nvidia"),
			at(byFlag.from, "adds --add-runtime nvidia"))
	}
	if inFile != nil && d.DefaultRuntime != "nvidia" {
		c.report.note("nvidia-not-default", "daemon.json has the runtime nvidia, but not as the default",
			"the ECS agent names the runtime for jobs that request GPUs; docker run without --gpus, and docker build, see no GPU",
			"if containers that request no GPU should see one: \"default-runtime\": \"nvidia\" in daemon.json",
			at(inFile.from, "default-runtime: "+orElse(d.DefaultRuntime, "not set")))
	}
	c.running()
}

// runtimePath checks whether a runtime's program exists.
func (c *dockerCheck) runtimePath(r registered) {
	if r.path == "" || c.host.program(r.path) == "" {
		c.report.problem("nvidia-runtime-path", fmt.Sprintf("the runtime nvidia is %s, which does not exist",
			orElse(clean(r.path), "without a path")),
			"Docker starts no container with it",
			"sudo nvidia-ctk runtime configure --runtime=docker, or correct the path; then: sudo systemctl restart --no-block docker", at(r.from, "path "+r.path))
		return
	}
	text, _ := c.host.read(strings.TrimPrefix(path.Clean(r.path), "/"))
	if target := execs(text); strings.HasPrefix(target, "/") && c.host.program(target) == "" {
		c.report.problem("nvidia-runtime-path", "the runtime nvidia starts "+clean(target)+", which does not exist",
			"Docker starts no container with it",
			"install nvidia-container-toolkit", at(strings.TrimPrefix(r.path, "/"), "exec "+target))
		return
	}
	c.report.ok("nvidia-runtime", "Docker's runtime nvidia is set up", at(r.from, r.path))
}

// execs returns the program that a small shell script executes, such as the runtime on Amazon's
// images; "" for other files.
func execs(text string) string {
	_, rest, _ := strings.Cut(text, "\nexec ")
	fields := strings.Fields(rest)
	if !strings.HasPrefix(text, "#!") || len(fields) == 0 {
		return ""
	}
	return fields[0]
}

// running asks the daemon for its runtimes: it reads daemon.json only when it starts.
func (c *dockerCheck) running() {
	if !c.host.canAsk() {
		return
	}
	const command = "docker info --format {{json .Runtimes}}"
	out, err := c.host.run("docker", "info", "--format", "{{json .Runtimes}}")
	var known map[string]json.RawMessage
	// Without permission docker exits with an error and prints no JSON.
	answer := firstWith(out, "{")
	bad := json.Unmarshal([]byte(answer), &known)
	switch {
	case missing(err):
		c.host.skip("docker info", "the docker command is not installed")
	case errors.Is(err, context.DeadlineExceeded):
		c.report.problem("docker-hangs", "Docker does not answer", "the ECS agent cannot start or stop containers",
			"sudo journalctl -u docker -n 50; then: sudo systemctl restart --no-block docker",
			seen(command, "no answer in time"))
	case strings.Contains(out, "permission denied"):
		c.host.skipDenied("docker info", "permission denied")
	case err != nil || bad != nil || known == nil:
		c.host.skip("docker info", clean(orElse(firstLine(out), fmt.Sprint(errors.Join(err, bad)))))
	case known["nvidia"] == nil:
		c.report.problem("docker-not-restarted", "Docker is running without the runtime nvidia of its configuration",
			"it was not restarted after the change: GPU jobs fail with \"unknown or invalid runtime name: nvidia\"",
			"sudo systemctl restart --no-block docker (in user data always with --no-block)",
			seen(command, strings.Join(sortedKeys(known), ", ")))
	default:
		c.report.ok("docker-answers", "Docker answers, and has the runtime nvidia",
			seen(command, strings.Join(sortedKeys(known), ", ")))
	}
}

func sortedKeys[V any](m map[string]V) []string {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
