//go:build !linux

package diagnose

import (
	"errors"

	"github.com/batchctl/batchctl/pkg/doctor"
)

// Space returns an error on other systems: doctor examines only files there, see
// hostAt.
func (machine) Space(string) (doctor.Space, error) { return doctor.Space{}, errors.ErrUnsupported }
