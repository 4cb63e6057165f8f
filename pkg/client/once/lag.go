package once

import "time"

// A listing that shows a new job immediately proves little: the next job may appear much later. So
// a target whose listing lagged once is recorded in <Ledger.Dir>/lags.jsonl, and its jobs get the
// late check for the next day.

const (
	// lagMemory is how long a lag is remembered.
	lagMemory = 24 * time.Hour
	// lagRenewal is the age at which a recorded lag is recorded again.
	lagRenewal = time.Hour
)

// lagsBehind reports whether listings of the run's target lagged recently. A note from the future
// counts: the clock may have been set back.
func (c *Client) lagsBehind(r *run) (bool, error) {
	if r.log == nil {
		return false, nil
	}
	last, err := c.Ledger.lastNote(c.Ledger.lagsPath())
	return !last.IsZero() && time.Since(last) < lagMemory, err
}

// noteLag records that listings of the target lag.
func (c *Client) noteLag() error {
	if c.Ledger == nil {
		return nil
	}
	last, err := c.Ledger.lastNote(c.Ledger.lagsPath())
	if err != nil || time.Since(last) < lagRenewal {
		return err
	}
	return c.Ledger.addNote(c.Ledger.lagsPath(), stamp())
}
