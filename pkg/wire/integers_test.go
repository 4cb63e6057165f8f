package wire

import (
	"encoding/json"
	"math/big"
	"reflect"
	"testing"

	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"pgregory.net/rapid"
)

func TestPlainIntegers(t *testing.T) {
	for text, want := range map[string]string{
		`{"vcpus": 1.0, "memory":-20.000}`:                     `{"vcpus": 1, "memory":-20}`,
		`[0.0,1.50,10.01,100,1.0e3,0.5,1e0,1.5E+1,20e-1,0e-9]`: `[0,1.50,10.01,100,1000,0.5,1,15,2,0]`,
		`{"a\"1.0": "2.0", "b": "\\", "c": 3.0}`:               `{"a\"1.0": "2.0", "b": "\\", "c": 3}`,
		`1.0`:                                                  `1`,
		`"1.0`:                                                 `"1.0`,
		`"\`:                                                   `"\`,
		``:                                                     ``,
		`{"v":9007199254740993.0}`:                             `{"v":9007199254740993}`,
		`[1e19, 1e400, 1e-400, 1e99999999999999999999]`: `[1e19, 1e400, 1e-400, 1e99999999999999999999]`,
		`[1.0.0, -, 1e, -.5, 1.e1x, NaN, null, "NaN"]`:  `[1.0.0, -, 1e, -.5, 10x, NaN, null, "NaN"]`,
		`{"timestamp": 1795563160947.741}`:              `{"timestamp": 1795563160947.741}`,
	} {
		if got := string(PlainIntegers([]byte(text), false)); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}

// TestPlainIntegersOfTimes checks that times lose their fraction, and that other numbers and
// strings do not.
func TestPlainIntegersOfTimes(t *testing.T) {
	for text, want := range map[string]string{
		`{"timestamp":1795563160947.741,"message":"at 1795563160947.741 \"timestamp\":1.5"}`: `{"timestamp":1795563160947,"message":"at 1795563160947.741 \"timestamp\":1.5"}`,
		`{"createdAt":1.795563160947741e12, "stoppedAt": 1.9 , "startedAt":null}`:            `{"createdAt":1795563160947, "stoppedAt": 1 , "startedAt":null}`,
		`{"startTime":"1.5","vcpus":1.5,"earliestTimeAtPosition":0.1}`:                       `{"startTime":"1.5","vcpus":1.5,"earliestTimeAtPosition":0}`,
		`{"createdAt":[1.5],"a":{"stoppedAt":-2.5},"b":2.5}`:                                 `{"createdAt":[1.5],"a":{"stoppedAt":-2},"b":2.5}`,
	} {
		if got := string(PlainIntegers([]byte(text), true)); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}

// TestNamesOfTimes checks the names that PlainIntegers treats as times. In the services with
// times in milliseconds they are integers, and no other integer of 64 bits can have a fraction.
func TestNamesOfTimes(t *testing.T) {
	others := map[string]bool{"totalQuantity": true, "inUseQuantity": true, "availableQuantity": true, "quantity": true, "storedBytes": true, "jobExecutionTimeoutMinutes": true,
		"runAsGroup": true, "runAsUser": true, "activeShareCount": true}
	seen := map[reflect.Type]bool{}
	var walk func(reflect.Type)
	walk = func(shape reflect.Type) {
		for shape.Kind() == reflect.Pointer || shape.Kind() == reflect.Slice || shape.Kind() == reflect.Map {
			shape = shape.Elem()
		}
		if shape.Kind() != reflect.Struct || seen[shape] {
			return
		}
		seen[shape] = true
		for _, m := range members(shape) {
			kind := shape.Field(m.index).Type
			if kind.Kind() == reflect.Pointer {
				kind = kind.Elem()
			}
			switch {
			case kind.Kind() == reflect.Int64 && !isTime(m.name) && !others[m.name]:
				t.Errorf("%s.%s is an integer of 64 bits: is it a time?", shape, m.name)
			case kind.Kind() != reflect.Int64 && isTime(m.name) && (kind.Kind() == reflect.Int32 || kind.Kind() == reflect.Float64 || kind.Kind() == reflect.Float32):
				t.Errorf("%s.%s has the name of a time and is a %s", shape, m.name, kind)
			}
			walk(kind)
		}
	}
	client := reflect.TypeFor[*awsbatch.Client]()
	for i := range client.NumMethod() {
		if method := client.Method(i).Type; method.NumOut() == 2 {
			walk(method.Out(0))
		}
	}
	for _, shape := range []any{GetLogEventsOutput{}, FilterLogEventsOutput{}, DescribeLogStreamsOutput{}, DescribeLogGroupsOutput{}} {
		walk(reflect.TypeOf(shape))
	}
	if len(seen) < 50 {
		t.Errorf("only %d shapes were seen", len(seen))
	}
}

// TestPlainIntegersKeepsValues checks that every number keeps its value, and that the input text
// is not changed.
func TestPlainIntegersKeepsValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		number := rapid.StringMatching(`-?(0|[1-9][0-9]{0,20})(\.[0-9]{1,5})?([eE][+-]?[0-9]{1,2})?`).Draw(t, "number")
		text := []byte(number)
		got := PlainIntegers(text, rapid.Bool().Draw(t, "millis"))
		before, _ := new(big.Rat).SetString(number)
		after, ok := new(big.Rat).SetString(string(got))
		if !ok || before.Cmp(after) != 0 || !json.Valid(got) || string(text) != number {
			t.Fatalf("%s became %s", number, got)
		}
		var whole int64
		if before.IsInt() && before.Num().IsInt64() && json.Unmarshal(got, &whole) != nil {
			t.Fatalf("%s is a whole number, and became %s", number, got)
		}
	})
}
