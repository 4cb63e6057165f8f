package measure

import (
	"strconv"
	"strings"
	"testing"
)

func TestEnvironment(t *testing.T) {
	t.Setenv("OPENBLAS_CORETYPE", "Haswell")
	t.Setenv("OPENBLASX", "other")
	got := Environment()
	if got["OPENBLAS_CORETYPE"] != "Haswell" || got["OPENBLASX"] != "" || got["PATH"] != "" {
		t.Error(got)
	}
	ghz, err := strconv.ParseFloat(strings.TrimSuffix(got["clock"], " GHz"), 64)
	if err != nil || ghz < 0.1 || ghz > 10 {
		t.Errorf("the clock is %s", got["clock"])
	}
}
