package term

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestBar(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.SliceOfN(rapid.IntRange(0, 10000), 4, 4).Draw(t, "shares")
		marks := []string{"#", "x", ">", "."}
		var shares []Share
		total := 0
		for i := range n {
			shares, total = append(shares, Share{n[i], marks[i], ""}), total+n[i]
		}
		drawn := Bar(10, shares...).Render(false)
		if total == 0 {
			if drawn != "" {
				t.Fatalf("a bar of nothing: %s", drawn)
			}
			return
		}
		if len(drawn) != 12 {
			t.Fatalf("%s is not 10 columns", drawn)
		}
		for i := range n {
			if (n[i] > 0) != strings.Contains(drawn, marks[i]) {
				t.Fatalf("%s for %v", drawn, n)
			}
		}
	})
}
