package check

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/testtool/golden"
)

// TestReports checks documents after public reports about AWS Batch and about batchctl, each alone
// under the platform file of its directory: testdata/reports.txt has the expected rules with their
// lines. An error there is one that AWS Batch, or CloudFormation, was seen to report.
func TestReports(t *testing.T) {
	var b strings.Builder
	files := 0
	err := filepath.WalkDir("testdata/reports", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files++
		result := New(Options{}).Check(Named(path))
		var found []string
		for _, p := range result.Problems {
			severity := "warning"
			if p.Severity == diag.Error {
				severity = "error"
			}
			line := 0
			if p.Source != nil {
				line, _ = p.Source.Position(p.Span.Start)
			}
			found = append(found, fmt.Sprintf("  %d %s %s\n", line, severity, p.Rule))
		}
		name, _ := filepath.Rel("testdata/reports", path)
		fmt.Fprintf(&b, "%s\n%s", filepath.ToSlash(name), strings.Join(slices.Compact(found), ""))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 60 {
		t.Errorf("found %d documents, so most of them went untested", files)
	}
	golden.File(t, "testdata/reports.txt", b.String())
}
