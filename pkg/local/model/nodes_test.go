package model

import (
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"pgregory.net/rapid"
)

// TestNodeRange checks that every accepted range is ascending, whatever its text, and that forms
// with an open end reach the last node.
func TestNodeRange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int32Range(1, 100).Draw(t, "nodes")
		from, to, ok := NodeRange(aws.String(rapid.StringMatching(`[0-9]{0,3}:?[0-9a]{0,3}`).Draw(t, "text")), n)
		if ok && (from < 0 || to < from) {
			t.Fatalf("%d to %d", from, to)
		}
	})
	for text, want := range map[string]string{":": "0 9 true", "3": "3 3 true", "3:": "3 9 true", ":3": "0 3 true", "2:1": "2 1 false", "": "-1 -1 false", "x:2": "-1 2 false"} {
		from, to, ok := NodeRange(&text, 10)
		if got := fmt.Sprint(from, to, ok); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}
