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

// OutputsDir is the directory below StagedDir that has a directory for each job, with
// what it carried away.
const OutputsDir = "outputs"

// treeEnding ends the name of a tree's list of files.
const treeEnding = ".tree"

// isHash reports whether a name, less its ending, is a SHA-256, which is what texts and
// files that were given out are called by.
func isHash(name, ending string) bool {
	hash, ok := strings.CutSuffix(name, ending)
	return ok && len(hash) == 64 && strings.Trim(hash, "0123456789abcdef") == ""
}

// places is what a job's document names below the engine's staged directory. A job may
// come from anybody who reaches the API, so it gets the files whose hashes it knows, which
// are those that it was given, and a directory for its own outputs.
type places struct {
	// files are what it may read, by the directory as the document writes it.
	files map[string][]string
	// outputs are the directories, as written, below which it may write its own.
	outputs []string
}

func (x *Executor) placesOf(a attempt.Attempt) places {
	all := places{files: map[string][]string{}}
	text, _ := look(a, stage.Variable)
	d, err := stage.Parse(text)
	if text == "" || err != nil {
		return all // the job says what is wrong with it
	}
	expand := func(place string) string {
		place, err := stage.Expand(place, func(name string) (string, bool) { return look(a, name) })
		if err != nil || !filepath.IsAbs(place) {
			return ""
		}
		return filepath.Clean(place)
	}
	for _, in := range d.Inputs {
		from := expand(in.From)
		if name := filepath.Base(from); x.isStagedDir(filepath.Dir(from)) && (isHash(name, "") || isHash(name, treeEnding)) {
			all.files[filepath.Dir(from)] = append(all.files[filepath.Dir(from)], name)
		}
	}
	for _, out := range d.Outputs {
		to := expand(out.To)
		at, _, ok := strings.Cut(to, string(filepath.Separator)+filepath.Join(OutputsDir, a.Job)+string(filepath.Separator))
		if ok && isName(a.Job) && x.isStagedDir(at) && !slices.Contains(all.outputs, at) {
			all.outputs = append(all.outputs, at)
		}
	}
	return all
}

// look is a variable of the job; of several of one name the last one holds.
func look(a attempt.Attempt, name string) (value string, ok bool) {
	for _, v := range a.Environment {
		if aws.ToString(v.Name) == name {
			value, ok = aws.ToString(v.Value), true
		}
	}
	return value, ok
}

// isName reports whether a job's id is one name of a file.
func isName(id string) bool { return filepath.IsLocal(id) && filepath.Base(id) == id && id != "." }

// isStagedDir reports whether a directory, as somebody wrote it, is the engine's.
func (x *Executor) isStagedDir(dir string) bool {
	if dir == "" || dir == "." {
		return false
	}
	real, err := filepath.EvalSymlinks(dir)
	return err == nil && real == filepath.Join(x.options.Dir, StagedDir)
}

// brought lets the container read what its job brings and write its own outputs, at the
// paths that the document has. What lies in the staged directory besides is not shown:
// the files are linked into a directory of the attempt. texts are staged texts that the
// container reads there, too.
func (x *Executor) brought(a attempt.Attempt, texts map[string][]string) (args []string, err error) {
	p := x.placesOf(a)
	for at, names := range p.files {
		dir, err := x.linked(a, at, append(names, texts[at]...), slices.Contains(p.outputs, at))
		if err == nil {
			err = errors.Join(checkMount(dir), checkMount(at))
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", stage.Variable, err)
		}
		args = append(args, "--mount=type=bind,source="+dir+",destination="+at+",readonly")
	}
	for _, at := range p.outputs {
		own := filepath.Join(x.options.Dir, StagedDir, OutputsDir, a.Job)
		place := filepath.Join(at, OutputsDir, a.Job)
		err := errors.Join(checkMount(own), checkMount(place))
		if err == nil {
			err = os.MkdirAll(own, 0o700)
		}
		if err == nil {
			err = os.Chmod(own, 0o777) // the container's user may be any; nobody else comes past the state directory
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", stage.Variable, err)
		}
		args = append(args, "--mount=type=bind,source="+own+",destination="+place)
	}
	return args, nil
}

// checkMount is checkPath for a flag that separates its parts by commas alone: the id of a
// child has a colon.
func checkMount(p string) error { return checkPath(strings.ReplaceAll(filepath.ToSlash(p), ":", "_")) }

// linked makes a directory of the attempt that holds files of the staged directory, and
// what their lists name.
func (x *Executor) linked(a attempt.Attempt, at string, names []string, outputs bool) (dir string, err error) {
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
	if outputs { // what is mounted there needs a place
		if err := os.MkdirAll(filepath.Join(dir, OutputsDir, a.Job), 0o755); err != nil {
			return "", err
		}
	}
	return dir, os.Chmod(dir, 0o755)
}

// link gives a staged file a second name. What is not there the job finds missing.
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
		return fmt.Errorf("%s is no regular file", source)
	}
	if info.Mode().Perm()&0o444 != 0o444 { // the container's user may be any
		if err := os.Chmod(source, info.Mode().Perm()|0o444); err != nil {
			return err
		}
	}
	if err := os.Link(source, filepath.Join(to, name)); !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// linkTree links the files of a list. The hashes are all that is read of it: the job's own
// batchctl holds the rest to its form.
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
			return nil // its end
		}
	}
}
