package bench

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Job is the job file of one side.
type Job struct {
	Name string `json:"name"`
	File string `json:"file"`
	// Document is the file's text, JSON in the compact form; nil if it is unknown.
	Document []byte `json:"-"`
}

// Jobs are those of the two sides.
type Jobs struct{ Base, Other Job }

// Patch changes a job so that it runs as the other side's does.
type Patch struct {
	// Job is the one to change.
	Job Job `json:"job"`
	// Changes are operations of a JSON Patch (RFC 6902), in order.
	Changes []Change `json:"changes"`
}

// Change is one operation.
type Change struct {
	// Op is "add", "replace" or "remove".
	Op string `json:"op"`
	// Path is a JSON Pointer (RFC 6901), such as "/resources/gpus".
	Path string `json:"path"`
	// Was is the old value, nil for "add"; Value the new one, nil for "remove".
	Was   json.RawMessage `json:"was,omitempty"`
	Value json.RawMessage `json:"value,omitempty"`
}

// String is the change as text: "replace /queue: \"cpu\" by \"gpu\"".
func (c Change) String() string {
	switch c.Op {
	case "add":
		return fmt.Sprintf("add %s: %s", c.Path, c.Value)
	case "remove":
		return fmt.Sprintf("remove %s: %s", c.Path, c.Was)
	}
	return fmt.Sprintf("replace %s: %s by %s", c.Path, c.Was, c.Value)
}

// movedMembers are the members that decide where a job runs and on what. The rest of a
// job file is its work, which the patch leaves alone.
var movedMembers = []string{"queue", "definition", "image", "resources"}

// deviceFlag is what the workloads call the choice of a device.
const deviceFlag = "--device"

// patch sets the patch for the job that is not chosen, if both job files are
// known.
func (d *Decision) patch(jobs Jobs) error {
	from, to := jobs.Base, jobs.Other
	switch d.Choice {
	case ChooseOther:
	case ChooseBase:
		from, to = to, from
	default:
		return nil
	}
	if from.Document == nil || to.Document == nil {
		return nil
	}
	changes, err := Changes(from, to)
	if err == nil && len(changes) > 0 {
		d.Patch = &Patch{from, changes}
	}
	return err
}

// Changes returns what to change in a job file so that its work runs where and as the
// other one's does: the queue, the definition or the image, the members of resources, and what the command says after
// --device. The error is that of a text that is no JSON object.
func Changes(from, to Job) ([]Change, error) {
	a, err := document(from)
	if err != nil {
		return nil, err
	}
	b, err := document(to)
	if err != nil {
		return nil, err
	}
	var changes []Change
	for _, name := range movedMembers {
		was, will := a[name], b[name]
		inA, okA := read[object](was)
		inB, okB := read[object](will)
		if !okA || !okB {
			changes = change(changes, "/"+name, was, will)
			continue
		}
		for _, member := range sortedKeys(inA, inB) {
			changes = change(changes, "/"+name+"/"+pointer(member), inA[member], inB[member])
		}
	}
	return append(changes, deviceChange(a, b)...), nil
}

// object is a JSON object whose members are read one at a time.
type object map[string]json.RawMessage

// read parses a value as T; false for null, and for another type.
func read[T any](value json.RawMessage) (v T, ok bool) {
	if value == nil || string(value) == "null" {
		return v, false
	}
	return v, json.Unmarshal(value, &v) == nil
}

// plain is a value without needless space: a string's text, a number in its shortest
// form, so that 2 and 2.0 are one value.
func plain(value json.RawMessage) string {
	if text, ok := read[string](value); ok {
		return text
	}
	if v, ok := read[float64](value); ok {
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	return string(compact(value))
}

// document parses a job file.
func document(job Job) (object, error) {
	var o object
	if err := json.Unmarshal(job.Document, &o); err != nil || o == nil {
		return nil, fmt.Errorf("read job file %s: not a JSON object; check it with batchctl validate", job.File)
	}
	return o, nil
}

// change adds the operation that changes a member from was to will, if they
// differ.
func change(changes []Change, path string, was, will json.RawMessage) []Change {
	switch {
	case plain(was) == plain(will) && (was == nil) == (will == nil):
		return changes
	case was == nil:
		return append(changes, Change{Op: "add", Path: path, Value: compact(will)})
	case will == nil:
		return append(changes, Change{Op: "remove", Path: path, Was: compact(was)})
	}
	return append(changes, Change{"replace", path, compact(was), compact(will)})
}

// deviceChange changes the word after --device, or in --device=word, and leaves the
// rest of the command alone. Where one command of the same program does not say it, because
// it is the program's default, --device comes or goes. Where both name a parameter, that one
// changes.
func deviceChange(a, b object) []Change {
	before, _ := read[[]string](a["command"])
	after, _ := read[[]string](b["command"])
	if len(before) == 0 || len(after) == 0 || before[0] != after[0] {
		return nil
	}
	at, old, joined := device(before)
	_, wanted, _ := device(after)
	item := func(i int) string { return fmt.Sprintf("/command/%d", i) }
	switch name, isParameter := strings.CutPrefix(old, "Ref::"); {
	case old == wanted && isParameter:
		was, _ := read[object](a["parameters"])
		will, _ := read[object](b["parameters"])
		return change(nil, "/parameters/"+pointer(name), was[name], will[name])
	case old == wanted:
		return nil
	case at < 0:
		end := len(before)
		return []Change{{Op: "add", Path: item(end), Value: quoted(deviceFlag)},
			{Op: "add", Path: item(end + 1), Value: quoted(wanted)}}
	case joined && wanted == "":
		return []Change{{Op: "remove", Path: item(at), Was: quoted(before[at])}}
	case joined:
		return []Change{{"replace", item(at), quoted(before[at]), quoted(deviceFlag + "=" + wanted)}}
	case wanted == "": // what is behind the first item moves up
		return []Change{{Op: "remove", Path: item(at - 1), Was: quoted(deviceFlag)},
			{Op: "remove", Path: item(at - 1), Was: quoted(old)}}
	}
	return []Change{{"replace", item(at), quoted(old), quoted(wanted)}}
}

// device returns the item of a command that names the device, and the name.
func device(command []string) (at int, name string, joined bool) {
	for i, item := range command {
		if item == deviceFlag && i+1 < len(command) {
			return i + 1, command[i+1], false
		}
		if name, found := strings.CutPrefix(item, deviceFlag+"="); found {
			return i, name, true
		}
	}
	return -1, "", false
}

// quoted is a text as JSON, with < and & unescaped.
func quoted(text string) json.RawMessage {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(text) // a string has an encoding
	return bytes.TrimSpace(b.Bytes())
}

// compact removes blanks from JSON.
func compact(value json.RawMessage) json.RawMessage {
	var b bytes.Buffer
	if json.Compact(&b, value) != nil {
		return value
	}
	return b.Bytes()
}

// pointer escapes a name for a JSON Pointer.
func pointer(name string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}

// sortedKeys returns the names of the members of all objects, each once.
func sortedKeys(objects ...object) []string {
	var names []string
	for _, o := range objects {
		for name := range o {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
