package once

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/batchctl/batchctl/pkg/plan"
)

// stagedOf returns the texts that a job of a plan needs.
func stagedOf(texts []plan.Staged) (all []staged) {
	for _, t := range texts {
		sum := sha256.Sum256([]byte(t.Text))
		all = append(all, staged{t.URL, hex.EncodeToString(sum[:]), &t.Text})
	}
	return all
}

// errNoStage is why a plan with texts to stage cannot be submitted.
var errNoStage = errors.New("batchctl cannot write there")

// checkStaged refuses a run whose texts this client cannot stage.
func (c *Client) checkStaged(r *run) error {
	for _, t := range r.tasks {
		if len(t.staged) > 0 && c.Stage == nil && !t.done && !t.dropped && t.skipped == "" {
			return fmt.Errorf("stage %s for job %s: %w", t.staged[0].URL, t.name, errNoStage)
		}
	}
	return nil
}

// stagedText returns the text that belongs to the intent. A text that was changed on disk is an
// error.
func (r *run) stagedText(s staged) (string, error) {
	if s.text != nil {
		return *s.text, nil
	}
	path := filepath.Join(r.log.stagedDir(), s.SHA256)
	text, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("read the text of the intent: %w", err)
	}
	if sum := sha256.Sum256(text); hex.EncodeToString(sum[:]) != s.SHA256 {
		return "", fmt.Errorf("%s has changed: its sha256 does not match", path)
	}
	return string(text), nil
}
