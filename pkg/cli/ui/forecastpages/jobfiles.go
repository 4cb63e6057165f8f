package forecastpages

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
)

const (
	// jobFileDepth is how deep below the directory job files are searched.
	jobFileDepth = 3
	// mostFiles is how many JSON files are read at most, and largestFile the largest.
	mostFiles   = 500
	largestFile = 8 << 20
)

// jobFiles returns the paths of the job files below a directory, with slashes. It skips what it cannot read.
func jobFiles(dir string) (found []string) {
	read := 0
	_ = fs.WalkDir(os.DirFS(dir), ".", func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return nil // another user's directory
		case e.IsDir() && path != "." && (strings.HasPrefix(e.Name(), ".") ||
			strings.Count(path, "/") >= jobFileDepth-1 || e.Name() == "node_modules"):
			return fs.SkipDir
		case !e.Type().IsRegular() || strings.HasPrefix(path, "-") || filepath.Ext(path) != ".json":
			return nil
		}
		info, err := e.Info()
		if err != nil || info.Size() > largestFile {
			return nil
		}
		if read++; read > mostFiles {
			return fs.SkipAll
		}
		if text, err := os.ReadFile(filepath.Join(dir, path)); err == nil && isJobFile(path, text) {
			found = append(found, path)
		}
		return nil
	})
	return found
}

// isJobFile reports whether a file has jobs, rather than queues or settings.
func isJobFile(path string, text []byte) bool {
	if filepath.Base(path) == document.FileName ||
		document.Recognize(diag.NewSource(path, string(text))) != document.Ours {
		return false
	}
	var members map[string]json.RawMessage
	_ = json.Unmarshal(text, &members) // a file with comments is a job file until batchctl reads it
	return !slices.ContainsFunc([]string{"jobQueues", "computeEnvironments", "schedulingPolicies", "jobQueueName",
		"computeEnvironmentName", "fairsharePolicy"}, func(name string) bool { return members[name] != nil })
}
