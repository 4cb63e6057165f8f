package once

import (
	"context"
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
var errNoStage = errors.New("batchctl cannot write to this staging location")

// checkStaged refuses a run with texts to stage if this client cannot stage any.
func checkStaged(r *run, canStage bool) error {
	for _, t := range r.tasks {
		if len(t.staged) > 0 && !canStage && t.open() {
			return fmt.Errorf("stage %s for job %s: %w", t.staged[0].URL, t.name, errNoStage)
		}
	}
	return nil
}

// stager writes the texts that jobs of a run need to their locations, each once in this process. The
// location contains the hash, so that writing a text again after a crash changes nothing.
type stager struct {
	log  *runLog // has the texts of a resumed run
	done onceEach
}

// stage writes the texts of one job. write is Client.Stage of the job's target.
func (s *stager) stage(ctx context.Context, t *plannedJob, write func(ctx context.Context, url,
	text string) error) error {
	for _, one := range t.staged {
		err := s.done.do(one.URL, func() error {
			text, err := s.stagedText(one)
			if err != nil {
				return err
			}
			return write(ctx, one.URL, text)
		})
		if err != nil {
			return fmt.Errorf("stage %s for job %s: %w", one.URL, t.name, err)
		}
	}
	return nil
}

// stagedText returns the text that belongs to the intent. A text that was changed on disk is an error.
func (s *stager) stagedText(one staged) (string, error) {
	if one.text != nil {
		return *one.text, nil
	}
	path := filepath.Join(s.log.stagedDir(), one.SHA256)
	text, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("read the staged text of the intent: %w", err)
	}
	if sum := sha256.Sum256(text); hex.EncodeToString(sum[:]) != one.SHA256 {
		return "", fmt.Errorf("%s has changed: its sha256 does not match", path)
	}
	return string(text), nil
}
