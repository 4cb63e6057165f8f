package objects

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/batchctl/batchctl/pkg/syncmap"
)

// bufferSize is the memory for the bytes of each connection.
const bufferSize = 256 << 10

// buffers reuses the connections' buffers.
var buffers = sync.Pool{New: func() any { return new([bufferSize]byte) }}

// dest is a directory for files; no file can be written outside it.
type dest struct {
	*os.Root
	dirs syncmap.Map[string, bool] // directories that are known to exist
	give *owner                    // the owner of new files; nil: this user
	// output is true for files that must survive a power failure: outputs and checkpoints, but not inputs.
	output bool
}

// owner is a user of the machine, with the group.
type owner struct{ uid, gid int }

// openDest creates the directory, with its parents, and opens it.
func openDest(dir string) (*dest, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, fmt.Errorf("create the directory: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return &dest{Root: root}, nil
}

// openOutput is openDest for outputs. Files that root in a container creates below another user's
// directory get that user as owner. Otherwise a user who runs jobs through a daemon could neither read
// nor remove them. If the owner cannot be changed, it stays.
func openOutput(dir string) (*dest, error) {
	dir = filepath.Clean(dir)
	existing := nearest(dir)
	d, err := openDest(dir)
	if err != nil {
		return nil, err
	}
	d.output = true
	if d.give = another(existing); d.give != nil {
		for created := dir; created != existing; created = filepath.Dir(created) {
			_ = os.Lchown(created, d.give.uid, d.give.gid)
		}
	}
	return d, nil
}

// full returns the path of a file of the directory, for messages.
func (d *dest) full(name string) string { return filepath.Join(d.Name(), filepath.FromSlash(name)) }

// mkdir creates a directory below d, with its parents, once. It may be called concurrently.
func (d *dest) mkdir(dir string) error {
	if dir == "." {
		return nil
	}
	if _, exists := d.dirs.Load(dir); exists {
		return nil
	}
	if err := d.MkdirAll(dir, 0o777); err != nil {
		return fmt.Errorf("create the directory %s: %w", d.full(dir), cause(err))
	}
	for created := dir; created != "." && d.give != nil; created = path.Dir(created) {
		_ = d.Lchown(created, d.give.uid, d.give.gid)
	}
	d.dirs.Store(dir, true)
	return nil
}

// size returns the size of an existing regular file in bytes; -1 if there is no such file.
func (d *dest) size(name string) int64 {
	info, err := d.Stat(name)
	if err != nil || !info.Mode().IsRegular() {
		return -1
	}
	return info.Size()
}

// renew updates the date of a kept file, so that a clean-up of old files does not remove one in use. A
// recent date stays: an older batchctl that is reading the file would take a new date for a change.
func (d *dest) renew(name string) error {
	info, err := d.Stat(name)
	if err == nil && time.Since(info.ModTime()) > 24*time.Hour {
		_ = d.Chtimes(name, time.Time{}, time.Now()) // it fails for a file of another user
	}
	return err
}

// allow makes a kept file executable, if it should be.
func (d *dest) allow(name string, mode fs.FileMode) error {
	info, err := d.Stat(name)
	if err != nil || mode&0o100 == 0 || info.Mode()&0o100 != 0 {
		return err
	}
	if err := d.Chmod(name, info.Mode().Perm()|info.Mode().Perm()>>2&0o111); err != nil {
		return fmt.Errorf("make %s executable: %w", d.full(name), cause(err))
	}
	return nil
}

// sum computes a checksum over an existing file.
func (d *dest) sum(name string, h hash.Hash) error {
	f, err := d.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	return hashAll(h, f)
}

// hashAll writes everything from a reader to a hash, through a pooled buffer.
func hashAll(h io.Writer, from io.Reader) error {
	buffer := buffers.Get().(*[bufferSize]byte)
	defer buffers.Put(buffer)
	// Without these types CopyBuffer would call the hash's or the file's own method.
	_, err := io.CopyBuffer(onlyWriter{h}, onlyReader{from}, buffer[:])
	return err
}

// onlyWriter and onlyReader hide the methods WriteTo and ReadFrom, with which io.CopyBuffer would not
// use the buffer.
type (
	onlyWriter struct{ io.Writer }
	onlyReader struct{ io.Reader }
)

// draft is a file under a temporary name, in the directory of its final one, until it is complete.
type draft struct {
	*os.File
	dest       *dest
	name, temp string
	done       bool
}

// create begins a file. The process's umask applies to mode. The caller must call drop, which does
// nothing after commit.
func (d *dest) create(name string, mode fs.FileMode) (*draft, error) {
	dir := path.Dir(name)
	if err := d.mkdir(dir); err != nil {
		return nil, err
	}
	// A random name, so that concurrent writers of the same file do not collide.
	temp := path.Join(dir, ".batchctl-"+strings.ToLower(rand.Text()[:16])+".part")
	f, err := d.OpenFile(temp, os.O_RDWR|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", d.full(name), cause(err))
	}
	return &draft{File: f, dest: d, name: name, temp: temp}, nil
}

// commit renames the file to its name. An output is on the disk before: after a power failure, the name could otherwise
// have an empty or short file.
func (f *draft) commit() error {
	if give := f.dest.give; give != nil {
		_ = f.Chown(give.uid, give.gid)
	}
	if f.dest.output {
		if err := f.Sync(); err != nil {
			return f.failed(err)
		}
	}
	if err := f.Close(); err != nil {
		return f.failed(err)
	}
	if err := f.dest.Rename(f.temp, f.name); err != nil {
		return f.failed(err)
	}
	f.done = true
	return nil
}

// drop removes an incomplete file.
func (f *draft) drop() {
	if f.done {
		return
	}
	_ = f.Close()
	_ = f.dest.Remove(f.temp) // if that fails, the name shows that it is temporary
}

// failed returns an error of writing, with the next step if there is one.
func (f *draft) failed(err error) error {
	name := f.dest.full(f.name)
	switch {
	case isFull(err):
		return fmt.Errorf("write %s: %w: %s", name, cause(err), moreSpace)
	case errors.Is(err, syscall.EISDIR) || errors.Is(err, syscall.ENOTEMPTY) || errors.Is(err, fs.ErrExist):
		return fmt.Errorf("write %s: it is a directory", name)
	}
	return fmt.Errorf("write %s: %w", name, cause(err))
}

// cause returns an error of the file system without the path, which the message has already.
func cause(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	if e, ok := errors.AsType[*os.LinkError](err); ok {
		return e.Err
	}
	return err
}

// same reports whether an existing file has the draft's content.
func (f *draft) same() (bool, error) {
	existing, err := f.dest.Open(f.name)
	if err != nil {
		return false, err
	}
	defer existing.Close()
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return false, err
	}
	return equal(existing, f.File)
}

// equal reports whether two readers have the same content. It stops at the first difference.
func equal(a, b io.Reader) (bool, error) {
	one, two := buffers.Get().(*[bufferSize]byte), buffers.Get().(*[bufferSize]byte)
	defer buffers.Put(one)
	defer buffers.Put(two)
	for {
		// ReadFull, because the two readers may return blocks of different lengths.
		n, err := io.ReadFull(a, one[:])
		m, otherErr := io.ReadFull(b, two[:])
		if !bytes.Equal(one[:n], two[:m]) {
			return false, nil
		}
		ended := func(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) }
		switch {
		case ended(err) && ended(otherErr):
			return true, nil
		case err != nil && !ended(err):
			return false, err
		case otherErr != nil && !ended(otherErr):
			return false, otherErr
		}
	}
}

// below rejects a name from an object store or a list that is not a path below a directory.
func below(name, what string) error {
	if name == "." || !fs.ValidPath(name) || strings.ContainsRune(name, 0) ||
		!filepath.IsLocal(filepath.FromSlash(name)) {
		return fmt.Errorf("%s: %q cannot be the name of a file below a directory: it has an empty part, . or .., or begins with a slash", what, name)
	}
	return nil
}

// conflicts rejects lists in which a name is both a file and a directory, or occurs twice.
type conflicts map[string]bool // true: a file

// add records a file.
func (c conflicts) add(name, what string) error {
	if _, twice := c[name]; twice {
		return fmt.Errorf("%s: %q is both a file and a directory, or occurs twice", what, name)
	}
	c[name] = true
	return c.above(name, what)
}

// above records the directories above a file.
func (c conflicts) above(name, what string) error {
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		isFile, known := c[dir] // a known directory has known parents
		if isFile {
			return fmt.Errorf("%s: %q is both a file and a directory: %q is below it", what, dir, name)
		}
		if known {
			break
		}
		c[dir] = false
	}
	return nil
}
