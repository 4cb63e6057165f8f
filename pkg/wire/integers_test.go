package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/big"
	"reflect"
	"strings"
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

// TestTruncatedIntegers checks that numbers lose their fraction, wherever they are, and that
// strings and the two members with fractions do not.
func TestTruncatedIntegers(t *testing.T) {
	for text, want := range map[string]string{
		`{"timestamp":1795563160947.741,"message":"at 1795563160947.741 \"timestamp\":1.5"}`: `{"timestamp":1795563160947,"message":"at 1795563160947.741 \"timestamp\":1.5"}`,
		`{"createdAt":1.795563160947741e12, "stoppedAt": 1.9 , "startedAt":null}`:            `{"createdAt":1795563160947, "stoppedAt": 1 , "startedAt":null}`,
		`{"startTime":"1.5","vcpus":1.5,"earliestTimeAtPosition":0.1}`:                       `{"startTime":"1.5","vcpus":1,"earliestTimeAtPosition":0}`,
		`{"exitCode":[1.5,{"a":-2.5}],"b":-0.5,"statusSummary":{"FAILED":2.5}}`:              `{"exitCode":[1,{"a":-2}],"b":-0,"statusSummary":{"FAILED":2}}`,
		`{"weightFactor":0.25,"capacityUsage":[{"quantity": 1.5e-1}],"totalQuantity":2.5}`:   `{"weightFactor":0.25,"capacityUsage":[{"quantity": 1.5e-1}],"totalQuantity":2}`,
		`{"weightFactor":1.0,"quantity":2.0}`:                                                `{"weightFactor":1,"quantity":2}`,
		`{"value":"weightFactor","vcpus":0.5}`:                                               `{"value":"weightFactor","vcpus":0}`,
		`[99999999999999999999.5, 9e-401, 1e400, 1.5.1, -.5]`:                                `[99999999999999999999.5, 9e-401, 1e400, 1.5.1, -.5]`,
	} {
		if got := string(PlainIntegers([]byte(text), true)); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}

// TestFractionalMembers compares isFractional with the shapes of the answers. A member that is an
// integer in one shape and has a fraction in another keeps its fraction.
func TestFractionalMembers(t *testing.T) {
	fractional := map[string]bool{}
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
			walk(kind)
			for kind.Kind() == reflect.Pointer || kind.Kind() == reflect.Slice || kind.Kind() == reflect.Map {
				kind = kind.Elem()
			}
			if kind.Kind() == reflect.Float64 || kind.Kind() == reflect.Float32 {
				fractional[m.name] = true
				if !isFractional(m.name) {
					t.Errorf("%s.%s would lose its fraction", shape, m.name)
				}
			}
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
	if len(seen) < 50 || len(fractional) != 2 {
		t.Errorf("%d shapes were seen, with %v as members with a fraction", len(seen), fractional)
	}
}

// TestPlainIntegersValues checks that every number keeps its value, or loses exactly its
// fraction, and that the input text is not changed.
func TestPlainIntegersValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		number := rapid.StringMatching(`-?(0|[1-9][0-9]{0,20})(\.[0-9]{1,5})?([eE][+-]?[0-9]{1,2})?`).Draw(t, "number")
		truncate := rapid.Bool().Draw(t, "truncate")
		text := []byte(number)
		got := PlainIntegers(text, truncate)
		before, _ := new(big.Rat).SetString(number)
		after, ok := new(big.Rat).SetString(string(got))
		whole := new(big.Int).Quo(before.Num(), before.Denom()) // towards zero
		want := before
		if truncate && len(strings.TrimPrefix(whole.String(), "-")) <= maxDigits {
			want = new(big.Rat).SetInt(whole)
		}
		if !ok || want.Cmp(after) != 0 || !json.Valid(got) || string(text) != number {
			t.Fatalf("%s became %s, want %s", number, got, want)
		}
		var read int64
		if want.IsInt() && whole.IsInt64() && (json.Unmarshal(got, &read) != nil || read != whole.Int64()) {
			t.Fatalf("%s is read as %d, and became %s", number, read, got)
		}
	})
}

// FuzzPlainIntegers checks that valid JSON stays valid, with the same strings in the same places
// and numbers that differ by less than 1.
func FuzzPlainIntegers(f *testing.F) {
	for _, s := range []string{`{"events":[{"timestamp":1795563160947.741,"message":"loss 1.5","ingestionTime":1.795563160948e12}],"nextForwardToken":"f/1.0"}`,
		`{"weightFactor":0.5,"quantity":1.5,"vcpus":-1.5e0}`, `{"a\\":1.0,"\"":[1.5,null,true,"\\"]}`, `[-0.0,1e19,1E-400,0.1e1]`, `"1.0`, `1.`} {
		f.Add(s, true)
		f.Add(s, false)
	}
	f.Fuzz(func(t *testing.T, text string, truncate bool) {
		got := PlainIntegers([]byte(text), truncate)
		if !json.Valid([]byte(text)) {
			return
		}
		read := func(text []byte) *json.Decoder {
			d := json.NewDecoder(bytes.NewReader(text))
			d.UseNumber()
			return d
		}
		before, after := read([]byte(text)), read(got)
		for {
			was, err := before.Token()
			is, afterErr := after.Token()
			if (err == nil) != (afterErr == nil) {
				t.Fatalf("%q became %q: %v, %v", text, got, err, afterErr)
			}
			if err != nil {
				return
			}
			if was == is {
				continue
			}
			if _, isNumber := was.(json.Number); !isNumber {
				t.Fatalf("%q became %q: %v became %v", text, got, was, is)
			}
			x, _ := new(big.Rat).SetString(fmt.Sprint(was))
			y, ok := new(big.Rat).SetString(fmt.Sprint(is))
			if lost := new(big.Rat); !ok || lost.Sub(x, y).Abs(lost).Cmp(big.NewRat(1, 1)) >= 0 || !truncate && lost.Sign() != 0 {
				t.Fatalf("%q became %q: %v became %v", text, got, was, is)
			}
		}
	})
}
