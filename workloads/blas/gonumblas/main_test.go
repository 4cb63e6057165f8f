package gonumblas

import (
	"testing"

	"github.com/batchctl/batchctl/pkg/testtool"
)

func TestMain(m *testing.M) { testtool.Main(m) }
