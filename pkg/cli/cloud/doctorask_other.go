//go:build !linux

package cloud

import (
	"errors"

	"github.com/batchctl/batchctl/pkg/doctor"
)

// Space is asked on Linux alone, where doctor looks at more than files.
func (machine) Space(string) (doctor.Space, error) { return doctor.Space{}, errors.ErrUnsupported }
