package jsontree

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/batchctl/batchctl/pkg/diag"
)

// TestArenaKeeps checks that trees which are kept do not change, whatever is read after
// them, and take no more memory than they need.
func TestArenaKeeps(t *testing.T) {
	text := func(i int) string {
		return fmt.Sprintf(`{"name": "job-%d", "list": [%s%d]}`, i, strings.Repeat("1, ", i%300), i)
	}
	parse := func(a *Arena, i int) *Node {
		root, problems := a.Parse(diag.NewSource("a.json", text(i)))
		if root == nil || len(problems) > 0 {
			t.Fatal(problems)
		}
		return root
	}
	a := &Arena{}
	kept := map[int]*Node{}
	for i := range 1000 {
		root := parse(a, i)
		if i%3 == 0 {
			kept[i] = root
			a.Keep()
		}
		a.Reset()
	}
	for i, root := range kept {
		if want := parse(nil, i); !bytes.Equal(root.AppendJSON(nil), want.AppendJSON(nil)) {
			t.Errorf("tree %d is another one now", i)
		}
	}
	small := testing.AllocsPerRun(100, func() {
		_ = parse(a, 1)
		a.Keep()
	})
	fresh := testing.AllocsPerRun(100, func() {
		_ = parse(&Arena{}, 1)
	})
	if small >= fresh {
		t.Errorf("a tree that is kept takes %.0f allocations, one in an arena of its own %.0f", small, fresh)
	}
}
