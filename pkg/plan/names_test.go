package plan

import (
	"strings"
	"testing"
)

// TestIsMadeFor: the names that Build makes are known again, and no others.
func TestIsMadeFor(t *testing.T) {
	long := strings.Repeat("x", maxMadeName)
	for _, c := range []struct {
		name, job  string
		made, join bool
	}{
		{taken{}.free("a", "-1of2"), "a", true, false},
		{taken{"a-1of2": true}.free("a", "-1of2"), "a", true, false},
		{taken{}.free("a", "-join"), "a", true, true},
		{taken{"a-join2": true}.free("a", "-join2"), "a", true, true},
		{taken{}.free(long, "-3of12"), long, true, false},
		{taken{}.free(long, "-join"), long, true, true},
		{"a", "a", false, false},
		{"a-join", "b", false, false},
		{"ab-join", "a", false, false},
		{"a-joint", "a", false, false},
		{"a-retry", "a", false, false},
	} {
		if made, join := IsMadeFor(c.name, c.job); made != c.made || join != c.join {
			t.Errorf("%s for %s: %v, %v", c.name, c.job, made, join)
		}
	}
}
