package objects

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

const (
	// manifestHead and manifestEnd are the first and the last line.
	manifestHead = "batchctl tree 1"
	manifestEnd  = "end"
	// manifestSuffix is that of a manifest's name, after its hash.
	manifestSuffix = ".tree"
	// maxManifest limits a manifest, in bytes: some million files.
	maxManifest = 256 << 20
)

// entry is a file of a tree.
type entry struct {
	path       string
	sha256     string
	size       int64
	executable bool
}

// manifest returns the text for a tree, whose files are in the order of their paths.
func manifest(files []entry) []byte {
	var b bytes.Buffer
	b.WriteString(manifestHead + "\n")
	for _, f := range files {
		b.WriteString(f.line() + "\n")
	}
	b.WriteString(manifestEnd + "\n")
	return b.Bytes()
}

// line formats an entry without the line end.
func (f entry) line() string {
	mark := "-"
	if f.executable {
		mark = "x"
	}
	return fmt.Sprintf("%s %d %s %s", f.sha256, f.size, mark, strconv.Quote(f.path))
}

// parseManifest parses a manifest. It accepts only the form that manifest writes, so that a tree has
// one hash.
func parseManifest(text []byte) ([]entry, error) {
	lines := strings.Split(string(text), "\n")
	if lines[0] != manifestHead {
		if strings.HasPrefix(lines[0], "batchctl tree ") {
			return nil, fmt.Errorf("it begins with %q, but this batchctl supports %q: update batchctl in the image",
				lines[0], manifestHead)
		}
		return nil, errors.New("it is not a list of a tree's files")
	}
	n := len(lines)
	if n < 3 || lines[n-1] != "" || lines[n-2] != manifestEnd {
		return nil, errors.New("its end is missing")
	}
	files := make([]entry, 0, n-3)
	names := conflicts{}
	for i, line := range lines[1 : n-2] {
		f, err := parseEntry(line)
		// The order makes the text unique, and excludes duplicates.
		if err == nil && i > 0 && files[i-1].path >= f.path {
			err = errors.New("it is out of order")
		}
		if err == nil {
			err = below(f.path, "the list")
		}
		if err == nil {
			err = names.add(f.path, "the list")
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", i+2, err)
		}
		files = append(files, f)
	}
	return files, nil
}

// parseEntry parses a line. It rejects any other form of the same entry.
func parseEntry(line string) (f entry, err error) {
	fields := strings.SplitN(line, " ", 4)
	if len(fields) != 4 {
		return f, errors.New("it is not a line for a file")
	}
	f.sha256 = fields[0]
	f.executable = fields[2] == "x"
	if sum, err := hex.DecodeString(f.sha256); err != nil || len(sum) != 32 || hex.EncodeToString(sum) != f.sha256 {
		return f, errors.New("it has no sha256")
	}
	if f.size, err = strconv.ParseInt(fields[1], 10, 64); err != nil || f.size < 0 {
		return f, errors.New("it has no size")
	}
	if f.path, err = strconv.Unquote(fields[3]); err != nil {
		return f, errors.New("its path is not quoted")
	}
	if f.line() != line {
		return f, errors.New("it is not in the standard form")
	}
	return f, nil
}

// hashed is a file of a tree with its checksums.
type hashed struct {
	*source
	sums
}

// sha is the SHA-256 in hex.
func (h *hashed) sha() string { return hex.EncodeToString(h.sha256) }

// entries returns the entries of files, in the order of their paths' bytes.
func entries(files []hashed) []entry {
	var all []entry
	for _, f := range files {
		all = append(all, entry{path: f.name, sha256: f.sha(), size: f.size, executable: f.executable()})
	}
	slices.SortStableFunc(all, func(a, b entry) int { return strings.Compare(a.path, b.path) })
	return all
}
