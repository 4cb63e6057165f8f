package call

import (
	"errors"

	"github.com/batchctl/batchctl/pkg/local/model"
)

// State is the state of an engine. All methods may be called concurrently.
type State interface {
	// View returns the model. It does not change until done is called; do not keep parts of it
	// longer.
	View() (m *model.Model, done func())
	// Change decides and records one change for a caller, and returns when it is on disk. decide
	// reads the model and must not alter it. If decide finds nothing to change, the state that it
	// read is on disk too. The error is ErrReadOnly for a read-only engine.
	Change(decide func(m *model.Model) ([]model.Event, error)) error
}

// ErrReadOnly is the error of a change to a read-only engine.
var ErrReadOnly = errors.New("this engine is read-only; nothing was changed")
