package session

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/batchctl/batchctl/pkg/client/once"
)

func TestLabels(t *testing.T) {
	const a, b, c = "aaaa1111-0000-4000-8000-000000000001", "bbbb2222-0000-4000-8000-000000000002", "cccc3333-0000-4000-8000-000000000003"
	got := Labels([]once.Submitted{{ID: a + ":0", Name: "sweep"}, {ID: a + ":1", Name: "sweep"}, {ID: b, Name: "train"}, {ID: c, Name: "train"}})
	want := map[string]string{a + ":0": "sweep:0", a + ":1": "sweep:1", b: "bbbb2222", c: "cccc3333"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	got = Labels([]once.Submitted{{ID: a + ":0", Name: "sweep"}, {ID: b + ":0", Name: "sweep"}, {ID: c + "#1", Name: "mpi"}, {ID: a, Name: "other"}})
	want = map[string]string{a + ":0": "aaaa1111:0", b + ":0": "bbbb2222:0", c + "#1": "mpi#1", a: "other"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
