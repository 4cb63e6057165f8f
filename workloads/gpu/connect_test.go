package gpu

import (
	"errors"
	"testing"
)

func TestConnect(t *testing.T) {
	opens := func() (Driver, error) { return newMachine(1), nil }
	missing := func() (Driver, error) {
		return nil, &UnavailableError{Reason: "no library", Remedy: "install it"}
	}
	breaks := func() (Driver, error) { return nil, &Error{Call: "cuInit", Code: 3} }
	for _, test := range []struct {
		ways []Binding
		name string
		want string // the error, or nothing
	}{
		{[]Binding{{"a", opens}}, "", ""},
		{[]Binding{{"a", missing}, {"b", opens}}, "", ""},
		{[]Binding{{"a", breaks}, {"b", opens}}, "b", ""},
		{[]Binding{{"a", missing}, {"b", opens}}, "a", "a: no library; install it"},
		{[]Binding{{"a", missing}, {"b", missing}}, "", "a: no library; b: no library; install it"},
		{[]Binding{{"a", breaks}, {"b", opens}}, "", "open the CUDA driver through a: cuInit: CUDA error 3 (NOT_INITIALIZED)"},
		{[]Binding{{"a", opens}, {"b", opens}}, "c", "unknown binding c; this program has: a, b"},
		{nil, "", "this program is built without GPU support; use the GPU image of batchctl-workloads; for jobs on this machine, put batchctl-workloads beside batchctl"},
	} {
		d, err := Platform{Bindings: test.ways}.Connect(test.name)
		if test.want == "" {
			if err != nil || d == nil {
				t.Errorf("got %v, %v", d, err)
			}
			continue
		}
		want(t, err, test.want)
		if _, ok := errors.AsType[*Error](err); !ok {
			if _, ok := errors.AsType[*UnavailableError](err); !ok {
				t.Errorf("got a %T", err)
			}
		}
	}
}
