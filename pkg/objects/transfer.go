package objects

import (
	"context"
	"fmt"
	"strings"

	"github.com/batchctl/batchctl/pkg/stage"
)

// Download copies from a location to a local path. A To that ends in a slash is a directory for a
// single file, which keeps its name.
func (s *Store) Download(ctx context.Context, in stage.Input) (stage.Moved, error) {
	from, err := parseLocation(in.From)
	if err != nil {
		return stage.Moved{}, err
	}
	t, err := newDownload(s, in)
	if err != nil {
		return stage.Moved{}, err
	}
	switch {
	case in.Tree:
		err = t.tree(ctx, from)
	case from.bucket != "" && (from.key == "" || strings.HasSuffix(from.key, "/")):
		err = t.prefix(ctx, from)
	case from.bucket != "":
		err = t.key(ctx, from)
	case from.url != "":
		err = t.web(ctx, from)
	default:
		err = t.path(ctx, from, nil)
	}
	t.free()
	return t.moved.sum(), ended(ctx, err)
}

// Upload copies a file, or the content of a directory, to a location. A directory goes below it. A
// file goes to it, or, if it ends in a slash, below it under the file's name. If a file of a
// directory cannot be copied, Upload copies the others and returns an error.
func (s *Store) Upload(ctx context.Context, out stage.Output) (stage.Moved, error) {
	to, err := parseLocation(out.To)
	if err != nil {
		return stage.Moved{}, err
	}
	var moved tally
	var left leftovers
	switch {
	case to.bucket != "":
		err = s.upload(ctx, strings.TrimSuffix(out.From, "/"), to, &moved, &left)
	case to.path != "":
		var t *download
		if t, err = newDownload(s, stage.Input{From: strings.TrimSuffix(out.From, "/"), To: out.To}); err != nil {
			break
		}
		err = t.path(ctx, location{path: strings.TrimSuffix(out.From, "/")}, &left)
		t.free()
		if err == nil {
			err = left.err(t.moved.files.Load())
		}
		return t.moved.sum(), ended(ctx, err)
	default:
		err = fmt.Errorf("%s: cannot write to a web server: use s3://bucket/key or an absolute path",
			stage.Shown(out.To))
	}
	if err == nil {
		err = left.err(moved.files.Load())
	}
	return moved.sum(), ended(ctx, err)
}
