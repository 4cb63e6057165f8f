package objects

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/batchctl/batchctl/pkg/checkpoint"
	"github.com/batchctl/batchctl/pkg/stage"
)

// Keep uploads files of a directory to the place of a checkpoint, each under the hash of its content. A content that
// the place has already is not sent again, unless its hash is in again or a rule of the bucket will remove it soon. It
// returns the files with their hashes. A file that changes meanwhile is an error.
func (s *Store) Keep(ctx context.Context, place, dir string, files []checkpoint.File,
	again map[string]bool) ([]checkpoint.File, stage.Moved, error) {
	to, err := placeOf(place)
	if err != nil {
		return nil, stage.Moved{}, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, stage.Moved{}, err
	}
	defer root.Close()
	kept := append([]checkpoint.File(nil), files...)
	var at []int // the positions of files with content
	var sources []*source
	for i, f := range files {
		if f.Link != "" {
			continue
		}
		at = append(at, i)
		sources = append(sources, &source{root: root, file: f.Path, name: f.Path, size: f.Size, modified: f.Modified,
			mode: plainFile})
	}
	p := &publication{Store: s, to: to.join(checkpoint.DataName("")), open: openOutput, again: again}
	all, err := p.hash(ctx, sources)
	if err == nil {
		err = each(ctx, len(all), s.atOnce(), func(ctx context.Context, i int) error {
			kept[at[i]].SHA256 = all[i].sha()
			return p.file(ctx, &all[i])
		})
	}
	return kept, p.moved.sum(), ended(ctx, err)
}

// placeOf parses the place of a checkpoint.
func placeOf(text string) (location, error) {
	place, err := parseLocation(text)
	if err == nil && place.url != "" {
		err = fmt.Errorf("%s: a checkpoint cannot be on a web server: use s3://bucket/prefix/ or an absolute path",
			stage.Shown(text))
	}
	return place, err
}

// Names returns the names of everything in a place; none if the place does not exist.
func (s *Store) Names(ctx context.Context, place string) (names []string, err error) {
	at, err := placeOf(place)
	if err != nil {
		return nil, err
	}
	if at.bucket != "" {
		below := at.join("")
		err := s.list(ctx, below, func(o *object) error {
			names = append(names, o.key[len(below.key):])
			return nil
		})
		return names, err
	}
	err = fs.WalkDir(os.DirFS(at.path), ".", func(name string, e fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) { // another writer may remove files
			return nil
		}
		if err == nil && e.Type().IsRegular() {
			names = append(names, name)
		}
		return err
	})
	return names, err
}

// Read returns a text of a place.
func (s *Store) Read(ctx context.Context, place, name string) (string, error) {
	at, err := placeOf(place)
	if err != nil {
		return "", err
	}
	at = at.join(name)
	var r io.ReadCloser
	if at.bucket != "" {
		r, err = s.Open(ctx, at.String())
	} else {
		r, err = os.Open(at.path)
	}
	if err != nil {
		return "", withName(err, at.String())
	}
	defer r.Close()
	text, err := io.ReadAll(io.LimitReader(r, maxManifest))
	if err != nil {
		return "", withName(err, at.String())
	}
	return string(text), nil
}

// Write writes a text of a place: completely, or not at all.
func (s *Store) Write(ctx context.Context, place, name, text string) error {
	at, err := placeOf(place)
	if err != nil {
		return err
	}
	at = at.join(name)
	if at.bucket != "" {
		return s.Put(ctx, at.String(), text)
	}
	d, err := openOutput(filepath.Dir(at.path))
	if err != nil {
		return err
	}
	defer d.Close()
	f, err := d.create(filepath.Base(at.path), plainFile)
	if err != nil {
		return err
	}
	defer f.drop()
	if _, err := f.WriteString(text); err != nil {
		return f.failed(err)
	}
	return f.commit()
}

// Remove removes a file of a place. A missing one is no error.
func (s *Store) Remove(ctx context.Context, place, name string) error {
	at, err := placeOf(place)
	if err != nil {
		return err
	}
	at = at.join(name)
	if at.bucket == "" {
		if err := os.Remove(at.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return withName(err, at.String())
		}
		return nil
	}
	release, err := s.slot(ctx)
	if err != nil {
		return err
	}
	defer release()
	_, err = call(ctx, s, "s3:DeleteObject", at, func(c *s3.Client) (*s3.DeleteObjectOutput, error) {
		return c.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &at.bucket, Key: &at.key})
	})
	if Missing(err) {
		return nil
	}
	return err
}
