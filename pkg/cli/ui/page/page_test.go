package page

import "testing"

// TestScriptsAreSmall bounds what a browser loads before a page works.
func TestScriptsAreSmall(t *testing.T) {
	total := 0
	for _, name := range Scripts {
		text, err := assets.ReadFile("assets/" + name)
		if err != nil {
			t.Fatal(err)
		}
		total += len(text)
	}
	if total > 60_000 {
		t.Errorf("the scripts have %d bytes", total)
	}
}
