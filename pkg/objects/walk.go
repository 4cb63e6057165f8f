package objects

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// source is a local file to copy, with its state when it was found.
type source struct {
	root *os.Root
	// file is its path below the root, name its name in the copy: they differ below links.
	file, name string
	size       int64
	stored     int64 // less than size for a file with holes
	modified   time.Time
	mode       fs.FileMode
}

// String is the file's path, for messages.
func (f *source) String() string { return filepath.Join(f.root.Name(), filepath.FromSlash(f.file)) }

// executable reports whether any user may execute the file.
func (f *source) executable() bool { return f.mode&0o111 != 0 }

// named rejects a name that neither a key of S3 nor the list of a tree can have.
func (f *source) named() error {
	if !utf8.ValidString(f.name) {
		return fileErrorf("%s: the name is not UTF-8, which S3 requires: rename the file", f)
	}
	return nil
}

// open opens the file, if it is still the same.
func (f *source) open() (*os.File, error) {
	opened, err := f.root.Open(f.file)
	if err != nil {
		return nil, fileErrorf("read %s: %w", f, cause(err))
	}
	return opened, nil
}

// unchanged returns an error if a file changed while it was read.
func (f *source) unchanged(opened *os.File) error {
	info, err := opened.Stat()
	if err != nil {
		return fmt.Errorf("read %s: %w", f, cause(err))
	}
	if info.Size() != f.size || !info.ModTime().Equal(f.modified) {
		return fileErrorf("%s changed while it was read", f)
	}
	return nil
}

// fileError is an error of a single local file, which does not stop the upload of others.
type fileError struct{ error }

// Unwrap returns the error itself.
func (e *fileError) Unwrap() error { return e.error }

func fileErrorf(format string, args ...any) error { return &fileError{fmt.Errorf(format, args...)} }

// leftovers are the files of an output that cannot be uploaded although the others can: a broken
// link must not lose the other results. A nil one accepts none.
type leftovers struct {
	sync.Mutex
	first error
	n     int
}

// take records an error of a single file, and reports whether it was one.
func (l *leftovers) take(err error) bool {
	if _, ofOne := errors.AsType[*fileError](err); !ofOne || l == nil {
		return false
	}
	l.Lock()
	defer l.Unlock()
	if l.n++; l.first == nil {
		l.first = err
	}
	return true
}

// err names the first file that was not uploaded, and counts the others; nil if all were.
func (l *leftovers) err(uploaded int64) error {
	switch l.n {
	case 0:
		return nil
	case 1:
		return fmt.Errorf("%w; everything else was uploaded (files: %d)", l.first, uploaded)
	}
	return fmt.Errorf("%w; %d more were not uploaded; everything else was uploaded (files: %d)", l.first, l.n-1,
		uploaded)
}

// sources returns the files at a path: a single file, or all files below a directory, in the order
// of their names. It follows links that stay in the directory. Anything else is an error; in a
// directory it is recorded in left.
func sources(name string, left *leftovers) (files []*source, isDir bool, root *os.Root, err error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, false, nil, fmt.Errorf("%s: %w", name, cause(err))
	}
	dir, base := name, "."
	if !info.IsDir() {
		dir, base = filepath.Dir(name), filepath.Base(name)
		if link, err := filepath.EvalSymlinks(name); err == nil { // the path that the user gave may be a link to anywhere
			dir, base = filepath.Dir(link), filepath.Base(link)
		}
	}
	root, err = os.OpenRoot(dir)
	if err != nil {
		return nil, false, nil, err
	}
	// os.Root keeps all later opens within the directory, also through links.
	w := &walk{root: root, left: left}
	if info.IsDir() {
		err = w.dir(".", ".", []fs.FileInfo{info})
	} else {
		err = w.entry(base, path.Base(filepath.ToSlash(name)), nil)
	}
	if err != nil {
		root.Close()
		return nil, false, nil, err
	}
	slices.SortStableFunc(w.files, func(a, b *source) int { return strings.Compare(a.name, b.name) })
	return w.files, info.IsDir(), root, nil
}

// walk collects the files of a directory.
type walk struct {
	root  *os.Root
	files []*source
	left  *leftovers
}

func (w *walk) full(name string) string {
	return filepath.Join(w.root.Name(), filepath.FromSlash(name))
}

// dir adds the files of a directory; above are its parents on the path that led to it.
func (w *walk) dir(dir, name string, above []fs.FileInfo) error {
	opened, err := w.root.Open(dir)
	if err != nil {
		return fileErrorf("read %s: %w", w.full(dir), cause(err))
	}
	entries, err := opened.ReadDir(-1)
	opened.Close()
	if err != nil {
		return fileErrorf("read %s: %w", w.full(dir), cause(err))
	}
	// The error that is reported in full must not depend on the file system's own order.
	slices.SortStableFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	for _, e := range entries {
		if err := w.entry(path.Join(dir, e.Name()), path.Join(name, e.Name()), above); err != nil && !w.left.take(err) {
			return err
		}
	}
	return nil
}

// entry adds a file, the files of a directory, or the target of a link.
func (w *walk) entry(file, name string, above []fs.FileInfo) error {
	info, err := w.root.Lstat(file)
	if err != nil {
		return fileErrorf("read %s: %w", w.full(file), cause(err))
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		if file, info, err = w.follow(file); err != nil {
			return err
		}
	}
	switch {
	case info.IsDir():
		// Only links can lead to a directory that contains them.
		for _, one := range above {
			if os.SameFile(one, info) {
				return fileErrorf("%s is a link to a directory that contains it", w.full(name))
			}
		}
		return w.dir(file, name, append(slices.Clone(above), info))
	case info.Mode().IsRegular():
		w.files = append(w.files, &source{root: w.root, file: file, name: name, size: info.Size(), stored: stored(info),
			modified: info.ModTime(), mode: info.Mode()})
		return nil
	}
	return fileErrorf("%s is neither a file nor a directory, but %s, and cannot be copied", w.full(file),
		kindOf(info.Mode()))
}

// kindOf names the kind of a file that cannot be copied.
func kindOf(mode fs.FileMode) string {
	switch {
	case mode&fs.ModeSocket != 0:
		return "a socket"
	case mode&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case mode&fs.ModeDevice != 0:
		return "a device"
	}
	return "a special file"
}

// follow returns the path and the properties of a link's target, which must be within the root.
func (w *walk) follow(file string) (string, fs.FileInfo, error) {
	if info, err := w.root.Stat(file); err == nil {
		return file, info, nil
	} else if errors.Is(err, fs.ErrNotExist) {
		return "", nil, fileErrorf("%s is a broken link", w.full(file))
	}
	// An absolute link may lead back into the directory.
	target, err := filepath.EvalSymlinks(w.full(file))
	if err == nil {
		var top string
		if top, err = filepath.EvalSymlinks(w.root.Name()); err == nil {
			target, err = filepath.Rel(top, target)
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil, fileErrorf("%s is a broken link", w.full(file))
	}
	if err == nil && filepath.IsLocal(target) {
		if info, err := w.root.Stat(target); err == nil {
			return filepath.ToSlash(target), info, nil
		}
	}
	return "", nil, fileErrorf("%s is a link that leads out of %s: copy its target, or remove the link", w.full(file),
		w.root.Name())
}

// path copies a local file or directory. left is not nil for outputs.
func (t *download) path(ctx context.Context, from location, left *leftovers) error {
	files, isDir, root, err := sources(filepath.FromSlash(strings.TrimSuffix(from.path, "/")), left)
	if err != nil {
		return err
	}
	defer root.Close()
	var d *dest
	open := openDest // how to open the destination
	if left != nil { // an output
		open = openOutput
	}
	if isDir {
		if t.pinned != nil {
			return fmt.Errorf("%s: sha256 applies only to a single file, not to a directory", from)
		}
		if err := t.apart(from.path); err != nil {
			return err
		}
		d, err = open(filepath.FromSlash(t.in.To))
	} else {
		d, files[0].name, err = t.one(from, open)
	}
	if err != nil {
		return err
	}
	defer d.Close()
	bytes := int64(0)
	for _, f := range files {
		if d.size(f.name) != f.size {
			bytes += min(f.size, f.stored)
		}
	}
	if err := t.fits(d.Name(), bytes, from.String()); err != nil {
		return err
	}
	return each(ctx, len(files), t.atOnce(), func(ctx context.Context, i int) error {
		err := t.file(ctx, d, files[i], t.pinned)
		if isDir && left.take(err) {
			return nil
		}
		return err
	})
}

// apart rejects copying a directory into itself.
func (t *download) apart(from string) error {
	to, err := filepath.Abs(filepath.FromSlash(t.in.To))
	if err != nil {
		return err
	}
	if rel, err := filepath.Rel(filepath.FromSlash(from), to); err == nil && filepath.IsLocal(rel) {
		return fmt.Errorf("%s cannot be copied into itself, to %s", from, t.in.To)
	}
	return nil
}

// file copies one file, through the kernel where possible: on some file systems without copying its
// bytes.
func (t *download) file(ctx context.Context, d *dest, f *source, want *checksum) error {
	release, err := t.slot(ctx)
	if err != nil {
		return err
	}
	defer release()
	from, err := f.open()
	if err != nil {
		return err
	}
	defer from.Close()
	mode := f.mode.Perm()
	if t.in.Executable {
		mode |= 0o111
	}
	if d.size(f.name) == f.size && t.holds(d, f.name, from, want) {
		t.moved.file(f.size)
		t.moved.kept.Add(1)
		return d.allow(f.name, mode)
	}
	to, err := d.create(f.name, mode|0o200)
	if err != nil {
		return err
	}
	defer to.drop()
	if err := t.kernel(ctx, to, from, f.size); err != nil {
		return err
	}
	v := verified // a local source needs no checksum
	if want != nil {
		h := want.hash()
		if err := hashAll(h, io.NewSectionReader(to, 0, f.size)); err != nil {
			return to.failed(err)
		}
		v = want.judge(h.Sum(nil))
	}
	if want == nil || v != verified { // otherwise the content is right, even if the date has changed
		if err := f.unchanged(from); err != nil {
			return err
		}
	}
	return t.finish(to, f.String(), f.size, v)
}

// holds reports whether an existing file of the same size already has the content.
func (t *download) holds(d *dest, name string, from *os.File, want *checksum) bool {
	if want != nil {
		h := want.hash()
		return d.sum(name, h) == nil && want.judge(h.Sum(nil)) == verified
	}
	existing, err := d.Open(name)
	if err != nil {
		return false
	}
	defer existing.Close()
	same, err := equal(existing, from)
	if _, seekErr := from.Seek(0, io.SeekStart); seekErr != nil {
		return false
	}
	return err == nil && same
}

// kernel copies with the system's file copy, in parts, so that it notices the end of the context.
// Holes stay holes.
func (t *download) kernel(ctx context.Context, to *draft, from *os.File, size int64) error {
	for done := int64(0); done < size; {
		start, end := stretch(from, done, size)
		t.carried.Add(start - done)
		if done = start; start == end {
			break // the rest is a hole
		}
		if _, err := from.Seek(start, io.SeekStart); err != nil {
			return fileErrorf("read %s: %w", from.Name(), cause(err))
		}
		if _, err := to.Seek(start, io.SeekStart); err != nil {
			return to.failed(err)
		}
		for done < end {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			n, err := io.CopyN(to.File, from, min(64<<20, end-done))
			done += n
			t.carried.Add(n)
			t.wrote(n)
			if errors.Is(err, io.EOF) {
				return fileErrorf("%s changed while it was read", from.Name())
			}
			if err != nil {
				return to.failed(err)
			}
		}
	}
	if err := to.Truncate(size); err != nil { // a hole at the end
		return to.failed(err)
	}
	return nil
}
