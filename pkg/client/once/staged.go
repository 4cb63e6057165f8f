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

// staged is a text that has to be at its place before a job is submitted. Its log has
// where that is and the text's hash; the text is a file beside the log.
type staged struct {
	URL    string `json:"url"`
	SHA256 string `json:"sha256"`

	text *string // nil: it is in the file
}

// stagedOf are the texts that a job of a plan needs.
func stagedOf(texts []plan.Staged) (all []staged) {
	for _, t := range texts {
		sum := sha256.Sum256([]byte(t.Text))
		all = append(all, staged{t.URL, hex.EncodeToString(sum[:]), &t.Text})
	}
	return all
}

// stage puts what a job needs to its places, each text once in this process. The hash
// is in its name, so that putting it again after a crash changes nothing.
func (c *Client) stage(ctx context.Context, r *run, t *task, done *onceEach) error {
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

// stageAll stages for all jobs before the first of them is submitted: a place that does
// not take a text leaves no part of a plan behind.
func (c *Client) stageAll(ctx context.Context, r *run, done *onceEach) error {
	for _, t := range r.tasks {
		if err := c.stage(ctx, r, t, done); err != nil {
			return err
		}
	}
	return nil
}

// errNoStage is why a plan with texts to be staged cannot be submitted.
var errNoStage = errors.New("there is no way to put it there")

// checkStaged refuses a run whose texts cannot be staged by this client.
func (c *Client) checkStaged(r *run) error {
	for _, t := range r.tasks {
		if len(t.staged) > 0 && c.Stage == nil && !t.done && !t.dropped && t.skipped == "" {
			return fmt.Errorf("stage %s for job %s: %w", t.staged[0].URL, t.name, errNoStage)
		}
	}
	return nil
}

// stagedText is the text itself, as its intent had it.
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
		return "", fmt.Errorf("%s has been changed: its sha256 is another one", path)
	}
	return string(text), nil
}

const stagedSuffix = ".staged"

// stagedDir is where the texts of the run lie.
func (r *runLog) stagedDir() string {
	return strings.TrimSuffix(strings.TrimSuffix(r.path, newSuffix), logSuffix) + stagedSuffix
}

// keepStaged writes texts beside the log and returns when they are on the disk.
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

// writeOnce makes a file, unless another job's text made it: they are the same.
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

// exists reports whether there may be a file: only its absence is certain.
func exists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

// sweepStaged removes texts whose log is gone: a crash came between the two. It is
// nobody's loss when it cannot.
func (l *Ledger) sweepStaged() {
	entries, _ := os.ReadDir(l.openDir())
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), stagedSuffix)
		if ok && !exists(l.newPath(name)) && !exists(l.runPath(name)) {
			_ = os.RemoveAll(filepath.Join(l.openDir(), e.Name()))
		}
	}
}
