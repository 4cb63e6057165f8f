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

// listingsLag reports whether listings of the ledger's target lagged recently. A time in the future
// counts: the clock may have been set back.
func listingsLag(l *Ledger) (bool, error) {
	latest, err := l.lags().latest()
	last := latest[l.Target]
	return !last.IsZero() && time.Since(last) < lagMemory, err
}

// recordLag records that listings of the ledger's target lag. Without a ledger it does nothing.
func recordLag(l *Ledger) error {
	if l == nil {
		return nil
	}
	latest, err := l.lags().latest()
	if err != nil || time.Since(latest[l.Target]) < lagRenewal {
		return err
	}
	return l.lags().add(stamp())
}
