package doctor

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/lint/userdata"
)

// The files of cloud-init: the status while it runs, and the result once it has ended.
// cloud-init stores them in /var/lib/cloud/data and links them from /run/cloud-init, which is
// in memory: a disk has only the former (cloud-init documentation).
const (
	initStatus = "status.json"
	initResult = "result.json"
)

// initDirs are the directories with these files, the one of the running system first.
var initDirs = [...]string{"run/cloud-init", "var/lib/cloud/data"}

// initState is the progress of cloud-init.
type initState struct {
	// stage is the current stage; "" between stages.
	stage string
	// done means that the last stage has ended.
	done   bool
	errors []string
	// from is the file that it was read from.
	from string
}

// readStatus parses status.json: the stage, and the end and errors of each stage.
func readStatus(text string) (initState, error) {
	var file struct {
		V1 map[string]json.RawMessage `json:"v1"`
	}
	if err := json.Unmarshal([]byte(text), &file); err != nil {
		return initState{}, err
	}
	if file.V1 == nil {
		return initState{}, errors.New("it has no member v1")
	}
	var s initState
	_ = json.Unmarshal(file.V1["stage"], &s.stage) // null or missing between stages
	// Each stage has its own entry; only the end of the last one means that all have ended.
	for _, name := range []string{"init-local", "init", "modules-config", "modules-final"} {
		var stage struct {
			Errors   []string `json:"errors"`
			Finished *float64 `json:"finished"`
		}
		if err := json.Unmarshal(orNull(file.V1[name]), &stage); err != nil {
			return s, fmt.Errorf("%s: %w", name, err)
		}
		s.errors = append(s.errors, stage.Errors...)
		s.done = name == "modules-final" && stage.Finished != nil
	}
	return s, nil
}

// orNull returns JSON null for a missing member.
func orNull(raw json.RawMessage) json.RawMessage {
	if raw == nil {
		return json.RawMessage("null")
	}
	return raw
}

// readResult parses result.json, which is written when all stages have ended, and returns its
// errors.
func readResult(text string) ([]string, error) {
	var file struct {
		V1 *struct {
			Errors []string `json:"errors"`
		} `json:"v1"`
	}
	if err := json.Unmarshal([]byte(text), &file); err != nil {
		return nil, err
	}
	if file.V1 == nil {
		return nil, errors.New("it has no member v1")
	}
	return file.V1.Errors, nil
}

// cloudInit checks whether user data ran.
func (l *inspection) cloudInit() {
	l.unhandled()
	state, known := l.initState()
	traps := l.traps()
	stage := at(state.from, "stage "+orElse(state.stage, "not ended"))
	switch {
	case !known:
		l.blocks(traps)
	// A stage that has already ended may have errors, but the script that waits is what hangs.
	case !state.done && (len(traps) > 0 || l.ecsWaits()):
		summary, why := "cloud-init waits for a service that waits for cloud-init", "user data starts docker or ecs, whose units start after cloud-init has ended: neither continues, and the instance never registers"
		if len(traps) > 0 && !slices.ContainsFunc(traps, func(t trap) bool { return t.rule != userdata.CloudInitWait }) {
			summary, why = "cloud-init waits for a script that waits for cloud-init", "user data waits until cloud-init has ended, and cloud-init ends after user data: neither continues, and the instance never registers"
		}
		remedy := unblock(traps)
		if l.canAsk() && len(l.waiting()) > 0 {
			remedy += "; on this host: sudo systemctl cancel"
		}
		l.problem("start-deadlock", summary, why, remedy, append([]Evidence{stage}, append(evidenceOf(traps), l.waiting()...)...)...)
	case len(state.errors) > 0:
		l.problem("cloud-init-errors", "cloud-init ended with errors", "user data stopped early or did not run: part of its setup is missing",
			"see /var/log/cloud-init-output.log; correct the user data and launch a new instance", at(state.from, strings.Join(state.errors, "; ")))
		l.blocks(traps)
	case state.done:
		l.ok("cloud-init", "cloud-init has ended without errors", at(state.from, "errors: none"))
		l.blocks(traps)
	case !l.canAsk():
		l.warning("cloud-init-running", "cloud-init had not ended when these files were last written", "the ECS agent starts after it has ended, so this instance may never have registered",
			"read the end of /var/log/cloud-init-output.log: it shows what user data did last", stage)
	default:
		l.warning("cloud-init-running", "cloud-init is still running", "the ECS agent starts after it has ended: a long download in user data delays every job",
			"check again in a minute; to see what it does: ps axf, /var/log/cloud-init-output.log", stage)
	}
}

// blocks warns of traps on a host where cloud-init has ended, or may have.
func (l *inspection) blocks(traps []trap) {
	if len(traps) > 0 {
		l.warning("user-data-blocks", "user data waits for something that starts only after cloud-init", "cloud-init ends only after user data: where user data waits for docker, ecs or cloud-init, an instance may never register",
			unblock(traps), evidenceOf(traps)...)
	}
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

// initState returns the progress of cloud-init. ok is false if it is unknown.
func (l *inspection) initState() (initState, bool) {
	for _, dir := range initDirs {
		// The result is final. The status may be older than it, so it counts only without a result.
		if text, ok := l.read(dir + "/" + initResult); ok {
			errs, err := readResult(text)
			if err == nil {
				return initState{done: true, errors: errs, from: dir + "/" + initResult}, true
			}
			l.skip("/"+dir+"/"+initResult, clean(err.Error()))
		}
		text, ok := l.read(dir + "/" + initStatus)
		if !ok {
			continue
		}
		s, err := readStatus(text)
		if err != nil {
			l.skip("/"+dir+"/"+initStatus, clean(err.Error()))
		}
		s.from = dir + "/" + initStatus
		return s, err == nil
	}
	l.skip("cloud-init", "it has no status in /run/cloud-init or /var/lib/cloud/data")
	return initState{}, false
}

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

// traps finds the commands in user data that wait, with the reader of batchctl validate.
func (l *inspection) traps() (found []trap) {
	for _, dir := range l.instances() {
		if _, err := fs.ReadDir(l.FS, dir+"/scripts"); err != nil { // only root can read it
			l.fails(dir+"/scripts", err)
		}
		var own []trap
		for _, pattern := range []string{"/boothooks/*", "/scripts/*", "/scripts/vendor/*"} {
			own = append(own, l.trapsIn(dir+pattern)...)
		}
		// The scripts are copied from the user data. Only it has bootcmd, and before the scripts
		// were written it has everything.
		if len(own) == 0 {
			own = l.trapsIn(dir + "/user-data.txt")
		}
		found = append(found, own...)
	}
	// cloud-init runs the scripts of the image in the same stage (cloud-init documentation,
	// scripts-per-boot and others).
	return append(found, l.trapsIn("var/lib/cloud/scripts/per-*/*")...)
}

// instances returns the directories with the user data of this instance. An image that was made
// from an instance has those of the former instance too.
func (l *inspection) instances() []string {
	if l.exists("var/lib/cloud/data/instance-id") {
		if dir := "var/lib/cloud/instances/" + l.firstLine("var/lib/cloud/data/instance-id"); fs.ValidPath(dir) && l.exists(dir) {
			return []string{dir}
		}
	}
	return l.glob("var/lib/cloud/instances/*")
}

// trapsIn finds the commands that wait in the files of a pattern.
func (l *inspection) trapsIn(pattern string) (found []trap) {
	for _, name := range l.glob(pattern) {
		if info, err := fs.Stat(l.FS, name); err == nil && info.IsDir() {
			continue
		}
		text, _ := l.read(name)
		if strings.HasPrefix(text, "\x1f\x8b") { // gzip (RFC 1952)
			l.skip("/"+name, "it is compressed")
			continue
		}
		src := diag.NewSource(name, text)
		problems, complete := userdata.Blocking(userdata.FromSource(src))
		if !complete {
			l.skip("/"+name, "it is too long to be user data")
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

// waiting returns the jobs of systemd that wait, as evidence.
func (l *inspection) waiting() (found []Evidence) {
	if !l.canAsk() {
		return nil
	}
	out, err := l.run("systemctl", "list-jobs", "--no-legend", "--no-pager")
	if err != nil {
		return nil
	}
	for _, line := range lines(out) {
		if strings.Contains(line, "ecs.service") || strings.Contains(line, "docker.service") {
			found = append(found, seen("systemctl list-jobs", line))
		}
	}
	return found
}

// ecsWaits reports whether a start of docker waits that a user requested. During boot ecs itself
// always waits, which shows nothing.
func (l *inspection) ecsWaits() bool {
	for _, e := range l.waiting() {
		if strings.Contains(e.Text, "docker.service") && strings.Contains(e.Text, "restart") {
			return true
		}
	}
	return false
}

// unhandled finds user data with a content type that cloud-init does not run.
func (l *inspection) unhandled() {
	for _, line := range l.tail("var/log/cloud-init.log") {
		if strings.Contains(line, "Unhandled non-multipart") || strings.Contains(line, "Unhandled unknown content-type") {
			l.problem("user-data-ignored", "cloud-init did not run the user data", "it is neither MIME multi-part nor a script: AWS Batch accepts only MIME multi-part, and adds its own part",
				"write it as MIME multi-part (Content-Type: multipart/mixed) in the launch template", at("var/log/cloud-init.log", line))
			return
		}
	}
}
