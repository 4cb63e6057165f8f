package once

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestRememberPlatform checks that the platform file of the last submission comes first, and that
// each is recorded once while nothing changes.
func TestRememberPlatform(t *testing.T) {
	l := &Ledger{Dir: filepath.Join(t.TempDir(), "state")}
	if got := l.PlatformsOf("prod"); got != nil {
		t.Errorf("without a submission: %q", got)
	}
	for _, path := range []string{"/a/batchctl.json", "/a/batchctl.json", "/b/batchctl.json", "/a/batchctl.json"} {
		if err := l.RememberPlatform("prod", path); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.RememberPlatform("other", "/c/batchctl.json"); err != nil {
		t.Fatal(err)
	}
	if got, want := l.PlatformsOf("prod"), []string{"/a/batchctl.json", "/b/batchctl.json"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	// A torn line is skipped, and the next one starts on a new line.
	f, err := os.OpenFile(l.targetsPath(), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(`{"target":"prod","plat`); err != nil || f.Close() != nil {
		t.Fatal(err)
	}
	if err := l.RememberPlatform("prod", "/d/batchctl.json"); err != nil {
		t.Fatal(err)
	}
	if got := l.PlatformsOf("prod"); len(got) != 3 || got[0] != "/d/batchctl.json" {
		t.Errorf("%q", got)
	}
}
