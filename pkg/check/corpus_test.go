package check

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/testtool/golden"
)

// corpusList lists public documents: repository, commit, path, SHA-256 and verdict, with tabs between them.
const corpusList = "testdata/corpus.tsv"

// TestCorpus checks public documents against their verdicts, each as if you named it, and fixes them twice. The
// documents are not in this repository, because their licences differ: .ci/corpus downloads them, and sets
// BATCHCTL_CORPUS to their directory. An error of a verdict is one that AWS, or every reader of the format, would
// report. -update rewrites the verdicts, and each new error must be judged.
func TestCorpus(t *testing.T) {
	list, err := os.ReadFile(corpusList)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(list), "\n"), "\n")
	dir := os.Getenv("BATCHCTL_CORPUS")
	repositories := map[string]bool{}
	for i, line := range lines {
		column := strings.Split(line, "\t")
		if len(column) != 5 {
			t.Fatalf("line %d of %s has %d columns", i+1, corpusList, len(column))
		}
		repositories[column[0]] = true
		if dir == "" {
			continue
		}
		path := filepath.Join(dir, filepath.FromSlash(column[0]), filepath.FromSlash(column[2]))
		text, err := os.ReadFile(path)
		if err != nil {
			t.Error(err)
			continue
		}
		if sum := sha256.Sum256(text); hex.EncodeToString(sum[:]) != column[3] {
			t.Errorf("%s is not the listed version", path)
			continue
		}
		column[4] = verdictOn(path)
		lines[i] = strings.Join(column, "\t")
		checkFixes(t, path, string(text))
	}
	if len(repositories) < 25 || len(lines) < 150 {
		t.Errorf("%d documents of %d repositories", len(lines), len(repositories))
	}
	if dir == "" {
		t.Skip(".ci/corpus has the documents")
	}
	golden.File(t, corpusList, strings.Join(lines, "\n")+"\n")
}

// verdictOn returns what a check of one document reports: the number of problems by severity and rule, and what is not
// checked; "-" for nothing.
func verdictOn(path string) string {
	result := New(Options{}).Check(Named(path))
	counts := map[string]int{}
	for _, p := range result.Problems {
		counts[p.Severity.String()+" "+p.Rule]++
	}
	var all []string
	for _, what := range slices.Sorted(maps.Keys(counts)) {
		all = append(all, fmt.Sprintf("%d %s", counts[what], what))
	}
	for _, u := range result.Skipped.Unchecked {
		what, _, _ := strings.Cut(u.What, " (")
		all = append(all, "not checked: "+what)
	}
	if result.Unknown > 0 {
		all = append(all, fmt.Sprintf("not checked: %d values", result.Unknown))
	}
	if len(all) == 0 {
		return "-"
	}
	return strings.Join(all, ", ")
}

// checkFixes checks that all fixes of a document leave nothing for a second run.
func checkFixes(t *testing.T, path, text string) {
	t.Helper()
	fix := func(text string) string {
		fixed, err := New(Options{}).Fix(Named(path)[0], diag.NewSource(path, text))
		if err != nil {
			t.Errorf("%s: %v", path, err)
		}
		return fixed.Text
	}
	if once := fix(text); fix(once) != once {
		t.Errorf("%s: a second run of the fixes changes more", path)
	}
}
