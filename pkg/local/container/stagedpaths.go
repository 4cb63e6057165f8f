package container

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/batchctl/batchctl/pkg/local/attempt"
	"github.com/batchctl/batchctl/pkg/stage"
)

// OutputsDir is the directory below StagedDir with a directory for the outputs of each job.
const OutputsDir = "outputs"

// CheckpointsDir is the directory below StagedDir with a directory for the checkpoints of each job.
const CheckpointsDir = "checkpoints"

// treeEnding ends the name of a tree's list of files.
const treeEnding = ".tree"

// isHash reports whether a name without its ending is a SHA-256, as are the names of staged texts
// and files.
func isHash(name, ending string) bool {
	hash, ok := strings.CutSuffix(name, ending)
	return ok && len(hash) == 64 && strings.Trim(hash, "0123456789abcdef") == ""
}

// stagedPaths are the paths below the engine's staged directory in a job's document. A job may come from
// any client of the API. So it gets only files whose hashes it knows, and a directory for its own
// outputs.
type stagedPaths struct {
	// files are the names that the job may read, by directory as written in the document.
	files map[string][]string
	// own are directories that the job may write, relative to their directory as written.
	own map[string][]string
}

// stagedPathsOf returns the paths below the staged directory that the job's document names. An
// invalid document has none; the job itself reports what is wrong.
func (x *Executor) stagedPathsOf(a attempt.Attempt) stagedPaths {
	all := stagedPaths{files: map[string][]string{}, own: map[string][]string{}}
	text, _ := valueOf(a, stage.Variable)
	d, err := stage.Parse(text)
	if text == "" || err != nil {
		return all // the job reports what is wrong with it
	}
	expand := func(path string) string {
		path, err := stage.Expand(path, func(name string) (string, bool) { return valueOf(a, name) })
		if err != nil || !filepath.IsAbs(path) {
			return ""
		}
		return filepath.Clean(path)
	}
	for _, in := range d.Inputs {
		from := expand(in.From)
		if name := filepath.Base(from); x.isStagedDir(filepath.Dir(from)) &&
			(isHash(name, "") || isHash(name, treeEnding)) {
			all.files[filepath.Dir(from)] = append(all.files[filepath.Dir(from)], name)
		}
	}
	for _, out := range d.Outputs {
		to := expand(out.To)
		at, _, ok := strings.Cut(to, string(filepath.Separator)+filepath.Join(OutputsDir, a.Job)+
			string(filepath.Separator))
		if rel := filepath.Join(OutputsDir, a.Job); ok && isName(a.Job) && x.isStagedDir(at) &&
			!slices.Contains(all.own[at], rel) {
			all.own[at] = append(all.own[at], rel)
		}
	}
	if d.Checkpoint != nil {
		place, err := stage.PlaceOf(*d.Checkpoint, environ(a))
		at, own, ok := strings.Cut(filepath.Clean(place), string(filepath.Separator)+CheckpointsDir+
			string(filepath.Separator))
		if err == nil && ok && filepath.IsLocal(own) && x.isStagedDir(at) {
			all.own[at] = append(all.own[at], filepath.Join(CheckpointsDir, own))
		}
	}
	return all
}

// environ returns the variables of the job in the form of os.Environ.
func environ(a attempt.Attempt) (all []string) {
	for _, v := range a.Environment {
		all = append(all, aws.ToString(v.Name)+"="+aws.ToString(v.Value))
	}
	return all
}

// valueOf returns a variable of the job; the last one of a name counts.
func valueOf(a attempt.Attempt, name string) (value string, ok bool) {
	for _, v := range a.Environment {
		if aws.ToString(v.Name) == name {
			value, ok = aws.ToString(v.Value), true
		}
	}
	return value, ok
}

// isName reports whether a job's id can be a file name.
func isName(id string) bool { return filepath.IsLocal(id) && filepath.Base(id) == id && id != "." }

// isStagedDir reports whether a directory, as written, is the engine's. It need not exist: a job without inputs may be
// the first to write there.
func (x *Executor) isStagedDir(dir string) bool {
	if dir == "" || dir == "." {
		return false
	}
	real, err := filepath.EvalSymlinks(dir)
	if errors.Is(err, fs.ErrNotExist) && filepath.Base(dir) == StagedDir {
		real, err = filepath.EvalSymlinks(filepath.Dir(dir))
		real = filepath.Join(real, StagedDir)
	}
	return err == nil && real == filepath.Join(x.options.Dir, StagedDir)
}

// stagedMounts lets the container read its inputs and write its outputs, at the paths in the document.
// It hides the rest of the staged directory: the files are linked into a directory of the attempt.
// texts are staged texts that the container reads there, too.
func (x *Executor) stagedMounts(a attempt.Attempt, texts map[string][]string) (args []string, err error) {
	p := x.stagedPathsOf(a)
	for at, names := range p.files {
		dir, err := x.linked(a, append(names, texts[at]...), p.own[at])
		if err == nil {
			err = errors.Join(checkMount(dir), checkMount(at))
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", stage.Variable, err)
		}
		args = append(args, "--mount=type=bind,source="+dir+",destination="+at+",readonly")
	}
	for at, dirs := range p.own {
		for _, rel := range dirs {
			own, target := filepath.Join(x.options.Dir, StagedDir, rel), filepath.Join(at, rel)
			err := errors.Join(checkMount(own), checkMount(target))
			if err == nil {
				err = os.MkdirAll(own, 0o700)
			}
			if err == nil {
				err = os.Chmod(own, 0o777) // the container may run as any user; the state directory keeps others out
			}
			if err != nil {
				return nil, fmt.Errorf("%s: %w", stage.Variable, err)
			}
			args = append(args, "--mount=type=bind,source="+own+",destination="+target)
		}
	}
	return args, nil
}

// checkMount is checkPath for a flag with only commas as separators: the id of a child has a colon.
func checkMount(p string) error { return checkPath(strings.ReplaceAll(filepath.ToSlash(p), ":", "_")) }

// linked creates a directory of the attempt with files of the staged directory, and the files in
// their lists, and the mount points of the job's own directories.
func (x *Executor) linked(a attempt.Attempt, names, own []string) (dir string, err error) {
	staged := filepath.Join(x.options.Dir, StagedDir)
	base := filepath.Join(x.options.attemptDir(a.ID), StagedDir)
	if err := os.MkdirAll(base, 0o700); err != nil {
		return "", err
	}
	if dir, err = os.MkdirTemp(base, ""); err != nil {
		return "", err
	}
	for _, name := range names {
		if err := link(staged, dir, name); err != nil {
			return "", err
		}
		if isHash(name, treeEnding) {
			if err := linkTree(staged, dir, name); err != nil {
				return "", err
			}
		}
	}
	for _, rel := range own {
		if err := os.MkdirAll(filepath.Join(dir, rel), 0o755); err != nil {
			return "", err
		}
	}
	return dir, os.Chmod(dir, 0o755)
}

// link hard-links a staged file. The job reports a missing one.
func link(from, to, name string) error {
	source := filepath.Join(from, name)
	info, err := os.Lstat(source)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.Mode().Type() != 0 {
		return fmt.Errorf("%s is not a regular file", source)
	}
	if info.Mode().Perm()&0o444 != 0o444 { // the container may run as any user
		if err := os.Chmod(source, info.Mode().Perm()|0o444); err != nil {
			return err
		}
	}
	if err := os.Link(source, filepath.Join(to, name)); !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// linkTree links the files of a list. It reads only the hashes: batchctl in the job checks the
// rest.
func linkTree(from, to, name string) error {
	f, err := os.Open(filepath.Join(from, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	for lines := bufio.NewReader(f); ; {
		line, err := lines.ReadString('\n')
		if hash, _, _ := strings.Cut(line, " "); isHash(hash, "") {
			if err := link(from, to, hash); err != nil {
				return err
			}
		}
		if err != nil {
			return nil // the end of the list
		}
	}
}
