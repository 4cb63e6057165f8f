package doctor

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/lint/userdata"
)

// trap is a command in user data that waits for something that starts only after cloud-init.
type trap struct {
	// rule is the rule of batchctl validate.
	rule     string
	evidence Evidence
}

// evidenceOf returns the evidence of traps. A line with several traps appears once.
func evidenceOf(traps []trap) (all []Evidence) {
	for _, t := range traps {
		all = append(all, t.evidence)
	}
	return slices.Compact(all)
}

// unblock returns the remedy for traps; there are none if only systemd shows the deadlock.
func unblock(traps []trap) string {
	has := func(rules ...string) bool {
		return slices.ContainsFunc(traps, func(t trap) bool { return slices.Contains(rules, t.rule) })
	}
	var steps []string
	if has(userdata.ECSStart) || len(traps) == 0 {
		steps = append(steps, "remove systemctl start ecs from user data: it starts on its own")
	}
	if has(userdata.DockerRestart) || len(traps) == 0 {
		steps = append(steps, "restart docker with systemctl restart --no-block docker")
	}
	if has(userdata.ECSWait, userdata.DockerWait, userdata.CloudInitWait) {
		steps = append(steps, "remove the lines that wait, or move them into a systemd unit that starts after ecs")
	}
	return strings.Join(steps, "; ")
}

// findTraps finds the commands in user data that wait, with the reader of batchctl validate.
func findTraps(p *probe) (found []trap) {
	for _, dir := range instances(p) {
		if _, err := fs.ReadDir(p.FS, dir+"/scripts"); err != nil { // only root can read it
			p.fails(dir+"/scripts", err)
		}
		var own []trap
		for _, pattern := range []string{"/boothooks/*", "/scripts/*", "/scripts/vendor/*"} {
			own = append(own, trapsIn(p, dir+pattern)...)
		}
		// The scripts are copied from the user data. Only it has bootcmd, and before the scripts
		// were written it has everything.
		if len(own) == 0 {
			own = trapsIn(p, dir+"/user-data.txt")
		}
		found = append(found, own...)
	}
	// cloud-init runs the scripts of the image in the same stage (cloud-init documentation,
	// scripts-per-boot and others).
	return append(found, trapsIn(p, "var/lib/cloud/scripts/per-*/*")...)
}

// instances returns the directories with the user data of this instance. An image that was made
// from an instance has those of the former instance too.
func instances(p *probe) []string {
	if p.exists("var/lib/cloud/data/instance-id") {
		if dir := "var/lib/cloud/instances/" + p.firstLine("var/lib/cloud/data/instance-id"); fs.ValidPath(dir) &&
			p.exists(dir) {
			return []string{dir}
		}
	}
	return p.glob("var/lib/cloud/instances/*")
}

// trapsIn finds the commands that wait in the files of a pattern.
func trapsIn(p *probe, pattern string) (found []trap) {
	for _, name := range p.glob(pattern) {
		if info, err := fs.Stat(p.FS, name); err == nil && info.IsDir() {
			continue
		}
		text, _ := p.read(name)
		if strings.HasPrefix(text, "\x1f\x8b") { // gzip (RFC 1952)
			p.skip("/"+name, "it is compressed")
			continue
		}
		src := diag.NewSource(name, text)
		problems, complete := userdata.Blocking(userdata.FromSource(src))
		if !complete {
			p.skip("/"+name, "it is too long to be user data")
		}
		for _, f := range problems {
			line, _ := src.Position(f.Span.Start)
			start := strings.LastIndexByte(src.Text[:f.Span.Start], '\n') + 1
			words, _, _ := strings.Cut(src.Text[start:], "\n")
			found = append(found, trap{f.Rule, seen(fmt.Sprintf("/%s:%d", name, line), words)})
		}
	}
	return found
}
