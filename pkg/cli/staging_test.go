package cli

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/batchctl/batchctl/pkg/client"
)

// TestStagedAges holds that a staged text is kept for as long as it is submitted, and
// goes long after.
func TestStagedAges(t *testing.T) {
	dir := t.TempDir()
	to := &target{name: localTarget, ledger: &client.Ledger{Dir: dir}}
	path := filepath.Join(dir, "staged", "a.txt")
	if err := to.stage(context.Background(), path, "text"); err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-stagedFor - time.Hour)
	if err := os.Chtimes(path, time.Time{}, old); err != nil {
		t.Fatal(err)
	}
	if err := to.stage(context.Background(), path, "text"); err != nil { // once more
		t.Fatal(err)
	}
	for _, c := range []struct {
		now    time.Time
		dryRun bool
		rows   int
		there  bool
	}{
		{time.Now(), false, 0, true},
		{time.Now().Add(stagedFor + time.Hour), true, 1, true},
		{time.Now().Add(stagedFor + time.Hour), false, 1, false},
	} {
		rows, err := to.dropStaged(c.dryRun, c.now)
		_, statErr := os.Stat(path)
		if err != nil || len(rows) != c.rows || (statErr == nil) != c.there {
			t.Errorf("%+v: %+v, %v, %v", c, rows, err, statErr)
		}
	}
}
