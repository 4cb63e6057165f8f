package local

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/batchctl/batchctl/pkg/local/journal"
)

// checkJournal rejects a journal that is missing, empty or filled with zeros, if the directory
// shows that an engine has used it. A file system can leave such a journal after a power failure.
// An engine without the journal would report no jobs at all.
func (d *stateDirectory) checkJournal() error {
	problem, err := d.journalProblem()
	if err != nil || problem == "" {
		return err
	}
	// An engine writes these only after its journal.
	for _, name := range []string{"executor", connectionFile, "journal.torn"} {
		if info, err := d.root.Lstat(name); err == nil && info.Mode().IsRegular() {
			return d.lostJournal(problem, name)
		}
	}
	if name := d.traceOfJobs(); name != "" {
		return d.lostJournal(problem, name)
	}
	return nil
}

// checkRecords rejects a journal without any record if there are logs of jobs. lastAt is when the
// latest record was written; 0 means that there is none.
func (d *stateDirectory) checkRecords(lastAt int64) error {
	if lastAt != 0 {
		return nil
	}
	if name := d.traceOfJobs(); name != "" {
		return d.lostJournal("has no records", name)
	}
	return nil
}

// lostJournal returns the error for a journal with a problem, given a file that shows that there
// was a good one.
func (d *stateDirectory) lostJournal(problem, trace string) error {
	dir := d.root.Name()
	return fmt.Errorf("read %s/journal: the file %s, but %s shows that an engine has run here; restore the file, "+
		"or move the whole directory away to start without its jobs: mv %s %s.damaged", dir, problem, trace, dir, dir)
}

// journalProblem returns why the journal cannot be the one of an engine that has run; "" if it can.
func (d *stateDirectory) journalProblem() (string, error) {
	file, err := d.root.Open("journal")
	if errors.Is(err, fs.ErrNotExist) {
		return "is missing", nil
	}
	if err != nil {
		return "", fmt.Errorf("read journal: %w", err)
	}
	defer file.Close()
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return "", err // what reads it names the problem
	}
	head := make([]byte, len(journal.Header))
	n, err := io.ReadFull(file, head)
	switch text := string(head[:n]); {
	case err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF):
		return "", fmt.Errorf("read journal: %w", err)
	case n == 0:
		return "is empty", nil
	case strings.Trim(text, "\x00") == "":
		return "starts with zeros", nil
	case n < len(head) && strings.HasPrefix(journal.Header, strings.TrimRight(text, "\x00")):
		return "ends within its first line", nil
	}
	return "", nil
}

// traceOfJobs returns the name of something that only an attempt leaves; "" if there is none.
func (d *stateDirectory) traceOfJobs() string {
	for _, dir := range []string{"logs", "scratch"} {
		if entries, err := fs.ReadDir(d.root.FS(), dir); err == nil && len(entries) > 0 {
			return dir + "/" + entries[0].Name()
		}
	}
	return ""
}
