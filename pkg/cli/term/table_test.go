package term

import (
	"strings"
	"testing"
)

// TestTableOnATerminal: a long name does not push the status off the screen, short ids
// stay whole, and a pipe gets everything.
func TestTableOnATerminal(t *testing.T) {
	name := "train-" + strings.Repeat("x", 100)
	for _, c := range []struct {
		width int
		want  string
	}{
		{0, "0d0fa9f1  " + name + "  FAILED  Essential container in task exited"},
		{60, "0d0fa9f1  train-xxxxxxxxxxxxx…  FAILED  Essential container…"},
		{30, "0d0fa9f1  train-x…  FAILED  E…"},
		{10, "0d0fa9f1 …"},
	} {
		var b strings.Builder
		table := &Table{Out: &b, Width: c.width, Rows: [][]string{{"ID", "NAME", "STATUS", "REASON"}}}
		table.Row("0d0fa9f1", name, "FAILED", "Essential container in task exited")
		if err := table.Flush(); err != nil {
			t.Fatal(err)
		}
		if _, row, _ := strings.Cut(b.String(), "\n"); strings.TrimSuffix(row, "\n") != c.want {
			t.Errorf("width %d: %q, want %q", c.width, row, c.want)
		}
	}
}
