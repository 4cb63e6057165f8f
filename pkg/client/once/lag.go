package once

import (
	"path/filepath"
	"time"

	"github.com/batchctl/batchctl/pkg/jsonlines"
)

// A listing that shows a new job immediately proves little: the next job may appear much later. So
// a target whose listing lagged once is recorded in <Ledger.Dir>/lags.jsonl, and its jobs get the
// late check for the next day.

const (
	// lagMemory is how long a lag is remembered.
	lagMemory = 24 * time.Hour
	// lagRenewal is the age at which a recorded lag is recorded again.
	lagRenewal = time.Hour
)

// targetNote is a line of lags.jsonl and of checks.jsonl.
type targetNote struct {
	Time   time.Time `json:"time"`
	Target string    `json:"target"`
}

// lagsPath returns the file with the lags.
func (l *Ledger) lagsPath() string { return filepath.Join(l.Dir, "lags.jsonl") }

// lastNote returns the latest time in a file for the ledger's target; zero if the file has none.
func (l *Ledger) lastNote(path string) (last time.Time, err error) {
	err = readRecords(path, func(n targetNote) bool {
		if n.Target == l.Target && n.Time.After(last) {
			last = n.Time
		}
		return n.Target != ""
	})
	return last, l.passDamage(err)
}

// addNote records a time for the ledger's target.
func (l *Ledger) addNote(path string, at time.Time) error {
	text, err := jsonLines([]targetNote{{at, l.Target}})
	if err != nil {
		return err
	}
	return jsonlines.Append(path, text)
}

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
