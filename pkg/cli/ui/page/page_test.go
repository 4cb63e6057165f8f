package page

import (
	"testing"
)

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
