package diag_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/batchctl/batchctl/pkg/diag"
)

func TestWriteJSON(t *testing.T) {
	d := mark("{\n  \"名\": «\"<&>\",\n» \"b\": 1}")
	d.Message = "wrong: <b>\u202e\u009b\U000e0041"
	nowhere := diag.Diagnostic{Severity: diag.Warning, Rule: "no-place", Message: "somewhere"}
	var b strings.Builder
	if err := diag.WriteJSON(&b, diag.List{d, nowhere}); err != nil {
		t.Fatal(err)
	}
	expect(t, "text", "records", b.String())

	var back []struct{ Message string }
	if err := json.Unmarshal([]byte(b.String()), &back); err != nil {
		t.Fatal(err)
	}
	if back[0].Message != d.Message {
		t.Errorf("message comes back as %q", back[0].Message)
	}
}

func TestWriteJSONEmpty(t *testing.T) {
	var b strings.Builder
	if err := diag.WriteJSON(&b, nil); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("[]\n", b.String()); diff != "" {
		t.Error(diff)
	}
}
