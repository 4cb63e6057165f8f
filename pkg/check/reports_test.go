package check

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/batchctl/batchctl/pkg/testtool/golden"
)

// TestReports checks documents after public reports about AWS Batch and about batchctl, each alone
// under the platform file of its directory. The file want of the archive has the expected rules with
// their lines, and what is not checked. An error there is one that AWS Batch, or CloudFormation, was
// seen to report.
func TestReports(t *testing.T) {
	archive, dir := golden.Read(t, "testdata/reports.txtar"), t.TempDir()
	archive.Extract(t, dir)
	var b strings.Builder
	files := 0
	for _, name := range slices.Concat(archive.Names("*"), archive.Names("*/*"), archive.Names("*/*/*")) {
		if name == "want" {
			continue
		}
		files++
		result := New(Options{}).Check(Named(filepath.Join(dir, filepath.FromSlash(name))))
		var found []string
		for _, p := range result.Problems {
			line := 0
			if p.Source != nil {
				line, _ = p.Source.Position(p.Span.Start)
			}
			found = append(found, fmt.Sprintf("  %d %s %s\n", line, p.Severity, p.Rule))
		}
		for _, u := range result.Skipped.Unchecked {
			found = append(found, "  not checked: "+u.What+"\n")
		}
		fmt.Fprintf(&b, "%s\n%s", name, strings.Join(slices.Compact(found), ""))
	}
	if files < 60 {
		t.Errorf("found %d documents, so most of them went untested", files)
	}
	archive.Want(t, "want", b.String())
}
