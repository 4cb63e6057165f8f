package history

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/jsonlines"
)

// format is the version of the rows. They do not name it: later versions only add members. A row that this version
// must not read would have the member "format".
const format = 1

// A history has at most maxFiles files. A writer begins a new file when the newest has fileSize bytes, and removes the
// oldest ones: about 60,000 attempts remain.
const (
	fileSize = 4 << 20
	maxFiles = 8
)

// Store is the history of a user. Its files are <Dir>/attempts-N.jsonl; the rows of the file with the highest number
// are the newest. Files are only appended to and removed, so that several processes can write at once without a lock.
type Store struct {
	// Dir is the directory of the ledger. Add creates it with mode 0700.
	Dir string

	fileSize int64 // 0: the default; tests have less
}

// DamageError names lines of the history that were skipped.
type DamageError struct {
	Path  string
	Lines []int // from 1
	// Newer means that a newer batchctl wrote these lines.
	Newer bool
}

// Error names the file and the lines.
func (e *DamageError) Error() string {
	lines := strings.ReplaceAll(strings.Trim(fmt.Sprint(e.Lines), "[]"), " ", ", ")
	if e.Newer {
		return fmt.Sprintf("%s: line %s was skipped: written by a newer batchctl; use that version", e.Path, lines)
	}
	return fmt.Sprintf("%s: line %s cannot be read and was skipped", e.Path, lines)
}

// Add records attempts, each once, and returns when they are on disk. If an attempt is already recorded, Add writes it
// again only if the new row knows more, such as what the attempt used.
func (s Store) Add(attempts ...Attempt) error {
	if len(attempts) == 0 {
		return nil
	}
	files, err := s.files()
	if err != nil {
		return err
	}
	wanted := map[key]*Attempt{}
	for _, a := range attempts {
		if !a.isValid() {
			return fmt.Errorf("record an attempt: want a target, a job and a number, not %q, %q and %d", a.Target,
				a.Job, a.Number)
		}
		wanted[a.key()] = nil
	}
	if err := s.find(files, wanted); err != nil {
		return err
	}
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	for _, a := range attempts {
		known := wanted[a.key()]
		if known != nil {
			merged := known.with(a)
			if reflect.DeepEqual(merged, *known) {
				continue
			}
			a = merged
		}
		wanted[a.key()] = &a
		if err := enc.Encode(a); err != nil {
			return err
		}
	}
	if text.Len() == 0 {
		return nil
	}
	return s.append(files, text.Bytes())
}

// All returns the attempts in the order in which they were recorded. Rows of the same attempt are one. After the last
// attempt it reports damaged lines with a *DamageError for each file. An incomplete last line is not damage: another
// process may be writing it.
func (s Store) All() iter.Seq2[Attempt, error] {
	return func(yield func(Attempt, error) bool) {
		files, err := s.files()
		if err != nil {
			yield(Attempt{}, err)
			return
		}
		all, err := s.read(files)
		for _, a := range all {
			if !yield(a, nil) {
				return
			}
		}
		for _, e := range split(err) {
			if !yield(Attempt{}, e) {
				return
			}
		}
	}
}

// split returns the parts of a joined error.
func split(err error) []error {
	if err == nil {
		return nil
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	return []error{err}
}

// key identifies an attempt. Commands that only read do not know their account, so the target is without it.
type key struct {
	target, job string
	number      int
}

func (a Attempt) key() key { return key{batch.WithoutAccount(a.Target), a.Job, a.Number} }

// isValid reports whether the row has what identifies an attempt.
func (a Attempt) isValid() bool { return a.Target != "" && a.Job != "" && a.Number > 0 }

// with returns the row with everything that a later row of the same attempt knows.
func (a Attempt) with(later Attempt) Attempt {
	text, err := json.Marshal(later)
	merged := a
	merged.Cell, merged.ImageDigests, merged.Usage = nil, nil, nil // Unmarshal would write into those of a
	merged.Spot, merged.ExitCode = clone(a.Spot), clone(a.ExitCode)
	if err != nil || json.Unmarshal(text, &merged) != nil {
		return a // it was encoded once, or decoded
	}
	if merged.Cell == nil {
		merged.Cell = a.Cell
	}
	if merged.ImageDigests == nil {
		merged.ImageDigests = a.ImageDigests
	}
	if merged.Usage == nil {
		merged.Usage = a.Usage
	}
	if batch.WithoutAccount(a.Target) == merged.Target {
		merged.Target = a.Target
	}
	return merged
}

// clone returns a pointer to a copy.
func clone[T any](p *T) *T {
	if p == nil {
		return nil
	}
	v := *p
	return &v
}

// files returns the numbers of the files, oldest first.
func (s Store) files() (numbers []int, err error) {
	entries, err := os.ReadDir(s.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, e := range entries {
		name, isRow := strings.CutSuffix(e.Name(), ".jsonl")
		name, isOurs := strings.CutPrefix(name, "attempts-")
		if n, err := strconv.Atoi(name); isRow && isOurs && err == nil && n > 0 {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	return numbers, err
}

// path returns a file by its number.
func (s Store) path(number int) string {
	return filepath.Join(s.Dir, fmt.Sprintf("attempts-%d.jsonl", number))
}

// append writes text to the newest file, or to a new one, with one write. It begins a line even after one that a
// crash cut off.
func (s Store) append(files []int, text []byte) error {
	limit := s.fileSize
	if limit == 0 {
		limit = fileSize
	}
	if len(files) == 0 {
		if err := os.MkdirAll(s.Dir, 0o700); err != nil {
			return err
		}
		files = []int{1}
	}
	number := files[len(files)-1]
	info, err := os.Stat(s.path(number))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	created := err != nil
	if err == nil && info.Size() >= limit {
		number, created = number+1, true
		files = append(files, number)
	}
	if err := jsonlines.Append(s.path(number), text); err != nil || !created {
		return err
	}
	for _, old := range files[:max(0, len(files)-maxFiles)] {
		_ = os.Remove(s.path(old)) // another process may read it; the next new file removes it
	}
	return syncDir(s.Dir)
}

// syncDir makes changes of a directory durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	_ = d.Sync() // Windows does not have it
	return nil
}

// each calls take for each complete line of the files, without its line end. take reports whether it could read it.
func (s Store) each(files []int, take func(line []byte) (read bool)) error {
	var damage []error
	for _, number := range files {
		text, err := os.ReadFile(s.path(number))
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed just now
		}
		if err != nil {
			return err
		}
		var lines []int
		newer := true
		n := 0
		for len(text) > 0 {
			n++
			line, rest, complete := bytes.Cut(text, []byte("\n"))
			text = rest
			if len(bytes.TrimSpace(line)) == 0 || take(line) || !complete && bytes.IndexByte(line, 0) < 0 {
				continue
			}
			lines, newer = append(lines, n), newer && formatOf(line) > format
		}
		if lines != nil {
			damage = append(damage, &DamageError{s.path(number), lines, newer})
		}
	}
	return errors.Join(damage...)
}

// formatOf returns the format that a row names; 0 for rows without one.
func formatOf(line []byte) int {
	var row struct {
		Format int `json:"format"`
	}
	_ = json.Unmarshal(line, &row) // a damaged line has none
	return row.Format
}

// decode reads a row. ok is false for a damaged one and for that of a newer version.
func decode(line []byte) (a Attempt, ok bool) {
	if bytes.Contains(line, []byte(`"format":`)) && formatOf(line) > format {
		return a, false
	}
	return a, json.Unmarshal(line, &a) == nil && a.isValid()
}

// read returns the attempts of the files. The error reports damaged lines.
func (s Store) read(files []int) ([]Attempt, error) {
	var all []Attempt
	at := map[key]int{}
	err := s.each(files, func(line []byte) bool {
		a, ok := decode(line)
		if !ok {
			return false
		}
		k := a.key()
		if i, again := at[k]; again {
			all[i] = all[i].with(a)
			return true
		}
		at[k] = len(all)
		all = append(all, a)
		return true
	})
	return all, err
}

// find reads the recorded rows of some attempts. It skips damaged lines, which All reports.
func (s Store) find(files []int, wanted map[key]*Attempt) error {
	err := s.each(files, func(line []byte) bool {
		k, ok := keyOf(line)
		if ok {
			if _, ok := wanted[k]; !ok {
				return true
			}
		}
		a, ok := decode(line)
		if !ok {
			return false
		}
		k = a.key()
		known, isWanted := wanted[k]
		switch {
		case !isWanted:
		case known == nil:
			wanted[k] = &a
		default:
			a = known.with(a)
			wanted[k] = &a
		}
		return true
	})
	for _, e := range split(err) {
		if _, ok := errors.AsType[*DamageError](e); !ok {
			return e
		}
	}
	return nil
}

// keyOf reads the first members of a row that Add wrote, which takes a fraction of the time of decode. ok is false for
// other rows.
func keyOf(line []byte) (k key, ok bool) {
	rest, ok := bytes.CutPrefix(line, []byte(`{"target":"`))
	target, rest, found := bytes.Cut(rest, []byte(`","job":"`))
	job, rest, also := bytes.Cut(rest, []byte(`","attempt":`))
	number, _, ends := bytes.Cut(rest, []byte(`,`))
	n, err := strconv.Atoi(string(number))
	if !ok || !found || !also || !ends || err != nil || bytes.IndexByte(target, '\\') >= 0 ||
		bytes.IndexByte(job, '\\') >= 0 {
		return key{}, false
	}
	return key{batch.WithoutAccount(string(target)), string(job), n}, true
}

// Find returns the recorded rows of attempts, given by Target, Job and Number. It skips damaged lines, which All
// reports.
func (s Store) Find(attempts ...Attempt) ([]Attempt, error) {
	files, err := s.files()
	if err != nil {
		return nil, err
	}
	wanted := map[key]*Attempt{}
	for _, a := range attempts {
		wanted[a.key()] = nil
	}
	if err := s.find(files, wanted); err != nil {
		return nil, err
	}
	var found []Attempt
	for _, a := range attempts {
		if known := wanted[a.key()]; known != nil {
			found = append(found, *known)
			wanted[a.key()] = nil // once
		}
	}
	return found, nil
}
