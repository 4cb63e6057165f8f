package doctor

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
)

const (
	// The files of cloud-init: initStatus while it runs, initResult once it has ended (cloud-init
	// documentation).
	initStatus = "run/cloud-init/status.json"
	initResult = "run/cloud-init/result.json"
)

// initState is the progress of cloud-init.
type initState struct {
	// stage is the current stage; "" between stages.
	stage string
	// done means that the last stage has ended.
	done   bool
	errors []string
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
	if !known {
		return
	}
	blocking := l.blockingLines()
	switch {
	case len(state.errors) > 0:
		l.problem("cloud-init-errors", "cloud-init ended with errors", "user data stopped early or did not run: part of its setup is missing",
			"see /var/log/cloud-init-output.log; correct the user data and launch a new instance", at(initResult, strings.Join(state.errors, "; ")))
	case state.done:
		l.ok("cloud-init", "cloud-init has ended without errors", at(initResult, "errors: none"))
		for _, e := range blocking {
			l.warning("user-data-blocks", "user data starts a service and waits for it", "the units of docker and ecs wait until cloud-init has ended: if the service was not running yet, both wait for each other indefinitely",
				"add --no-block; do not start ecs, it starts on its own", e)
		}
	case len(blocking) > 0 || l.ecsWaits():
		l.problem("start-deadlock", "cloud-init waits for a service that waits for cloud-init", "user data starts docker or ecs, whose units start after cloud-init has ended: neither continues, and the instance never registers",
			"remove systemctl start ecs from user data, and restart docker with --no-block; on this host: sudo systemctl cancel",
			append([]Evidence{at(initStatus, "stage "+orElse(state.stage, "not ended"))}, append(blocking, l.waiting()...)...)...)
	default:
		l.warning("cloud-init-running", "cloud-init is still running", "the ECS agent starts after it has ended: a long download in user data delays every job",
			"check again in a minute; to see what it does: ps axf, /var/log/cloud-init-output.log", at(initStatus, "stage "+orElse(state.stage, "not ended")))
	}
}

// initState returns the progress of cloud-init. ok is false if it is unknown.
func (l *inspection) initState() (initState, bool) {
	// The result is final. The status may be older than it, so it counts only without a result.
	if text, ok := l.read(initResult); ok {
		errs, err := readResult(text)
		if err == nil {
			return initState{done: true, errors: errs}, true
		}
		l.skip("/"+initResult, clean(err.Error()))
	}
	text, ok := l.read(initStatus)
	if !ok {
		l.skip("cloud-init", "it has no status in /run/cloud-init")
		return initState{}, false
	}
	s, err := readStatus(text)
	if err != nil {
		l.skip("/"+initStatus, clean(err.Error()))
	}
	return s, err == nil
}

// blockingLines finds lines of user data that start docker or ecs and wait. They are only
// evidence; batchctl validate reads user data with a shell's parser.
func (l *inspection) blockingLines() (found []Evidence) {
	for _, dir := range l.glob("var/lib/cloud/instances/*") {
		if _, err := fs.ReadDir(l.FS, dir+"/scripts"); err != nil { // only root can read it
			l.fails(dir+"/scripts", err)
		}
	}
	for _, name := range l.glob("var/lib/cloud/instances/*/scripts/*") {
		text, _ := l.read(name)
		for i, line := range strings.Split(text, "\n") {
			if blocks(line) {
				found = append(found, seen(fmt.Sprintf("/%s:%d", name, i+1), line))
			}
		}
	}
	return found
}

// blocks reports whether a line asks systemd to start docker or ecs and waits for it.
func blocks(line string) bool {
	fields := strings.Fields(line)
	for len(fields) > 0 && (fields[0] == "sudo" || strings.HasSuffix(fields[0], "&&")) {
		fields = fields[1:]
	}
	if len(fields) < 3 {
		return false
	}
	starts, unit := false, false
	tool := path.Base(fields[0])
	for _, w := range fields[1:] {
		w = strings.TrimSuffix(strings.TrimRight(w, ";"), ".service")
		switch w {
		case "--no-block":
			return false
		case "start", "restart", "--now":
			starts = true
		case "ecs", "docker":
			unit = true
		}
	}
	return (tool == "systemctl" || tool == "service") && starts && unit
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
