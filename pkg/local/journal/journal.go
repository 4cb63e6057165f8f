// Package journal keeps records in a file, in the order in which they were appended:
// an acknowledged one survives the end of the program and of the machine.
package journal

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

// The journal is a text file: a header line, then one line per record,
//
//	length crc32c payload\n
//
// length in decimal bytes and crc32c in eight hex digits, both of the payload,
// which is text without a line break. It is only ever appended to.

// Header is the first line of every journal.
const Header = "batchctl journal 1\n"

// File is what a journal needs of a file; tests put a failing one in its place.
type File interface {
	io.Writer
	Truncate(size int64) error
	Sync() error
	Close() error
}

// reserver is a file that can keep room on the disk for what is to be appended: up to
// position to no append fails for want of space. The file's size stays as it is.
type reserver interface {
	Reserve(from, to int64) error
}

// Journal appends records and brings them to disk. Whoever starts something that a
// program after this one must know of waits for Written, and whoever promises
// something to the outside for Sync.
type Journal struct {
	mu      sync.Mutex
	synced  *sync.Cond // what was written or is durable has changed
	file    File
	size    int64 // bytes of whole records, with those that wait
	written int64 // of them in the file
	durable int64 // bytes known to be on disk
	syncing bool  // somebody brings records to disk, or is about to
	atDisk  bool  // the disk is at work
	broken  error // the file cannot be trusted any more
	// While the disk is at work a file takes no writes. What is appended then waits
	// here, if the file has room reserved for it, so that nobody else has to wait.
	unwritten []byte
	reserved  int64 // up to where
	// waiting is how many callers wait for the disk; when it was done last time they
	// were crowd.
	waiting, crowd int
	gathered       *sync.Cond
}

// New returns the journal that appends to a file with size bytes of whole records.
func New(file File, size int64) *Journal {
	j := &Journal{file: file, size: size, written: size, durable: size}
	j.synced, j.gathered = sync.NewCond(&j.mu), sync.NewCond(&j.mu)
	return j
}

// Append adds a record, a text without a line break, and returns the position to
// wait for: Written or Sync. After an error the file is as it was before, and a later
// append may succeed (the disk may have space again) unless the file could not even
// be cut back.
func (j *Journal) Append(record []byte) (position int64, err error) {
	line := frame(record)
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.broken != nil {
		return 0, j.broken
	}
	if j.atDisk && j.size+int64(len(line)) <= j.reserved {
		j.unwritten = append(j.unwritten, line...)
		j.size += int64(len(line))
		return j.size, nil
	}
	j.flush() // what came before goes before
	if j.broken != nil {
		return 0, j.broken
	}
	if err := j.write(line); err != nil {
		return 0, err
	}
	j.size = j.written
	j.reserve()
	return j.size, nil
}

// write appends to the file. The caller holds the lock.
func (j *Journal) write(text []byte) error {
	if _, err := j.file.Write(text); err != nil {
		if cut := j.file.Truncate(j.written); cut != nil {
			j.broken = fmt.Errorf("write journal: %w, and cut it back: %w; restart the engine", err, cut)
			return j.broken
		}
		j.reserved = 0 // cut off, too
		return fmt.Errorf("write journal: %w", err)
	}
	j.written += int64(len(text))
	return nil
}

// flush writes what waits. Somebody counts on it already, so a failure is the end: the
// room was reserved, and what fails is the disk. The caller holds the lock.
func (j *Journal) flush() {
	if len(j.unwritten) == 0 || j.broken != nil {
		return
	}
	if err := j.write(j.unwritten); err != nil {
		j.broken = fmt.Errorf("%w; nothing is accepted until the engine is restarted", err)
	}
	j.unwritten = j.unwritten[:0]
	j.synced.Broadcast()
}

// reserveAhead is how much room is reserved at a time, and half of it when more is.
const reserveAhead = 256 << 10

// reserve keeps room for what comes, where the file can. The caller holds the lock.
func (j *Journal) reserve() {
	r, ok := j.file.(reserver)
	if !ok || j.reserved-j.size > reserveAhead/2 {
		return
	}
	if r.Reserve(j.written, j.size+reserveAhead) == nil {
		j.reserved = j.size + reserveAhead
	}
}

// Written returns when everything up to position is in the file, where it outlives
// this program.
func (j *Journal) Written(position int64) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	for j.written < position && j.broken == nil {
		j.synced.Wait()
	}
	if j.written >= position {
		return nil
	}
	return j.broken
}

// Sync returns when everything up to position is on disk. Callers that come
// while another one waits for the disk share the next write with each other.
//
// A failed fsync is not tried again: the kernel may have dropped the pages and
// would report success for lost data. The journal refuses everything from then on.
func (j *Journal) Sync(position int64) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.waiting++
	defer func() { j.waiting-- }()
	j.gathered.Signal()
	for j.durable < position && j.broken == nil {
		if j.syncing {
			j.synced.Wait()
			continue
		}
		j.syncing = true
		j.gather()
		j.sync()
		j.syncing, j.crowd = false, j.waiting
		j.synced.Broadcast()
	}
	if j.durable >= position {
		return nil
	}
	return j.broken
}

// longestGathering bounds what a caller waits for others.
const longestGathering = time.Millisecond

// gather waits until as many callers are there as last time, but not for long: one
// write for all of them costs the machine as much as one for the first. A caller that
// was alone does not wait. The caller holds the lock.
func (j *Journal) gather() {
	if j.waiting >= j.crowd {
		return
	}
	over := false
	timer := time.AfterFunc(longestGathering, func() {
		j.mu.Lock()
		defer j.mu.Unlock()
		over = true
		j.gathered.Signal()
	})
	defer timer.Stop()
	for j.waiting < j.crowd && !over {
		j.gathered.Wait()
	}
}

// sync brings what is in the file to disk. The caller holds the lock, which is not
// held meanwhile. What is appended then is written behind it.
func (j *Journal) sync() {
	if j.flush(); j.broken != nil {
		return
	}
	target := j.written
	j.atDisk = true
	j.mu.Unlock()
	err := j.file.Sync()
	j.mu.Lock()
	j.atDisk = false
	if err != nil {
		j.broken = fmt.Errorf("sync journal: %w; nothing is accepted until the engine is restarted", err)
		return
	}
	j.durable = max(j.durable, target)
	j.flush()
}

// Fail makes the journal refuse everything from now on, and returns err.
func (j *Journal) Fail(err error) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.broken = err
	j.synced.Broadcast()
	return err
}

// Size is the bytes of the whole records in the file.
func (j *Journal) Size() int64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.size
}

// Close brings everything to disk and closes the file.
func (j *Journal) Close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.flush()
	err := j.broken
	if err == nil {
		err = j.file.Sync()
	}
	if err == nil && j.reserved > 0 {
		err = j.file.Truncate(j.written) // what was reserved is not needed any more
	}
	j.broken = errors.New("the engine is closed")
	j.synced.Broadcast()
	return errors.Join(err, j.file.Close())
}

func frame(payload []byte) []byte {
	line := make([]byte, 0, len(payload)+24)
	line = strconv.AppendInt(line, int64(len(payload)), 10)
	line = append(line, ' ')
	line = hex.AppendEncode(line, binary.BigEndian.AppendUint32(nil, checksum(payload)))
	line = append(line, ' ')
	line = append(line, payload...)
	return append(line, '\n')
}

func checksum(data []byte) uint32 { return crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli)) }

// unframe returns the payload of the record at the start of data and the length
// of its line.
func unframe(data []byte) (payload []byte, n int, err error) {
	head, rest, ok := cutHead(data)
	if !ok {
		return nil, 0, errors.New("no record head")
	}
	length, sum, _ := strings.Cut(head, " ")
	want, err := strconv.ParseUint(length, 10, 31)
	if err != nil {
		return nil, 0, errors.New("no record length")
	}
	if uint64(len(rest)) <= want || rest[want] != '\n' {
		return nil, 0, errors.New("record not whole")
	}
	payload = rest[:want]
	if fmt.Sprintf("%08x", checksum(payload)) != sum {
		return nil, 0, errors.New("checksum does not match")
	}
	return payload, len(data) - len(rest) + int(want) + 1, nil
}

// cutHead splits "length crc " off data.
func cutHead(data []byte) (head string, rest []byte, ok bool) {
	start := data[:min(len(data), 24)]
	first := bytes.IndexByte(start, ' ')
	if first < 0 {
		return "", nil, false
	}
	second := bytes.IndexByte(start[first+1:], ' ')
	if second < 0 {
		return "", nil, false
	}
	end := first + 1 + second
	return string(data[:end]), data[end+1:], true
}

// replay hands each record of a journal to apply and returns how many bytes are
// whole. What follows the last whole record is a torn tail if no whole record
// comes behind it: the writer died in the middle of its last write. Damage
// before other records is an error.
func replay(data []byte, apply func(record []byte) error) (whole int64, err error) {
	if !bytes.HasPrefix(data, []byte(Header)) {
		if strings.HasPrefix(Header, string(data)) {
			return 0, nil // new, or torn while the header was written
		}
		if bytes.HasPrefix(data, []byte("batchctl journal ")) {
			return 0, errors.New("it was written by a newer batchctl; use that one, or a fresh state directory")
		}
		return 0, errors.New("it does not begin as a journal; restore it, or use a fresh state directory")
	}
	at := len(Header)
	for at < len(data) {
		payload, n, bad := unframe(data[at:])
		if bad != nil {
			if wholeRecordIn(data[at:]) {
				return int64(at), fmt.Errorf("damaged at byte %d (%w), with good records behind; restore the file, "+
					"or move it away to begin without the jobs it holds", at, bad)
			}
			return int64(at), nil
		}
		if err := apply(payload); err != nil {
			return int64(at), fmt.Errorf("record at byte %d: %w", at, err)
		}
		at += n
	}
	return int64(at), nil
}

// wholeRecordIn reports whether a whole record begins anywhere behind the first
// byte of data. A payload holds no line break, so nothing inside one passes for it.
func wholeRecordIn(data []byte) bool {
	for at := range data[min(1, len(data)):] {
		if _, _, err := unframe(data[at+1:]); err == nil {
			return true
		}
	}
	return false
}

// Open hands the records of the journal of that name below root to apply, and opens
// it to append. The torn tail, if any, is kept beside it, as name.torn, and its
// length returned.
func Open(root *os.Root, name string, apply func(record []byte) error) (j *Journal, torn int, err error) {
	data, whole, err := read(root, name, apply)
	if err != nil {
		return nil, 0, err
	}
	file, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, 0, fmt.Errorf("open journal: %w", err)
	}
	if err := repair(root, name, file, data[whole:], whole); err != nil {
		return nil, 0, errors.Join(fmt.Errorf("open journal: %w", err), file.Close())
	}
	return New(disk{file}, max(whole, int64(len(Header)))), len(data) - int(whole), nil
}

// Read hands the records of a journal to apply and changes nothing; another program
// may be writing it. One that is not there has none.
func Read(root *os.Root, name string, apply func(record []byte) error) error {
	_, _, err := read(root, name, apply)
	return err
}

func read(root *os.Root, name string, apply func(record []byte) error) (data []byte, whole int64, err error) {
	data, err = root.ReadFile(name)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, 0, fmt.Errorf("read journal: %w", err)
	}
	if whole, err = replay(data, apply); err != nil {
		return nil, 0, fmt.Errorf("read %s: %w", root.Name()+"/"+name, err)
	}
	return data, whole, nil
}

// repair cuts the torn tail off and writes the header of a new journal.
func repair(root *os.Root, name string, file *os.File, tail []byte, whole int64) error {
	if len(tail) > 0 {
		if err := root.WriteFile(name+".torn", tail, 0o600); err != nil {
			return err
		}
		if err := file.Truncate(whole); err != nil {
			return err
		}
	}
	if whole == 0 {
		if _, err := file.WriteString(Header); err != nil {
			return err
		}
	}
	if err := file.Sync(); err != nil {
		return err
	}
	return syncDirectory(root)
}

// syncDirectory makes the names of new files durable.
func syncDirectory(root *os.Root) error {
	dir, err := root.Open(".")
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// Rewrite replaces the journal of that name below root by one with what keep makes
// of its records; nil drops a record. Whatever happens in between, either the old
// or the new journal is there.
func Rewrite(root *os.Root, name string, keep func(record []byte) ([]byte, error)) error {
	next := name + ".new"
	file, err := root.OpenFile(next, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("rewrite journal: %w", err)
	}
	out := bufio.NewWriter(file)
	_, _ = out.WriteString(Header) // bufio keeps the error for Flush
	err = Read(root, name, func(record []byte) error {
		kept, err := keep(record)
		if kept != nil {
			_, _ = out.Write(frame(kept))
		}
		return err
	})
	if err = errors.Join(err, out.Flush(), file.Sync(), file.Close()); err == nil {
		err = root.Rename(next, name)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("rewrite journal: %w", err), root.Remove(next))
	}
	return syncDirectory(root)
}
