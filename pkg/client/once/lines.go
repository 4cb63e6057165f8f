package once

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"
)

// The files of the ledger have one JSON object per line. Its last member is "sum": the first 16
// digits of the sha256 of the line before it. A line without one, as you
// may write it by hand, is read, but changes to it go unnoticed. Only the log of a run rejects it.

// LedgerFormat is the version of the ledger's files. Their lines have no version, because later versions only add
// members. A line of a version that cannot be read like this one would have the member "format".
const LedgerFormat = 1

// newerFormat explains that a newer batchctl wrote a file or a line.
func newerFormat(format, known int) string {
	return fmt.Sprintf("written by a newer batchctl (format %d; this one reads %d): use that version", format, known)
}

// DamageError names damaged lines of the ledger that were skipped.
type DamageError struct {
	Path  string
	Lines []int // from 1
	// Newer is the format of these lines if a newer batchctl wrote them; 0 if one of them is damaged.
	Newer int
}

// Error names the file and the lines.
func (e *DamageError) Error() string {
	lines := strings.ReplaceAll(strings.Trim(fmt.Sprint(e.Lines), "[]"), " ", ", ")
	if e.Newer > 0 {
		return fmt.Sprintf("%s: line %s was skipped: %s", e.Path, lines, newerFormat(e.Newer, LedgerFormat))
	}
	return fmt.Sprintf("%s: line %s cannot be read and was skipped", e.Path, lines)
}

const (
	sumMember = `,"sum":"`
	sumDigits = 16
	sumEnd    = `"}`
	sumLen    = len(sumMember) + sumDigits + len(sumEnd)
)

// jsonLines writes values as sealed lines.
func jsonLines[T any](values []T) ([]byte, error) {
	var text, one bytes.Buffer
	enc := json.NewEncoder(&one)
	enc.SetEscapeHTML(false)
	for _, v := range values {
		one.Reset()
		if err := enc.Encode(v); err != nil {
			return nil, err
		}
		text.Write(seal(bytes.TrimSuffix(one.Bytes(), []byte("\n"))))
		text.WriteByte('\n')
	}
	return text.Bytes(), nil
}

// seal adds the checksum to an object that has members.
func seal(object []byte) []byte {
	body := bytes.TrimSuffix(object, []byte("}"))
	return append(append(append(bytes.Clone(body), sumMember...), sumOf(body)...), sumEnd...)
}

// sumOf returns the checksum of a line.
func sumOf(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])[:sumDigits]
}

// checkSeal reports whether a line has a checksum, and whether the line matches it. A line without
// one counts as unchanged.
func checkSeal(text []byte) (sealed, unchanged bool) {
	cut := len(text) - sumLen
	if cut < 0 || !bytes.HasPrefix(text[cut:], []byte(sumMember)) || !bytes.HasSuffix(text, []byte(sumEnd)) {
		return false, true
	}
	body, sum := text[:cut], text[cut+len(sumMember):cut+len(sumMember)+sumDigits]
	return true, sumOf(body) == string(sum)
}

// eachLine calls take for each complete line of a text, without its line end. It returns an
// incomplete last line, as a crash leaves it.
func eachLine(from io.Reader, take func(text []byte)) (torn []byte, err error) {
	r := bufio.NewReader(from)
	for {
		text, err := r.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return text, nil
		}
		if err != nil {
			return nil, err
		}
		take(bytes.TrimSuffix(text, []byte("\n")))
	}
}

// creation bounds the time between creating a file and writing its first line.
const creation = time.Minute

// readRecords calls take for each record of a file; take reports whether the record is valid. A
// file that does not exist has no records, and an incomplete last line is ignored. Damaged lines
// are skipped and reported by a *DamageError together with the rest. A last line of zeros, as file
// systems leave after a power failure, counts as damaged. So does line 1 of an empty file, unless
// another process is just creating it.
func readRecords[T any](path string, take func(T) bool) error {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	var damaged []int
	n, newer, broken := 0, 0, false
	torn, err := eachLine(f, func(text []byte) {
		n++
		if len(bytes.TrimSpace(text)) == 0 {
			return
		}
		if format := formatOf(text); format > LedgerFormat {
			newer, damaged = max(newer, format), append(damaged, n)
			return
		}
		var record T
		if _, unchanged := checkSeal(text); !unchanged || json.Unmarshal(text, &record) != nil || !take(record) {
			broken, damaged = true, append(damaged, n)
		}
	})
	if info, statErr := f.Stat(); statErr == nil && info.Size() == 0 && time.Since(info.ModTime()) > creation ||
		bytes.IndexByte(torn, 0) >= 0 {
		broken, damaged = true, append(damaged, n+1)
	}
	if broken {
		newer = 0
	}
	if err == nil && damaged != nil {
		err = &DamageError{path, damaged, newer}
	}
	return err
}

// formatOf returns the format of an unchanged line that names one; 0 for others.
func formatOf(text []byte) int {
	if !bytes.Contains(text, []byte(`"format":`)) {
		return 0
	}
	var line struct {
		Format int `json:"format"`
	}
	if _, unchanged := checkSeal(text); !unchanged || json.Unmarshal(text, &line) != nil {
		return 0
	}
	return line.Format
}
