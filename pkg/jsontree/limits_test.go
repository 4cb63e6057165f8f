package jsontree_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// TestHostile reads long texts that would take minutes if the time of any part grew with
// the square of the length, and gigabytes if the tree or the list had no limit. The
// deadline of the test measures it.
func TestHostile(t *testing.T) {
	const size = 1 << 20
	for _, c := range []struct{ before, unit, after string }{
		{"", "[", ""}, {"", "{", ""}, {"", `{"a":`, ""}, {"", "]", ""}, {"[", "}", ""}, {"{{", "]null", ""}, {"{[", "}[", ""},
		{"", `"a":1,`, ""}, {"{", `"a":1,`, ""}, {"{", `"a",`, ""}, {"{", `"a" `, ""}, {"{", "a ", ""}, {"[", "a ", ""},
		{"", "//", ""}, {"", "//\n", ""}, {"[", "1//\n,", ""}, {"[", "/**/", ""}, {"[", "/*", ""}, {"", "#", ""},
		{"[", ",", ""}, {"[", "1 ", ""}, {"[1 ", ":", ""}, {"[", `""`, ""}, {"[", `"a"b`, ""}, {"[", "'a'b", ""}, {"[", "“\n", ""},
		{`["`, "}", ""}, {`["`, "\n", `"]`}, {`["`, "\n", ""}, {`["`, `\`, ""}, {`["`, `\ud800`, `"]`}, {`["`, "\xff", `"]`},
		{"[", "\xff", ""}, {"[", "\x00", ""}, {"[", "\u00a0", ""}, {"[", "1e", ""}, {"[", "0", ""}, {"[", "0x", ""}, {"[", "(", ""},
		{"[", "a:b", ""}, {"[", "${", ""}, {"[", "a b:", ""}, {"[", "{}{", ""}, {"[", "[\n]", ""}, {"[", "{\n", ""},
	} {
		text := c.before + strings.Repeat(c.unit, size/len(c.unit)) + c.after
		root, list := parse(text)
		if len(list) == 0 || len(list) > 51 {
			t.Errorf("%q + n x %q: %d messages", c.before, c.unit, len(list))
		}
		checkSpans(t, text, root, list)
	}
}

func TestDepthIsOneMessage(t *testing.T) {
	_, list := parse(strings.Repeat("[", 1<<20))
	if len(list) != 1 || list[0].Message != "nested deeper than 100 levels" || list[0].Span.Start != 100 {
		t.Errorf("got %v", list)
	}
}

func TestSizeIsOneMessage(t *testing.T) {
	_, list := parse("[" + strings.Repeat(" ", 16<<20) + "]")
	if len(list) != 1 || list[0].Message != "the file is larger than 16 MiB" {
		t.Errorf("got %v", list)
	}
	if _, list := parse("[" + strings.Repeat(" ", 16<<20-2) + "]"); len(list) != 0 {
		t.Errorf("16 MiB exactly: %v", list)
	}
}

func TestValuesAreBounded(t *testing.T) {
	_, list := parse("[" + strings.Repeat("0,", 1<<20) + "0]")
	if len(list) != 1 || list[0].Message != "more than 1048576 values" {
		t.Errorf("got %v", list)
	}
}

func TestListIsCapped(t *testing.T) {
	root, list := parse("[" + strings.Repeat("\n01,", 200) + "\n1]")
	if len(list) != 51 {
		t.Fatalf("%d messages", len(list))
	}
	if last := list[50]; last.Message != "too many errors; the rest of the file was not read" {
		t.Errorf("the last message is %v", last)
	}
	if root.Len() < 50 {
		t.Errorf("only %d elements understood", root.Len())
	}
}

// TestManyMembers checks that Parse finds one duplicate among 100,000 names.
func TestManyMembers(t *testing.T) {
	var b strings.Builder
	b.WriteString("{\n")
	for i := range 100_000 {
		fmt.Fprintf(&b, "\"m%d\": %d,\n", i, i)
	}
	b.WriteString("\"m777\": 0, \"m99999\": 0, \"m777\": 1}")
	root, list := parse(b.String())
	if root.Len() != 100_003 {
		t.Errorf("%d members", root.Len())
	}
	want := []string{`"m777" appears twice, first on line 779`, `"m99999" appears twice, first on line 100001`, `"m777" appears twice, first on line 779`}
	for i, d := range list {
		if i >= len(want) || d.Message != want[i] || d.Rule != "json-duplicate-name" {
			t.Errorf("message %d: %v", i, d)
		}
	}
	if len(list) != len(want) {
		t.Errorf("%d messages, want %d", len(list), len(want))
	}
}

// jobFile returns a job file of about 5 KB.
func jobFile() string {
	var b strings.Builder
	b.WriteString("{\n  \"name\": \"resnet-train\",\n  \"image\": \"123456789012.dkr.ecr.us-east-1.amazonaws.com/train:1.4.0\",\n")
	b.WriteString("  \"command\": [\"python\", \"train.py\", \"--epochs\", \"Ref::epochs\"],\n  \"environment\": {\n")
	for i := range 60 {
		fmt.Fprintf(&b, "    \"SETTING_%02d\": \"s3://data/experiment-%d/part\",\n", i, i)
	}
	b.WriteString("    \"LAST\": \"a \\\"quoted\\\" one\"\n  },\n  \"retryStrategy\": {\"attempts\": 3, \"evaluateOnExit\": [\n")
	for i := range 20 {
		fmt.Fprintf(&b, "    {\"onExitCode\": \"%d\", \"onReason\": \"Host EC2*\", \"action\": \"RETRY\"},\n", i)
	}
	b.WriteString("    {\"onReason\": \"*\", \"action\": \"EXIT\"}]},\n  \"resources\": {\"vcpus\": 8, \"memory\": 30720, \"gpus\": 1.0}\n}\n")
	return b.String()
}

func BenchmarkParse(b *testing.B) {
	text := jobFile()
	b.Run("jsontree", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(len(text)))
		src := diag.NewSource("job.json", text)
		for b.Loop() {
			if _, list := jsontree.Parse(src); len(list) != 0 {
				b.Fatal(list)
			}
		}
	})
	b.Run("encoding-json", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(len(text)))
		data := []byte(text)
		for b.Loop() {
			var v any
			if err := json.Unmarshal(data, &v); err != nil {
				b.Fatal(err)
			}
		}
	})
}
