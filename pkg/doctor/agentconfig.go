package doctor

import (
	"fmt"
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
func readConfig(p *probe) *config {
	c := &config{}
	if text, ok := p.read(imageConfig); ok {
		c.add(imageConfig, text)
	}
	text, ok := p.read(hostConfig)
	if ok {
		c.add(hostConfig, text)
	}
	c.unread = !ok && p.mayExist(hostConfig)
	c.exists = ok || c.unread
	return c
}
