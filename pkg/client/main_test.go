package client

import (
	"testing"

	"github.com/batchctl/batchctl/pkg/client/clienttest"
	"github.com/batchctl/batchctl/pkg/testtool"
)

func TestMain(m *testing.M) { testtool.Main(m) }

// newFake returns a fake service and a client of it.
func newFake(t *testing.T) (*clienttest.Fake, *Client) {
	f := clienttest.New(t)
	return f, New(f.Config())
}
