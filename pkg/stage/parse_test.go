package stage

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

const sum = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

func drawDocument(t *rapid.T) Document {
	text := rapid.StringN(1, 20, -1)
	d := Document{Version: Version}
	for range rapid.IntRange(0, 3).Draw(t, "inputs") {
		in := Input{From: text.Draw(t, "from"), To: text.Draw(t, "to"), Tree: rapid.Bool().Draw(t, "tree"), Executable: rapid.Bool().Draw(t, "executable")}
		if !in.Tree && !strings.HasSuffix(in.From, "/") && rapid.Bool().Draw(t, "pinned") {
			in.SHA256 = sum
		}
		d.Inputs = append(d.Inputs, in)
	}
	for range rapid.IntRange(0, 3).Draw(t, "outputs") {
		d.Outputs = append(d.Outputs, Output{From: text.Draw(t, "from"), To: text.Draw(t, "to"), When: rapid.SampledFrom([]string{"", OnSuccess, OnFailure, Always}).Draw(t, "when"),
			Local: rapid.String().Draw(t, "local")})
	}
	return d
}

// TestEncodeParse checks that Parse reads what Encode writes.
func TestEncodeParse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := drawDocument(t)
		text, err := Encode(d)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Parse(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if diff := cmp.Diff(d, got); diff != "" {
			t.Fatalf("%s: %s", text, diff)
		}
	})
}

func TestParseErrors(t *testing.T) {
	for text, want := range map[string]string{
		``:                                       "not a JSON object",
		`[]`:                                     "not a JSON object",
		`{}`:                                     "no version",
		`{"version":1`:                           "not complete JSON",
		`{"version":1}x`:                         "after the JSON object",
		`{"version":2}`:                          "version 2, but this batchctl supports version 1: update batchctl in the image",
		`{"version":2,"other":{}}`:               "version 2",
		`{"other":{},"version":2}`:               "version 2",
		`{"version":"1"}`:                        "not a number",
		`{"version":1,"Inputs":[]}`:              `unknown member "Inputs": update batchctl in the image`,
		`{"version":1,"version":1}`:              "twice",
		`{"version":1,"inputs":{}}`:              "inputs",
		`{"version":1,"inputs":[{}]}`:            `inputs[0]: "from" and "to" are required`,
		`{"version":1,"outputs":[{"from":"a"}]}`: `outputs[0]: "from" and "to" are required`,
		`{"version":1,"outputs":[{"from":"a","to":"b","when":"never"}]}`:                         "success, failure or always",
		`{"version":1,"inputs":[{"from":"a","to":"b","decrypt":true}]}`:                          `inputs[0]: unknown member "decrypt"`,
		`{"version":1,"inputs":[{"from":"a","to":"b","sha256":"abc"}]}`:                          "64 hexadecimal digits",
		`{"version":1,"inputs":[{"from":"a","to":"b","sha256":"` + strings.ToUpper(sum) + `"}]}`: "lower case",
		`{"version":1,"inputs":[{"from":"s3://b/a/","to":"b","sha256":"` + sum + `"}]}`:          "to a single file",
		`{"version":1,"inputs":[{"from":"a","to":"b","tree":true,"sha256":"` + sum + `"}]}`:      "to a single file",
		`{"version":1,"inputs":[{"from":"` + strings.Repeat("a", MaxDocument) + `","to":"b"}]}`:  "more than",
	} {
		if _, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80s: %v, want %s", text, err, want)
		}
	}
	if _, err := Encode(Document{Inputs: []Input{{From: "a"}}}); err == nil {
		t.Error("a document that cannot be read is written")
	}
}

func FuzzParse(f *testing.F) {
	f.Add(`{"version":1,"inputs":[{"from":"s3://b/${X}","to":"in","sha256":"` + sum + `"}],"outputs":[{"from":"out","to":"s3://b/","when":"always","local":"x"}]}`)
	f.Add(`{"version":1,"inputs":[{"from":"$${","to":"../x","tree":true}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		d, err := Parse(text)
		if err != nil {
			return
		}
		again, err := Encode(d)
		if err != nil {
			t.Fatalf("%s is read, and not written: %v", text, err)
		}
		if back, err := Parse(again); err != nil || !cmp.Equal(d, back, cmpopts.EquateEmpty()) {
			t.Fatalf("%s: %+v, then %+v %v", text, d, back, err)
		}
		expanded, err := d.Expanded(func(string) (string, bool) { return "../v/", true }, "/job")
		if err != nil {
			return
		}
		for _, in := range expanded.Inputs {
			if !strings.HasPrefix(in.To, "/") || strings.Contains(in.To, "/../") || strings.Contains(in.To, "${") && !strings.Contains(text, "$${") {
				t.Fatalf("%s goes to %s", text, in.To)
			}
		}
	})
}

func TestExpand(t *testing.T) {
	look := func(name string) (string, bool) {
		value, ok := map[string]string{"A": "x", "_b1": "${A}", "EMPTY": "", "LONG": "a/b"}[name]
		return value, ok
	}
	for text, want := range map[string]string{
		"": "", "plain": "plain", "${A}": "x", "a${A}b${A}c": "axbxc", "${_b1}": "${A}", "$${A}": "${A}", "$$${A}": "$${A}", "$A $$ $": "$A $$ $", "${LONG}/c": "a/b/c", "$${": "${", "}": "}",
	} {
		if got, err := Expand(text, look); err != nil || got != want {
			t.Errorf("%s: %q %v, want %q", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"${": "has no closing }", "${A": "has no closing }", "${}": "is not a variable name", "${a-b}": "is not a variable name", "${1A}": "is not a variable name", "${A:-b}": "is not a variable name",
		"${EMPTY}": "${EMPTY}: the variable is not set", "${NOT_THERE}": "${NOT_THERE}: the variable is not set", "${ü}": "is not a variable name",
	} {
		if got, err := Expand(text, look); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %q %v, want %s", text, got, err, want)
		}
	}
	if names, err := Variables("s3://${A}/$${B}/${_c}"); err != nil || !cmp.Equal(names, []string{"A", "_c"}) {
		t.Errorf("%q %v", names, err)
	}
}

func TestExpanded(t *testing.T) {
	look := func(name string) (string, bool) {
		return map[string]string{"UP": "..", "ROOT": "/", "ID": "7"}[name], true
	}
	for _, test := range []struct {
		d    Document
		want string // of the error; "" means no error
	}{
		{Document{Inputs: []Input{{From: "s3://b/${ID}", To: "a//b/./c/"}}}, ""},
		{Document{Inputs: []Input{{From: "s3://b/a/", To: "."}}}, ""},
		{Document{Inputs: []Input{{From: "s3://b/a/", To: "/data"}, {From: "s3://b/b/", To: "/data/b"}}}, ""},
		{Document{Inputs: []Input{{From: "/dir", To: "/data"}, {From: "s3://b/b", To: "/data/b"}}}, ""},
		{Document{Inputs: []Input{{From: "s3://b/a", To: "/data/"}, {From: "s3://b/b", To: "/data/b"}}}, ""},
		{Document{Outputs: []Output{{From: "a", To: "s3://b/"}, {From: "b", To: "s3://b/"}}}, ""},
		{Document{Inputs: []Input{{From: "s3://b/a", To: "a/../b"}}}, `inputs[0]: "a/../b" contains ..`},
		{Document{Inputs: []Input{{From: "s3://b/a", To: "${UP}/b"}}}, "contains .."},
		{Document{Inputs: []Input{{From: "s3://b/a", To: "${ROOT}"}}}, "root of the file system"},
		{Document{Inputs: []Input{{From: "/a/../b", To: "c"}}}, "contains .."},
		{Document{Inputs: []Input{{From: "s3://b/a", To: "a\x00"}}}, "NUL"},
		{Document{Inputs: []Input{{From: "s3://b/a", To: "x"}, {From: "s3://b/b", To: "/job/x/"}}}, "inputs[0] and inputs[1] both go to /job/x"},
		{Document{Inputs: []Input{{From: "s3://b/a", To: "x"}, {From: "s3://b/b", To: "x/y"}}}, "inputs[1] goes to /job/x/y, which is below the file /job/x of inputs[0]"},
		{Document{Outputs: []Output{{From: "a", To: "s3://b/k"}, {From: "b", To: "s3://b/k"}}}, "both go to s3://b/k"},
		{Document{Outputs: []Output{{From: "${UP}", To: "s3://b/k"}}}, "outputs[0]"},
		{Document{Inputs: []Input{{From: "s3://${ROOT}x/", To: "x", SHA256: sum}}}, "to a single file"},
	} {
		got, err := test.d.Expanded(look, "/job")
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v: %v, want %s", test.d, err, test.want)
		}
		for _, in := range got.Inputs {
			if !strings.HasPrefix(in.To, "/") {
				t.Errorf("%+v goes to %s", in, in.To)
			}
		}
	}
	d, err := Document{Inputs: []Input{{From: "s3://b/${ID}", To: "a//b/./c/"}}}.Expanded(look, "/job")
	if want := (Input{From: "s3://b/7", To: "/job/a/b/c/"}); err != nil || d.Inputs[0] != want {
		t.Errorf("%+v %v", d, err)
	}
}
