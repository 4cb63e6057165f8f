// Package skips has tests that testtool skips; testtool's own tests run them.
package skips

import (
	"testing"

	"github.com/batchctl/batchctl/pkg/testtool"
)

func TestMain(m *testing.M) { testtool.Main(m) }

func TestProgram(t *testing.T) {
	testtool.Need(t, "sh", "no-such-program", "no-such-tool")
	t.Error("the test continues without its program")
}

func TestProbe(t *testing.T) {
	testtool.Works(t, "false", "--probe")
	t.Error("the test continues after its probe has failed")
}

func TestLong(t *testing.T) {
	testtool.Long(t)
}
