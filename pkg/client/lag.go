package client

import (
	"path/filepath"
	"time"
)

// A listing that shows a new job at once proves little: the next job may be listed much later.
// So a target whose listing lagged once is remembered in <Ledger.Dir>/lags.jsonl, and its jobs
// get the late look for the next day.

const (
	// lagMemory is how long a lag is remembered.
	lagMemory = 24 * time.Hour
	// lagRenewal is how old the last note of a lag is before another is written.
	lagRenewal = time.Hour
)

// lagNote is a line of lags.jsonl.
type lagNote struct {
	Time   time.Time `json:"time"`
	Target string    `json:"target"`
}

func (l *Ledger) lagsPath() string { return filepath.Join(l.Dir, "lags.jsonl") }

// lastLag is when listings of the ledger's target were last seen to lag; zero: never.
func (l *Ledger) lastLag() (last time.Time, err error) {
	err = readRecords(l.lagsPath(), func(n lagNote) bool {
		if n.Target == l.Target && n.Time.After(last) {
			last = n.Time
		}
		return n.Target != ""
	})
	return last, l.passDamage(err)
}

// lagsBehind reports whether listings of the run's target lagged lately. A note from the
// future, which a clock that was set back leaves, counts.
func (c *Client) lagsBehind(r *run) (bool, error) {
	if r.log == nil {
		return false, nil
	}
	last, err := c.Ledger.lastLag()
	return !last.IsZero() && time.Since(last) < lagMemory, err
}

// noteLag remembers that listings of the run's target lag.
func (c *Client) noteLag(r *run) error {
	if r.log == nil {
		return nil
	}
	last, err := c.Ledger.lastLag()
	if err != nil || time.Since(last) < lagRenewal {
		return err
	}
	text, err := jsonLines([]lagNote{{stamp(), c.Ledger.Target}})
	if err != nil {
		return err
	}
	return appendSync(c.Ledger.lagsPath(), text)
}
