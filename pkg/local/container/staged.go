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

// staged lets the container read the staged texts in the variables of its job, at the same path.
// A job can see nothing else of the engine's state.
func (x *Executor) staged(a attempt.Attempt) (args []string, err error) {
	texts := map[string][]string{}
	linked := x.stagedPathsOf(a).files
	for _, v := range a.Environment {
		path := aws.ToString(v.Value)
		source, ok := x.stagedFile(path)
		if !ok {
			continue
		}
		if dir := filepath.Dir(path); len(linked[dir]) > 0 {
			texts[dir] = append(texts[dir], filepath.Base(path))
			continue // it is linked next to the job's inputs
		}
		if err := errors.Join(checkPath(path), checkPath(source)); err != nil {
			return nil, fmt.Errorf("%s: %w", aws.ToString(v.Name), err)
		}
		arg := "--mount=type=bind,source=" + source + ",destination=" + path + ",readonly"
		if !slices.Contains(args, arg) {
			args = append(args, arg)
		}
	}
	more, err := x.stagedMounts(a, texts)
	return append(args, more...), err
}

// stagedFile returns the real path of a staged text. It rejects links: they may lead anywhere.
func (x *Executor) stagedFile(path string) (source string, ok bool) {
	if !filepath.IsAbs(path) || filepath.Clean(path) != path || !isHash(filepath.Base(path), ".txt") {
		return "", false
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err != nil || dir != filepath.Join(x.options.Dir, StagedDir) {
		return "", false
	}
	source = filepath.Join(dir, filepath.Base(path))
	info, err := os.Lstat(source)
	return source, err == nil && info.Mode().Type() == fs.FileMode(0)
}
