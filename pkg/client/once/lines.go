package once

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"time"
)

// The files of the ledger have one JSON object a line. The last member of each is "sum", the
// first 16 digits of the sha256 of everything before it in the line. Lines of older versions
// have none: they are read, but nothing shows whether they changed on the disk.

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

func sumOf(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])[:sumDigits]
}

// checkSeal reports whether a line has a checksum, and whether the line is unchanged since; a
// line without one counts as unchanged.
func checkSeal(text []byte) (sealed, unchanged bool) {
	cut := len(text) - sumLen
	if cut < 0 || !bytes.HasPrefix(text[cut:], []byte(sumMember)) || !bytes.HasSuffix(text, []byte(sumEnd)) {
		return false, true
	}
	body, sum := text[:cut], text[cut+len(sumMember):cut+len(sumMember)+sumDigits]
	return true, sumOf(body) == string(sum)
}

// eachLine hands the whole lines of a text to take, without their ends, and returns a last one
// without its end, as a crash leaves it.
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

// creation is more than a process needs between creating a file and writing its first line.
const creation = time.Minute

// readRecords hands the records of a file to take, which reports whether one makes sense.
// A file that does not exist has none, and a torn last line is ignored. Damaged lines are
// skipped and named by a *DamageError that comes together with the rest. So is a last
// line with zeros, which file systems leave after a power failure, and line 1 of an empty file:
// a file is created with its first line, so only one that another process creates just now
// has none.
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
	n := 0
	torn, err := eachLine(f, func(text []byte) {
		n++
		if len(bytes.TrimSpace(text)) == 0 {
			return
		}
		var record T
		if _, unchanged := checkSeal(text); !unchanged || json.Unmarshal(text, &record) != nil || !take(record) {
			damaged = append(damaged, n)
		}
	})
	if info, statErr := f.Stat(); statErr == nil && info.Size() == 0 && time.Since(info.ModTime()) > creation || bytes.IndexByte(torn, 0) >= 0 {
		damaged = append(damaged, n+1)
	}
	if err == nil && damaged != nil {
		err = &DamageError{path, damaged}
	}
	return err
}

// passDamage reports damaged lines to Ledger.Damaged, and returns any other error.
func (l *Ledger) passDamage(err error) error {
	damage, damaged := errors.AsType[*DamageError](err)
	if !damaged {
		return err
	}
	if l.Damaged != nil {
		l.Damaged(damage)
	}
	return nil
}
