package diag

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// Baseline is a list of known problems that a check ignores, so that you can introduce a rule
// before all old files are fixed. It identifies problems by file, rule and the text of the
// line, not by line numbers.
type Baseline struct {
	// counts is the number of problems with a fingerprint; n of these fingerprints is 0.
	counts map[fingerprint]int
}

// baselineEntry is the number of problems of a rule in lines with the same text in a file.
type baselineEntry struct {
	File        string `json:"file"`
	Rule        string `json:"rule"`
	Fingerprint string `json:"fingerprint"`
	Count       int    `json:"count"`
}

// BaselineVersion changes when old fingerprints no longer match.
const BaselineVersion = 1

// mostBaseline limits the size of a baseline, in bytes: some 400,000 entries.
const mostBaseline = 64 << 20

// ReadBaseline reads the output of WriteBaseline. It fails for another version, for
// unknown members and for entries without a problem.
func ReadBaseline(r io.Reader) (*Baseline, error) {
	var file struct {
		Version  int             `json:"version"`
		Problems []baselineEntry `json:"problems"`
	}
	text, err := io.ReadAll(io.LimitReader(r, mostBaseline+1))
	if err != nil {
		return nil, err
	}
	if len(text) > mostBaseline {
		return nil, fmt.Errorf("longer than %d MiB", mostBaseline>>20)
	}
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, errors.New("the file is empty")
	}
	// The version first: another version has other members.
	if json.Unmarshal(text, &file) == nil && file.Version > BaselineVersion {
		return nil, fmt.Errorf("written by a newer batchctl (version %d; this one reads %d)", file.Version,
			BaselineVersion)
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&file); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("unexpected text after the end")
	}
	if file.Version != BaselineVersion {
		return nil, fmt.Errorf("version %d is not supported, want %d: write the baseline again", file.Version,
			BaselineVersion)
	}
	counts := map[fingerprint]int{}
	for i, e := range file.Problems {
		if e.File == "" || e.Rule == "" || e.Fingerprint == "" || e.Count < 1 {
			return nil, fmt.Errorf("entry %d needs a file, a rule, a fingerprint and a count of at least 1", i+1)
		}
		counts[fingerprint{file: e.File, rule: e.Rule, hash: e.Fingerprint}] += e.Count
	}
	return &Baseline{counts}, nil
}

// WriteBaseline writes the problems, except waived ones, as a baseline: JSON with one
// entry a line, sorted, so that its changes are easy to review and to merge. The error is
// that of w.
func WriteBaseline(w io.Writer, l List) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	fmt.Fprintf(&b, "{\n  \"version\": %d,\n  \"problems\": [", BaselineVersion)
	sep := "\n    "
	for _, e := range baselineEntries(l) {
		b.WriteString(sep)
		if err := enc.Encode(e); err != nil {
			return err
		}
		b.Truncate(b.Len() - 1) // Encode ends the line
		sep = ",\n    "
	}
	b.WriteString("\n  ]\n}\n")
	_, err := w.Write(b.Bytes())
	return err
}

// baselineEntries returns the entries for the list.
func baselineEntries(l List) []baselineEntry {
	counts := map[fingerprint]int{}
	for _, p := range fingerprints(l.Open()) {
		counts[p.any()]++
	}
	entries := make([]baselineEntry, 0, len(counts))
	for _, p := range slices.SortedFunc(maps.Keys(counts), compareFingerprints) {
		entries = append(entries, baselineEntry{p.file, p.rule, p.hash, counts[p]})
	}
	return entries
}

// any returns the fingerprint without n.
func (p fingerprint) any() fingerprint {
	p.n = 0
	return p
}

func compareFingerprints(a, b fingerprint) int {
	return cmp.Or(strings.Compare(a.file, b.file), strings.Compare(a.rule, b.rule), strings.Compare(a.hash, b.hash))
}

// Filter returns the problems that are not in the baseline, in their order, and how many are.
// It keeps waived problems: they do not fail a check. If more problems match an entry than its
// count, the last ones in the file are kept. stale names the entries, with file and rule, with
// fewer problems than their count: write the baseline again. Only entries of the checked files
// can be stale; nil means that all files were checked. formerNames returns the names that a rule had when the baseline
// was written.
func (b *Baseline) Filter(l List, files []string, formerNames func(rule string) []string) (kept List, known int,
	stale []string) {
	left := maps.Clone(b.counts)
	prints := fingerprints(l.Open())
	for _, d := range l {
		if d.Waived != nil {
			kept = append(kept, d)
			continue
		}
		p := prints[0]
		prints = prints[1:]
		entries := []fingerprint{p.any()}
		for _, rule := range formerNames(p.rule) {
			entries = append(entries, fingerprint{file: p.file, rule: rule, hash: digest(rule, d.trait())})
		}
		covered := 0
		for _, e := range entries {
			covered += b.counts[e]
		}
		if p.n > covered {
			kept = append(kept, d)
			continue
		}
		known++
		left[entries[max(0, slices.IndexFunc(entries, func(e fingerprint) bool { return left[e] > 0 }))]]--
	}
	return kept, known, b.stale(left, files)
}

// stale names the entries of checked files that have fewer problems than their count.
func (b *Baseline) stale(left map[fingerprint]int, files []string) []string {
	checked := map[string]bool{}
	for _, name := range files {
		checked[Printable(slashName(name))] = true
	}
	var stale []string
	for _, p := range slices.SortedFunc(maps.Keys(left), compareFingerprints) {
		if left[p] > 0 && (files == nil || checked[p.file]) {
			stale = append(stale, fmt.Sprintf("%s: %s (%d of %d gone)", Printable(p.file), Printable(p.rule), left[p],
				b.counts[p]))
		}
	}
	return stale
}
