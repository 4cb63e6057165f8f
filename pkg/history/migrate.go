package history

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/batch/types"
)

// migrated is the number of the file with the outcomes of versions without a history.
const migrated = 0

// outcome is a line of outcomes.jsonl: how a job ended, without its attempts.
type outcome struct {
	Target     string          `json:"target"`
	ID         string          `json:"id"`
	Name       string          `json:"name"`
	Queue      string          `json:"queue"`
	Definition string          `json:"definition"`
	Status     types.JobStatus `json:"status"`
	Reason     string          `json:"reason"`
	ExitCode   *int32          `json:"exitCode"`
	Container  string          `json:"containerReason"`
	CreatedAt  int64           `json:"createdAt"`
	StartedAt  int64           `json:"startedAt"`
	StoppedAt  int64           `json:"stoppedAt"`
	Size       int             `json:"size"`
}

// earlier returns rows for the outcomes that versions without a history recorded. Their number is 0. It skips lines
// that it cannot read, arrays, of which only the children ran, and jobs that never started.
func (s Store) earlier() (rows []Attempt) {
	text, err := os.ReadFile(filepath.Join(s.Dir, "outcomes.jsonl"))
	if err != nil {
		return nil // there are no outcomes; a file that cannot be read does not prevent new rows
	}
	for line := range bytes.Lines(text) {
		var o outcome
		if json.Unmarshal(line, &o) != nil || o.ID == "" || o.Target == "" || o.Size > 0 || o.StartedAt == 0 {
			continue
		}
		definition := o.Definition[strings.LastIndexByte(o.Definition, '/')+1:] // it was an ARN
		queue := o.Queue[strings.LastIndexByte(o.Queue, '/')+1:]
		rows = append(rows, Attempt{Target: o.Target, Job: o.ID, Name: o.Name, Queue: queue, Definition: definition,
			Status: o.Status,
			Reason: o.Reason, Container: o.Container, ExitCode: o.ExitCode, CreatedAt: o.CreatedAt,
			StartedAt: o.StartedAt, StoppedAt: o.StoppedAt})
	}
	return rows
}

// migrate creates the first file from the outcomes of earlier versions. Processes that do so at the same time create
// the same file.
func (s Store) migrate() ([]int, error) {
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return nil, err
	}
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	for _, a := range s.earlier() {
		if err := enc.Encode(a); err != nil {
			return nil, err
		}
	}
	f, err := os.CreateTemp(s.Dir, "attempts-*.new")
	if err != nil {
		return nil, err
	}
	_, err = f.Write(text.Bytes())
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), s.path(migrated))
	}
	if err != nil {
		return nil, errors.Join(err, os.Remove(f.Name()))
	}
	return []int{migrated}, syncDir(s.Dir)
}
