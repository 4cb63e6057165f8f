package target

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/local/container"
	"github.com/batchctl/batchctl/pkg/newfile"
	"github.com/batchctl/batchctl/pkg/objects"
)

// Staging is for texts that are too long for a request: the cells of a large table, a command list.
// An AWS target names an S3 location; the local engine's is below its state directory.

// StagingOf returns the location for long texts of the target that the command line names; "" if it
// has none.
func (o Options) StagingOf(platform *document.Platform, isLocal bool) (string, error) {
	if !isLocal {
		if platform == nil {
			return "", nil
		}
		entry, _ := platform.Target(o.NameFrom(platform))
		return entry.Staging, nil
	}
	dir, err := o.Dir()
	return filepath.Join(dir, container.StagedDir), err
}

// Objects transfers S3 objects with the target's credentials and endpoint.
func (t *Target) Objects() *objects.Store {
	t.once.Do(func() {
		t.store = &objects.Store{Config: func(context.Context) (aws.Config, error) { return t.Config, nil }}
	})
	return t.store
}

// stage writes a text to its location. Its name is the hash of the text, so an existing file has
// the same content.
func (t *Target) stage(ctx context.Context, url, text string) error {
	if !t.IsLocal() {
		err := t.Objects().Put(ctx, url, text)
		if objects.Missing(err) {
			return fmt.Errorf("%w; create the bucket, or give the target another \"staging\" in the platform file", err)
		}
		return err
	}
	if held, err := os.ReadFile(url); err == nil && bytes.Equal(held, []byte(text)) {
		return os.Chtimes(url, time.Time{}, time.Now()) // mark it as in use
	}
	if err := os.MkdirAll(filepath.Dir(url), 0o700); err != nil {
		return err
	}
	// The owner can read the directory, and everyone the file: a container may run as another user,
	// and gets only the file.
	return newfile.Write(url, newfile.ForAll, newfile.Bytes([]byte(text)))
}

// maxMeasurement is how much of an object is read as a measurement. A line of a log with 8 GPUs has about 2 KiB.
const maxMeasurement = 64 << 10

// measured reads the measurement that a job's launcher stored.
func (t *Target) measured(ctx context.Context, url string) (string, error) {
	r, err := t.Objects().Open(ctx, url)
	if err != nil {
		return "", err
	}
	defer r.Close()
	text, err := io.ReadAll(io.LimitReader(r, maxMeasurement))
	return string(text), err
}

// Upload writes a text to a bucket, for a service that reads it at the URL.
func (t *Target) Upload(ctx context.Context, bucket, key string, text []byte) (url string, err error) {
	at := "s3://" + bucket + "/" + key
	if err := t.Objects().Put(ctx, at, string(text)); err != nil {
		return "", err
	}
	return t.Objects().Address(ctx, at)
}

// stagedFor is how long the inputs and outputs of local jobs are kept after the last submission: a
// retry of old cells reads them, too.
const stagedFor = 90 * 24 * time.Hour

// DropStaged removes old inputs and outputs of local jobs.
func (t *Target) DropStaged(dryRun bool, now time.Time) (rows []Removed, err error) {
	if !t.IsLocal() {
		return nil, nil
	}
	dir := filepath.Join(t.Submissions.Dir, container.StagedDir)
	old, err := oldStaged(dir, now.Add(-stagedFor))
	for _, name := range old {
		row := Removed{Staged: name, Action: "would be removed"}
		if !dryRun {
			row.Action = "removed"
			if removeErr := os.RemoveAll(filepath.Join(dir, name)); removeErr != nil {
				row.Action, row.Reason = "kept", exit.Cause(removeErr).Error()
			}
		}
		rows = append(rows, row)
	}
	return rows, err
}

// changedSince reports whether a checkpoint has a directory that changed after a time: each generation changes one.
func changedSince(dir string, before time.Time) (is bool) {
	_ = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err == nil && e.IsDir() {
			info, err := e.Info()
			is = is || err != nil || !info.ModTime().Before(before) // an unreadable one is kept
		}
		return nil
	})
	return is
}

// oldStaged returns the files in a staging directory, in its output directories and in its checkpoints, that are older
// than a time. The files of a tree are as old as its list.
func oldStaged(dir string, before time.Time) (old []string, err error) {
	var files []string
	recent := map[string]bool{}
	for _, below := range []string{"", container.OutputsDir, container.CheckpointsDir} {
		entries, err := os.ReadDir(filepath.Join(dir, below))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return old, err
		}
		for _, e := range entries {
			name := filepath.Join(below, e.Name())
			info, statErr := e.Info()
			switch {
			case statErr != nil || name == container.OutputsDir || name == container.CheckpointsDir:
			case below == container.CheckpointsDir && changedSince(filepath.Join(dir, name), before):
			case !info.ModTime().Before(before) && filepath.Ext(name) == ".tree":
				list, readErr := os.ReadFile(filepath.Join(dir, name))
				for line := range strings.Lines(string(list)) {
					hash, _, _ := strings.Cut(line, " ")
					recent[hash] = true
				}
				err = errors.Join(err, readErr)
			case info.ModTime().Before(before):
				files = append(files, name)
			}
		}
		if err != nil {
			return nil, err // an unreadable list keeps everything
		}
	}
	for _, name := range files {
		if !recent[name] {
			old = append(old, name)
		}
	}
	return old, nil
}

// Removed is something that gc removed, or would remove.
type Removed struct {
	Definition string `json:"definition,omitempty"`
	Resource   string `json:"consumableResource,omitempty"`
	Staged     string `json:"staged,omitempty"`
	Action     string `json:"action"` // deregistered, removed, kept, or with --dry-run would be deregistered or removed
	Reason     string `json:"reason,omitempty"`
}
