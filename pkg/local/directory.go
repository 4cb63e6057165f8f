package local

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"

	"github.com/batchctl/batchctl/pkg/local/attempt"
	"github.com/batchctl/batchctl/pkg/local/logs"
	"github.com/batchctl/batchctl/pkg/local/model"
)

// stateDirectory is the directory below which an engine keeps everything. Its fields do not change
// while the engine is open.
type stateDirectory struct {
	root    *os.Root
	lock    *os.File // held while the engine is open; nil when it is read-only
	scratch *attempt.Scratch
}

// openDirectory opens the directory dir, and creates it if create is true.
func openDirectory(dir string, create bool) (stateDirectory, error) {
	if create {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return stateDirectory{}, fmt.Errorf("open engine: %w", err)
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return stateDirectory{}, fmt.Errorf("open engine: %w", err)
	}
	return stateDirectory{root: root, scratch: attempt.NewScratch(root)}, nil
}

// acquire locks the directory for this engine.
func (d *stateDirectory) acquire() (err error) {
	if err := checkPrivate(d.root); err != nil {
		return err
	}
	d.lock, err = lockDirectory(d.root)
	return err
}

// makeSubdirectories creates the directories of logs and of attempts.
func (d *stateDirectory) makeSubdirectories() error {
	for _, sub := range []string{"logs", "scratch"} {
		if err := d.root.Mkdir(sub, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("open engine: %w", err)
		}
	}
	return nil
}

// sweep removes the logs and scratch directories of unknown jobs.
func (d *stateDirectory) sweep(m *model.Model) error {
	streams, tasks := map[string]bool{}, map[string]bool{}
	for _, r := range m.LogStreams {
		for _, name := range logs.Files(r.File) {
			streams[name] = true
		}
	}
	for _, j := range m.BySubmission {
		tasks[attempt.DirectoryName(&j.Task)] = true
		for i := range j.Children {
			tasks[attempt.DirectoryName(&j.Children[i])] = true
		}
	}
	return errors.Join(d.sweepSubdirectory("logs", streams), d.sweepSubdirectory("scratch", tasks))
}

// sweepSubdirectory removes all entries of a subdirectory except those to keep.
func (d *stateDirectory) sweepSubdirectory(name string, keep map[string]bool) error {
	entries, err := fs.ReadDir(d.root.FS(), name)
	if err != nil {
		return fmt.Errorf("remove the files of old jobs: %w", err)
	}
	var errs []error
	for _, entry := range entries {
		if !keep[entry.Name()] {
			errs = append(errs, d.root.RemoveAll(path.Join(name, entry.Name())))
		}
	}
	return errors.Join(errs...)
}

// close unlocks and closes the directory, whether or not it was opened and locked.
func (d *stateDirectory) close() error {
	var errs []error
	if d.lock != nil {
		errs = append(errs, d.lock.Close())
	}
	if d.root != nil {
		errs = append(errs, d.scratch.Close(), d.root.Close())
	}
	return errors.Join(errs...)
}
