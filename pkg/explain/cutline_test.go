package explain

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/batchctl/batchctl/pkg/secret/secrettest"
)

// TestCutLine checks that a cut through a credential shows no part of it.
func TestCutLine(t *testing.T) {
	token := "ghp_" + secrettest.New(rand.Uint64()).Of("abcdefghijklmnopqrstuvwxyz0123456789", 36)
	for at := maxLine - len(token) - 2; at <= maxLine; at++ {
		line := strings.Repeat("y", at-1) + " " + token + " denied"
		got := cutLine(line)
		if rest := strings.TrimLeft(got, "y "); len(got) != maxLine || strings.Trim(rest, "* deni") != "" {
			t.Errorf("a credential at byte %d is cut to %q", at, rest)
		}
	}
}
