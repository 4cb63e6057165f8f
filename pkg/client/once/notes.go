package once

import (
	"path/filepath"
	"time"

	"github.com/batchctl/batchctl/pkg/jsonlines"
)

// targetNote is a line of lags.jsonl and of checks.jsonl.
type targetNote struct {
	Time   time.Time `json:"time"`
	Target string    `json:"target"`
}

// lagsPath returns the file with the lags.
func (l *Ledger) lagsPath() string { return filepath.Join(l.Dir, "lags.jsonl") }

// checksPath returns the file with the times of the checked jobs.
func (l *Ledger) checksPath() string { return filepath.Join(l.Dir, "checks.jsonl") }

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
