package objects

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/batchctl/batchctl/pkg/stage"
)

// Measure is Publish without publishing. It reads the files, and returns the Input that would
// download them from the location, and how many there are. It makes no request.
func (s *Store) Measure(ctx context.Context, at, name string) (stage.Input, stage.Moved, error) {
	to, err := parseLocation(at)
	if err == nil && to.url != "" {
		err = fmt.Errorf("%s: cannot write to a web server: use s3://bucket/prefix or an absolute path",
			stage.Shown(at))
	}
	if err != nil {
		return stage.Input{}, stage.Moved{}, err
	}
	p := &publication{Store: s, to: to}
	files, isDir, root, err := sources(name, nil)
	if err != nil {
		return stage.Input{}, stage.Moved{}, err
	}
	defer root.Close()
	all, err := p.hash(ctx, files)
	if err != nil {
		return stage.Input{}, stage.Moved{}, ended(ctx, err)
	}
	// The same Input as Publish returns, so that both give the same request.
	moved := stage.Moved{Files: len(all)}
	for _, f := range all {
		moved.Bytes += f.size
	}
	if !isDir {
		return stage.Input{From: to.join(all[0].sha()).String(), SHA256: all[0].sha(), Executable: all[0].executable()},
			moved, nil
	}
	sum := sha256.Sum256(manifest(entries(all)))
	return stage.Input{From: to.join(hex.EncodeToString(sum[:]) + manifestSuffix).String(), Tree: true}, moved, nil
}
