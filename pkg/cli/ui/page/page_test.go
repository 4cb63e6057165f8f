package page

import (
	"os"
	"testing"

	"github.com/batchctl/batchctl/pkg/packed"
)

func TestPacked(t *testing.T) {
	if stale, err := packed.Stale(archive, os.DirFS("."), "assets/*"); err != nil || len(stale) > 0 {
		t.Errorf("assets.zip.gz lacks changes of %q: run go generate ./pkg/cli/ui/page; %v", stale, err)
	}
}

// TestScriptsAreSmall bounds what a browser loads before a page works.
func TestScriptsAreSmall(t *testing.T) {
	total := 0
	for _, name := range Scripts {
		total += len(asset(name))
	}
	if total > 60_000 {
		t.Errorf("the scripts have %d bytes", total)
	}
}
