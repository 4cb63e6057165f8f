package text_test

import (
	"testing"

	"github.com/batchctl/batchctl/pkg/text"
)

func TestCount(t *testing.T) {
	for got, want := range map[string]string{
		text.Count(0, "job"):                      "0 jobs",
		text.Count(1, "job"):                      "1 job",
		text.Count(int64(2), "long test"):         "2 long tests",
		text.Count(int32(3), "scheduling policy"): "3 scheduling policies",
		text.Count(1, "entry"):                    "1 entry",
		text.Count(2, "process"):                  "2 processes", text.Count(2, "batch"): "2 batches",
		text.Count(2, "day"):               "2 days",
		text.Count(1, "child", "children"): "1 child",
		text.Count(4, "child", "children"): "4 children",
		text.And(nil):                      "",
		text.And([]string{"a"}):            "a",
		text.And([]string{"a", "b"}):       "a and b",
		text.And([]string{"a", "b", "c"}):  "a, b and c",
		text.Or([]string{"a", "b", "c"}):   "a, b or c",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
