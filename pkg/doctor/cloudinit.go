package doctor

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

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

// cloudInitCheck examines whether user data ran.
type cloudInitCheck struct {
	host   *probe
	report *findings
}

// checkCloudInit is the check of the topic cloud-init.
func checkCloudInit(in *inspection) {
	c := cloudInitCheck{in.host, in.report}
	c.check()
}

// check examines whether user data ran.
func (c *cloudInitCheck) check() {
	c.unhandled()
	state, known := c.initState()
	traps := findTraps(c.host)
	stage := at(state.from, "stage "+orElse(state.stage, "not ended"))
	switch {
	case !known:
		c.blocks(traps)
	// A stage that has already ended may have errors, but the script that waits is what hangs.
	case !state.done && (len(traps) > 0 || c.ecsWaits()):
		summary, why := "cloud-init waits for a service that waits for cloud-init",
			"user data starts docker or ecs, whose units start after cloud-init has ended: neither continues, and the instance never registers"
		if len(traps) > 0 && !slices.ContainsFunc(traps,
			func(t trap) bool { return t.rule != userdata.CloudInitWait }) {
			summary, why = "cloud-init waits for a script that waits for cloud-init",
				"user data waits until cloud-init has ended, and cloud-init ends after user data: neither continues, and the instance never registers"
		}
		remedy := unblock(traps)
		if c.host.canAsk() && len(c.waiting()) > 0 {
			remedy += "; on this host: sudo systemctl cancel"
		}
		c.report.problem("start-deadlock", summary, why, remedy, append([]Evidence{stage},
			append(evidenceOf(traps), c.waiting()...)...)...)
	case len(state.errors) > 0:
		c.report.problem("cloud-init-errors", "cloud-init ended with errors",
			"user data stopped early or did not run: part of its setup is missing",
			"see /var/log/cloud-init-output.log; correct the user data and launch a new instance",
			at(state.from, strings.Join(state.errors, "; ")))
		c.blocks(traps)
	case state.done:
		c.report.ok("cloud-init", "cloud-init has ended without errors", at(state.from, "errors: none"))
		c.blocks(traps)
	case !c.host.canAsk():
		c.report.warning("cloud-init-running", "cloud-init had not ended when these files were last written",
			"the ECS agent starts after it has ended, so this instance may never have registered",
			"read the end of /var/log/cloud-init-output.log: it shows what user data did last", stage)
	default:
		c.report.warning("cloud-init-running", "cloud-init is still running",
			"the ECS agent starts after it has ended: a long download in user data delays every job",
			"check again in a minute; to see what it does: ps axf, /var/log/cloud-init-output.log", stage)
	}
}

// blocks warns of traps on a host where cloud-init has ended, or may have.
func (c *cloudInitCheck) blocks(traps []trap) {
	if len(traps) > 0 {
		c.report.warning("user-data-blocks", "user data waits for something that starts only after cloud-init",
			"cloud-init ends only after user data: where user data waits for docker, ecs or cloud-init, an instance may never register",
			unblock(traps), evidenceOf(traps)...)
	}
}

// initState returns the progress of cloud-init. ok is false if it is unknown.
func (c *cloudInitCheck) initState() (initState, bool) {
	for _, dir := range initDirs {
		// The result is final. The status may be older than it, so it counts only without a result.
		if text, ok := c.host.read(dir + "/" + initResult); ok {
			errs, err := readResult(text)
			if err == nil {
				return initState{done: true, errors: errs, from: dir + "/" + initResult}, true
			}
			c.host.skip("/"+dir+"/"+initResult, clean(err.Error()))
		}
		text, ok := c.host.read(dir + "/" + initStatus)
		if !ok {
			continue
		}
		s, err := readStatus(text)
		if err != nil {
			c.host.skip("/"+dir+"/"+initStatus, clean(err.Error()))
		}
		s.from = dir + "/" + initStatus
		return s, err == nil
	}
	c.host.skip("cloud-init", "it has no status in /run/cloud-init or /var/lib/cloud/data")
	return initState{}, false
}

// waiting returns the jobs of systemd that wait, as evidence.
func (c *cloudInitCheck) waiting() (found []Evidence) {
	if !c.host.canAsk() {
		return nil
	}
	out, err := c.host.run("systemctl", "list-jobs", "--no-legend", "--no-pager")
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
func (c *cloudInitCheck) ecsWaits() bool {
	for _, e := range c.waiting() {
		if strings.Contains(e.Text, "docker.service") && strings.Contains(e.Text, "restart") {
			return true
		}
	}
	return false
}

// unhandled finds user data with a content type that cloud-init does not run.
func (c *cloudInitCheck) unhandled() {
	for _, line := range c.host.tail("var/log/cloud-init.log") {
		if strings.Contains(line, "Unhandled non-multipart") || strings.Contains(line,
			"Unhandled unknown content-type") {
			c.report.problem("user-data-ignored", "cloud-init did not run the user data",
				"it is neither MIME multi-part nor a script: AWS Batch accepts only MIME multi-part, and adds its own part",
				"write it as MIME multi-part (Content-Type: multipart/mixed) in the launch template",
				at("var/log/cloud-init.log", line))
			return
		}
	}
}
