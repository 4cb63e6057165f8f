package observe

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/batchctl/batchctl/pkg/forecast"
	"github.com/batchctl/batchctl/pkg/jsonlines"
)

// Store keeps forecasts in a file of JSON lines. A later line about a job replaces the earlier one.
type Store struct {
	// Dir is the directory of the ledger.
	Dir string
}

// mostStored bounds the file: Add then drops the older half.
const mostStored = 4 << 20

func (s Store) path() string { return filepath.Join(s.Dir, "forecasts.jsonl") }

// Add appends forecasts, or what became of them.
func (s Store) Add(all ...forecast.Prediction) error {
	if len(all) == 0 {
		return nil
	}
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return err
	}
	if err := s.prune(); err != nil {
		return err
	}
	var text []byte
	for _, p := range all {
		line, err := json.Marshal(p)
		if err != nil {
			return err
		}
		text = append(append(text, line...), '\n')
	}
	return jsonlines.Append(s.path(), text)
}

// prune drops the older half of a file that is too large.
func (s Store) prune() error {
	info, err := os.Stat(s.path())
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() < mostStored {
		return nil
	} else if err != nil {
		return err
	}
	text, err := os.ReadFile(s.path())
	if err != nil {
		return err
	}
	text = text[len(text)/2:]
	text = text[bytes.IndexByte(text, '\n')+1:]
	next := s.path() + ".new"
	if err := os.WriteFile(next, text, 0o600); err != nil {
		return err
	}
	return os.Rename(next, s.path())
}

// All returns the forecasts, each job once, in the order in which they were made. Lines that cannot be read, such as
// one that a full disk cut off, are left out: a forecast is not worth a failure.
func (s Store) All() ([]forecast.Prediction, error) {
	text, err := os.ReadFile(s.path())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	var all []forecast.Prediction
	index := map[[2]string]int{}
	for line := range bytes.Lines(text) {
		var p forecast.Prediction
		if json.Unmarshal(line, &p) != nil || p.Job == "" {
			continue
		}
		key := [2]string{p.Target, p.Job}
		if at, ok := index[key]; ok {
			all[at] = p
			continue
		}
		index[key] = len(all)
		all = append(all, p)
	}
	return all, nil
}

// Learn records when the jobs of forecasts started, as far as an observation has it, and returns all forecasts.
func (s Store) Learn(target string, started map[string]int64) ([]forecast.Prediction, error) {
	all, err := s.All()
	if err != nil {
		return nil, err
	}
	var learned []forecast.Prediction
	for i, p := range all {
		if at := started[p.Job]; at > 0 && p.Started == 0 && p.Target == target {
			all[i].Started = at
			learned = append(learned, all[i])
		}
	}
	return all, s.Add(learned...)
}

// Started returns when the jobs of an observation started, by id.
func (o *Observation) Started() map[string]int64 {
	all := map[string]int64{}
	for _, j := range o.State.Jobs {
		if j.Started > 0 && j.Started < o.State.Now {
			all[j.ID] = j.Started
		}
	}
	for _, j := range o.State.Past {
		all[j.ID] = j.Started
	}
	return all
}
