// Package journal keeps records in a file, in the order in which they were appended. An
// acknowledged record survives the end of the program and of the machine.
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
	"unicode"
)

// The journal is a text file: a header line, then one line per record,
//
//	length crc32c payload\n
//
// length in decimal bytes and crc32c in eight hex digits, both of the payload,
// which is text without a line break; and between them marks,
//
//	durable position crc32c\n
//
// A mark means that everything up to position was on disk when it was written; crc32c is that of
// the position's digits. Zeros may follow the last line: reserved space (see reserve).
//
// The file is only ever appended to. The disk may write unsynced pages in any order. So after the
// machine stopped, a missing page may be zeros, with whole records after it. Marks distinguish that
// from damage (see replay).

// Version is the version of the format. New kinds of records do not change it; a program stops at a record that it does
// not know.
const Version = 2

// Header is the first line of every journal. It ends with Version. A later version adds the batchctl that writes it,
// for the message of a program that cannot read it: `batchctl journal 3 v1.2.0`.
const Header = "batchctl journal 2\n"

// File is the part of a file that a journal uses; tests use a failing one.
type File interface {
	io.WriterAt
	Truncate(size int64) error
	// Sync returns when the written data is on disk, with the file's metadata that is needed to
	// read it. It is called by one goroutine at a time.
	Sync() error
	Close() error
}

// Journal appends records and syncs them to disk. Wait for Written before you start something that
// a later program must know of. Wait for Sync before you promise something to a client.
type Journal struct {
	mu   sync.Mutex
	file File
	size int64 // bytes of whole lines, including those not written yet
	// written counts those of them that are in the file.
	written int64
	// durable counts the bytes known to be on disk.
	durable int64
	marked  int64 // position of the last mark
	// reserved is the position up to which the file is filled with zeros.
	reserved int64
	// broken is set when the file cannot be trusted any more.
	broken error
	line   []byte

	syncing bool   // a goroutine is syncing
	atDisk  *group // the group being synced
	next    *group // the group for the next sync
	// crowd estimates how many callers there are; the next sync waits for enough of them.
	crowd, enough int
	changed       *sync.Cond // written, next.callers, syncing or broken have changed
	// During a sync a file accepts no writes. Appended records then wait here if they fit into the
	// reserved space, so that other callers need not wait. So do records that are appended while a
	// group gathers, which become one write.
	unwritten []byte
}

// group is the callers that share a sync.
type group struct {
	callers int
	// target is the size of the file when the sync began.
	target int64
	done   chan struct{}
	err    error
}

// New returns a journal that appends to a file with size bytes of whole lines, all of them on disk.
func New(file File, size int64) *Journal {
	j := &Journal{file: file, size: size, written: size, durable: size}
	j.changed = sync.NewCond(&j.mu)
	return j
}

// Append adds a record, a text without a line break, and returns the position for Written or Sync.
// After an error the file is unchanged, and a later append may succeed (the disk may have space
// again), unless the file could not even be truncated.
func (j *Journal) Append(record []byte) (position int64, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.broken != nil {
		return 0, j.broken
	}
	j.line = j.line[:0]
	if j.marked < j.durable {
		j.line = appendMark(j.line, j.durable)
	}
	j.line = appendFrame(j.line, record)
	switch end := j.size + int64(len(j.line)); {
	case (j.atDisk != nil || j.next != nil) && end <= j.reserved:
		j.unwritten = append(j.unwritten, j.line...)
	default:
		j.flush() // keep the order
		if j.broken != nil {
			return 0, j.broken
		}
		if err := j.write(j.line); err != nil {
			return 0, err
		}
	}
	j.size += int64(len(j.line))
	j.marked = max(j.marked, j.durable)
	return j.size, nil
}

// write appends to the file. The caller holds the lock.
func (j *Journal) write(text []byte) error {
	if _, err := j.file.WriteAt(text, j.written); err != nil {
		if cut := j.file.Truncate(j.written); cut != nil {
			j.fail(fmt.Errorf("write journal: %w, and truncate it: %w; restart the engine", err, cut))
			return j.broken
		}
		j.reserved = 0 // cut off, too
		return fmt.Errorf("write journal: %w", err)
	}
	j.written += int64(len(text))
	return nil
}

// flush writes the waiting records. Callers already rely on them, so a failure is final: the space
// was reserved, so the disk is failing. The caller holds the lock.
func (j *Journal) flush() {
	if len(j.unwritten) == 0 || j.broken != nil {
		return
	}
	if err := j.write(j.unwritten); err != nil {
		j.fail(fmt.Errorf("%w; restart the engine: it accepts no more requests", err))
	}
	j.unwritten = j.unwritten[:0]
	j.changed.Broadcast()
}

// A journal reserves as much as it contains, within these limits.
const (
	leastReserved = 64 << 10
	mostReserved  = 1 << 20
)

// reserve fills the file with zeros after the written records. Overwriting them cannot fail for
// lack of space, and a sync then writes only data, without the file system's own journal. The
// caller holds the lock.
func (j *Journal) reserve() {
	ahead := min(max(j.size, leastReserved), mostReserved)
	if j.reserved-j.size > ahead/2 {
		return
	}
	from, to := max(j.reserved, j.written), j.size+ahead
	if _, err := j.file.WriteAt(make([]byte, to-from), from); err != nil {
		// The disk is full. Appending will show how much still fits.
		if err := j.file.Truncate(j.written); err != nil {
			j.fail(fmt.Errorf("truncate journal: %w; restart the engine", err))
		}
		j.reserved = 0
		return
	}
	j.reserved = to
}

// Written returns when everything up to position is in the file, where it survives this program.
func (j *Journal) Written(position int64) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.await(position); j.written >= position {
		return nil
	}
	return j.broken
}

// InFile waits until everything that was appended is in the file, and returns the bytes of its whole lines. After a
// failure it returns how many there are.
func (j *Journal) InFile() int64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.await(j.size)
	return j.written
}

// await returns when everything up to position is in the file, or cannot be. The caller holds the lock.
func (j *Journal) await(position int64) {
	for j.written < position && j.broken == nil {
		if j.atDisk == nil {
			j.flush()
			return
		}
		j.changed.Wait()
	}
}

// Sync returns when everything up to position is on disk. Callers that arrive during a sync share
// the next one.
//
// A failed fsync is not retried: the kernel may have dropped the pages and would report success for
// lost data. From then on the journal rejects everything.
func (j *Journal) Sync(position int64) error {
	j.mu.Lock()
	g := j.atDisk
	switch {
	case j.durable >= position:
		j.mu.Unlock()
		return nil
	case j.broken != nil:
		defer j.mu.Unlock()
		return j.broken
	case g == nil || g.target < position:
		g = j.join()
	}
	j.mu.Unlock()
	<-g.done
	return g.err
}

// join adds the caller, who holds the lock, to the group of the next sync.
func (j *Journal) join() *group {
	if j.next == nil {
		j.next = &group{done: make(chan struct{})}
	}
	g := j.next
	g.callers++
	switch {
	case !j.syncing:
		j.syncing = true
		go j.syncGroups()
	case g.callers == j.enough:
		j.changed.Broadcast()
	}
	return g
}

// syncGroups syncs one group after the other until no caller waits.
func (j *Journal) syncGroups() {
	j.mu.Lock()
	defer j.mu.Unlock()
	for j.next != nil && j.broken == nil {
		j.gather()
		j.sync()
	}
	if g := j.next; g != nil {
		j.next = nil
		g.end(j.broken)
	}
	j.syncing = false
	j.changed.Broadcast()
}

// end wakes all callers with the result of their sync.
func (g *group) end(err error) {
	g.err = err
	close(g.done)
}

// longestGathering limits how long a caller waits for others.
const longestGathering = time.Millisecond

// gather waits until half of the callers have arrived, but not for long. One sync for all of them
// costs the machine as much as one for the first, and while the disk works for one half, the other
// half has the processors. A single caller does not wait. The caller holds the lock.
func (j *Journal) gather() {
	j.enough = (j.crowd + 1) / 2
	if j.next.callers >= j.enough {
		return
	}
	over := false
	timer := time.AfterFunc(longestGathering, func() {
		j.mu.Lock()
		defer j.mu.Unlock()
		over = true
		j.changed.Broadcast()
	})
	defer timer.Stop()
	for j.next.callers < j.enough && !over {
		j.changed.Wait()
	}
}

// sync writes the file to disk for the next group. The caller holds the lock, which is released
// meanwhile. Records that are appended then are written after it.
func (j *Journal) sync() {
	g := j.next
	j.next = nil
	if j.flush(); j.broken == nil {
		j.reserve()
	}
	if j.broken != nil {
		g.end(j.broken)
		return
	}
	g.target, j.atDisk = j.written, g
	j.mu.Unlock()
	err := j.file.Sync()
	j.mu.Lock()
	j.atDisk = nil
	if err != nil {
		j.fail(fmt.Errorf("sync journal: %w; restart the engine: it accepts no more requests", err))
		g.end(j.broken)
		return
	}
	j.durable = max(j.durable, g.target)
	// Some callers have left this group and not joined the next one yet. So the crowd shrinks by
	// one at a time.
	seen := g.callers
	if j.next != nil {
		seen += j.next.callers
	}
	j.crowd = max(seen, j.crowd-1)
	j.flush()
	g.end(nil)
}

// fail makes the journal reject everything from now on. The caller holds the lock.
func (j *Journal) fail(err error) {
	j.broken = err
	j.changed.Broadcast()
}

// Fail makes the journal reject everything from now on, and returns err.
func (j *Journal) Fail(err error) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.fail(err)
	return err
}

// Size returns the bytes of the whole lines in the file.
func (j *Journal) Size() int64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.size
}

// Close syncs everything to disk and closes the file.
func (j *Journal) Close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	for j.syncing {
		j.changed.Wait()
	}
	j.flush()
	err := j.broken
	if err == nil && j.reserved > 0 {
		err = j.file.Truncate(j.written) // release the reserved space
	}
	if err == nil {
		err = j.file.Sync()
	}
	j.fail(errors.New("the engine is closed"))
	return errors.Join(err, j.file.Close())
}

// appendFrame appends the line of a record.
func appendFrame(line, payload []byte) []byte {
	line = strconv.AppendInt(line, int64(len(payload)), 10)
	line = append(line, ' ')
	line = appendChecksum(line, payload)
	line = append(line, ' ')
	line = append(line, payload...)
	return append(line, '\n')
}

// markName begins the line of a mark.
const markName = "durable "

// appendMark appends the line that records how much is on disk.
func appendMark(line []byte, position int64) []byte {
	line = append(line, markName...)
	start := len(line)
	line = strconv.AppendInt(line, position, 10)
	digits := line[start:]
	line = append(line, ' ')
	line = appendChecksum(line, digits)
	return append(line, '\n')
}

// readMark returns the position of the mark at the start of data and the length of its line; the
// length is 0 if data does not start with a mark.
func readMark(data []byte) (position int64, n int) {
	line, _, ok := bytes.Cut(data[:min(len(data), len(markName)+32)], []byte("\n"))
	rest, named := bytes.CutPrefix(line, []byte(markName))
	digits, sum, _ := bytes.Cut(rest, []byte(" "))
	position, err := strconv.ParseInt(string(digits), 10, 64)
	if !ok || !named || err != nil || !bytes.Equal(appendChecksum(nil, digits), sum) {
		return 0, 0
	}
	return position, len(line) + 1
}

// appendChecksum appends the CRC-32C of data in eight hex digits.
func appendChecksum(line, data []byte) []byte {
	sum := crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli))
	return hex.AppendEncode(line, binary.BigEndian.AppendUint32(nil, sum))
}

// unframe returns the payload of the record at the start of data and the length
// of its line.
func unframe(data []byte) (payload []byte, n int, err error) {
	head, rest, ok := cutHead(data)
	if !ok {
		return nil, 0, errors.New("no record head")
	}
	length, sum, _ := strings.Cut(head, " ")
	size, err := strconv.ParseUint(length, 10, 31)
	if err != nil {
		return nil, 0, errors.New("no record length")
	}
	if uint64(len(rest)) <= size || rest[size] != '\n' {
		return nil, 0, errors.New("incomplete record")
	}
	payload = rest[:size]
	if string(appendChecksum(nil, payload)) != sum {
		return nil, 0, errors.New("checksum does not match")
	}
	return payload, len(data) - len(rest) + int(size) + 1, nil
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

// firstLine returns the format that a journal names, without control characters.
func firstLine(data []byte) string {
	line, _, _ := strings.Cut(string(data[:min(len(data), 40)]), "\n")
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return -1
	}, strings.TrimPrefix(line, "batchctl "))
}

// replay calls apply for each record of a journal and returns how many bytes are whole lines. After
// them comes reserved space, or an incomplete tail: unacknowledged writes when the machine stopped.
// Damage is an error.
func replay(data []byte, apply func(record []byte) error) (whole int64, err error) {
	if !bytes.HasPrefix(data, []byte(Header)) {
		if strings.HasPrefix(Header, string(data)) || len(bytes.Trim(data, "\x00")) == 0 {
			return 0, nil // new, or cut off while the header was written
		}
		if bytes.HasPrefix(data, []byte("batchctl journal ")) {
			return 0, fmt.Errorf("written by a newer batchctl (%s; this one reads journal %d); use that version, or a new state directory", firstLine(data), Version)
		}
		return 0, errors.New("it is not a journal of batchctl; restore it, or use a new state directory")
	}
	at := len(Header)
	for at < len(data) {
		if _, n := readMark(data[at:]); n > 0 {
			at += n
			continue
		}
		payload, n, bad := unframe(data[at:])
		if bad != nil {
			if damaged(data, at) {
				return int64(at), fmt.Errorf("damaged at byte %d (%w), with valid records after it; restore the file, "+
					"or move the whole directory away to start without its jobs", at, bad)
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

// damaged reports whether the incomplete line at a position of data was once complete. That is so
// if whole lines follow and the line does not just lack pages that were never written, or if a
// later mark shows that it was on disk.
func damaged(data []byte, at int) bool {
	after := data[min(at+1, len(data)):]
	if lacksPages(data, at) {
		for {
			i := bytes.Index(after, []byte(markName))
			if i < 0 {
				return false
			}
			if position, _ := readMark(after[i:]); position > int64(at) {
				return true
			}
			after = after[i+1:]
		}
	}
	for i := range after {
		if _, _, err := unframe(after[i:]); err == nil {
			return true
		}
		if _, n := readMark(after[i:]); n > 0 {
			return true
		}
	}
	return false
}

// sector is the unit that a disk writes completely or not at all.
const sector = 512

// lacksPages reports whether the line at a byte of data ends in zeros up to a sector boundary.
func lacksPages(data []byte, at int) bool {
	line, _, _ := bytes.Cut(data[at:], []byte("\n"))
	i := bytes.IndexByte(line, 0)
	if i < 0 {
		return false
	}
	from := at + i
	to := min((from/sector+1)*sector, len(data))
	return len(bytes.Trim(data[from:to], "\x00")) == 0
}

// Open calls apply for the records of the journal with this name below root, and opens the
// journal to append. An incomplete tail is saved as name.torn; torn is its length.
func Open(root *os.Root, name string, apply func(record []byte) error) (j *Journal, torn int, err error) {
	data, whole, err := read(root, name, apply)
	if err != nil {
		return nil, 0, err
	}
	file, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return nil, 0, fmt.Errorf("open journal: %w", err)
	}
	tail := bytes.TrimRight(data[whole:], "\x00")
	if err := repair(root, name, file, tail, whole); err != nil {
		return nil, 0, errors.Join(fmt.Errorf("open journal: %w", err), file.Close())
	}
	return New(newDisk(file), max(whole, int64(len(Header)))), len(tail), nil
}

// Read calls apply for the records of a journal and changes nothing; another program may be writing
// it. A missing journal has no records.
func Read(root *os.Root, name string, apply func(record []byte) error) error {
	_, _, err := read(root, name, apply)
	return err
}

// read calls apply for the records of a journal. whole is where the incomplete tail or the
// reserved space begins.
func read(root *os.Root, name string, apply func(record []byte) error) (data []byte, whole int64, err error) {
	if info, err := root.Stat(name); err == nil && !info.Mode().IsRegular() {
		return nil, 0, fmt.Errorf("read journal: %s/%s is not a regular file; move it away", root.Name(), name)
	}
	data, err = root.ReadFile(name)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, 0, fmt.Errorf("read journal: %w", err)
	}
	if whole, err = replay(data, apply); err != nil {
		return nil, 0, fmt.Errorf("read %s: %w", root.Name()+"/"+name, err)
	}
	return data, whole, nil
}

// repair saves the incomplete tail, truncates the file to its records, and writes the header, which a
// new journal lacks.
func repair(root *os.Root, name string, file *os.File, tail []byte, whole int64) error {
	if len(tail) > 0 {
		if err := root.WriteFile(name+".torn", tail, 0o600); err != nil {
			return err
		}
	}
	if err := file.Truncate(whole); err != nil {
		return err
	}
	if _, err := file.WriteAt([]byte(Header), 0); err != nil {
		return err
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

// Rewrite replaces the journal with this name below root by one with the records that keep returns;
// nil drops a record. After a crash either the old or the new journal exists.
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
			_, _ = out.Write(appendFrame(nil, kept))
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
