package objects

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"path/filepath"
	"strings"
	"time"

	"github.com/batchctl/batchctl/pkg/stage"
)

// Found is a file that List found.
type Found struct {
	// URL is its location; Name is its path below the listed location, or its own name for a single
	// file.
	URL, Name string
	// Size in bytes.
	Size     int64
	Modified time.Time
}

// List returns the files of an output at a location in S3 or a local path: the file with that name, or
// everything below it. own is the output's name in its container: if the location ends in a slash, a
// file with that name is the whole output. at is the location from which Download gets the files. A
// location without files is no error.
func (s *Store) List(ctx context.Context, url, own string) (found []Found, at string, err error) {
	p, err := parseLocation(url)
	switch {
	case err != nil:
		return nil, "", err
	case p.bucket != "":
		return s.listBucket(ctx, p, own)
	case p.path != "":
		dir := strings.TrimSuffix(p.path, "/")
		if file := filepath.Join(dir, own); own != "" && dir != p.path {
			if found, err := listPath(file); err != nil || len(found) == 1 && found[0].URL == file {
				return found, file, err
			}
		}
		found, err := listPath(dir)
		return found, dir, err
	}
	return nil, "", errors.New("an https:// location cannot be listed")
}

// listBucket is List for S3. It asks for the single object first, then for those below the prefix.
// Without s3:ListBucket, a missing object is answered with 403.
func (s *Store) listBucket(ctx context.Context, p location, own string) (found []Found, at string, err error) {
	one, below := p, p // the single object, and the prefix
	if p.key == "" || strings.HasSuffix(p.key, "/") {
		one.key += own
	} else {
		below.key += "/"
	}
	if own != "" || one.key != "" && !strings.HasSuffix(one.key, "/") {
		o := &object{location: one}
		err := s.head(ctx, o)
		if err == nil {
			return []Found{{one.String(), one.base(), o.size, o.modified}}, one.String(), nil
		}
		// Not there, or not visible without s3:ListBucket: list below it.
		if e, ok := errors.AsType[*Error](err); !ok || e.Status != http.StatusNotFound &&
			e.Status != http.StatusForbidden {
			return nil, "", err
		}
	}
	err = s.list(ctx, below, func(o *object) error {
		if name := o.key[len(below.key):]; name != "" && !strings.HasSuffix(name, "/") && !stage.IsMeasurement(name) {
			found = append(found, Found{o.String(), name, o.size, o.modified})
		}
		return nil
	})
	return found, below.String(), err
}

// listPath is List for a local path.
func listPath(name string) ([]Found, error) {
	files, _, root, err := sources(filepath.FromSlash(name), nil)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer root.Close()
	var found []Found
	for _, f := range files {
		found = append(found, Found{f.String(), f.name, f.size, f.modified})
	}
	return found, nil
}
