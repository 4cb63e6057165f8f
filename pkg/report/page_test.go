package report

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDropEmpty(t *testing.T) {
	got := &Table{Head: []string{"a", "b", "c", "d"}, Left: map[int]bool{1: true, 3: true}, Rows: [][]string{{"", NoValue, NoTime, "x"}, {"", "", NoValue, NoValue}}}
	got.dropEmpty()
	want := &Table{Head: []string{"a", "d"}, Left: map[int]bool{0: false, 1: true}, Rows: [][]string{{"", "x"}, {"", NoValue}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
