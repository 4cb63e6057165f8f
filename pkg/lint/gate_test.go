package lint

import (
	"slices"
	"testing"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/lint/examples"
)

func TestPathNames(t *testing.T) {
	for _, tt := range []struct {
		path path
		want []string
	}{
		{"", nil}, {"a", []string{"a"}}, {"a.b[].c", []string{"a", "b", "c"}}, {"a[].b[]", []string{"a", "b"}}, {"tags.*", []string{"tags"}},
	} {
		var want nameSet
		for _, name := range tt.want {
			want.add(name)
		}
		if got := tt.path.names(); got != want {
			t.Errorf("%q: %x, want %x", tt.path, got, want)
		}
	}
}

// A rule that is skipped would have found nothing. This is checked for every file with a
// mistake, for all rules together, and for pairs of such files.
func TestOnlyRulesThatFindNothingAreNotRun(t *testing.T) {
	skipped, found := 0, 0
	before := &document.File{}
	for _, e := range examples.All() {
		file := loaded(e.Bad)
		files := []*document.File{file, before}
		before = file
		skipped += checkGates(t, files, nil)
		found += len(Check(files, nil, Rules()))
	}
	if skipped == 0 || found == 0 {
		t.Errorf("%d skipped, %d found", skipped, found)
	}
	all := namesIn([]*document.File{loaded(example(t, "image-latest").Good)})
	if at := slices.IndexFunc(Rules(), func(r Rule) bool { return r.Name == "ulimit-name-enum" }); allGates()[at].open(&all) {
		t.Error("a file without ulimits concerns ulimit-name-enum")
	}
}

// checkGates runs the rules that are skipped for the files, and returns their number.
func checkGates(t *testing.T, files []*document.File, platform *document.Platform) (skipped int) {
	t.Helper()
	p := &Pass{}
	p.begin(files, platform)
	names := namesIn(files)
	for i, r := range Rules() {
		if allGates()[i].open(&names) {
			continue
		}
		skipped++
		p.rule, p.found = &r, nil
		r.Run(p)
		if len(p.found) > 0 {
			t.Errorf("%s is not run and finds %v", r.Name, p.found)
		}
	}
	return skipped
}

// loaded loads the first document of a run.
func loaded(l examples.Files) *document.File {
	f, _ := loadSource(diag.NewSource(l[0].Name, l[0].Text), nil, fileIn(l))
	if f == nil {
		return &document.File{}
	}
	return f
}
