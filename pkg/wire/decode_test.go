package wire

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
	"github.com/google/go-cmp/cmp"
)

func TestUnmarshalTakesWholeNumbers(t *testing.T) {
	for text, want := range map[string]int32{"2": 2, "2.0": 2, "1e3": 1000, "2.50e1": 25, "-4E0": -4, "2147483647.0": 2147483647} {
		var in awsbatch.SubmitJobInput
		if err := Unmarshal([]byte(`{"arrayProperties":{"size":`+text+`}}`), &in); err != nil || *in.ArrayProperties.Size != want {
			t.Errorf("%s: got %v, %v", text, in.ArrayProperties, err)
		}
	}
}

func TestUnmarshalRefuses(t *testing.T) {
	deep := strings.Repeat("[", 1_000_000)
	for _, c := range []struct{ in, path, message string }{
		{`{"JOBNAME":"a"}`, "JOBNAME", `unknown member, did you mean "jobName"?`},
		{`{"jobNames":"a"}`, "jobNames", "unknown member"},
		{`{"resultMetadata":{}}`, "resultMetadata", "unknown member"},
		{`{"jobName":"a","jobName":"b"}`, "jobName", "the member occurs twice"},
		{`{"jobName":null,"jobName":"b"}`, "jobName", "the member occurs twice"},
		{`{"tags":{"a":"1","a":"2"}}`, "tags.a", "the member occurs twice"},
		{`{"jobName":1}`, "jobName", "must be a string, not the number 1"},
		{`{"jobName":["a"]}`, "jobName", "must be a string, not an array"},
		{`{"propagateTags":"true"}`, "propagateTags", "must be true or false, not a string"},
		{`{"arrayProperties":[]}`, "arrayProperties", "must be an object, not an array"},
		{`{"arrayProperties":{"size":"2"}}`, "arrayProperties.size", "must be a number, not a string"},
		{`{"arrayProperties":{"size":2.5}}`, "arrayProperties.size", "2.5 is not a whole number of 32 bits"},
		{`{"arrayProperties":{"size":1e10}}`, "arrayProperties.size", "1e10 is not a whole number of 32 bits"},
		{`{"arrayProperties":{"size":1e-3}}`, "arrayProperties.size", "1e-3 is not a whole number of 32 bits"},
		{`{"arrayProperties":{"size":1e999}}`, "arrayProperties.size", "1e999 is not a whole number of 32 bits"},
		{`{"arrayProperties":{"size":2147483648}}`, "arrayProperties.size", "2147483648 is out of range: it must fit in 32 bits"},
		{`{"dependsOn":{}}`, "dependsOn", "must be an array, not an object"},
		{`{"dependsOn":[{},null]}`, "dependsOn[1]", "must be an object, not null"},
		{`{"dependsOn":[{},{"jobID":"x"}]}`, "dependsOn[1].jobID", `unknown member, did you mean "jobId"?`},
		{`{"containerOverrides":{"command":[true]}}`, "containerOverrides.command[0]", "must be a string, not true"},
		{`null`, "", "must be an object, not null"},
		{`[]`, "", "must be an object, not an array"},
		{``, "", "the JSON document is not complete"},
		{`{"jobName":"a"`, "", "the JSON document is not complete"},
		{`{"jobName":"a",}`, "", "not JSON, at byte 15: invalid character '}'"},
		{`{"jobName":"a"} {}`, "", "text after the JSON document, at byte 16"},
		{`{"jobName":"a"}x`, "", "text after the JSON document, at byte 15"},
		{"\ufeff{}", "", "not JSON, at byte 0: invalid character"},
		{"{\"jobName\":\"\xff\"}", "", "the document is not valid UTF-8"},
		{`{"jobName":"\ud83d"}`, "", "half of a surrogate pair, at byte 12"},
		{`{"jobName":"\ud83d\u0041"}`, "", "half of a surrogate pair, at byte 12"},
		{`{"jobName":"\ude00"}`, "", "half of a surrogate pair, at byte 12"},
		{`{"jobName":` + deep, "jobName", "must be a string, not an array"},
		{deep, "", "must be an object, not an array"},
	} {
		var in awsbatch.SubmitJobInput
		err := Unmarshal([]byte(c.in), &in)
		e, ok := errors.AsType[*Error](err)
		if !ok || e.Path != c.path || !strings.HasPrefix(e.Message, c.message) {
			t.Errorf("%.60s: got %v, want %s: %s", c.in, err, c.path, c.message)
		}
	}
}

func TestUnmarshalAccepts(t *testing.T) {
	got := awsbatch.SubmitJobInput{}
	text := ` {"jobName": "a \\ud83d \ud83d\ude00 \u0041", "tags": {"A": "1", "a": "2", "null": null}, "timeout": null,
		"dependsOn": [], "arrayProperties": {"size": -0}, "containerOverrides": {"command": ["\\\\u"], "environment": []}} `
	if err := Unmarshal([]byte(text), &got); err != nil {
		t.Fatal(err)
	}
	want := awsbatch.SubmitJobInput{
		JobName:         aws.String(`a \ud83d ` + "\U0001F600 A"),
		Tags:            map[string]string{"A": "1", "a": "2"},
		DependsOn:       []types.JobDependency{},
		ArrayProperties: &types.ArrayProperties{Size: aws.Int32(0)},
		ContainerOverrides: &types.ContainerOverrides{
			Command: []string{`\\u`}, Environment: []types.KeyValuePair{}},
	}
	if diff := cmp.Diff(want, got, ignoreMetadata); diff != "" {
		t.Error(diff)
	}
}

func TestUnmarshalNeedsAPointer(t *testing.T) {
	for _, v := range []any{nil, awsbatch.SubmitJobInput{}, (*awsbatch.SubmitJobInput)(nil)} {
		if err := Unmarshal([]byte("{}"), v); err == nil {
			t.Errorf("Unmarshal into %T: no error", v)
		}
	}
}

func TestMarshal(t *testing.T) {
	for _, c := range []struct {
		in   any
		want string
	}{
		{awsbatch.SubmitJobInput{}, `{}`},
		{&awsbatch.SubmitJobInput{JobName: aws.String(""), DependsOn: []types.JobDependency{}, Tags: map[string]string{}},
			`{"dependsOn":[],"jobName":"","tags":{}}`},
		{awsbatch.SubmitJobInput{Tags: map[string]string{"b": "<&>", "a": "\xff", "B": "\n"}},
			`{"tags":{"B":"\n","a":"` + "\ufffd" + `","b":"<&>"}}`},
		{types.JobDetail{Status: types.JobStatusRunnable, CreatedAt: aws.Int64(1 << 60), IsCancelled: aws.Bool(false)},
			`{"status":"RUNNABLE","createdAt":1152921504606846976,"isCancelled":false}`},
		{types.ShareAttributes{ShareIdentifier: aws.String("x"), WeightFactor: aws.Float32(0.1)},
			`{"shareIdentifier":"x","weightFactor":0.1}`},
		{struct{ M map[string][]string }{map[string][]string{"nil": nil, "empty": {}, "x": {"y"}}}, `{"m":{"empty":[],"x":["y"]}}`},
		{[]string{"a"}, `["a"]`},
	} {
		got, err := Marshal(c.in)
		if err != nil || !sameJSON(string(got), c.want) {
			t.Errorf("Marshal(%T) = %s, %v, want %s", c.in, got, err, c.want)
		}
	}
}

// sameJSON compares two documents without the order of members, which the SDK may change.
func sameJSON(a, b string) bool {
	var x, y any
	return json.Unmarshal([]byte(a), &x) == nil && json.Unmarshal([]byte(b), &y) == nil && reflect.DeepEqual(x, y)
}

func TestMarshalRefuses(t *testing.T) {
	nan := float32(0)
	nan /= nan
	for _, v := range []any{nil, (*awsbatch.SubmitJobInput)(nil), make(chan int), struct{ B []uint8 }{[]uint8{1}},
		types.ShareAttributes{WeightFactor: &nan}} {
		if got, err := Marshal(v); err == nil {
			t.Errorf("Marshal(%T) = %s, want an error", v, got)
		}
	}
}

func TestMarshalIsDeterministic(t *testing.T) {
	in := awsbatch.SubmitJobInput{Parameters: map[string]string{}}
	for _, k := range strings.Split("q w e r t y u i o p a s d f g", " ") {
		in.Parameters[k] = k
	}
	first, _ := Marshal(in)
	for range 20 {
		if again, _ := Marshal(in); string(again) != string(first) {
			t.Fatalf("%s\n%s", first, again)
		}
	}
	if want := `{"parameters":{"a":"a","d":"d","e":"e"`; !strings.HasPrefix(string(first), want) {
		t.Errorf("keys are not sorted: %s", first)
	}
}

// FuzzTokens compares the reader of tokens with that of encoding/json: both accept the same texts
// and return the same tokens.
func FuzzTokens(f *testing.F) {
	for _, s := range []string{`{}`, `[]`, `{"a":[1,-0.5e+3,true,false,null,"\u00e9\n"],"b":{}} `, `[1,]`, `{"a":1,}`, `{,}`, `[1 2]`, `{"a" 1}`, `{"a":}`, `01`, `-`, `1.`, `1e`,
		`"\x"`, "\"\n\"", `tru`, `nulll`, `[}`, `{]`, `[[[`, `"`, `"\`, `1 2`, ``, ` `, `{"a":1 "b":2}`, `{"a":1,,"b":2}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		// encoding/json refuses great depth
		if checkText([]byte(text)) != nil || strings.Count(text, "[")+strings.Count(text, "{") > 1000 {
			t.Skip()
		}
		ours := &tokens{data: []byte(text)}
		theirs := json.NewDecoder(strings.NewReader(text))
		theirs.UseNumber()
		valid := json.Valid([]byte(text))
		for depth := 0; ; {
			got, err := ours.next()
			if err != nil {
				if valid {
					t.Fatalf("%q is JSON: %v", text, err)
				}
				return
			}
			want, err := theirs.Token()
			if err != nil && valid {
				t.Fatal(err)
			}
			if err == nil {
				switch w := want.(type) {
				case json.Delim:
					if got.kind != byte(w) {
						t.Fatalf("%q: %q, want %v", text, got.kind, w)
					}
				case string:
					if got != (token{'"', w}) {
						t.Fatalf("%q: %v, want %q", text, got, w)
					}
				case json.Number:
					if got != (token{'0', string(w)}) {
						t.Fatalf("%q: %v, want %s", text, got, w)
					}
				case bool:
					if (got.kind == 't') != w {
						t.Fatalf("%q: %v, want %v", text, got, w)
					}
				case nil:
					if got.kind != 'n' {
						t.Fatalf("%q: %v, want null", text, got)
					}
				}
			}
			switch got.kind {
			case '{', '[':
				depth++
			case '}', ']':
				depth--
			}
			if depth == 0 {
				ours.blanks()
				if whole := ours.pos == len(text); whole != valid {
					t.Fatalf("%q: whole %v, valid %v", text, whole, valid)
				}
				return
			}
		}
	})
}

// FuzzUnmarshal checks that no input panics, and that accepted input means the same after Marshal
// and Unmarshal.
func FuzzUnmarshal(f *testing.F) {
	for _, s := range []string{`{}`, `{"jobName":"a","tags":{"a":null,"b":"\ud83d\ude00"}}`, `{"arrayProperties":{"size":2147483648}}`,
		`{"containerProperties":{"image":"a","resourceRequirements":[{"type":"GPU","value":"1"}]},"type":"container"}`,
		`{"schedulingPriority":-1,"retryStrategy":{"evaluateOnExit":[{}]}}`, `[[[`, `{"JobName":1e999}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, v := range []any{new(awsbatch.SubmitJobInput), new(awsbatch.RegisterJobDefinitionInput), new(awsbatch.CreateSchedulingPolicyInput)} {
			if Unmarshal(data, v) != nil {
				continue
			}
			text, err := Marshal(v)
			if err != nil {
				t.Fatalf("accepted, but not marshalled: %v", err)
			}
			again := reflect.New(reflect.TypeOf(v).Elem()).Interface()
			if err := Unmarshal(text, again); err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			if !reflect.DeepEqual(v, again) {
				t.Fatalf("%s became %s", data, text)
			}
		}
	})
}
