package yamltree

import (
	"fmt"
	"strings"
	"testing"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

func parse(t testing.TB, text string) (*jsontree.Node, diag.List) {
	t.Helper()
	return Parse(diag.NewSource("t.yaml", text))
}

// YAML has the same value as its JSON, with functions in their long form.
func TestForms(t *testing.T) {
	for text, want := range map[string]string{
		"a: 1":                                                      `{"a":1}`,
		"\ufeffa: 1\r\nb: [x, 'y']\r\n":                             `{"a":1,"b":["x","y"]}`,
		"Version: 2012-10-17":                                       `{"Version":"2012-10-17"}`,
		"a: yes\nb: Off\nc: y\nd: 'no'":                             `{"a":true,"b":false,"c":"y","d":"no"}`,
		"a: 010\nb: 0x1F\nc: 08\nd: 1_000":                          `{"a":8,"b":31,"c":"08","d":1000}`,
		"a: 1.50\nb: .5\nc: 5.\nd: 1e3\ne: +7":                      `{"a":1.50,"b":0.5,"c":5.0,"d":1e3,"e":7}`,
		"a: 012345678901\nb: 1:30\nc: .inf":                         `{"a":"012345678901","b":"1:30","c":".inf"}`,
		"a:\nb: ~\nc: null":                                         `{"a":null,"b":null,"c":null}`,
		"012345678901: a\nyes: b":                                   `{"012345678901":"a","yes":"b"}`,
		"a: !Ref B":                                                 `{"a":{"Ref":"B"}}`,
		"a: !Condition B":                                           `{"a":{"Condition":"B"}}`,
		"a: !GetAtt B.Outputs.C":                                    `{"a":{"Fn::GetAtt":["B","Outputs.C"]}}`,
		"a: !GetAtt [B, !Ref C]":                                    `{"a":{"Fn::GetAtt":["B",{"Ref":"C"}]}}`,
		"a: !If [X, !Sub '${Y}', !Ref 'AWS::NoValue']":              `{"a":{"Fn::If":["X",{"Fn::Sub":"${Y}"},{"Ref":"AWS::NoValue"}]}}`,
		"a: !Join\n  - ','\n  - - !Sub x\n    - z":                  `{"a":{"Fn::Join":[",",[{"Fn::Sub":"x"},"z"]]}}`,
		"a:\n  Fn::Base64: !Sub |\n    #!/bin/bash\n    echo é\n":   `{"a":{"Fn::Base64":{"Fn::Sub":"#!/bin/bash\necho é\n"}}}`,
		"a: !Sub\n  - ${x}\n  - x: !ImportValue y":                  `{"a":{"Fn::Sub":["${x}",{"x":{"Fn::ImportValue":"y"}}]}}`,
		"a: &x [1, 2]\nb: *x":                                       `{"a":[1,2],"b":[1,2]}`,
		"a: &x {k: 1, l: 2}\nb:\n  <<: *x\n  k: 3\n":                `{"a":{"k":1,"l":2},"b":{"k":3,"l":2}}`,
		"a: &x !Sub y\nb: !If [c, *x, 2]":                           `{"a":{"Fn::Sub":"y"},"b":{"Fn::If":["c",{"Fn::Sub":"y"},2]}}`,
		"a: !Ref 2\nb: !!str 3\nc: ! 4":                             `{"a":{"Ref":"2"},"b":"3","c":"4"}`,
		"a: >-2\n    x\n   y\nb: |+\n  z\n\nc: \"p\\\n  q\\u00e9\"": `{"a":"  x\n y","b":"z\n\n","c":"pqé"}`,
		`{"a": ["\ud83d\/", 1]}`:                                    ``, // half of a pair, as JSON may have it
		"- - a\n  - b\n-\n- c: 1\n  d: 2\n":                         `[["a","b"],null,{"c":1,"d":2}]`,
		"a: |\n\n\n  x\n":                                           `{"a":"\n\nx\n"}`,
		"? a\n: b":                                                  `{"a":"b"}`,
		"--- # x\na: 1\n...\n":                                      `{"a":1}`,
	} {
		n, problems := parse(t, text)
		if want == "" {
			if n != nil || !problems.HasErrors() {
				t.Errorf("%q is taken: %s", text, n.AppendJSON(nil))
			}
			continue
		}
		if got := string(n.AppendJSON(nil)); got != want || len(problems) > 0 {
			t.Errorf("%q:\n got %s %v\nwant %s", text, got, problems, want)
		}
		checkPlaces(t, text, n)
	}
}

// checkPlaces checks that every location is inside the text, and that each letter of every
// string is at its location.
func checkPlaces(t testing.TB, text string, n *jsontree.Node) {
	t.Helper()
	if n == nil {
		return
	}
	if n.Span.Start < 0 || n.Span.End < n.Span.Start || n.Span.End > len(text) || n.Key.End > len(text) || n.Key.End < n.Key.Start {
		t.Fatalf("%q: %s at %v, key %v", text, n.AppendJSON(nil), n.Span, n.Key)
	}
	at := ByteSpans(n)
	if n.Is(jsontree.String) && len(at) != len(n.Text) {
		t.Fatalf("%q: %d places for %q", text, len(at), n.Text)
	}
	for i, span := range at {
		if span.Start < 0 || span.End > len(text) || i > 0 && span.Start < at[i-1].Start {
			t.Fatalf("%q: letter %d of %q at %v", text, i, n.Text, span)
		}
	}
	for c := range n.Children() {
		checkPlaces(t, text, c)
	}
}

// Each part of a document has its location: the value with its tag, the key with its
// quotes.
func TestSpans(t *testing.T) {
	const text = "# é\n" +
		"\"ké\": &a !Sub   'x'\n" +
		"b: !GetAtt Long.Arn   # why\n" +
		"c:\n" +
		"- é: {x: 1, y: [ 2 ,3 ] }\n" +
		"  z: >\n" +
		"     fold\n" +
		"     ed\n" +
		"\n" +
		"d: *a\n" +
		"e: plain\n" +
		"  text\n" +
		"f: []\n"
	n, problems := parse(t, text)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	cut := func(s diag.Span) string { return text[s.Start:s.End] }
	for _, tt := range []struct {
		path       []string
		value, key string
	}{
		{[]string{"ké"}, "!Sub   'x'", `"ké"`},
		{[]string{"ké", "Fn::Sub"}, "'x'", "!Sub"},
		{[]string{"b"}, "!GetAtt Long.Arn", "b"},
		{[]string{"b", "Fn::GetAtt", "0"}, "Long", ""},
		{[]string{"b", "Fn::GetAtt", "1"}, "Arn", ""},
		{[]string{"c"}, "- é: {x: 1, y: [ 2 ,3 ] }\n  z: >\n     fold\n     ed", "c"},
		{[]string{"c", "0", "é"}, "{x: 1, y: [ 2 ,3 ] }", "é"},
		{[]string{"c", "0", "é", "y"}, "[ 2 ,3 ]", "y"},
		{[]string{"c", "0", "z"}, ">\n     fold\n     ed", "z"},
		{[]string{"d"}, "!Sub   'x'", "d"},
		{[]string{"e"}, "plain\n  text", "e"},
		{[]string{"f"}, "[]", "f"},
	} {
		at := n.At(tt.path...)
		if cut(at.Span) != tt.value || cut(at.Key) != tt.key {
			t.Errorf("%v: %q, key %q", tt.path, cut(at.Span), cut(at.Key))
		}
	}
}

// The letters of a block are after its indentation.
func TestPlacesInBlocks(t *testing.T) {
	for _, tt := range []struct{ text, find string }{
		{"a:\n  b: |\n    #!/bin/sh\n\n      indented\n    systemctl start ecs\n", "systemctl start ecs"},
		{"a:\r\n  b: |\r\n    #!/bin/sh\r\n    systemctl start ecs\r\n", "systemctl start ecs"},
		{"a:\n  b: |2-\n      deep\n    systemctl start ecs", "systemctl start ecs"},
		{"a: >\n  one\n  systemctl start ecs\n  two\n", "systemctl start ecs"},
		{"a: \"one\n  systemctl start ecs\\n\n  two\"\n", "systemctl start ecs"},
		{"a: 'it''s\n\n  systemctl start ecs'\n", "systemctl start ecs"},
		{"a: one\n  systemctl start ecs\n", "systemctl start ecs"},
		{"- |\n  é😀\n  systemctl start ecs", "systemctl start ecs"},
	} {
		n, problems := parse(t, tt.text)
		if len(problems) > 0 {
			t.Fatalf("%q: %v", tt.text, problems)
		}
		found := false
		var walk func(n *jsontree.Node)
		walk = func(n *jsontree.Node) {
			if i := strings.Index(n.Text, tt.find); i >= 0 {
				at := ByteSpans(n)
				found = at[i].Start == strings.Index(tt.text, tt.find) && at[i+len(tt.find)-1].End == at[i].Start+len(tt.find)
			}
			for c := range n.Children() {
				walk(c)
			}
		}
		if walk(n); !found {
			t.Errorf("%q: the letters are elsewhere", tt.text)
		}
	}
}

// Of two members with the same name the last one stays, with a warning, as in CloudFormation.
func TestTwice(t *testing.T) {
	many := strings.Repeat("x: 1\n", maxErrors+10)
	root, problems := parse(t, "a: {b: 1, c: 2, b: [3]}\n\"a\": {b: 4, b: {d: 5, d: 6}}\n"+many)
	if got := string(root.AppendJSON(nil)); got != `{"a":{"b":{"d":6}},"x":1}` || problems.HasErrors() || len(problems) != maxErrors {
		t.Errorf("%s: %v", got, problems)
	}
	want := `t.yaml:1:17: warning: "b" is given twice, first on line 1; CloudFormation uses this one [yaml-duplicate-key]`
	if got := problems[0]; got.Error() != want || got.Hint != "keep one of the two" {
		t.Error(got.Error(), got.Hint)
	}
}

// Each problem has its line and column, and a hint.
func TestRefused(t *testing.T) {
	laughs := "a: &a [x,x,x,x,x,x,x,x,x]\n"
	for c := 'b'; c <= 'j'; c++ {
		laughs += fmt.Sprintf("%c: &%c [%s]\n", c, c, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*%c,", c-1), 9), ","))
	}
	for _, tt := range []struct{ name, text, want string }{
		{"tab", "a:\n\tb: 1\n", "t.yaml:2:1: a tab indents this line [yaml-syntax] | indent with spaces: YAML does not allow tabs there"},
		{"conflict", "a:\n<<<<<<< HEAD\n  b: 1\n=======\n  b: 2\n>>>>>>> theirs\n", "t.yaml:2:1: a merge conflict that is not resolved [yaml-syntax] | choose one of the two sides and remove the markers"},
		{"two documents", "a: 1\n---\nb: 2\n", "t.yaml:2:1: a second document begins here [yaml-syntax] | put each template into a file of its own"},
		{"laughs", laughs, "t.yaml:6:14: more values than"},
		{"itself", "a: &x [1, *x]\n", "t.yaml:1:11: the value of &x contains itself [yaml-syntax]"},
		{"no anchor", "a: *x\n", "t.yaml:1:"},
		{"deep", strings.Repeat("[", 5000), "nested deeper than 100 levels"},
		{"deep block", deepBlock(150), "nested deeper than 100 levels"},
		{"long", strings.Repeat("# comment\n", maxBytes/10+1), "longer than 4 MiB"},
		{"utf-16", "a\x00:\x00", "NUL byte"},
		{"latin-1", "a: caf\xe9\n", "t.yaml:1:7: the text is not UTF-8: byte 0xe9"},
		{"unknown", "a: !GetAt b\n", "t.yaml:1:4: CloudFormation has no function !GetAt [yaml-tag] | write !GetAtt"},
		{"binary", "a: !!binary aGk=\n", "t.yaml:1:4: CloudFormation does not accept the tag !!binary [yaml-tag] | remove it"},
		{"complex key", "? [a, b]\n: c\n", "t.yaml:1:3: a list or an object cannot be the name of a member [yaml-syntax]"},
		{"colon", "a: b: c\n", "t.yaml:1:5: mapping values are not allowed"},
		{"quote", "a: \"b\nc: d\n", "t.yaml:1:4: the quote or bracket here is not closed [yaml-syntax] | add the closing quote or bracket"},
		{"bracket", "a:\n  b: {c: d\n", "t.yaml:2:6: the quote or bracket here is not closed [yaml-syntax] | add the closing quote or bracket"},
		{"merge", "a: &x 1\nb:\n  <<: *x\n", "<< merges an object, not a number"},
	} {
		_, problems := parse(t, tt.text)
		var got strings.Builder
		for _, d := range problems {
			fmt.Fprintf(&got, "%s | %s\n", d.Error(), d.Hint)
		}
		if !problems.HasErrors() || !strings.Contains(got.String(), tt.want) {
			t.Errorf("%s: %s", tt.name, got.String())
		}
	}
	if _, problems := parse(t, laughs); !strings.Contains(problems[0].Message, "aliases") {
		t.Errorf("billion laughs: %v", problems)
	}
}

func deepBlock(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.Repeat(" ", i) + "a:\n")
	}
	return b.String()
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{"a: !Sub |\n  x\n", "- >+\n\n  a\n   b\n\n", "a: \"x\\\n  y\\x41\"", "{a: &x [*x], ? b : c}", "a: &b\n  <<: *b\n", "\ufeff%YAML 1.1\n---\n- 'it''s\n\n  two'\n", "a: \u2028\u0085b",
		"k: |1-\n  a\n \n", "!Ref a: !GetAtt b.c", "a: -\n", "- &a !If [*a]\n", "a:\r\n  - b\r\n"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		n, problems := parse(t, text)
		if n == nil && len(problems) == 0 {
			if strings.Trim(text, " \t\r\n") != "" && !strings.ContainsAny(text, "#-.%\ufeff\u0085\u2028\u2029") {
				t.Fatalf("%q: neither a tree nor a problem", text)
			}
			return
		}
		for _, d := range problems {
			if d.Span.Start < 0 || d.Span.End < d.Span.Start || d.Span.End > len(text) {
				t.Fatalf("%q: problem at %v", text, d.Span)
			}
		}
		checkPlaces(t, text, n)
	})
}

func BenchmarkParse(b *testing.B) {
	var text strings.Builder
	text.WriteString("Resources:\n")
	for i := 0; text.Len() < 1<<20; i++ {
		fmt.Fprintf(&text, "  Host%d:\n    Type: AWS::EC2::LaunchTemplate\n    Properties:\n      LaunchTemplateData:\n        InstanceType: !Ref Type\n        UserData:\n          Fn::Base64: !Sub |\n            #!/bin/bash\n            echo ${AWS::Region} >> /etc/ecs/ecs.config\n", i)
	}
	b.SetBytes(int64(text.Len()))
	b.ReportAllocs()
	for b.Loop() {
		if _, problems := parse(b, text.String()); len(problems) > 0 {
			b.Fatal(problems)
		}
	}
}

// A value in a line of any length and with any characters has the right location, and
// finding it does not take longer the further away it is.
func TestLongLine(t *testing.T) {
	text := "a: [" + strings.Repeat("é, ", 60000) + "{last: here}]\nb: [end]\n"
	n, problems := parse(t, text)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	for _, tt := range []struct {
		n    *jsontree.Node
		want string
	}{{n.Get("a").Index(59999), "é"}, {n.Get("a").Index(60000).Get("last"), "here"}, {n.At("b", "0"), "end"}} {
		if got := text[tt.n.Span.Start:tt.n.Span.End]; got != tt.want {
			t.Errorf("%q is at %v, which is %q", tt.want, tt.n.Span, got)
		}
	}
}
