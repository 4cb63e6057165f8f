package batch

import "testing"

func TestParameterReference(t *testing.T) {
	for element, want := range map[string]string{
		"Ref::epochs": "epochs", "Ref::a-b_c.d9": "a-b_c.d9",
		"Ref::": "", "ref::x": "", "Ref:x": "", "--epochs=Ref::epochs": "", "Ref::x Ref::y": "", "Ref::dir/file": "", " Ref::x": "", "Ref::Ref::x": "",
	} {
		if got, ok := ParameterReference(element); got != want || ok != (want != "") {
			t.Errorf("%q: %q, %v, want %q", element, got, ok, want)
		}
	}
}
