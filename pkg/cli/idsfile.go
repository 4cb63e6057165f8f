package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"
)

// submitOutput is the format of submit --output, or the file that it names: ids.json.
func submitOutput(c *cli.Context) (format, file string, err error) {
	if word := c.String("output"); strings.HasSuffix(word, ".json") {
		if c.Bool("json") {
			return "json", word, nil
		}
		return "text", word, nil
	}
	format, err = outputFormat(c)
	return format, "", err
}

// idsFile is the file that submit --output names. It is begun before anything is sent:
// who cannot write it should know then.
type idsFile struct {
	path string
	temp *os.File
}

func beginIDs(path string) (*idsFile, error) {
	if path == "" {
		return nil, nil
	}
	if isDirectory(path) {
		return nil, fail(ExitUsage, "--output %s is a directory", path).try("name a file in it")
	}
	temp, err := os.CreateTemp(filepath.Dir(path), ".batchctl-ids-*")
	if err != nil {
		return nil, fail(ExitNotDone, "write %s: %v; nothing was sent", path, cause(err)).try("name another file: --output FILE.json")
	}
	return &idsFile{path, temp}, nil
}

// keep writes the rows, as submit --json prints them, in the place of an older file.
func (f *idsFile) keep(rows []submittedRow) error {
	if f == nil {
		return nil
	}
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(rows)
	if err == nil {
		_, err = f.temp.Write(text.Bytes())
	}
	if err = errors.Join(err, f.temp.Chmod(0o644), f.temp.Close()); err == nil {
		err = os.Rename(f.temp.Name(), f.path)
	}
	if err != nil {
		return fail(ExitNotDone, "write %s: %v", f.path, cause(err)).try("the jobs were submitted; see them: batchctl list")
	}
	return nil
}

// drop removes what was begun and not kept.
func (f *idsFile) drop() {
	if f != nil {
		_ = f.temp.Close()
		_ = os.Remove(f.temp.Name())
	}
}
