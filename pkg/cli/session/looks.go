package session

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/explain"
	"github.com/batchctl/batchctl/pkg/target"
)

// checksKept is how long the observations of a job are kept after the last one.
const checksKept = 7 * 24 * time.Hour

// RememberLook adds earlier observations of a job to the bundle, and stores this
// one. explain trusts some reasons only after they have lasted for a while, which
// may be longer than one command. If nothing can be stored, only this observation
// counts.
func RememberLook(t *target.Target, id string, b *explain.Bundle) {
	if t.IsLocal() || strings.ContainsAny(id, `/\`) {
		return
	}
	dir := filepath.Join(t.Submissions.Dir, "looks")
	path := filepath.Join(dir, strings.NewReplacer(":", "_", "#", "_").Replace(id)+".json")
	if batch.HasEnded(b.Subject.Job.Status) {
		_ = os.Remove(path)
		return
	}
	if text, err := os.ReadFile(path); err == nil {
		var earlier []explain.Sample
		if json.Unmarshal(text, &earlier) == nil {
			b.Remember(earlier)
		}
	}
	text, err := json.Marshal(b.Looks)
	if err != nil || os.MkdirAll(dir, 0o700) != nil {
		return
	}
	forgetLooks(dir)
	draft := path + ".new"
	if os.WriteFile(draft, text, 0o600) == nil {
		_ = os.Rename(draft, path)
	}
}

// forgetLooks removes observations that are older than checksKept.
func forgetLooks(dir string) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > checksKept {
			_ = os.Remove(filepath.Join(dir, e.Name()))
		}
	}
}
