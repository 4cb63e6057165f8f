package once

import (
	"errors"
	"fmt"
)

// ElsewhereError reports a submission that belongs to another account, Region or engine than the
// current target.
type ElsewhereError struct{ Run, Target, Current string }

// Error names both targets.
func (e *ElsewhereError) Error() string {
	return fmt.Sprintf("run %s belongs to %s, but the current target is %s", e.Run, e.Target, e.Current)
}

// takeRun locks an open submission of this target.
func (c *Client) takeRun(name string) (*run, error) {
	log, text, err := c.Ledger.logs().reopen(name)
	if err != nil {
		return nil, err
	}
	r, err := runOf(name, log, text)
	if err == nil && !r.broken() && r.target != c.Ledger.Target {
		err = &ElsewhereError{name, r.target, c.Ledger.Target}
	}
	if err != nil {
		return nil, errors.Join(err, log.release())
	}
	return r, nil
}
