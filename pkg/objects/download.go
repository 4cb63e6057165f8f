package objects

import (
	"context"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/batchctl/batchctl/pkg/stage"
)

// The modes of files, before the umask.
const (
	plainFile = 0o666
	program   = 0o777
)

// download is one call of Store.Download, or the copy of one local output.
type download struct {
	*Store
	in     stage.Input
	pinned *checksum // by the document
	moved  tally
	need   *need // the reserved space; nil before fits
}

// newDownload starts a download. It checks the pinned checksum.
func newDownload(s *Store, in stage.Input) (*download, error) {
	t := &download{Store: s, in: in}
	if in.SHA256 == "" {
		return t, nil
	}
	var err error
	t.pinned, err = pinned(in.SHA256)
	return t, err
}

// fits checks that the bytes fit the free space below a directory, and reserves it. Callers do not
// count an existing file of the same size, which will probably stay.
func (t *download) fits(dir string, bytes int64, what string) (err error) {
	t.need, err = t.disk.reserve(dir, bytes, what, t.Space)
	return err
}

// wrote reduces the reservation by the bytes that are now on the disk.
func (t *download) wrote(n int64) {
	if t.need != nil {
		t.need.left.Add(-n)
	}
}

// free ends the reservation.
func (t *download) free() {
	if t.need != nil {
		t.disk.release(t.need)
	}
}

// mode is the mode of a new file, before the umask.
func (t *download) mode() fs.FileMode {
	if t.in.Executable {
		return program
	}
	return plainFile
}

// one opens the directory of a single file with open, and returns it with the file's name.
func (t *download) one(from location, open func(string) (*dest, error)) (d *dest, name string, err error) {
	to := t.in.To
	if strings.HasSuffix(to, "/") {
		if err := below(from.base(), from.String()); err != nil {
			return nil, "", err
		}
		to += from.base()
	}
	d, err = open(filepath.Dir(filepath.FromSlash(to)))
	return d, filepath.Base(filepath.FromSlash(to)), err
}

// key downloads one object.
func (t *download) key(ctx context.Context, from location) error {
	o := &object{location: from}
	if err := t.head(ctx, o); err != nil {
		return err
	}
	d, name, err := t.one(from, openDest)
	if err != nil {
		return err
	}
	defer d.Close()
	if d.size(name) != o.size {
		if err := t.fits(d.Name(), o.size, from.String()); err != nil {
			return err
		}
	}
	return t.object(ctx, d, name, o, t.pinned, t.mode())
}

// prefix downloads everything below a prefix. It rejects keys that are no file names, before the first
// download. An empty object whose key ends in a slash is a directory.
func (t *download) prefix(ctx context.Context, from location) error {
	if t.pinned != nil {
		return fmt.Errorf("%s: sha256 applies only to a single file, not to a prefix", from)
	}
	var files []*object
	var dirs []string
	names := conflicts{}
	marked := false // whether the prefix exists as an empty directory
	err := t.list(ctx, from, func(o *object) error {
		name := o.key[len(from.key):]
		switch dir, mark := strings.CutSuffix(name, "/"); {
		case stage.IsMeasurement(name):
			return nil
		case name == "" && o.size == 0:
			marked = true // the marker object of the prefix itself
			return nil
		case mark && o.size == 0:
			dirs = append(dirs, dir)
			if err := below(dir, o.String()); err != nil {
				return err
			}
			return names.above(dir+"/x", o.String())
		}
		if err := below(name, o.String()); err != nil {
			return err
		}
		files = append(files, o)
		return names.add(name, o.String())
	})
	if err != nil {
		return err
	}
	if len(files)+len(dirs) == 0 && !marked {
		return fmt.Errorf("%s: there is no object below this prefix", from)
	}
	d, err := openDest(filepath.FromSlash(t.in.To))
	if err != nil {
		return err
	}
	defer d.Close()
	bytes := int64(0) // of files that do not exist with that size
	for _, o := range files {
		if d.size(o.key[len(from.key):]) != o.size {
			bytes += o.size
		}
	}
	if err := t.fits(d.Name(), bytes, from.String()); err != nil {
		return err
	}
	for _, dir := range dirs {
		if err := d.mkdir(dir); err != nil {
			return err
		}
	}
	return each(ctx, len(files), t.atOnce(), func(ctx context.Context, i int) error {
		return t.object(ctx, d, files[i].key[len(from.key):], files[i], nil, plainFile)
	})
}

// object downloads one object to a name, unless the file already exists.
func (t *download) object(ctx context.Context, d *dest, name string, o *object, want *checksum,
	mode fs.FileMode) error {
	if d.size(name) == o.size {
		// The list of a prefix has no checksums.
		if !o.asked && want == nil {
			if err := t.head(ctx, o); err != nil {
				return err
			}
		}
		kept, err := t.keep(d, name, o.size, first(want, o.sum), mode)
		if kept || err != nil {
			return err
		}
	}
	f, err := d.create(name, mode)
	if err != nil {
		return err
	}
	defer f.drop()
	var v verdict
	if o.size <= t.part() {
		v, err = t.small(ctx, f, o, want)
	} else {
		v, err = t.large(ctx, f, o, want)
	}
	if err != nil {
		return err
	}
	return t.finish(f, o.String(), o.size, v)
}

// first returns want, or other if want is nil.
func first(want, other *checksum) *checksum {
	if want != nil {
		return want
	}
	return other
}

// keep reports whether an existing file can stay, and counts it.
func (t *download) keep(d *dest, name string, size int64, c *checksum, mode fs.FileMode) (bool, error) {
	if c == nil || c.parts {
		return false, nil
	}
	h := c.hash()
	if err := d.sum(name, h); err != nil || c.judge(h.Sum(nil)) != verified {
		return false, nil // writing the file again reports what is wrong with it
	}
	if err := d.allow(name, mode); err != nil {
		return false, err
	}
	t.moved.file(size)
	t.moved.kept.Add(1)
	return true, nil
}

// finish renames a complete file to its name, unless its checksum is wrong or NoReplace forbids it.
func (t *download) finish(f *draft, from string, size int64, v verdict) error {
	if v == wrong {
		return fmt.Errorf("%s: the checksum does not match: download it again; if that fails too, the stored object is damaged, or is not the expected one", from)
	}
	if t.NoReplace {
		if _, err := f.dest.Lstat(f.name); err == nil {
			same, err := f.same()
			if err != nil || !same {
				return fmt.Errorf("%s -> %s: %w, with different content", from, f.dest.full(f.name), errReplaced)
			}
			t.moved.kept.Add(1)
			t.moved.file(size)
			return nil
		}
	}
	if err := f.commit(); err != nil {
		return err
	}
	if v == unverified {
		t.moved.unverified.Add(1)
	}
	t.moved.file(size)
	return nil
}

// small downloads an object with one request, whose answer also has the checksum.
func (t *download) small(ctx context.Context, f *draft, o *object, want *checksum) (verdict, error) {
	c, sum, err := t.whole(ctx, f, o, want)
	if err != nil {
		return wrong, err
	}
	if sum == nil {
		return t.byParts(ctx, f, o)
	}
	return c.judge(sum), nil
}

// whole copies an object. It returns the expected checksum of its content and the actual sum; nil
// if there is no checksum of the whole content.
func (t *download) whole(ctx context.Context, f *draft, o *object,
	want *checksum) (c *checksum, sum []byte, err error) {
	release, err := t.slot(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer release()
	size := o.size
	// The first answer sets the ETag and the checksum of o.
	r := t.read(ctx, o, 0, -1)
	defer r.Close()
	if err := opened(r); err != nil {
		return nil, nil, err
	}
	if o.size != size {
		return nil, nil, fmt.Errorf("%s: the object changed during the download: download it again, or use a different name for each version", o.location)
	}
	var h hash.Hash
	if c = first(want, o.sum); c != nil && !c.parts {
		h = c.hash()
	}
	if err := t.copy(f, 0, o.size, r, h, o.String()); err != nil || h == nil {
		return nil, nil, err
	}
	return c, h.Sum(nil), nil
}

// opened connects a reader, with retries.
func opened(r *reader) error {
	for {
		err := r.open()
		if err == nil {
			return nil
		}
		if err := r.failed(err); err != nil {
			return err
		}
	}
}

// large downloads an object in concurrent ranges, all of the version with the object's ETag.
func (t *download) large(ctx context.Context, f *draft, o *object, want *checksum) (verdict, error) {
	if !o.asked {
		if err := t.head(ctx, o); err != nil {
			return wrong, err
		}
	}
	if o.etag == "" {
		return wrong, fmt.Errorf("%s: the server sends no version (ETag), so the download could mix parts of different versions", o.location)
	}
	c := first(want, o.sum)
	part := t.part()
	pieces := make([]piece, (o.size+part-1)/part)
	// Each range has its own CRC; hashes that need the bytes in order read the file afterwards.
	err := each(ctx, len(pieces), t.atOnce(), func(ctx context.Context, i int) error {
		release, err := t.slot(ctx)
		if err != nil {
			return err
		}
		defer release()
		off := int64(i) * part
		n := min(part, o.size-off)
		r := t.read(ctx, o, off, n)
		defer r.Close()
		var h hash.Hash
		if c != nil && c.width > 0 && !c.parts {
			h = c.hash()
		}
		if err := t.copy(f, off, n, r, h, o.String()); err != nil {
			return err
		}
		pieces[i].length = n
		if h != nil {
			pieces[i].sum = h.Sum(nil)
		}
		return nil
	})
	switch {
	case err != nil:
		return wrong, err
	case c == nil || c.parts:
		return t.byParts(ctx, f, o)
	case c.width > 0:
		return c.judge(c.join(pieces)), nil
	}
	h := c.hash()
	if err := hashAll(h, io.NewSectionReader(f, 0, o.size)); err != nil {
		return wrong, f.failed(err)
	}
	return c.judge(h.Sum(nil)), nil
}

// byParts checks the content against the checksums of an object's parts, if there are any.
func (t *download) byParts(ctx context.Context, f *draft, o *object) (verdict, error) {
	if o.sum == nil || !o.sum.parts {
		return unverified, nil
	}
	parts, err := t.partSums(ctx, o)
	if err != nil || len(parts) == 0 {
		return unverified, err
	}
	off, v := int64(0), verified // verified if all parts are
	for _, p := range parts {
		h := o.sum.hash()
		if err := hashAll(h, io.NewSectionReader(f, off, p.length)); err != nil {
			return wrong, f.failed(err)
		}
		c := &checksum{algorithm: o.sum.algorithm, sum: p.sum}
		if v = c.judge(h.Sum(nil)); v != verified {
			break
		}
		off += p.length
	}
	return v, nil
}

// copy writes n bytes (-1: all) of a reader to a file and a hash.
func (t *download) copy(f *draft, off, n int64, from io.Reader, h hash.Hash, what string) error {
	buffer := buffers.Get().(*[bufferSize]byte)
	defer buffers.Put(buffer)
	written := int64(0)
	for {
		m, err := from.Read(buffer[:])
		if m > 0 {
			if _, err := f.WriteAt(buffer[:m], off+written); err != nil {
				return f.failed(err)
			}
			if h != nil {
				h.Write(buffer[:m])
			}
			written += int64(m)
			t.wrote(int64(m))
		}
		switch {
		case errors.Is(err, io.EOF) && n >= 0 && written != n:
			return fmt.Errorf("%s: got %d bytes, want %d", what, written, n)
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return withName(err, what)
		}
	}
}

// withName adds a name to an error that does not contain it.
func withName(err error, what string) error {
	if strings.Contains(err.Error(), what) {
		return err
	}
	return fmt.Errorf("%s: %w", what, err)
}
