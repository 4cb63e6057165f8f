package intrinsic_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// expressions generates values with functions nested at most some levels deep.
func expressions(levels int) *rapid.Generator[string] {
	leaf := rapid.SampledFrom([]string{`"a"`, `"a,b"`, `0`, `1`, `"${A}${A}"`, `"${Project}"`, `{"Ref": "Project"}`, `{"Ref": "Zones"}`, `{"Ref": "AWS::NoValue"}`, `{"Ref": "None"}`, `[]`, `null`, `"{{resolve:a}}"`})
	if levels == 0 {
		return leaf
	}
	return rapid.Custom(func(t *rapid.T) string {
		form := rapid.SampledFrom([]string{
			"", `{"Fn::Join": [%s, [%s, %s]]}`, `{"Fn::Join": [",", %s]}`, `{"Fn::Select": [%s, %s]}`, `{"Fn::Select": [0, [%s, %s]]}`, `{"Fn::Split": [",", %s]}`, `{"Fn::Sub": [%s, {"A": %s}]}`,
			`{"Fn::Sub": ["${A}-${A}", {"A": %s}]}`, `{"Fn::If": ["C", %s, %s]}`, `{"Fn::If": ["D", %s, %s]}`, `{"Fn::FindInMap": ["M", %s, %s]}`, `{"Fn::Base64": %s}`, `{"Fn::ImportValue": %s}`,
			`{"Fn::GetAtt": ["R", %s]}`, `{"Fn::Equals": [%s, %s]}`, `{"Fn::Not": [%s]}`, `{"Fn::And": [%s, {"Condition": "C"}]}`, `[%s, %s]`,
		}).Draw(t, "form")
		if form == "" {
			return leaf.Draw(t, "leaf")
		}
		var arguments []any
		for range strings.Count(form, "%s") {
			arguments = append(arguments, expressions(levels-1).Draw(t, "argument"))
		}
		return fmt.Sprintf(form, arguments...)
	})
}

// TestRandom: random templates, whose conditions and mappings can refer to themselves, have for each value a result,
// and for each unknown value a place and a reason.
func TestRandom(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := expressions(4)
		text := fmt.Sprintf(`{"Conditions": {"C": %s, "D": {"Fn::Or": [{"Condition": "C"}, %s]}}, "Mappings": {"M": {"a": {"a": %s}}}, "Resources": {"R": {"Condition": "D", "Properties": %s}}}`,
			e.Draw(t, "condition"), e.Draw(t, "condition"), e.Draw(t, "entry"), e.Draw(t, "value"))
		root, problems := jsontree.Parse(diag.NewSource("t.json", text))
		if problems.HasErrors() {
			t.Fatalf("%s: %v", text, problems)
		}
		checkAll(t, text, root)
	})
}
