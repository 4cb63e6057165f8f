package checkpoint

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// List returns the files of the directory, in the order of their paths, without those that Skips names. Sockets,
// pipes and devices have no content to save; directories without files are not saved either. A link out of the
// directory is an error: on another machine it would lead nowhere. A directory that does not exist has no files.
func List(dir fs.FS) (files []File, err error) {
	err = fs.WalkDir(dir, ".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist): // the program has removed it since; see Same
			return nil
		case err != nil:
			return err
		case name == "." || !Skips(name):
		case e.IsDir():
			return fs.SkipDir
		default:
			return nil
		}
		if e.IsDir() {
			return nil
		}
		f, err := file(dir, name, e)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil && f.Path != "" {
			files = append(files, f)
		}
		return err
	})
	slices.SortStableFunc(files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	return files, err
}

// file describes one entry of the directory. It has no path if it cannot be saved.
func file(dir fs.FS, name string, e fs.DirEntry) (File, error) {
	info, err := e.Info()
	if err != nil {
		return File{}, err
	}
	f := File{Path: name, Size: info.Size(), Modified: info.ModTime(), Executable: info.Mode()&0o111 != 0}
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		if f.Link, err = fs.ReadLink(dir, name); err != nil {
			return File{}, err
		}
		f.Size, f.Executable = 0, false
		if !staysInside(name, f.Link) {
			return File{}, fmt.Errorf("%s is a link to %s, out of the checkpoint's directory: use a relative link inside it, or a file", name, f.Link)
		}
	case !info.Mode().IsRegular():
		return File{}, nil
	}
	return f, nil
}

// staysInside reports whether a link's target is in the directory.
func staysInside(name, target string) bool {
	return target != "" && !path.IsAbs(target) && fs.ValidPath(path.Join(path.Dir(name), target))
}
