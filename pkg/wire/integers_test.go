package wire

import (
	"encoding/json"
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

func TestPlainIntegers(t *testing.T) {
	for text, want := range map[string]string{
		`{"vcpus": 1.0, "memory":-20.000}`:       `{"vcpus": 1, "memory":-20}`,
		`[0.0,1.50,10.01,100,1.0e3,0.5,1e0]`:     `[0,1.50,10.01,100,1.0e3,0.5,1e0]`,
		`{"a\"1.0": "2.0", "b": "\\", "c": 3.0}`: `{"a\"1.0": "2.0", "b": "\\", "c": 3}`,
		`1.0`:                                    `1`,
		`"1.0`:                                   `"1.0`,
		`"\`:                                     `"\`,
		``:                                       ``,
		`{"v":9007199254740993.0}`:               `{"v":9007199254740993}`,
	} {
		if got := string(PlainIntegers([]byte(text))); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}

// Every number keeps its value.
func TestPlainIntegersKeepsValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		number := rapid.StringMatching(`-?(0|[1-9][0-9]{0,20})(\.[0-9]{1,5})?([eE][+-]?[0-9]{1,2})?`).Draw(t, "number")
		got := PlainIntegers([]byte(number))
		before, _ := new(big.Rat).SetString(number)
		after, ok := new(big.Rat).SetString(string(got))
		if !ok || before.Cmp(after) != 0 || !json.Valid(got) {
			t.Fatalf("%s became %s", number, got)
		}
	})
}
