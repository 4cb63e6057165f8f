package cli_test

import (
	"testing"

	"github.com/batchctl/batchctl/pkg/cli/clitest"
)

func TestMain(m *testing.M) { clitest.Main(m) }

// TestScripts runs the scripts about several groups of commands. Those of a group are in its package.
func TestScripts(t *testing.T) { clitest.Scripts(t) }
