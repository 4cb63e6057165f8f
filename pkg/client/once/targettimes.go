package once

import (
	"path/filepath"
	"time"

	"github.com/batchctl/batchctl/pkg/jsonlines"
)

// targetTimes is a file with times of targets. For each target, the latest time counts.
type targetTimes struct {
	ledger *Ledger
	path   string
}

// targetTime is a line of such a file.
type targetTime struct {
	Time   time.Time `json:"time"`
	Target string    `json:"target"`
}

// lags returns the times at which listings of targets lagged.
func (l *Ledger) lags() targetTimes { return targetTimes{l, filepath.Join(l.Dir, "lags.jsonl")} }

// checks returns the times of the last jobs that RecheckDuplicates has checked.
func (l *Ledger) checks() targetTimes { return targetTimes{l, filepath.Join(l.Dir, "checks.jsonl")} }

// latest returns the latest time of each target.
func (t targetTimes) latest() (map[string]time.Time, error) {
	latest := map[string]time.Time{}
	err := readRecords(t.path, func(n targetTime) bool {
		if n.Time.After(latest[n.Target]) {
			latest[n.Target] = n.Time
		}
		return n.Target != ""
	})
	return latest, t.ledger.passDamage(err)
}

// add records a time for the ledger's target.
func (t targetTimes) add(at time.Time) error {
	text, err := jsonLines([]targetTime{{at, t.ledger.Target}})
	if err != nil {
		return err
	}
	return jsonlines.Append(t.path, text)
}
