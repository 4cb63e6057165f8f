package templates

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/batchctl/batchctl/pkg/testtool"
)

// evaluator is a program for Node.js that evaluates JSONata with the implementation of its authors: a
// line of JSON with an expression and its variables becomes a line with the value. $parse and $hash are
// functions of Step Functions (developer guide, "Transforming data with JSONata").
const evaluator = `
const jsonata = require('jsonata');
require('readline').createInterface({ input: process.stdin }).on('line', async (line) => {
  const { expression, variables } = JSON.parse(line);
  let answer;
  try {
    const e = jsonata(expression);
    e.registerFunction('parse', (text) => JSON.parse(text), '<s-:x>');
    e.registerFunction('hash', (text, by) => require('crypto').createHash(by.replace('-', '')).update(text).digest('hex'), '<ss:s>');
    const value = await e.evaluate({}, variables);
    answer = value === undefined ? { error: 'the value is undefined' } : { value };
  } catch (e) {
    answer = { error: e.message };
  }
  process.stdout.write(JSON.stringify(answer) + '\n');
});`

// machine executes state machines of Step Functions in virtual time. Its JSONata is that of Node.js.
type machine struct {
	t    *testing.T
	in   io.Writer
	out  *bufio.Reader
	now  time.Time
	seen map[string]bool // the states that were executed
	// call executes a Task. An *asError is an error that Catch sees.
	call func(action string, arguments any) (any, error)
}

// asError is an error with the name that a state machine knows it by.
type asError struct{ name, cause string }

// Error has the name and the cause.
func (e *asError) Error() string { return e.name + ": " + e.cause }

// newMachine starts the evaluator, or skips the test.
func newMachine(t *testing.T) *machine {
	t.Helper()
	testtool.Need(t, "node")
	if err := exec.Command("node", "-e", "require('jsonata')").Run(); err != nil {
		testtool.Missing(t, "Node.js has no package jsonata: npm install jsonata@2.0.6, and set NODE_PATH")
	}
	node := exec.CommandContext(t.Context(), "node", "-e", evaluator)
	in, err := node.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := node.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := node.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = in.Close(), node.Wait() })
	return &machine{t: t, in: in, out: bufio.NewReader(out), now: time.Unix(1_800_000_000, 0), seen: map[string]bool{}}
}

// eval evaluates one expression.
func (m *machine) eval(expression string, variables object) (any, error) {
	line, err := json.Marshal(object{"expression": expression, "variables": variables})
	if err != nil {
		return nil, err
	}
	if _, err := m.in.Write(append(line, '\n')); err != nil {
		return nil, err
	}
	answer, err := m.out.ReadBytes('\n')
	if err != nil {
		return nil, err
	}
	var read struct {
		Value any
		Error string
	}
	if err := json.Unmarshal(answer, &read); err != nil || read.Error != "" {
		return nil, fmt.Errorf("%s%w in %.200s", read.Error, err, expression)
	}
	return read.Value, nil
}

// resolve evaluates all expressions in a member of a state. An error ends the test: a state machine
// would fail with States.QueryEvaluationError.
func (m *machine) resolve(v any, variables object) any {
	m.t.Helper()
	switch v := v.(type) {
	case string:
		text, ok := strings.CutPrefix(v, "{%")
		if !ok {
			return v
		}
		value, err := m.eval(strings.TrimSuffix(text, "%}"), variables)
		if err != nil {
			m.t.Fatal(err)
		}
		return value
	case object:
		if ref := v["Ref"]; ref != nil {
			return ref
		}
		out := object{}
		for name, member := range v {
			out[name] = m.resolve(member, variables)
		}
		return out
	case []any:
		out := []any{}
		for _, one := range v {
			out = append(out, m.resolve(one, variables))
		}
		return out
	}
	return v
}

// run executes a state machine. It returns its output, and the error of a Fail state.
func (m *machine) run(definition object, input any, variables object) (any, string) {
	m.t.Helper()
	started := m.now
	variables = maps.Clone(variables)
	name := definition["StartAt"].(string)
	for range 10000 {
		state := at(definition, "States", name).(object)
		m.seen[fmt.Sprint(definition["Comment"], name)] = true
		context := object{"Execution": object{"StartTime": started.UTC().Format(time.RFC3339)}, "State": object{"EnteredTime": m.now.UTC().Format(time.RFC3339)}}
		states := object{"input": input, "context": context}
		scope := maps.Clone(variables)
		scope["states"] = states
		next, _ := state["Next"].(string)
		output, from := input, state
		switch state["Type"] {
		case "Succeed":
			return input, ""
		case "Fail":
			return input, state["Error"].(string)
		case "Wait":
			m.now = m.now.Add(time.Duration(m.resolve(state["Seconds"], scope).(float64)) * time.Second)
		case "Choice":
			next, _ = state["Default"].(string)
			for _, c := range list(state["Choices"]) {
				if m.resolve(at(c, "Condition"), scope).(bool) {
					from, next = c.(object), at(c, "Next").(string)
					break
				}
			}
		case "Map":
			results := []any{}
			for _, item := range list(m.resolve(state["Items"], scope)) {
				result, failed := m.run(state["ItemProcessor"].(object), item, variables)
				if failed != "" {
					return result, failed
				}
				results = append(results, result)
			}
			output, states["result"] = results, results
		case "Task":
			action := at(state, "Resource", "Fn::Sub").(string)
			action = action[strings.LastIndex(action, ":aws-sdk:")+len(":aws-sdk:"):]
			result, err := m.try(state, func() (any, error) { return m.call(action, m.resolve(state["Arguments"], scope)) })
			if err != nil {
				from, next = m.caught(state, err), ""
				next, _ = from["Next"].(string)
				states["errorOutput"] = object{"Error": err.Error()}
				output = states["errorOutput"]
				break
			}
			output, states["result"] = result, result
		case "Pass":
		default:
			m.t.Fatalf("state %s has the type %v", name, state["Type"])
		}
		if o, ok := from["Output"]; ok {
			output = m.resolve(o, scope)
		}
		if assign, ok := from["Assign"]; ok {
			maps.Copy(variables, m.resolve(assign, scope).(object))
		}
		m.checkSize(name, output)
		if input = output; next == "" {
			return output, ""
		}
		name = next
	}
	m.t.Fatal("the state machine does not end")
	return nil, ""
}

// try executes a Task, and repeats it as its Retry says.
func (m *machine) try(state object, task func() (any, error)) (any, error) {
	for tries := 1.0; ; tries++ {
		result, err := task()
		retry := forError(state["Retry"], err)
		if err == nil || retry == nil || tries > retry["MaxAttempts"].(float64) {
			return result, err
		}
		m.now = m.now.Add(time.Duration(retry["IntervalSeconds"].(float64)*math.Pow(retry["BackoffRate"].(float64), tries-1)) * time.Second)
	}
}

// caught returns the Catch for an error.
func (m *machine) caught(state object, err error) object {
	m.t.Helper()
	c := forError(state["Catch"], err)
	if c == nil {
		m.t.Fatalf("nothing catches %v", err)
	}
	return c
}

// forError returns the first entry of a Retry or Catch for an error; nil for none.
func forError(entries any, err error) object {
	for _, c := range list(entries) {
		for _, name := range list(at(c, "ErrorEquals")) {
			// States.TaskFailed matches every error of a Task but States.Timeout (developer guide, "Error names").
			if e, ok := err.(*asError); name == "States.ALL" || name == "States.TaskFailed" || ok && name == e.name {
				return c.(object)
			}
		}
	}
	return nil
}

// checkSize ends the test if a state has more output than Step Functions allows (developer guide,
// "Quotas related to task executions").
func (m *machine) checkSize(name string, output any) {
	m.t.Helper()
	if text, err := json.Marshal(output); err != nil || len(text) > 256<<10 {
		m.t.Fatalf("state %s has %d bytes of output: %v", name, len(text), err)
	}
}

// pascal returns a value of the SDK as Step Functions passes it on: members in the case of the Go
// SDK, without those that are not set.
func pascal(t *testing.T, v any) any {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var out any
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	return withoutNulls(out)
}

// withoutNulls removes members that are null.
func withoutNulls(v any) any {
	switch v := v.(type) {
	case object:
		for name, member := range v {
			if v[name] = withoutNulls(member); member == nil || name == "ResultMetadata" {
				delete(v, name)
			}
		}
	case []any:
		for i := range v {
			v[i] = withoutNulls(v[i])
		}
	}
	return v
}

// asRequest reads the arguments of a Task as a request of the SDK. A member that the SDK does not
// have ends the test.
func asRequest(t *testing.T, arguments, in any) {
	t.Helper()
	text, err := json.Marshal(arguments)
	if err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(in); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
}
