package examples

import (
	"testing"

	"github.com/batchctl/batchctl/pkg/document"
)

func TestOf(t *testing.T) {
	for _, e := range All() {
		if len(e.Bad) == 0 || len(e.Good) == 0 || e.Want == "" {
			t.Errorf("%s: %d bad and %d good files, want %q", e.Path(), len(e.Bad), len(e.Good), e.Want)
		}
		if again, ok := Of(e.Rule); !ok || again.Path() != e.Path() || again.Want != e.Want {
			t.Errorf("%s: Of finds %s", e.Path(), again.Path())
		}
	}
	for _, rule := range []string{"no-such-rule", "", "../array/array-size-max"} {
		if e, ok := Of(rule); ok {
			t.Errorf("%q: Of finds %s", rule, e.Path())
		}
	}
}

func TestDocuments(t *testing.T) {
	l := Files{{Name: "job.json"}, {Name: "runs.csv"}, {Name: "template.yaml"}, {Name: document.PlatformFile}}
	if docs := l.Documents(); len(docs) != 2 || docs[0].Name != "job.json" || docs[1].Name != "template.yaml" {
		t.Errorf("documents: %v", docs)
	}
	if _, ok := l.Platform(); !ok {
		t.Error("there is no platform file")
	}
	alone := l[3:]
	if _, ok := alone.Platform(); ok || len(alone.Documents()) != 1 {
		t.Error("a platform file alone is not a document")
	}
}
