package results

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// printed is the Output of a log.
func printed(all bool, log string) *Output {
	o := NewOutput(all)
	o.Line(log)
	return o
}

func TestOutput(t *testing.T) {
	for name, test := range map[string]struct {
		log  string
		last string   // the last object
		all  []string // with every line
	}{
		"nothing":        {"", "", nil},
		"no object":      {"loss 3\n[1, 2]\n\"{}\"\n7\nnull\n{'a': 1}\n{\"a\": 1} done\nINFO {\"a\": 1}", "", nil},
		"a line":         {"epoch 1\n{\"loss\": 0.5}\n", `{"loss": 0.5}`, []string{`{"loss": 0.5}`}},
		"the last line":  {"{\"a\":1}\n  {\"a\":2}\r\nbye\n", `{"a":2}`, []string{`{"a":1}`, `{"a":2}`}},
		"empty object":   {"{}", `{}`, []string{`{}`}},
		"pretty":         {"start\n{\n  \"a\": {\n    \"b\": 1\n  },\n  \"c\": [\n    {\n      \"d\": 2\n    }\n  ]\n}\n\n", "{\n\"a\": {\n\"b\": 1\n},\n\"c\": [\n{\n\"d\": 2\n}\n]\n}", nil},
		"behind pretty":  {"{\n \"a\": [\n  {\"b\": 1}\n ]\n}\nsaved to /tmp/x\nWARNING: } left\n", "{\n\"a\": [\n{\"b\": 1}\n]\n}", []string{`{"b": 1}`}},
		"line later":     {"{\n \"a\": 1\n}\n{\"b\": 2}\n", `{"b": 2}`, []string{`{"b": 2}`}},
		"pretty later":   {"{\"b\": 2}\n{\n \"a\": 1\n}\n", "{\n\"a\": 1\n}", []string{`{"b": 2}`}},
		"stray braces":   {"set {\n}}}\nwith \"open quote {\n{\n{\"x\": \"}{\"\n}", "{\"x\": \"}{\"\n}", nil},
		"braces inside":  {"{\"a\": \"}\",\n\"b\\\"{\": \"\\\\\"}\n", "{\"a\": \"}\",\n\"b\\\"{\": \"\\\\\"}", nil},
		"cut off":        {"{\"a\": 1}\n{\n  \"b\": 2,\n", `{"a": 1}`, []string{`{"a": 1}`}},
		"interrupted":    {"{\"a\": 1}\n{\n  \"b\": 2,\nWARNING: hot\n  \"c\": 3\n}\n", `{"a": 1}`, []string{`{"a": 1}`}},
		"array":          {"[{\"a\": 1}]", "", nil},
		"windows":        {"{\r\n\"a\": 1\r\n}\r\n", "{\n\"a\": 1\n}", nil},
		"two in a line":  {"{\"a\":1}{\"a\":2}", "", nil},
		"no number":      {`{"a": NaN, "b": [-Infinity, Infinity], "c": "NaN \"NaN"}`, `{"a": "NaN", "b": ["-Infinity", "Infinity"], "c": "NaN \"NaN"}`, []string{`{"a": "NaN", "b": ["-Infinity", "Infinity"], "c": "NaN \"NaN"}`}},
		"pretty nan":     {"{\n\"a\": NaN\n}", "{\n\"a\": \"NaN\"\n}", nil},
		"nan elsewhere":  {"{NaNa}\nNaN\n{\"a\": NaN1}", "", nil},
		"tail of object": {"\"a\": 1}\n}", "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := printed(false, test.log).Objects()
			if want := test.last; err != nil || len(got) > 1 || strings.Join(got, "") != want {
				t.Errorf("last: %q %v, want %q", got, err, want)
			}
			got, err = printed(true, test.log).Objects()
			if err != nil || fmt.Sprint(got) != fmt.Sprint(test.all) {
				t.Errorf("all: %q %v, want %q", got, err, test.all)
			}
		})
	}
}

// slowly finds what Output finds by trying everything: of all texts of whole lines
// that are an object, the one that ends last.
func slowly(log string) string {
	lines := strings.Split(log, "\n")
	for i, line := range lines {
		lines[i] = strings.Trim(line, " \t\r")
	}
	for to := len(lines) - 1; to >= 0; to-- {
		for from := to; from >= 0; from-- {
			text := strings.Join(lines[from:to+1], "\n")
			if lines[from] == "" || lines[to] == "" {
				continue
			}
			if object, ok := asObject(text); ok {
				return object
			}
		}
	}
	return ""
}

func sameAsSlowly(t interface{ Errorf(string, ...any) }, log string) {
	got, err := printed(false, log).Objects()
	if want := slowly(log); err != nil || strings.Join(got, "") != want {
		t.Errorf("%q: found %q (%v), want %q", log, got, err, want)
	}
	all, _ := printed(true, log).Objects()
	for _, object := range all {
		if !json.Valid([]byte(object)) || object[0] != '{' || strings.Contains(object, "\n") {
			t.Errorf("%q: %q is no line that is an object", log, object)
		}
	}
}

// value draws JSON values with what is hard to tell from structure.
func value(depth int) *rapid.Generator[any] {
	word := rapid.SampledFrom([]string{"a", "{", "}", "\"", "\\", "}\n{", "[", " ", "ü", "loss"})
	leaf := rapid.OneOf(rapid.Just[any](nil), rapid.Map(rapid.IntRange(-3, 300), func(n int) any { return n }),
		rapid.Map(word, func(s string) any { return s }), rapid.Map(rapid.Bool(), func(b bool) any { return b }))
	if depth == 0 {
		return leaf
	}
	return rapid.OneOf(leaf,
		rapid.Map(rapid.SliceOfN(value(depth-1), 0, 3), func(all []any) any { return all }),
		rapid.Map(rapid.MapOfN(word, value(depth-1), 0, 3), func(m map[string]any) any { return m }))
}

// logs draws logs: noise, objects in one line and in several, and parts of them.
func logs(t *rapid.T) string {
	noise := rapid.SampledFrom([]string{"", "{", "}", "  }", "},", "\"", "[", "]", "{}", "{\"l\": NaN}", "NaN", "epoch 1", "{'a': 1}", "say \"{", "{\"a\":", "1}", "{{}}", "}{", "\\", "\r"})
	var lines []string
	for range rapid.IntRange(0, 8).Draw(t, "parts") {
		if rapid.Bool().Draw(t, "noise") {
			lines = append(lines, noise.Draw(t, "line"))
			continue
		}
		v := value(3).Draw(t, "value")
		text, _ := json.Marshal(v)
		if rapid.Bool().Draw(t, "pretty") {
			text, _ = json.MarshalIndent(v, "", rapid.SampledFrom([]string{"", "  "}).Draw(t, "indent"))
		}
		part := strings.Split(string(text), "\n")
		if rapid.IntRange(0, 4).Draw(t, "torn") == 0 {
			part = part[:rapid.IntRange(0, len(part)).Draw(t, "left")]
		}
		lines = append(lines, part...)
	}
	return strings.Join(lines, "\n")
}

func TestOutputProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { sameAsSlowly(t, logs(t)) })
}

func FuzzOutput(f *testing.F) {
	for _, seed := range []string{"", "{\n\"a\":1\n}", "x\n{\"a\":{}}\n}", "{\"a\n}", "{\n{\"b\":1}\n}\n", "{\"a\":\"\\\n\"}"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, log string) {
		if strings.Count(log, "\n") <= maxMisses { // beyond it Output may stop trying
			sameAsSlowly(t, log)
		}
	})
}

// TestOutputKeepsLittle: a long log costs a bounded memory, and hides nothing that is
// a line; several lines count near its end.
func TestOutputKeepsLittle(t *testing.T) {
	o := NewOutput(false)
	o.Line(`{"early": true}`)
	filler := strings.Repeat("x", 1000)
	for range 5000 {
		o.Line(filler)
		o.Line("")
	}
	if o.size > maxObject+2*lineCost || len(o.tail) > 3000 {
		t.Errorf("it keeps %d bytes in %d lines", o.size, len(o.tail))
	}
	if got, _ := o.Objects(); fmt.Sprint(got) != `[{"early": true}]` {
		t.Errorf("%q", got)
	}
	o.Line("{\n\"late\": 1\n}")
	for range 500 {
		o.Line(filler)
	}
	if got, _ := o.Objects(); len(got) != 1 || got[0] != "{\n\"late\": 1\n}" {
		t.Errorf("%q", got)
	}
	o.Line(`{"long": "` + strings.Repeat("x", maxObject) + `"}`)
	if got, _ := o.Objects(); len(got) != 1 || got[0] != "{\n\"late\": 1\n}" {
		t.Errorf("too long a line: %.40q", got)
	}
}

// TestOutputHostile: logs that are made to be read slowly end all the same.
func TestOutputHostile(t *testing.T) {
	for _, log := range []string{
		strings.Repeat("{\n", 40_000) + strings.Repeat("}\n", 40_000),
		strings.Repeat("{\"a\":\n", 40_000) + "x" + strings.Repeat("}\n", 40_000),
		strings.Repeat("}\n", 60_000),
		strings.Repeat("{", 200_000) + "\n" + strings.Repeat("}", 200_000),
	} {
		if got, err := printed(false, log).Objects(); len(got) != 0 || err != nil {
			t.Errorf("%.20q: %.40q %v", log, got, err)
		}
	}
}

// measured is the Output of a log with metrics.
func measured(t *testing.T, all bool, log string, list ...Metric) *Output {
	t.Helper()
	m, err := ParseMetrics(FormatMetrics(list))
	if err != nil {
		t.Fatal(err)
	}
	o := NewOutput(all)
	o.Metrics = m
	o.Line(log)
	return o
}

func TestMetrics(t *testing.T) {
	rate := Metric{"images_per_sec", "total images/sec: ([0-9.]+)"}
	any := Metric{"v", `v=(\S*)`}
	for name, test := range map[string]struct {
		metrics []Metric
		log     string
		last    string
		all     []string
	}{
		"seed":              {[]Metric{rate}, "step 1\ntotal images/sec: 321.16\nbye\n", `{"images_per_sec": 321.16}`, []string{`{"images_per_sec": 321.16}`}},
		"nothing":           {[]Metric{rate}, "images/sec: 3", "", nil},
		"the last line":     {[]Metric{rate}, "total images/sec: 1\ntotal images/sec: 2", `{"images_per_sec": 2}`, []string{`{"images_per_sec": 1}`, `{"images_per_sec": 2}`}},
		"the last match":    {[]Metric{any}, "v=1 v=2\rv=3", `{"v": 3}`, []string{`{"v": 3}`}},
		"windows":           {[]Metric{{"v", `v=(\d+)$`}}, "v=7\r\n", `{"v": 7}`, []string{`{"v": 7}`}},
		"indented":          {[]Metric{{"v", `^  v=(\d+)`}}, "  v=7", `{"v": 7}`, []string{`{"v": 7}`}},
		"no number":         {[]Metric{any}, "v=1,297\nv=0x10\nv=1_0\nv=", "", nil},
		"number, then none": {[]Metric{any}, "v=5\nv=1,297", `{"v": 5}`, []string{`{"v": 5}`}},
		"none in its line":  {[]Metric{any}, "v=5 v=x", `{"v": 5}`, []string{`{"v": 5}`}},
		"forms":             {[]Metric{any}, "v=.5\nv=1.\nv=+3\nv=007\nv=1e-3\nv=nan\nv=-inf", `{"v": "-Infinity"}`, []string{`{"v": 0.5}`, `{"v": 1}`, `{"v": 3}`, `{"v": 7}`, `{"v": 1e-3}`, `{"v": "NaN"}`, `{"v": "-Infinity"}`}},
		"beside an object":  {[]Metric{any}, "{\"a\": 1}\nv=2", `{"v": 2, "a": 1}`, []string{`{"a": 1}`, `{"v": 2}`}},
		"in an object":      {[]Metric{{"a", `"a": (\d)`}}, `{"a": 1, "b": 2}`, `{"a": 1, "a": 1, "b": 2}`, []string{`{"a": 1, "a": 1, "b": 2}`}},
		"empty object":      {[]Metric{any}, "v=2\n{ }", `{"v": 2}`, []string{`{"v": 2}`, `{ }`}},
		"pretty":            {[]Metric{any}, "v=2\n{\n\"a\": 1\n}", "{\"v\": 2, \"a\": 1\n}", []string{`{"v": 2}`}},
		"two":               {[]Metric{rate, any}, "v=2\ntotal images/sec: 3", `{"images_per_sec": 3, "v": 2}`, []string{`{"v": 2}`, `{"images_per_sec": 3}`}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := measured(t, false, test.log, test.metrics...).Objects()
			if err != nil || strings.Join(got, "") != test.last || len(got) > 0 && !json.Valid([]byte(got[0])) {
				t.Errorf("last: %q %v, want %q", got, err, test.last)
			}
			got, err = measured(t, true, test.log, test.metrics...).Objects()
			if err != nil || fmt.Sprint(got) != fmt.Sprint(test.all) {
				t.Errorf("all: %q %v, want %q", got, err, test.all)
			}
		})
	}
	if got, _ := measured(t, false, "speed 3\nspeed", Metric{"v", `speed(?: (\d))?`}).Objects(); fmt.Sprint(got) != `[{"v": 3}]` {
		t.Errorf("a group that takes no part: %q", got)
	}
	if metric, text, ok := measured(t, false, "v=1,297", any).NoNumber(); !ok || metric != "v" || text != "1,297" {
		t.Errorf("%q %q %v", metric, text, ok)
	}
}

// TestCheckExpression: each fault has the place of its part of the expression.
func TestCheckExpression(t *testing.T) {
	for expression, want := range map[string]string{
		`total images/sec: ([0-9.]+)`: "",
		`(\d+)`:                       "",
		`(?i)Loss (?P<loss>-?\d+)`:    "",
		`(?:a|b)=(.*)`:                "",
		`x([^,]+),`:                   "",
		`\(([0-9]+)\) [(] \Q(\E`:      "",
		`(\S+?)`:                      "",
		`(1|a)`:                       "",
		`no group`:                    "no group: the expression has no group for the number",
		``:                            ": the expression has no group for the number",
		`(?:\d+)`:                     `(?:\d+): the expression has no group for the number`,
		`(a)(\d+)`:                    `(\d+): the expression has 2 groups; one matches the number`,
		`[(](a) (b) (c)`:              `(b): the expression has 3 groups; one matches the number`,
		`a([a-z]+)`:                   `([a-z]+): the group cannot match a number`,
		`a()`:                         `(): the group cannot match a number`,
		`(\d+ images)`:                `(\d+ images): the group cannot match a number`,
		`(images|sec)`:                `(images|sec): the group cannot match a number`,
		`a (\d+`:                      `(: invalid regular expression: missing closing )`,
		`a \(\d+)`:                    `): invalid regular expression: unexpected )`,
		`a [0-9`:                      `[0-9: invalid regular expression: missing closing ]: [0-9`,
		`a (\d**)`:                    `**: invalid regular expression: invalid nested repetition operator: **`,
		`(?<=a)(\d+)`:                 `(?<=: invalid regular expression: look-behind: (?<=`,
		`(?!a)(\d+)`:                  `(?!: invalid regular expression: invalid or unsupported Perl syntax: (?!`,
		`(\d)\1`:                      `\1: invalid regular expression: invalid escape sequence: \1`,
		`x{2,1}(\d)`:                  `{2,1}: invalid regular expression: invalid repeat count: {2,1}`,
	} {
		got := ""
		if err := CheckExpression(expression); err != nil {
			got = expression[err.Start:err.End] + ": " + err.Message
			if err.Hint == "" {
				t.Errorf("%q: no hint", expression)
			}
		}
		if got != want {
			t.Errorf("%q:\n got %q\nwant %q", expression, got, want)
		}
	}
}

func TestCheckMetricName(t *testing.T) {
	for name, hint := range map[string]string{
		"images_per_sec": "", "val/loss": "", "top-5.acc": "", "gpu%": "", "_x": "",
		"status": "give the metric another name", "job": "give the metric another name",
		"images per sec": `did you mean "images_per_sec"?`, "a,b": `did you mean "a_b"?`, "5": `did you mean "_5"?`, "größe": `did you mean "gr__e"?`,
		"": "use letters, digits and _ - . / %, starting with a letter or an underscore", strings.Repeat("a", 65): "shorten it",
	} {
		wrong, got := CheckMetricName(name)
		if got != hint || (wrong == "") != (hint == "") {
			t.Errorf("%q: %q, hint %q, want %q", name, wrong, got, hint)
		}
	}
}

// FuzzMetrics: no log and no expression makes an object that is not JSON, or a fault outside of its text.
func FuzzMetrics(f *testing.F) {
	f.Add(`v=(\S*)`, "v=1\n{\"a\": 2}\nv=nan", true)
	f.Add(`(a`, "", false)
	f.Fuzz(func(t *testing.T, expression, log string, all bool) {
		if fault := CheckExpression(expression); fault != nil {
			if fault.Start < 0 || fault.End < fault.Start || fault.End > len(expression) {
				t.Errorf("%q: %+v", expression, fault)
			}
			return
		}
		if objects, _ := measured(t, all, log, Metric{"v", expression}).Objects(); len(objects) > 0 && !json.Valid([]byte(objects[0])) {
			t.Errorf("%q of %q", objects, log)
		}
	})
}
