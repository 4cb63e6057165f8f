package local

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"time"

	"github.com/batchctl/batchctl/pkg/local/journal"
)

// keepEnded is how long Batch shows a job that has ended.
const keepEnded = 7 * 24 * time.Hour

// forgetFrom is the size of the journal from which old jobs are worth forgetting.
const forgetFrom = 4 << 20

// forget drops the jobs that ended more than a week ago from the journal, with
// their logs, once they are half of what it keeps. It is done when a directory is
// opened, before anything looks at its jobs. It reports whether it did.
func (e *Engine) forget() (bool, error) {
	old := e.model.forgettable(time.Now().Add(-keepEnded).UnixMilli())
	if e.journal.Size() < e.options.forgetFrom || 2*len(old) < len(e.model.order) {
		return false, nil
	}
	err := journal.Rewrite(e.root, "journal", func(text []byte) ([]byte, error) {
		var r record
		if err := json.Unmarshal(text, &r); err != nil {
			return nil, err
		}
		kept := r.without(old)
		if len(kept.Events) == len(r.Events) {
			return text, nil
		}
		if len(kept.Events) == 0 {
			return nil, nil
		}
		return json.Marshal(kept)
	})
	return err == nil, err
}

// sweep removes the logs and scratch directories of jobs that are not known any
// more.
func (e *Engine) sweep() error {
	streams, tasks := map[string]bool{}, map[string]bool{}
	for _, r := range e.model.logs {
		for _, name := range Files(r.file) {
			streams[name] = true
		}
	}
	for _, j := range e.model.order {
		tasks[DirectoryName(&j.task)] = true
		for i := range j.children {
			tasks[DirectoryName(&j.children[i])] = true
		}
	}
	return errors.Join(e.sweepDirectory("logs", streams), e.sweepDirectory("scratch", tasks))
}

func (e *Engine) sweepDirectory(name string, keep map[string]bool) error {
	entries, err := fs.ReadDir(e.root.FS(), name)
	if err != nil {
		return fmt.Errorf("remove what old jobs left: %w", err)
	}
	var errs []error
	for _, entry := range entries {
		if !keep[entry.Name()] {
			errs = append(errs, e.root.RemoveAll(path.Join(name, entry.Name())))
		}
	}
	return errors.Join(errs...)
}
