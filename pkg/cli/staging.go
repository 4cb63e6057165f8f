package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/urfave/cli/v2"

	"github.com/batchctl/batchctl/pkg/local/container"
	"github.com/batchctl/batchctl/pkg/objects"
	"github.com/batchctl/batchctl/pkg/spec"
)

// Staging is for what is too long for a request: the cells of a large table, a command
// list. An AWS target names a place in S3; the local engine's is below its state.

// stagingOf is the place for long texts of the target that the command line asks for; ""
// where it has none.
func stagingOf(c *cli.Context, platform *spec.Platform, isLocal bool) (string, error) {
	if !isLocal {
		if platform == nil {
			return "", nil
		}
		entry, _ := platform.Target(targetName(c, platform))
		return entry.Staging, nil
	}
	dir, err := stateDir(c)
	return filepath.Join(dir, container.StagedDir), err
}

// objects moves what is in S3 with the target's credentials, and at its endpoint.
func (t *target) objects() *objects.Store {
	t.once.Do(func() {
		t.store = &objects.Store{Config: func(context.Context) (aws.Config, error) { return t.config, nil }}
	})
	return t.store
}

// stage puts a text at its place. Its name is the hash of the text, so what is there is
// the same already.
func (t *target) stage(ctx context.Context, url, text string) error {
	if !t.isLocal() {
		err := t.objects().Put(ctx, url, text)
		if objects.Missing(err) {
			return fmt.Errorf("%w; make the bucket, or give the target another \"staging\" in the platform file", err)
		}
		return err
	}
	if held, err := os.ReadFile(url); err == nil && bytes.Equal(held, []byte(text)) {
		return os.Chtimes(url, time.Time{}, time.Now()) // it is in use again
	}
	if err := os.MkdirAll(filepath.Dir(url), 0o700); err != nil {
		return err
	}
	// The directory is the owner's, the file everybody's: a container may have another
	// user, and is given the file alone.
	return writeFile(url, forAll, asText([]byte(text)))
}

// stagedFor is how long the local engine's staged texts are kept after they were last
// submitted: a retry of old cells reads them, too.
const stagedFor = 90 * 24 * time.Hour

// dropStaged removes texts of the local engine that were staged long ago.
func (t *target) dropStaged(dryRun bool, now time.Time) (rows []gcRow, err error) {
	if !t.isLocal() {
		return nil, nil
	}
	dir := filepath.Join(t.ledger.Dir, container.StagedDir)
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, e := range entries {
		info, statErr := e.Info()
		if statErr != nil || now.Sub(info.ModTime()) < stagedFor {
			continue
		}
		row := gcRow{Staged: e.Name(), Action: "would be removed"}
		if !dryRun {
			row.Action = "removed"
			if removeErr := os.Remove(filepath.Join(dir, e.Name())); removeErr != nil {
				row.Action, row.Reason = "kept", cause(removeErr).Error()
			}
		}
		rows = append(rows, row)
	}
	return rows, err
}
