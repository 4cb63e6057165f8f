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

// daemon is what daemon.json says, as far as it matters here.
type daemon struct {
	Runtimes       map[string]runtimeOf `json:"runtimes"`
	DefaultRuntime string               `json:"default-runtime"`
	DataRoot       string               `json:"data-root"`
}

type runtimeOf struct {
	Path string `json:"path"`
}

const daemonFile = "etc/docker/daemon.json"

// errEmpty is a daemon.json without text, which Docker takes from version 23.0 on.
var errEmpty = errors.New("the file is empty")

// readDaemon reads daemon.json. The error says the line.
func readDaemon(text string) (daemon, error) {
	var d daemon
	if strings.TrimSpace(text) == "" {
		return d, errEmpty
	}
	err := json.Unmarshal([]byte(text), &d)
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return d, fmt.Errorf("line %d: %w", lineOf(text, syntax.Offset), err)
	case errors.As(err, &kind):
		return d, fmt.Errorf("line %d: %s takes no %s", lineOf(text, kind.Offset), kind.Field, kind.Value)
	}
	return d, err
}

func lineOf(text string, offset int64) int {
	return 1 + strings.Count(text[:min(max(int(offset)-1, 0), len(text))], "\n")
}

// daemonText returns what daemon.json says, and whether there is one.
func (l *inspection) daemonText() (daemon, bool, error) {
	text, ok := l.read(daemonFile)
	if !ok {
		return daemon{}, false, nil
	}
	d, err := readDaemon(text)
	return d, true, err
}

// registered is a place that makes a runtime known to Docker.
type registered struct {
	from, path string
	flag       bool // on dockerd's command line, not in daemon.json
}

// registrations returns where the runtime nvidia is made known. Amazon Linux's
// docker package adds every program in /etc/docker-runtimes.d by a flag.
func (l *inspection) registrations(d daemon) (all []registered) {
	if r, ok := d.Runtimes["nvidia"]; ok {
		all = append(all, registered{daemonFile, r.Path, false})
	}
	if l.exists("etc/docker-runtimes.d/nvidia") {
		all = append(all, registered{"etc/docker-runtimes.d/nvidia", "/etc/docker-runtimes.d/nvidia", true})
	}
	names := append([]string{"etc/sysconfig/docker", "etc/default/docker"}, l.glob("etc/systemd/system/docker.service.d/*.conf")...)
	for _, name := range names {
		text, _ := l.read(name)
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

// docker looks at the daemon and its runtimes.
func (l *inspection) docker() {
	if l.program("dockerd") == "" && !l.exists("etc/docker") && l.facts.kind != ECSInstance {
		return // a machine without Docker is no faulty one
	}
	d, there, err := l.daemonText()
	state := l.state("docker")
	switch {
	case errors.Is(err, errEmpty):
		if err = nil; state != "active" {
			l.warning("daemon-json-empty", "daemon.json is empty", "Docker before version 23.0 does not start with it", "leave it out, or write {}", at(daemonFile, errEmpty.Error()))
		}
	case err != nil:
		l.problem("daemon-json-invalid", "daemon.json cannot be read by Docker", "dockerd does not start with it, so neither does the ECS agent",
			"correct it, then: sudo dockerd --validate && sudo systemctl restart --no-block docker", at(daemonFile, err.Error()))
	case there:
		l.ok("daemon-json", "daemon.json is valid", at(daemonFile, "default-runtime: "+orElse(d.DefaultRuntime, "not set")))
	}
	l.dockerState(state)
	if l.facts.gpu {
		l.toolkit()
		if err == nil {
			l.runtimes(d, state)
		}
	}
}

func orElse(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

func (l *inspection) dockerState(state string) {
	switch state {
	case "active", "reloading":
		l.ok("docker-active", "the docker service is active", seen("systemctl is-active docker", state))
	case "activating":
		l.warning("docker-starting", "the docker service is starting", "the ECS agent waits for it", "look again in a minute; if it stays so: journalctl -u docker", seen("systemctl is-active docker", state))
	case "":
		if !l.canAsk() {
			l.skip("docker service", "a root that does not run has no services")
		} else {
			l.skip("docker service", "systemctl says nothing of it")
		}
	default:
		l.problem("docker-not-active", "the docker service is "+state, "no container starts, and the ECS agent, a container itself, does not either",
			"see why: sudo journalctl -u docker -n 50; then: sudo systemctl restart --no-block docker", seen("systemctl is-active docker", state))
	}
}

// toolkit looks for the programs that put GPUs into containers.
func (l *inspection) toolkit() {
	for _, name := range []string{"nvidia-container-runtime", "nvidia-ctk", "nvidia-container-cli"} {
		if p := l.program(name); p != "" {
			l.ok("nvidia-toolkit", "the NVIDIA container toolkit is installed", at(p, "is there"))
			return
		}
	}
	l.problem("nvidia-toolkit-missing", "the NVIDIA container toolkit is not installed", "nothing puts the GPU and its libraries into containers: jobs find no libcuda",
		"install nvidia-container-toolkit, or use the ECS GPU-optimized AMI", seen("/usr/bin", "neither nvidia-container-runtime, nvidia-ctk nor nvidia-container-cli"))
}

func (l *inspection) runtimes(d daemon, state string) {
	all := l.registrations(d)
	if len(all) == 0 {
		l.problem("nvidia-runtime-missing", "Docker knows no runtime nvidia", "the ECS agent starts GPU jobs with the runtime of that name: they fail with \"unknown or invalid runtime name: nvidia\"",
			"sudo nvidia-ctk runtime configure --runtime=docker && sudo systemctl restart --no-block docker", at(daemonFile, "no runtimes.nvidia"), seen("/etc/docker-runtimes.d", "no nvidia"))
		return
	}
	var inFile, byFlag *registered
	for i := range all {
		if all[i].flag {
			byFlag = &all[i]
		} else {
			inFile = &all[i]
		}
		l.runtimePath(all[i])
	}
	if inFile != nil && byFlag != nil {
		severity := Problem
		if state == "active" {
			severity = Warning
		}
		l.found(severity, "runtime-twice", "the runtime nvidia is set by a flag and in daemon.json", "dockerd refuses to start when a directive is given in both places: it fails at its next restart, if it has not yet",
			"take runtimes out of daemon.json: the image sets it already", at(inFile.from, "runtimes.nvidia"), at(byFlag.from, "adds --add-runtime nvidia"))
	}
	if inFile != nil && d.DefaultRuntime != "nvidia" {
		l.note("nvidia-not-default", "daemon.json has the runtime nvidia and does not make it the default", "the ECS agent names the runtime for jobs that ask for GPUs; docker run without --gpus, and docker build, see none",
			"if containers that ask for no GPU should see one: \"default-runtime\": \"nvidia\" in daemon.json", at(inFile.from, "default-runtime: "+orElse(d.DefaultRuntime, "not set")))
	}
	l.running()
}

// runtimePath checks whether a runtime's program is there.
func (l *inspection) runtimePath(r registered) {
	if r.path == "" || l.program(r.path) == "" {
		l.problem("nvidia-runtime-path", fmt.Sprintf("the runtime nvidia is %s, which is not there", orElse(clean(r.path), "without a path")),
			"Docker starts no container with it", "sudo nvidia-ctk runtime configure --runtime=docker, or correct the path; then: sudo systemctl restart --no-block docker", at(r.from, "path "+r.path))
		return
	}
	text, _ := l.read(strings.TrimPrefix(path.Clean(r.path), "/"))
	if behind := execs(text); strings.HasPrefix(behind, "/") && l.program(behind) == "" {
		l.problem("nvidia-runtime-path", "the runtime nvidia starts "+clean(behind)+", which is not there", "Docker starts no container with it",
			"install nvidia-container-toolkit", at(strings.TrimPrefix(r.path, "/"), "exec "+behind))
		return
	}
	l.ok("nvidia-runtime", "Docker's runtime nvidia is set up", at(r.from, r.path))
}

// execs returns the program that a small shell script becomes, as the images' runtime
// does; "" for other files.
func execs(text string) string {
	_, behind, _ := strings.Cut(text, "\nexec ")
	words := strings.Fields(behind)
	if !strings.HasPrefix(text, "#!") || len(words) == 0 {
		return ""
	}
	return words[0]
}

// running asks the daemon which runtimes it knows: it reads daemon.json only when
// it starts.
func (l *inspection) running() {
	if !l.canAsk() {
		return
	}
	const command = "docker info --format {{json .Runtimes}}"
	out, err := l.run("docker", "info", "--format", "{{json .Runtimes}}")
	var known map[string]json.RawMessage
	answer := firstWith(out, "{")
	bad := json.Unmarshal([]byte(answer), &known)
	switch {
	case missing(err):
		l.skip("docker info", "there is no docker program")
	case errors.Is(err, context.DeadlineExceeded):
		l.problem("docker-hangs", "Docker does not answer", "the ECS agent cannot start or stop containers", "sudo journalctl -u docker -n 50; then: sudo systemctl restart --no-block docker", seen(command, "no answer in time"))
	case strings.Contains(out, "permission denied"):
		l.unread = append(l.unread, Unread{What: "docker info", Why: "permission denied", Denied: true})
	case err != nil || bad != nil || known == nil:
		l.skip("docker info", clean(orElse(firstLine(out), fmt.Sprint(errors.Join(err, bad)))))
	case known["nvidia"] == nil:
		l.problem("docker-not-restarted", "Docker runs without the runtime nvidia that its files set up", "it has not been restarted since: GPU jobs fail with \"unknown or invalid runtime name: nvidia\"",
			"sudo systemctl restart --no-block docker (in user data always with --no-block)", seen(command, strings.Join(sortedKeys(known), ", ")))
	default:
		l.ok("docker-answers", "Docker answers, and knows the runtime nvidia", seen(command, strings.Join(sortedKeys(known), ", ")))
	}
}

// firstWith returns the first line that begins so: programs may warn before it.
func firstWith(text, prefix string) string {
	for _, line := range lines(text) {
		if strings.HasPrefix(line, prefix) {
			return line
		}
	}
	return ""
}

func sortedKeys[V any](m map[string]V) []string {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
