package once

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/batchctl/batchctl/pkg/plan"
)

// staged is a text that has to be written to a location before a job is submitted. The log has the
// location and the text's hash; the text is a file next to the log.
type staged struct {
	URL    string `json:"url"`
	SHA256 string `json:"sha256"`

	text *string // nil: the text is in the file
}

// stagedOf returns the texts that a job of a plan needs.
func stagedOf(texts []plan.Staged) (all []staged) {
	for _, t := range texts {
		sum := sha256.Sum256([]byte(t.Text))
		all = append(all, staged{t.URL, hex.EncodeToString(sum[:]), &t.Text})
	}
	return all
}

// stage writes the texts that a job needs to their locations, each once in this process. The
// location contains the hash, so that writing a text again after a crash changes nothing.
func (c *Client) stage(ctx context.Context, r *run, t *plannedJob, done *onceEach) error {
	for _, s := range t.staged {
		err := done.do(s.URL, func() error {
			text, err := r.stagedText(s)
			if err != nil {
				return err
			}
			return c.Stage(ctx, s.URL, text)
		})
		if err != nil {
			return fmt.Errorf("stage %s for job %s: %w", s.URL, t.name, err)
		}
	}
	return nil
}

// stageAll stages the texts of all jobs before the first job is submitted. If a location cannot be
// written, no part of a plan has been submitted.
func (c *Client) stageAll(ctx context.Context, r *run, done *onceEach) error {
	for _, t := range r.tasks {
		if err := c.stage(ctx, r, t, done); err != nil {
			return err
		}
	}
	return nil
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

// stagedSuffix ends the name of the directory of a run's texts.
const stagedSuffix = ".staged"

// stagedDir returns the directory of the run's texts.
func (r *runLog) stagedDir() string {
	return strings.TrimSuffix(strings.TrimSuffix(r.path, newSuffix), logSuffix) + stagedSuffix
}

// keepStaged writes texts next to the log and returns when they are on disk.
func (r *runLog) keepStaged(texts []staged) error {
	if len(texts) == 0 {
		return nil
	}
	if err := makeDir(r.stagedDir()); err != nil {
		return err
	}
	for _, s := range texts {
		if err := writeOnce(filepath.Join(r.stagedDir(), s.SHA256), *s.text); err != nil {
			return err
		}
	}
	return syncDir(r.stagedDir())
}

// writeOnce creates a file unless it exists. Files of the same name have the same content.
func writeOnce(path, text string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Sync(), f.Close())
}

// exists reports whether a file may exist: only its absence is certain.
func exists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

// sweepStaged removes texts whose log no longer exists, because of a crash. It ignores errors.
func (l *Ledger) sweepStaged() {
	entries, _ := os.ReadDir(l.openDir())
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), stagedSuffix)
		if ok && !exists(l.newPath(name)) && !exists(l.runPath(name)) {
			_ = os.RemoveAll(filepath.Join(l.openDir(), e.Name()))
		}
	}
}
