package heatmap

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestWeight: only the drawing layer of gonum's plot is built in. The packages above it
// cost every start of the program most of a millisecond, and bring a writer of PDF.
func TestWeight(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	deps := strings.Fields(string(out))
	if !slices.Contains(deps, "gonum.org/v1/plot/vg/vgimg") {
		t.Fatalf("what is listed is not what is built: %q", deps)
	}
	for _, heavy := range []string{"gonum.org/v1/plot", "gonum.org/v1/plot/plotter", "gonum.org/v1/plot/vg/vgpdf", "gonum.org/v1/plot/vg/vgeps", "codeberg.org/go-pdf/fpdf"} {
		if slices.Contains(deps, heavy) {
			t.Errorf("%s is built in", heavy)
		}
	}
}
