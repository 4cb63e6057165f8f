package batchapi

import (
	"testing"

	"github.com/batchctl/batchctl/pkg/wire"
)

func TestOperationsAreThoseOfBatch(t *testing.T) {
	for name := range New(nil, Settings{}).Operations() {
		if method, _ := wire.Path(name); method == "" {
			t.Errorf("%s is no operation of Batch", name)
		}
	}
}
