package doctor

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Files of the agent's configuration in the order in which its unit reads them: the
// GPU image's own, then the one that user data writes. The later one counts.
const (
	// The files of the agent's configuration in the order in which its unit reads them: the GPU
	// image's own, then the one that user data writes. The later one counts.
	imageConfig = "var/lib/ecs/ecs.config"
	hostConfig  = "etc/ecs/ecs.config"
)

// config is the agent's configuration.
type config struct {
	settings []setting
	slips    []slip
	// exists means that /etc/ecs/ecs.config exists, unread that it could not be read: then
	// settings that are not set are unknown.
	exists, unread bool
}

// setting is a line NAME=value.
type setting struct {
	name, value, file string
	// line is its line in the file, from 1.
	line int
}

// slip is a line that the agent does not read as intended.
type slip struct {
	// what describes the mistake.
	file, text, what string
	line             int
	// harmless means that it may be read as intended.
	harmless bool
}

// get returns the last setting of a name, which is the one that counts; nil if it is not set.
func (c *config) get(name string) *setting {
	if c == nil {
		return nil
	}
	// systemd and docker both use the last value of a name.
	for i := len(c.settings) - 1; i >= 0; i-- {
		if c.settings[i].name == name {
			return &c.settings[i]
		}
	}
	return nil
}

// evidence shows the line, masked.
func (s *setting) evidence() Evidence {
	return Evidence{fmt.Sprintf("/%s:%d", s.file, s.line), clean(s.name + "=" + s.value)}
}

// isTrue reads a value as the agent does.
func isTrue(value string) bool {
	yes, err := strconv.ParseBool(strings.TrimSpace(value))
	return err == nil && yes
}

// add parses one file: lines of NAME=value. No shell reads them, so quotes, export and blanks
// around the equals sign are mistakes.
func (c *config) add(file, text string) {
	for i, raw := range strings.Split(text, "\n") {
		wrong := func(what string) { c.slips = append(c.slips, slip{file, raw, what, i + 1, false}) }
		if strings.HasSuffix(raw, "\r") {
			wrong("it ends with a carriage return, which becomes part of the value")
		}
		line := strings.TrimSpace(strings.TrimPrefix(raw, "\ufeff"))
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, value, ok := strings.Cut(line, "=")
		switch {
		case !ok:
			wrong("it has no equals sign and is ignored")
			continue
		case strings.HasPrefix(name, "export "):
			wrong("export becomes part of the name: no shell reads this file")
		case strings.TrimSpace(name) != name || strings.TrimLeft(value, " \t") != value:
			wrong("blanks around the equals sign become part of the name or value")
		case name == "" || strings.ContainsAny(name, " \t"):
			wrong("the name is not valid")
		case len(value) > 1 && (value[0] == '"' || value[0] == '\'') && value[len(value)-1] == value[0]:
			wrong("the quotes may become part of the value: systemd removes them, docker --env-file does not")
			c.slips[len(c.slips)-1].harmless = true
			value = value[1 : len(value)-1]
		}
		c.settings = append(c.settings, setting{name, value, file, i + 1})
	}
}

// readConfig reads both files of the agent's configuration.
func (l *inspection) readConfig() *config {
	c := &config{}
	if text, ok := l.read(imageConfig); ok {
		c.add(imageConfig, text)
	}
	text, ok := l.read(hostConfig)
	if ok {
		c.add(hostConfig, text)
	}
	c.unread = !ok && l.denied(hostConfig)
	c.exists = ok || c.unread
	return c
}

// ofBatch reports whether a cluster has the form that Batch uses for a managed compute
// environment: AWSBatch-NAME-UUID, formerly NAME_Batch_UUID.
func ofBatch(cluster string) bool {
	return strings.HasPrefix(path.Base(cluster), "AWSBatch-") || strings.Contains(cluster, "_Batch_")
}

// ecsConfig checks the configuration of the agent.
func (l *inspection) ecsConfig() {
	c := l.facts.config
	if c.unread {
		return
	}
	if !c.exists {
		l.problem("ecs-config-missing", "there is no /etc/ecs/ecs.config", "the agent joins the cluster default, which AWS Batch does not use, if it starts at all",
			"on a managed compute environment Batch writes it: check that user data is MIME multi-part and did not fail", seen("/etc/ecs", "no ecs.config"))
		return
	}
	for _, s := range c.slips {
		severity, is := Problem, "is not"
		if s.harmless {
			severity, is = Warning, "may not be"
		}
		l.found(severity, "ecs-config-syntax", fmt.Sprintf("line %d of ecs.config %s read as intended", s.line, is), s.what,
			"write NAME=value: no export, no quotes, no blanks", Evidence{fmt.Sprintf("/%s:%d", s.file, s.line), clean(s.text)})
	}
	l.duplicates(c)
	l.cluster(c)
	l.gpuSupport(c)
	l.values(c)
	if !slices.ContainsFunc(l.findings, func(f Finding) bool { return f.Severity == Problem }) {
		l.ok("ecs-config", "the agent's configuration can be read", at(hostConfig, plural(len(c.settings), "setting")))
	}
}

// denied reports whether a file that could not be read exists, or may exist.
func (l *inspection) denied(name string) bool {
	_, err := fs.Stat(l.FS, name)
	return !missing(err)
}

// duplicates finds names with two values in one file. ECS_CLUSTER has its own finding.
func (l *inspection) duplicates(c *config) {
	first := map[string]setting{}
	for _, s := range c.settings {
		key := s.file + " " + s.name
		before, twice := first[key]
		if !twice {
			first[key] = s
		} else if before.value != s.value && s.name != "ECS_CLUSTER" {
			l.warning("ecs-config-duplicate", s.name+" is set twice", "only the last value counts", "keep one line", before.evidence(), s.evidence())
		}
	}
}

// cluster checks ECS_CLUSTER, which user data must not change on a managed compute environment.
func (l *inspection) cluster(c *config) {
	// Batch's user data adds its line first; a later one overrides it.
	var batch *setting
	for i := range c.settings {
		if s := &c.settings[i]; s.name == "ECS_CLUSTER" && ofBatch(s.value) {
			batch = s
		}
	}
	switch last := c.get("ECS_CLUSTER"); {
	case last == nil || strings.TrimSpace(last.value) == "":
		l.problem("ecs-cluster-missing", "ECS_CLUSTER is not set", "the agent joins the cluster default: AWS Batch waits for it in its own cluster, and jobs stay in RUNNABLE",
			"on a managed compute environment Batch adds the line: append to the file (>>), never overwrite it (>); elsewhere set ECS_CLUSTER", at(hostConfig, "no ECS_CLUSTER"))
	case batch != nil && !ofBatch(last.value):
		l.problem("ecs-cluster-overridden", "the ECS_CLUSTER of AWS Batch is overridden", "the instance joins another cluster: Batch never places a job on it, and launches more instances",
			"on managed compute environments, remove ECS_CLUSTER from user data", batch.evidence(), last.evidence())
	case !ofBatch(last.value):
		l.note("ecs-cluster-by-hand", "ECS_CLUSTER is set by hand", "correct for your own cluster or an unmanaged compute environment; on a managed one AWS Batch sets it, and with another value jobs stay in RUNNABLE",
			"on a managed compute environment, remove ECS_CLUSTER from user data", last.evidence())
	default:
		l.ok("ecs-cluster", "ECS_CLUSTER is a cluster of AWS Batch", last.evidence())
	}
}

// gpuSupport checks that the agent registers GPUs on a host that has some.
func (l *inspection) gpuSupport(c *config) {
	if !l.facts.gpu {
		return
	}
	s := c.get("ECS_ENABLE_GPU_SUPPORT")
	if s != nil && isTrue(s.value) {
		l.ok("gpu-support", "ECS_ENABLE_GPU_SUPPORT is true", s.evidence())
		return
	}
	evidence := append(slices.Clone(l.facts.gpuWhy), at(hostConfig, "no ECS_ENABLE_GPU_SUPPORT"))
	if s != nil {
		evidence[len(evidence)-1] = s.evidence()
	}
	l.problem("gpu-support-off", "ECS_ENABLE_GPU_SUPPORT is not true", "the agent registers no GPUs, and GPU jobs stay in RUNNABLE",
		"echo ECS_ENABLE_GPU_SUPPORT=true >> /etc/ecs/ecs.config in user data; on this host as well: sudo systemctl restart --no-block ecs", evidence...)
}

// values checks settings whose values are JSON.
func (l *inspection) values(c *config) {
	for _, name := range []string{"ECS_INSTANCE_ATTRIBUTES", "ECS_CONTAINER_INSTANCE_TAGS"} {
		s := c.get(name)
		if s == nil {
			continue
		}
		var pairs map[string]string
		if err := json.Unmarshal([]byte(s.value), &pairs); err != nil {
			l.problem("ecs-json-value", name+" is not a JSON object of strings", "the agent ignores it or does not start, so placement constraints find no instance",
				`write it on one line, such as `+name+`={"gpu":"a10g"}`, s.evidence())
		}
	}
	if s := c.get("ECS_AVAILABLE_LOGGING_DRIVERS"); s != nil {
		var drivers []string
		if err := json.Unmarshal([]byte(s.value), &drivers); err != nil {
			l.problem("ecs-json-value", "ECS_AVAILABLE_LOGGING_DRIVERS is not a JSON list of strings", "the agent offers no log driver, and jobs with awslogs are not placed",
				`ECS_AVAILABLE_LOGGING_DRIVERS=["json-file","awslogs"]`, s.evidence())
		} else if !slices.Contains(drivers, "awslogs") {
			l.problem("no-awslogs", "the agent does not offer the log driver awslogs", "jobs of AWS Batch use it by default, and are not placed without it",
				`ECS_AVAILABLE_LOGGING_DRIVERS=["json-file","awslogs"]`, s.evidence())
		}
	}
}
