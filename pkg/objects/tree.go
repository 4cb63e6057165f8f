package objects

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/batchctl/batchctl/pkg/stage"
	"github.com/batchctl/batchctl/pkg/text"
)

// Publish uploads a file, or the files of a directory, under their hashes to a staging location, s3://bucket/prefix
// or an absolute path. An existing object is not sent again, with two exceptions: its checksum is that of another
// content, or a rule of the bucket will remove it soon, and jobs that wait or are retried must find it. Publish returns
// the Input that downloads it, with all but To set. Kept counts existing files.
func (s *Store) Publish(ctx context.Context, at, name string) (stage.Input, stage.Moved, error) {
	to, err := parseLocation(at)
	if err != nil || to.url != "" {
		if err == nil {
			err = fmt.Errorf("%s: cannot write to a web server: use s3://bucket/prefix or an absolute path",
				stage.Shown(at))
		}
		return stage.Input{}, stage.Moved{}, err
	}
	p := &publication{Store: s, to: to}
	in, err := p.publish(ctx, name)
	return in, p.moved.sum(), ended(ctx, err)
}

// publication is one call of Publish.
type publication struct {
	*Store
	to    location
	open  func(dir string) (*dest, error) // opens a local staging directory; nil: openDest
	again map[string]bool                 // hashes that are uploaded although they exist
	once  once                            // the hashes that are uploaded or in progress
	moved tally
}

// once keeps the first of several files with the same content.
type once struct {
	sync.Mutex
	done map[string]bool
}

// first reports whether the name is new.
func (o *once) first(name string) bool {
	o.Lock()
	defer o.Unlock()
	if o.done == nil {
		o.done = map[string]bool{}
	}
	was := o.done[name]
	o.done[name] = true
	return !was
}

// hash computes the checksums of files, several concurrently.
func (p *publication) hash(ctx context.Context, files []*source) ([]hashed, error) {
	sums := make([]hashed, len(files))
	err := each(ctx, len(files), p.atOnce(), func(ctx context.Context, i int) error {
		release, err := p.slot(ctx)
		if err != nil {
			return err
		}
		defer release()
		opened, err := files[i].open()
		if err != nil {
			return err
		}
		defer opened.Close()
		sha, crc := algorithmSHA256.hash(), algorithmCRC64NVME.hash()
		from := &stoppable{ctx, opened}
		if err := hashAll(io.MultiWriter(sha, crc), from); err != nil {
			return fmt.Errorf("read %s: %w", files[i], cause(err))
		}
		sums[i].source, sums[i].sha256, sums[i].crc = files[i], sha.Sum(nil), crc.Sum(nil)
		return files[i].unchanged(opened)
	})
	return sums, err
}

// stoppable is a reader that fails when its context ends.
type stoppable struct {
	ctx  context.Context
	from io.Reader
}

// Read fails with the cause of the context's end.
func (s *stoppable) Read(p []byte) (int, error) {
	if s.ctx.Err() != nil {
		return 0, context.Cause(s.ctx)
	}
	return s.from.Read(p)
}

// publish uploads the files first and the manifest last, so that a manifest's files exist.
func (p *publication) publish(ctx context.Context, name string) (in stage.Input, err error) {
	files, isDir, root, err := sources(name, nil)
	if err != nil {
		return in, err
	}
	defer root.Close()
	for _, f := range files {
		if err := f.named(); isDir && err != nil {
			return in, err
		}
	}
	all, err := p.hash(ctx, files)
	if err != nil {
		return in, err
	}
	if err := each(ctx, len(all), p.atOnce(), func(ctx context.Context,
		i int) error {
		return p.file(ctx, &all[i])
	}); err != nil {
		return in, err
	}
	if !isDir {
		return stage.Input{From: p.to.join(all[0].sha()).String(), SHA256: all[0].sha(),
			Executable: all[0].executable()}, nil
	}
	list := manifest(entries(all))
	if len(list) > maxManifest {
		return in, fmt.Errorf("%s has too many files: their list would have more than %s", name,
			text.Size(maxManifest))
	}
	sum := sha256.Sum256(list)
	at := p.to.join(hex.EncodeToString(sum[:]) + manifestSuffix)
	return stage.Input{From: at.String(), Tree: true}, p.list(ctx, at, list)
}

// file uploads one file, unless it exists.
func (p *publication) file(ctx context.Context, f *hashed) error {
	at := p.to.join(f.sha())
	if !p.once.first(f.sha()) {
		p.moved.file(f.size)
		p.moved.kept.Add(1)
		return nil
	}
	if p.to.bucket == "" {
		t := &download{Store: p.Store, in: stage.Input{To: at.path}, pinned: &checksum{algorithm: algorithmSHA256,
			sum: f.sha256}}
		return p.copied(ctx, t, at, f)
	}
	o := &object{location: at}
	switch err := p.head(ctx, o); {
	case err == nil && o.size == f.size && o.lasts() && !f.differ(o) && !p.again[f.sha()]:
		p.moved.kept.Add(1)
	case err == nil || Missing(err) || Denied(err): // without s3:ListBucket a missing object is denied
		if err := p.send(ctx, f.source, at, &f.sums); err != nil {
			return err
		}
	default:
		return err
	}
	p.moved.file(f.size)
	return nil
}

// copied copies a file to a staging directory, readable by all users, because a container may run as
// any of them.
func (p *publication) copied(ctx context.Context, t *download, at location, f *hashed) error {
	open := p.open
	if open == nil {
		open = openDest
	}
	d, err := open(filepath.Dir(at.path))
	if err != nil {
		return err
	}
	defer d.Close()
	if err := t.fits(d.Name(), max(0, f.size-max(0, d.size(f.sha()))), f.String()); err != nil {
		return err
	}
	defer t.free()
	copied := *f.source // under its hash, and read-only
	copied.name, copied.mode = f.sha(), 0o444
	if err := t.file(ctx, d, &copied, t.pinned); err != nil {
		return err
	}
	p.moved.file(f.size)
	if t.moved.kept.Load() > 0 {
		p.moved.kept.Add(1)
		return d.renew(f.sha())
	}
	return nil
}

// list writes the manifest, unless S3 has it.
func (p *publication) list(ctx context.Context, at location, text []byte) error {
	if at.bucket != "" {
		o, crc := &object{location: at}, algorithmCRC64NVME.hash()
		crc.Write(text)
		if p.head(ctx, o) == nil && o.size == int64(len(text)) && o.lasts() && !(sums{crc: crc.Sum(nil)}).differ(o) {
			return nil
		}
		return p.Put(ctx, at.String(), string(text))
	}
	d, err := openDest(filepath.Dir(at.path))
	if err != nil {
		return err
	}
	defer d.Close()
	f, err := d.create(filepath.Base(at.path), 0o644)
	if err != nil {
		return err
	}
	defer f.drop()
	if _, err := f.Write(text); err != nil {
		return f.failed(err)
	}
	return f.commit()
}

// tree downloads the files of a manifest.
func (t *download) tree(ctx context.Context, from location) error {
	files, err := t.manifest(ctx, from)
	if err != nil {
		return err
	}
	d, err := openDest(filepath.FromSlash(t.in.To))
	if err != nil {
		return err
	}
	defer d.Close()
	bytes := int64(0)
	for _, f := range files {
		if d.size(f.path) != f.size {
			bytes += f.size
		}
	}
	if err := t.fits(d.Name(), bytes, from.String()); err != nil {
		return err
	}
	at := from.above()
	var root *os.Root // of a local tree; nil for S3
	if from.bucket == "" {
		if root, err = os.OpenRoot(at.path); err != nil {
			return err
		}
		defer root.Close()
	}
	return each(ctx, len(files), t.atOnce(), func(ctx context.Context, i int) error {
		return t.member(ctx, d, at, root, files[i])
	})
}

// member downloads one file of a tree.
func (t *download) member(ctx context.Context, d *dest, at location, root *os.Root, f entry) error {
	want, err := pinned(f.sha256)
	if err != nil {
		return err
	}
	if root == nil {
		mode := os.FileMode(plainFile)
		if f.executable {
			mode = program
		}
		return t.object(ctx, d, f.path, &object{location: at.join(f.sha256), size: f.size}, want, mode)
	}
	info, err := root.Stat(f.sha256)
	if err != nil {
		return fmt.Errorf("%s: %w", at.join(f.sha256), cause(err))
	}
	if info.Size() != f.size {
		return fmt.Errorf("%s has %d bytes instead of %d: upload the tree again", at.join(f.sha256), info.Size(),
			f.size)
	}
	s := &source{root: root, file: f.sha256, name: f.path, size: f.size, modified: info.ModTime(), mode: plainFile}
	if f.executable {
		s.mode = program
	}
	return t.file(ctx, d, s, want)
}

// manifest reads the list of a tree, whose name contains its hash.
func (t *download) manifest(ctx context.Context, from location) ([]entry, error) {
	sum, ok := strings.CutSuffix(from.base(), manifestSuffix)
	want, err := pinned(sum)
	if !ok || err != nil || from.url != "" {
		return nil, fmt.Errorf("%s: a tree is s3://bucket/…/<sha256>.tree or a path with that ending", from)
	}
	var r io.ReadCloser
	if from.bucket != "" {
		r, err = t.Open(ctx, from.String())
	} else {
		r, err = os.Open(from.path)
	}
	if err != nil {
		return nil, withName(err, from.String())
	}
	defer r.Close()
	var b bytes.Buffer
	if _, err := b.ReadFrom(io.LimitReader(r, maxManifest+1)); err != nil {
		return nil, withName(err, from.String())
	}
	h := want.hash()
	h.Write(b.Bytes())
	if want.judge(h.Sum(nil)) != verified {
		return nil, fmt.Errorf("%s: the list does not match the checksum in its name: upload the tree again", from)
	}
	files, err := parseManifest(b.Bytes())
	if err != nil {
		return nil, fmt.Errorf("%s: the list of the tree's files: %w", from, err)
	}
	return files, nil
}
