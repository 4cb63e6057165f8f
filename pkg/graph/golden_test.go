package graph

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/batchctl/batchctl/pkg/testtool/golden"
)

// TestGolden compares the drawings of the samples with an archive of texts and an SVG for
// each. Look at what changes: any browser shows an SVG.
func TestGolden(t *testing.T) {
	for name, g := range samples() {
		t.Run(name, func(t *testing.T) {
			archive := golden.Read(t, filepath.Join("testdata", name+".txtar"))
			want := func(file, text string, err error) {
				if err != nil {
					t.Fatal(err)
				}
				archive.Want(t, file, text)
			}
			for _, width := range []int{40, 80, 120} {
				text, err := g.Text(TextOptions{Width: width})
				want(fmt.Sprintf("%d.txt", width), text, err)
			}
			text, err := g.Text(TextOptions{ASCII: true})
			want("ascii.txt", text, err)
			text, err = g.DOT()
			want("graph.dot", text, err)
			svg, err := g.SVG()
			if err != nil {
				t.Fatal(err)
			}
			golden.File(t, filepath.Join("testdata", name+".svg"), svg)
			if name == "critical" {
				inline, err := g.SVGFragment()
				want("inline.svg", inline, err)
				want("inline.css", Stylesheet(), nil)
			}
		})
	}
}
