package userdata

import "strings"

// config checks the commands of a #cloud-config, as far as they stand on a line of
// their own below runcmd or bootcmd: text that needs no reader of YAML.
func (c *check) config(p part) {
	in := false
	for at := p.from; at < p.to; {
		l := p.line(at)
		text := p.of(l)
		at = l.next
		trimmed := strings.TrimLeft(text, " ")
		switch {
		case trimmed == "" || trimmed[0] == '#':
		case trimmed == text && text[0] != '-':
			in = text == "runcmd:" || text == "bootcmd:"
		case in && strings.HasPrefix(trimmed, "- "):
			command := strings.TrimLeft(trimmed[2:], " ")
			if command != "" && !strings.ContainsRune("[\"'|>&*!{%@`", rune(command[0])) && !strings.Contains(command, " #") && !strings.Contains(command, ": ") {
				start := l.start + len(text) - len(command)
				c.parse(p, start, command)
			}
		}
	}
}
