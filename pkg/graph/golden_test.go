package graph

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestGolden compares the drawings of the samples with golden files. Look at what
// changes: any browser shows an SVG.
func TestGolden(t *testing.T) {
	for name, g := range samples() {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{}
			draw := func(file string, text string, err error) {
				if err != nil {
					t.Fatal(err)
				}
				files[file] = text
			}
			for _, width := range []int{40, 80, 120} {
				text, err := g.Text(TextOptions{Width: width})
				draw(fmt.Sprintf("%s.%d.txt", name, width), text, err)
			}
			text, err := g.Text(TextOptions{ASCII: true})
			draw(name+".txt", text, err)
			text, err = g.DOT()
			draw(name+".dot", text, err)
			text, err = g.SVG()
			draw(name+".svg", text, err)
			for file, got := range files {
				compare(t, filepath.Join("testdata", file), got)
			}
		})
	}
}

func compare(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs (-want +got); -update rewrites it:\n%s", file, diff)
	}
}
