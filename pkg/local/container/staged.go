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

// StagedDir is the directory below Options.Dir for texts that are too long for a request. Each is
// named by its SHA-256, so a job can only name texts that it was given.
const StagedDir = "staged"

// staged lets the container read the staged texts in the variables of its job, at the same path. A
// job may see nothing else of the engine's state.
func (x *Executor) staged(a attempt.Attempt) (args []string, err error) {
	texts := map[string][]string{}
	brings := x.stagedPathsOf(a).files
	for _, v := range a.Environment {
		place := aws.ToString(v.Value)
		source, ok := x.stagedFile(place)
		if !ok {
			continue
		}
		if dir := filepath.Dir(place); len(brings[dir]) > 0 {
			texts[dir] = append(texts[dir], filepath.Base(place))
			continue // it is linked beside the job's inputs
		}
		if err := errors.Join(checkPath(place), checkPath(source)); err != nil {
			return nil, fmt.Errorf("%s: %w", aws.ToString(v.Name), err)
		}
		arg := "--mount=type=bind,source=" + source + ",destination=" + place + ",readonly"
		if !slices.Contains(args, arg) {
			args = append(args, arg)
		}
	}
	brought, err := x.stagedMounts(a, texts)
	return append(args, brought...), err
}

// stagedFile returns the real path of a staged text. It rejects links: they may lead anywhere.
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
