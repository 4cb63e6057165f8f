package document

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/batchctl/batchctl/pkg/stage"
)

// Document returns the document for batchctl stage in the container; nil if the job has
// neither inputs, outputs nor a checkpoint. A local source is its path. For a local destination, only
// Local is set, because submit chooses the location.
func (j *Job) Document() *stage.Document {
	if !j.IsStaged() {
		return nil
	}
	d := &stage.Document{Version: stage.Version}
	for _, in := range j.Inputs {
		d.Inputs = append(d.Inputs, stage.Input{From: in.Source.Text, To: in.Path,
			SHA256: strings.ToLower(in.SHA256.Str())})
	}
	for _, out := range j.Outputs {
		o := stage.Output{From: out.Path, To: out.Destination.Text, When: out.When}
		if IsLocal(o.To) {
			o.To, o.Local = "", out.Destination.Text
		}
		d.Outputs = append(d.Outputs, o)
	}
	if j.Checkpoint != nil {
		d.Checkpoint = j.Checkpoint.Document()
	}
	return d
}

// Document returns the checkpoint for batchctl stage in the container. If it is staged, To is empty.
func (c *Checkpoint) Document() *stage.Checkpoint {
	d := &stage.Checkpoint{Path: c.Path.Text, Every: c.Every}
	if !c.IsStaged() {
		d.To = c.To.Text
	}
	return d
}

// StageText returns a document as the value of its variable.
func StageText(d *stage.Document) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(d) // it cannot fail for strings and numbers
	return strings.TrimSuffix(b.String(), "\n")
}
