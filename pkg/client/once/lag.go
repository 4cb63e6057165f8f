package once

import (
	"path/filepath"
	"time"
)

// A listing that shows a new job at once proves little: the next job may be listed much later.
// So a target whose listing lagged once is remembered in <Ledger.Dir>/lags.jsonl, and its jobs
// get the late check for the next day.

const (
	// lagMemory is how long a lag is remembered.
	lagMemory = 24 * time.Hour
	// lagRenewal is how old the last note of a lag is before another is written.
	lagRenewal = time.Hour
)

// targetNote is a line of lags.jsonl and of checks.jsonl.
type targetNote struct {
	Time   time.Time `json:"time"`
	Target string    `json:"target"`
}

func (l *Ledger) lagsPath() string { return filepath.Join(l.Dir, "lags.jsonl") }

// lastNote is the latest time in a file that is noted of the ledger's target; zero: none.
func (l *Ledger) lastNote(path string) (last time.Time, err error) {
	err = readRecords(path, func(n targetNote) bool {
		if n.Target == l.Target && n.Time.After(last) {
			last = n.Time
		}
		return n.Target != ""
	})
	return last, l.passDamage(err)
}

// addNote notes a time of the ledger's target.
func (l *Ledger) addNote(path string, at time.Time) error {
	text, err := jsonLines([]targetNote{{at, l.Target}})
	if err != nil {
		return err
	}
	return appendSync(path, text)
}

// lagsBehind reports whether listings of the run's target lagged lately. A note from the
// future, which a clock that was set back leaves, counts.
func (c *Client) lagsBehind(r *run) (bool, error) {
	if r.log == nil {
		return false, nil
	}
	last, err := c.Ledger.lastNote(c.Ledger.lagsPath())
	return !last.IsZero() && time.Since(last) < lagMemory, err
}

// noteLag remembers that listings of the target lag.
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
