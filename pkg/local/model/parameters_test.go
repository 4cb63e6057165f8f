package model

import (
	"slices"
	"strings"
	"testing"
)

// The engine replaces exactly the elements that the rules about parameters count.
func TestSubstitute(t *testing.T) {
	parameters := map[string]string{"x": "1 2", "input.file": "a"}
	for _, tt := range []struct{ command, want string }{
		{"run|Ref::x|Ref::input.file", "run|1 2|a"},
		{"sh|-c|echo Ref::x|--e=Ref::x|a Ref::x.b|Ref::x Ref::x|Ref::|Ref::dir/x", "sh|-c|echo Ref::x|--e=Ref::x|a Ref::x.b|Ref::x Ref::x|Ref::|Ref::dir/x"},
		{"--y=Ref::y", "--y=Ref::y"},
	} {
		got, err := Substitute(strings.Split(tt.command, "|"), parameters)
		if want := strings.Split(tt.want, "|"); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %q, %v, want %q", tt.command, got, err, want)
		}
	}
	if got, err := Substitute([]string{"run", "Ref::y"}, parameters); err == nil || !strings.Contains(err.Error(), "No parameter found for reference y") {
		t.Errorf("a parameter without a value: %q, %v", got, err)
	}
}
