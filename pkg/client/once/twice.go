package once

import (
	"fmt"
	"strings"
)

// Duplicate is a second job for the same intent.
type Duplicate struct {
	// Job is the user's name for the job, ID the job that counts.
	Job, ID string
	// Duplicate is the id of the duplicate, which ended with Status.
	Duplicate, Status string
}

// TwiceError names jobs that ran twice until they finished. Nothing can undo that.
type TwiceError struct{ Duplicates []Duplicate }

// Error names each job with its duplicate.
func (e *TwiceError) Error() string {
	var all []string
	for _, t := range e.Duplicates {
		all = append(all, fmt.Sprintf("job %s ran twice: %s counts; its duplicate %s ended as %s", t.Job, t.ID,
			t.Duplicate, t.Status))
	}
	return strings.Join(all, "; ")
}
