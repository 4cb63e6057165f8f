package lint

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/batchctl/batchctl/pkg/testtool"
	"github.com/batchctl/batchctl/pkg/testtool/golden"
)

// cfn-lint compares templates with the types of CloudFormation's registry. Problems that
// AWS Batch reports only when the stack is created, or when its jobs wait, are found here.
func TestBeyondCfnLint(t *testing.T) {
	testtool.Long(t)
	testtool.Works(t, "cfn-lint", "--version")
	// The least number of errors: those about Docker on GPU hosts are warnings.
	for name, least := range map[string]int{"stuck": 5, "gpu-hosts": 4} {
		archive, dir := golden.Read(t, "testdata/templates/"+name+".txtar"), t.TempDir()
		archive.Extract(t, dir)
		file := filepath.Join(dir, "template.yaml")
		out, _ := exec.Command("cfn-lint", "--format", "parseable", file).Output() // its exit status says what it found
		for line := range strings.Lines(string(out)) {
			if strings.Contains(line, ":E") {
				t.Errorf("cfn-lint finds it, so it is no example of what it misses: %s", line)
			}
		}
		_, found := loadText(t, file, archive.Text(t, "template.yaml"))
		if errors, _ := found.Count(); errors < least {
			t.Errorf("%s: only %v", file, found)
		}
	}
}
