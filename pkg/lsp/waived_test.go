package lsp

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/batchctl/batchctl/pkg/lint"
)

// TestWaived checks a problem that the job waives: the editor shows it as information,
// with the reason and without a fix. The platform file names a missing file of instance
// types, which is shown in the platform file.
func TestWaived(t *testing.T) {
	dir := t.TempDir()
	platform := filepath.Join(dir, "batchctl.json")
	if err := os.WriteFile(platform, []byte(`{ "catalog": "lost.json", "policy": { "maxTimeout": "1h" } }`), 0o644); err != nil {
		t.Fatal(err)
	}
	c := open(t, `{}`, Options{Rules: lint.Rules})
	job := uriOf(filepath.Join(dir, "job.json"))
	c.didOpen(job, `{ "name": "a", "image": "b:1", "command": ["true"], "resources": { "vcpus": 1, "memory": 64 }, "timeout": "2h",
	  "waivers": [{ "rule": "policy-max-timeout", "reason": "agreed in OPS-12" }] }`)
	found := c.diagnostics(job, 1)
	const want = "waived: the policy allows a timeout of at most 1h, but the job has 2h\nreason: agreed in OPS-12"
	if len(found) != 1 || found[0].Severity != information || found[0].Message != want || found[0].Data != nil {
		t.Errorf("%+v", found)
	}
	found = c.diagnostics(uriOf(platform), -1)
	if len(found) != 1 || found[0].Code != "platform-catalog" || found[0].Severity != 1 {
		t.Errorf("%+v", found)
	}
}
