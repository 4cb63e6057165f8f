package jsontree_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/batchctl/batchctl/pkg/jsontree"
)

// slips has one slip in each entry: the message, the fix, and the values that are read
// nevertheless.
var slips = []struct{ name, text, message, hint, value string }{
	{"trailing comma", `{"a": 1,}`, "trailing comma before }", "remove it", `{"a":1}`},
	{"trailing comma in array", `[1, ]`, "trailing comma before ]", "remove it", `[1]`},
	{"two trailing commas", `[1,,]`, "trailing comma before ]", "remove it", `[1]`},
	{"missing comma", `{"a": 1 "b": 2}`, "missing comma", "write a comma here", `{"a":1,"b":2}`},
	{"missing comma at line end", "{\"a\": 1\n\"b\": 2}", "missing comma", "write a comma here", `{"a":1,"b":2}`},
	{"missing comma in array", `[1 [2]]`, "missing comma", "write a comma here", `[1,[2]]`},
	{"missing comma before words", `[1 true]`, "missing comma", "write a comma here", `[1,true]`},
	{"double comma", `[1,, 2]`, "2 commas in a row", "remove one", `[1,2]`},
	{"leading comma", `{, "a": 1}`, "a comma before the first member", "remove it", `{"a":1}`},
	{"only a comma", `[,]`, "a comma without elements", "remove it", `[]`},
	{"equals sign", `{"a" = 1}`, "= in place of a colon", "write a colon", `{"a":1}`},
	{"arrow", `{"a" => 1}`, "=> in place of a colon", "write a colon", `{"a":1}`},
	{"full-width colon", `{"a"： 1}`, "： in place of a colon", "write a colon", `{"a":1}`},
	{"missing colon", `{"a" 1}`, `missing colon after "a"`, "write a colon here", `{"a":1}`},
	{"two colons", `{"a":: 1}`, "unexpected :", "remove it", `{"a":1}`},
	{"missing value", `{"a": , "b": 1}`, `"a" has no value`, "write a value after the colon", `{"b":1}`},
	{"missing last value", `{"a": }`, `"a" has no value`, "write a value after the colon", `{}`},
	{"missing value at line end", "{\"a\":\n\"b\": 1}", `"a" has no value`, "write a value after the colon", `{"b":1}`},
	{"missing colon and value", `{"a" "b": 1}`, `"a" has no value`, "write a value after the colon", `{"b":1}`},
	{"set", `{"a", "b", "c"}`, `"a" has no value`, `write "a": and the value, or use [ ] for a list`, `{}`},
	{"two values", `{"a": 1 2, "b": 3}`, "a second value for one name", "remove it, or put the values into [ ]", `{"a":1,"b":3}`},
	{"value for a value", `{"a": 1: 2, "b": 3}`, "unexpected : after a value", "end the member with a comma first", `{"a":1,"b":3}`},
	{"no name", `{: 1, "b": 2}`, "a value without a name", `write "name": before it`, `{"b":2}`},
	{"template", `{"a": {{ x }}, "b": 1}`, "{{ x }} is a placeholder, so this value is not checked", jsontree.PlaceholderHint, `{"a":"{{ x }}","b":1}`},
	{"template of three braces", `{"a": {{{x}}}, "b": 1}`, "{{{x}}} is a placeholder, so this value is not checked", jsontree.PlaceholderHint, `{"a":"{{{x}}}","b":1}`},
	{"template with a filter", `[{{ x | default('a') }}, 1]`, "{{ x | default('a') }} is a placeholder, so this value is not checked", jsontree.PlaceholderHint, `["{{ x | default('a') }}",1]`},
	{"expression", `{"a": ${{ RAM }}, "b": 1}`, "${{ RAM }} is a placeholder, so this value is not checked", jsontree.PlaceholderHint, `{"a":"${{ RAM }}","b":1}`},
	{"call", `{"a": ${jsonencode({ b = 1 })}, "b": 1}`, "${jsonencode({ b = 1 })} is a placeholder, so this value is not checked", jsontree.PlaceholderHint, `{"a":"${jsonencode({ b = 1 })}","b":1}`},
	{"part of a number", `{"a": 2${zeros}, "b": 1}`, "2${zeros} is a placeholder, so this value is not checked", jsontree.PlaceholderHint, `{"a":"2${zeros}","b":1}`},
	{"several in a value", `{"a": ${a}-${b}
}`, "${a}-${b} is a placeholder, so this value is not checked", jsontree.PlaceholderHint, `{"a":"${a}-${b}"}`},
	{"angle brackets", `{"a": <your memory>, "b": 1}`, "<your memory> is a placeholder, so this value is not checked", jsontree.PlaceholderHint, `{"a":"<your memory>","b":1}`},
	{"at signs", `[@@SIZE@@]`, "@@SIZE@@ is a placeholder, so this value is not checked", jsontree.PlaceholderHint, `["@@SIZE@@"]`},
	{"word to replace", `{"a": REPLACE_ME}`, "REPLACE_ME is a placeholder, so this value is not checked", jsontree.PlaceholderHint, `{"a":"REPLACE_ME"}`},
	{"word to do", `{"a": TODO, "b": 1}`, "TODO is a placeholder, so this value is not checked", jsontree.PlaceholderHint, `{"a":"TODO","b":1}`},
	{"members to insert", `{"a": 1, ${more}, "b": 1}`, "${more} is a placeholder, so this value is not checked", jsontree.PlaceholderHint, `{"a":1,"b":1}`},
	{"members without a comma", `{"a": 1,
  {{ more }}
  "b": 1}`, "{{ more }} is a placeholder, so this value is not checked", jsontree.PlaceholderHint, `{"a":1,"b":1}`},
	{"members in array", `["a": 1, "b": 2]`, "a member in an array: elements have no names", "write { } in place of [ ], or put { } around the members", `[{"a":1,"b":2}]`},
	{"a member after an element", `[{"a": 1}, "b": 2, "c": [3], 4]`, "a member in an array: elements have no names", "put { } around the members", `[{"a":1},{"b":2,"c":[3]},4]`},
	{"members of two elements in array", `["a": 1, "b": 2, "a": 3]`, "a member in an array: elements have no names", "put { } around the members", `[{"a":1,"b":2},{"a":3}]`},
	{"member in an array in a member", `{"a": [0, "b": {"c": [1]}], "d": 2}`, "a member in an array: elements have no names", "put { } around the members", `{"a":[0,{"b":{"c":[1]}}],"d":2}`},
	{"array that is never closed", `{"a": [0, "b": {"c": [1]}, "d": 2}`, "[ is never closed", `write ] before "b"`, `{"a":[0],"b":{"c":[1]},"d":2}`},
	{"semicolon", `{"a": 1; "b": 2}`, "; in place of a comma", "write a comma", `{"a":1,"b":2}`},
	{"trailing semicolon", `{"a": 1;}`, "trailing ; before }", "remove it", `{"a":1}`},

	{"line comment", "{\"a\": 1 // one\n}", "JSON has no comments", `remove it, or make it a member "$comment"`, `{"a":1}`},
	{"comment lines", "# one\n# two\n\n# three\n{}", "JSON has no comments", `remove it, or make it a member "$comment"`, `{}`},
	{"block comment", "{/* \"a\": 1, */}", "JSON has no comments", `remove it, or make it a member "$comment"`, `{}`},
	{"unclosed comment", `{"a": 1, /* "b": 2}`, "comment /* without */; JSON has no comments", "remove it", `{"a":1}`},

	{"single quotes", `{'a': 1}`, "a string in single quotes", `write "a"`, `{"a":1}`},
	{"apostrophe", `['it's', 2]`, "a string in single quotes", `write "it's"`, `["it's",2]`},
	{"double in single", `['say "hi"']`, "a string in single quotes", `write "say \"hi\""`, `["say \"hi\""]`},
	{"escaped in single", `['it\'s']`, "a string in single quotes", `write "it's"`, `["it's"]`},
	{"backticks", "[`a`]", "a string in backticks", `write "a"`, `["a"]`},
	{"smart quotes", `[“a”]`, "a string in typographic quotes", `write "a"`, `["a"]`},
	{"angle quotes", `[«a»]`, "a string in typographic quotes", `write "a"`, `["a"]`},
	{"half smart", `["a”]`, "the string is closed by ”", `write " in place of ”`, `["a"]`},
	{"bare quotes", `["say "hi" now", 2]`, `a bare " in a string`, `write \" inside a string`, `["say \"hi\" now",2]`},
	{"unclosed string", "{\"a\": \"abc,\n\"b\": 1}", "the string is not closed", `write " at the end`, `{"a":"abc","b":1}`},
	{"unclosed string in array", "{\"a\": [\"b\", \"c],\n\"d\": 1}", "the string is not closed", `write " at the end`, `{"a":["b","c"],"d":1}`},
	{"unclosed string with brackets", "[\"${a},\n\"b\"]", "the string is not closed", `write " at the end`, `["${a}","b"]`},
	{"unclosed string before another", `["a, "--b", "c"]`, "the string is not closed", `write " at the end`, `["a","--b","c"]`},
	{"unclosed single quote", "['a,\n2]", "the string is not closed", "write ' at the end", `["a",2]`},
	{"unclosed name", `{"a: "b", "c": 1}`, "the name is not closed", `write "a":`, `{"a":"b","c":1}`},
	{"unclosed name before number", "{\"a: 5,\n\"c\": 1}", "the string is not closed", `write " at the end`, `{"a":5,"c":1}`},
	{"unopened name", `{a": 1}`, "the name has no opening quote", `write "a"`, `{"a":1}`},
	{"unopened string", `{"a": b", "c": 1}`, "the string has no opening quote", `write "b"`, `{"a":"b","c":1}`},
	{"line break in string", "{\"a\": \"b\r\nc\nd\", \"e\": 1}", "line break in a string", `write \n in place of the line break`, `{"a":"b\r\nc\nd","e":1}`},
	{"tab in string", "[\"a\tb\tc\"]", "control character U+0009 in a string", `write \t`, `["a\tb\tc"]`},
	{"escape in string", "[\"\x1b[0m\"]", "control character U+001B in a string", `write \u001b`, `["\u001b[0m"]`},
	{"unknown escape", `["\d+\.\d"]`, `\d is not a JSON escape`, `write \\ for a backslash`, `["\\d+\\.\\d"]`},
	{"hex escape", `["\x1b"]`, `\x1b is not a JSON escape`, `write \u001b`, `["\u001b"]`},
	{"escaped apostrophe", `["it\'s"]`, `\' is not a JSON escape`, "write ' alone", `["it's"]`},
	{"short escape", `["\u12"]`, `\u needs four hexadecimal digits`, `write \u and four digits, or \\ for a backslash`, `["\\u12"]`},
	{"half a pair", `["\ud83d!"]`, `\ud83d is half of a surrogate pair`, "write both halves, or the character itself", `["�!"]`},
	{"latin-1", "[\"caf\xe9\", \"na\xefve\"]", "the text is not UTF-8: byte 0xe9", "save the file as UTF-8", `["caf�","na�ve"]`},

	{"unquoted name", `{a: 1}`, "the name a has no quotes", `write "a"`, `{"a":1}`},
	{"hyphenated name", `{job-name: 1}`, "the name job-name has no quotes", `write "job-name"`, `{"job-name":1}`},
	{"number as name", `{1: 2}`, "the name 1 has no quotes", `write "1"`, `{"1":2}`},
	{"word in object", `{name "a", "b": 1}`, "name is not a member", `write "name": value`, `{"b":1}`},
	{"word", `[abc]`, "abc is not a JSON value", `put it in double quotes: "abc"`, `["abc"]`},
	{"words", `{"a": python run.py --fast, "b": 1}`, "python run.py --fast is not a JSON value", `put it in double quotes: "python run.py --fast"`, `{"a":"python run.py --fast","b":1}`},
	{"image", `{"a": nginx:latest}`, "nginx:latest is not a JSON value", `put it in double quotes: "nginx:latest"`, `{"a":"nginx:latest"}`},
	{"address", `{"a": s3://b/c, "d": 1}`, "s3://b/c is not a JSON value", `put it in double quotes: "s3://b/c"`, `{"a":"s3://b/c","d":1}`},
	{"variable", `{"a": ${HOME}/x}`, "${HOME}/x is a placeholder, so this value is not checked", jsontree.PlaceholderHint, `{"a":"${HOME}/x"}`},
	{"variable in a location", `["a", s3://${BUCKET}/x]`, "s3://${BUCKET}/x is a placeholder, so this value is not checked", jsontree.PlaceholderHint, `["a","s3://${BUCKET}/x"]`},
	{"path", `["a", ./run.sh]`, "./run.sh is not a JSON value", `put it in double quotes: "./run.sh"`, `["a","./run.sh"]`},
	{"unit", `{"a": 30 GiB, "b": 1}`, "30 GiB is not a JSON value", `put it in double quotes: "30 GiB"`, `{"a":"30 GiB","b":1}`},
	{"duration", `{"a": 2h}`, "2h is not a JSON value", `put it in double quotes: "2h"`, `{"a":"2h"}`},
	{"date", `[2024-01-02]`, "2024-01-02 is not a JSON value", `put it in double quotes: "2024-01-02"`, `["2024-01-02"]`},
	{"True", `[True]`, "True is not a JSON keyword", "write true", `[true]`},
	{"FALSE", `[FALSE]`, "FALSE is not a JSON keyword", "write false", `[false]`},
	{"None", `[None]`, "None is not a JSON keyword", "write null", `[null]`},
	{"nil", `[nil]`, "nil is not a JSON keyword", "write null", `[null]`},
	{"undefined", `[undefined]`, "undefined is not a JSON keyword", "write null", `[null]`},
	{"NaN", `[NaN]`, "JSON has no NaN", "write a number", `[null]`},
	{"Infinity", `[-Infinity]`, "JSON has no -Infinity", "write a number", `[null]`},

	{"leading zero", `[007]`, "a number cannot have a leading zero", "write 7", `[7]`},
	{"zeros", `[-00.5]`, "a number cannot have a leading zero", "write -0.5", `[-0.5]`},
	{"plus", `[+1]`, "a number cannot start with +", "write 1", `[1]`},
	{"hexadecimal", `[-0x1F]`, "-0x1F is not decimal", "write -31", `[-31]`},
	{"octal", `[0o17]`, "0o17 is not decimal", "write 15", `[15]`},
	{"point first", `[.5]`, "a number must start with a digit", "write 0.5", `[0.5]`},
	{"point last", `[1.]`, "digits must follow the point", "write 1", `[1]`},
	{"point and exponent", `[1.e3]`, "digits must follow the point", "write 1e3", `[1e3]`},
	{"exponent", `[1e+]`, "digits must follow the exponent sign e", "write 1", `[1]`},
	{"underscore", `[1_000]`, "a number cannot contain _", "write 1000", `[1000]`},

	{"no-break spaces", "{\u00a0\u00a0\"a\": 1}", "space U+00A0 outside a string", "write an ordinary space", `{"a":1}`},
	{"zero-width space", "{\u200b\"a\": 1}", "invisible character U+200B outside a string", "remove it", `{"a":1}`},
	{"second byte order mark", "{}\ufeff", "invisible character U+FEFF outside a string", "remove it", `{}`},
	{"parentheses", `{"a": (1, 2)}`, "( ) are not JSON brackets", "write [ ] in place of ( )", `{"a":[1,2]}`},

	{"wrong bracket", `{"a": [1, 2}, "b": 3}`, "} cannot close the [ of line 1", "write ]", `{"a":[1,2],"b":3}`},
	{"wrong last bracket", `{"a": 1]`, "] cannot close the { of line 1", "write }", `{"a":1}`},
	{"wrong bracket by indentation", "{\n  \"a\": [\n    1\n  },\n  \"b\": 2\n}", "} cannot close the [ of line 2", "write ]", `{"a":[1],"b":2}`},
	{"lost bracket", `{"a": [1, 2}`, "[ is never closed", "write ] before the } on line 1", `{"a":[1,2]}`},
	{"lost bracket by indentation", "{\n  \"a\": [\n    1\n}", "[ is never closed", "write ] before the } on line 4", `{"a":[1]}`},
	{"lost bracket before member", `{"a": [1, 2, "b": 3}`, "[ is never closed", `write ] before "b"`, `{"a":[1,2],"b":3}`},
	{"lost brace inside", "{\n  \"a\": {\n    \"b\": 1,\n  \"c\": {\n    \"d\": 2\n  }\n}\n", "{ is never closed", `write } before "c"`, `{"a":{"b":1},"c":{"d":2}}`},
	{"lost bracket inside", "{\n  \"a\": [\n    1,\n    2\n  ,\n  \"c\": 3\n}\n", "[ is never closed", `write ] before "c"`, `{"a":[1,2],"c":3}`},
	{"lost brace of an element", "[\n  {\n    \"a\": 1,\n  {\n    \"b\": 2\n  }\n]\n", "{ is never closed", "write } before {", `[{"a":1},{"b":2}]`},
	{"lost brace before object", `[{"a": 1, {"b": 2}]`, "{ is never closed", "write } before {", `[{"a":1},{"b":2}]`},
	{"lost opening brace", `{"a":  "b": 1, "c": 2}, "d": 3}`, "{ is missing", "write { here", `{"a":{"b":1,"c":2},"d":3}`},
	{"lost opening brace of an element", `{"a": [{"b": 1},  "b": 2}]}`, "{ is missing", "write { here", `{"a":[{"b":1},{"b":2}]}`},
	{"lost opening bracket", `{"a":  "b", "c"], "d": 3}`, "[ is missing", "write [ here", `{"a":["b","c"],"d":3}`},
	{"lost opening bracket of objects", `{"a":  {"b": 1}, {"b": 2}], "d": 3}`, "[ is missing", "write [ here", `{"a":[{"b":1},{"b":2}],"d":3}`},
	{"brace that closes too much", "{\n  \"a\": {\n    \"b\": {\"c\": 1}},\n    \"d\": 2\n  },\n  \"e\": 3\n}", "} closes too much", "remove it", `{"a":{"b":{"c":1},"d":2},"e":3}`},
	{"brace twice before a line with one", "{\n  \"a\": {\n    \"b\": {\"c\": 1}}\n  },\n  \"e\": 3\n}", "} closes too much", "remove it", `{"a":{"b":{"c":1}},"e":3}`},
	{"stray bracket", `{"a": [1]], "b": 2}`, "] closes nothing", "remove it", `{"a":[1],"b":2}`},
	{"extra bracket", `{"a": 1}}`, "} closes nothing", "remove it, or an earlier bracket that closes too much", `{"a":1}`},
	{"truncated", "{\"a\": [1,\n  {\"b\": \"c\",", "{ is never closed, nor are the 2 brackets around it: the text ends at line 2, column 13", "write }]} at the end", `{"a":[1,{"b":"c"}]}`},
	{"truncated value", `[{"a":`, "{ is never closed, nor is the bracket around it: the text ends at line 1, column 7", "write }] at the end", `[{}]`},
	{"two documents", `{"a": 1} {"b": 2}`, "a second document begins here", "keep one document per file", `{"a":1}`},
	{"comma after the end", `{"a": 1}, "b": 2}`, ", after the end of the document", "remove it and what follows, or an earlier bracket that closes too much", `{"a":1}`},
	{"text after the end", `{"a": 1} done`, "text after the end of the document", "remove it, or an earlier bracket that closes too much", `{"a":1}`},
	{"duplicate name", "{\"a\": 1,\n\"\\u0061\": 2}", `"a" appears twice, first on line 1`, "keep one of the two", `{"a":1,"a":2}`},

	{"empty", "", "the file is empty", `write a job: { "name": …, "image": …, "command": […] }`, ""},
	{"blanks", " \n\t\n", "the file is empty", `write a job: { "name": …, "image": …, "command": […] }`, ""},
	{"conflict", "<<<<<<< HEAD\n{}\n=======\n[]\n>>>>>>> theirs\n", "a merge conflict that is not resolved", "choose one of the two sides and remove the markers", `{}`},
	{"conflict within", "{ \"a\": 1,\r\n<<<<<<< HEAD\r\n\"b\": 2\r\n||||||| base\r\n=======\r\n\"é\": 3\r\n>>>>>>> theirs\r\n}", "a merge conflict that is not resolved", "choose one of the two sides and remove the markers", `{"a":1,"b":2}`},
	{"first half of a conflict", "<<<<<<< HEAD\n{}\n", "the marker of a merge conflict", "remove it", ""},
	{"half a conflict", "{}\n>>>>>>> theirs\n", "text after the end of the document", "remove it, or an earlier bracket that closes too much", `{}`},
	{"unopened", `]`, "] closes nothing", "remove it, or an earlier bracket that closes too much", ""},
	{"no braces", `"a": 1, "b": 2`, "a member outside an object", "write { before it and } at the end", ""},
	{"utf-16 with mark", "\xff\xfe{\x00}\x00", "the text is UTF-16 or UTF-32", "save it as UTF-8", ""},
	{"utf-16 without mark", "{\x00}\x00", "the text is UTF-16", "save it as UTF-8", ""},
	{"yaml", "# a job\nname: a\ncommand:\n  - b\n", "this is YAML, not JSON", `write it as JSON: { "name": "value" }`, ""},
	{"yaml document", "---\na: b\n", "this is YAML, not JSON", `write it as JSON: { "name": "value" }`, ""},
	{"toml", "[job]\nname = \"a\"\n", "this is TOML or INI, not JSON", `write it as JSON: { "name": "value" }`, ""},
	{"html", "<!doctype html>", "this is XML or HTML, not JSON", "name a JSON file", ""},
	{"script", "#!/bin/sh\necho {}", "this is a script, not JSON", "name a JSON file", ""},
	{"prose", "Hello all, this is a letter.", "this is not JSON", "begin with { or name another file", ""},
}

func TestSlips(t *testing.T) {
	for _, c := range slips {
		t.Run(c.name, func(t *testing.T) {
			root, list := parse(c.text)
			checkSpans(t, c.text, root, list)
			if len(list) != 1 {
				t.Fatalf("%d messages for one slip: %v", len(list), list)
			}
			if list[0].Message != c.message || list[0].Hint != c.hint {
				t.Errorf("got  %s (%s)\nwant %s (%s)", list[0].Message, list[0].Hint, c.message, c.hint)
			}
			if value := string(root.AppendJSON(nil)); value != c.value && (root != nil || c.value != "") {
				t.Errorf("understood as %s, want %s", value, c.value)
			}
		})
	}
}

// TestIndependentSlips puts several slips into one file, and checks that each gets its
// message on its line, and that none causes another message.
func TestIndependentSlips(t *testing.T) {
	members := []string{
		`%q: 1,,`, `%q: 1`, `%q = 1,`, `%q => 1,`, `%q 1,`, `%q: ,`, `%q:: 1,`, `%q: 1 // one` + "\n,", `%q: /* one */ 1,`,
		`%q: 'a',`, "%q: `a`,", `%q: “a”,`, `%q: "a”,`, `%q: "say "hi" now",`, `%q: "abc,`, `%q: ["a", "b],`, `%q: a",`,
		"%q: \"a\nb\",", "%q: \"a\tb\",", `%q: "\d\d",`, `%q: "\u12",`, `%q: "\ud800",`, `%q: word,`, `%q: two words,`,
		`%q: nginx:latest,`, `%q: None,`, `%q: 007,`, `%q: +1,`, `%q: 0x1F,`, `%q: .5,`, `%q: 1.,`, `%q: 1e,`, `%q: 1;`,
		`%q: [1,],`, `%q: [1 2],`, `%q: [,1],`, `%q: {"x": 1,},`, `%q: {x: 1},`, `%q: (1),`, "%q:\u00a01,", `%q: 30 GiB,`,
		"%q: [\n  1\n },", "%q: {\n  \"x\": 1\n ],", `%q: 1 2,`, `%q: ["a": 1],`,
	}
	rapid.Check(t, func(t *rapid.T) {
		chosen := rapid.SliceOfN(rapid.SampledFrom(members), 1, 20).Draw(t, "members")
		var b strings.Builder
		b.WriteString("{\n")
		for i, m := range chosen {
			fmt.Fprintf(&b, " "+m+"\n", fmt.Sprintf("m%d", i))
		}
		b.WriteString(" \"last\": true\n}\n")
		root, list := parse(b.String())
		if len(list) != len(chosen) {
			t.Fatalf("%d messages for %d slips in\n%s%v", len(list), len(chosen), b.String(), list)
		}
		if !root.Get("last").Is(jsontree.Bool) {
			t.Fatalf("the last member is lost: %s", root.AppendJSON(nil))
		}
	})
}
