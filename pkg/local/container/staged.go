package container

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/batchctl/batchctl/pkg/local/attempt"
)

// StagedDir is the directory below Options.Dir of texts that were too long for a
// request. Each is called by its SHA-256, so a job can name only what it was given.
const StagedDir = "staged"

// staged lets the container read the staged texts that variables of its job name, at the
// same path. They are all of the engine's state that a job may see.
func (x *Executor) staged(a attempt.Attempt) (args []string, err error) {
	texts := map[string][]string{}
	brings := x.placesOf(a).files
	for _, v := range a.Environment {
		place := aws.ToString(v.Value)
		source, ok := x.stagedFile(place)
		if !ok {
			continue
		}
		if dir := filepath.Dir(place); len(brings[dir]) > 0 {
			texts[dir] = append(texts[dir], filepath.Base(place))
			continue // it is linked beside what the job brings
		}
		if err := errors.Join(checkPath(place), checkPath(source)); err != nil {
			return nil, fmt.Errorf("%s: %w", aws.ToString(v.Name), err)
		}
		arg := "--mount=type=bind,source=" + source + ",destination=" + place + ",readonly"
		if !slices.Contains(args, arg) {
			args = append(args, arg)
		}
	}
	brought, err := x.brought(a, texts)
	return append(args, brought...), err
}

// stagedFile is the real path of a staged text. A link is none: it may lead anywhere.
func (x *Executor) stagedFile(place string) (source string, ok bool) {
	if !filepath.IsAbs(place) || filepath.Clean(place) != place || !isHash(filepath.Base(place), ".txt") {
		return "", false
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(place))
	if err != nil || dir != filepath.Join(x.options.Dir, StagedDir) {
		return "", false
	}
	source = filepath.Join(dir, filepath.Base(place))
	info, err := os.Lstat(source)
	return source, err == nil && info.Mode().Type() == fs.FileMode(0)
}
