package platform_test

import (
	"testing"

	"github.com/batchctl/batchctl/pkg/cli/clitest"
)

func TestMain(m *testing.M) { clitest.Main(m) }

func TestScripts(t *testing.T) { clitest.Scripts(t) }
