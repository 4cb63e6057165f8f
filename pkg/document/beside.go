package document

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/batchctl/batchctl/pkg/diag"
)

// maxBeside bounds the size of a file that a document names. A table of a million cells is
// smaller.
const maxBeside = 128 << 20

// SiblingReader returns the function for Options.Read for a document of that name. It
// reads a file by its path relative to the document's directory, or to the working
// directory for "-" and other texts that are not files (see DirectoryOf). The source has the name of the
// path that leads to the file. An error is a sentence without that name; its hint names a
// file with a similar name.
//
// A document may come from a stranger, and messages about a table show its lines. So the
// function reads only files inside the document's directory and the working directory,
// also through symbolic links.
func SiblingReader(document string) func(path string) (*diag.Source, error) {
	return func(path string) (*diag.Source, error) {
		name := siblingPath(document, filepath.FromSlash(path))
		text, err := readWithin(name, DirectoryOf(document), ".")
		if errors.Is(err, fs.ErrNotExist) {
			return nil, unitError{"no such file", nearFile(path, name)}
		}
		if err != nil {
			return nil, err
		}
		return diag.NewSource(name, text), nil
	}
}

// FindBeside is for Options.Find: it finds a file or directory by its path relative to the
// directory of a document. It has the limits and errors of Beside, because submit uploads what
// it finds.
func FindBeside(document, path string) (Found, error) {
	name := siblingPath(document, filepath.FromSlash(path))
	for _, dir := range [...]string{DirectoryOf(document), "."} {
		info, err := statIn(dir, name)
		switch {
		case err == errOutside:
			continue
		case errors.Is(err, fs.ErrNotExist):
			return Found{}, unitError{"no such file", nearFile(path, name)}
		case err != nil:
			return Found{}, err
		case info.IsDir():
			return Found{Path: name, Dir: true}, nil
		case !info.Mode().IsRegular():
			return Found{}, errors.New("not a regular file")
		}
		return Found{Path: name, Bytes: info.Size()}, nil
	}
	return Found{}, errOutside
}

// Regular rejects a path that is not a regular file. The document may come from a stranger,
// and opening a pipe would block until another process writes to it.
func Regular(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return cause(err)
	}
	return regular(info)
}

// statIn returns the properties of a file below a directory. A path that leaves the
// directory, also through a symbolic link, is an error.
func statIn(dir, name string) (fs.FileInfo, error) {
	root, inside, err := rootOf(dir, name)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	info, err := root.Stat(inside)
	return info, cause(err)
}

var errOutside = unitError{"it is outside this file's directory and the working directory", "copy it there"}

// readWithin reads a file that is inside one of the directories.
func readWithin(name string, dirs ...string) (string, error) {
	for _, dir := range dirs {
		text, err := readIn(dir, name)
		if err != errOutside {
			return text, err
		}
	}
	return "", errOutside
}

// readIn reads a file inside a directory. For a file outside, the error is errOutside.
func readIn(dir, name string) (string, error) {
	root, inside, err := rootOf(dir, name)
	if err != nil {
		return "", err
	}
	defer root.Close()
	return readRegular(root, inside)
}

// rootOf opens a directory, and returns the path of a file inside it.
func rootOf(dir, name string) (root *os.Root, inside string, err error) {
	base, err := filepath.Abs(dir)
	if err != nil {
		return nil, "", cause(err)
	}
	if name, err = filepath.Abs(name); err != nil {
		return nil, "", cause(err)
	}
	inside, err = filepath.Rel(base, name)
	if err != nil || !filepath.IsLocal(inside) {
		return nil, "", errOutside
	}
	root, err = os.OpenRoot(base)
	return root, inside, cause(err)
}

// readRegular reads a regular file, of at most maxBeside bytes.
func readRegular(root *os.Root, inside string) (string, error) {
	info, err := root.Stat(inside)
	if err != nil {
		return "", cause(err)
	}
	switch err := regular(info); {
	case err != nil:
		return "", err
	case info.Size() > maxBeside:
		return "", fmt.Errorf("it is larger than %d MiB", maxBeside>>20)
	}
	f, err := root.Open(inside)
	if err != nil {
		return "", cause(err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxBeside))
	return string(text), cause(err)
}

// cause returns the error without the operation and the path, which the message has
// already. os.Root returns an unexported error for a link that leads outside, which
// becomes errOutside. Errors of the system stay unchanged.
func cause(err error) error {
	e, ok := errors.AsType[*fs.PathError](err)
	if !ok {
		return err
	}
	if _, system := e.Err.(interface{ Timeout() bool }); !system {
		return errOutside
	}
	return e.Err
}

// nearFile is the hint for a missing file: a file with a similar name, as the document
// would name it.
func nearFile(path, name string) string {
	entries, _ := os.ReadDir(filepath.Dir(name)) // a directory that cannot be read has no near files
	var names []string
	for _, e := range entries {
		if e.Type().IsRegular() {
			names = append(names, e.Name())
		}
	}
	near := diag.Near(filepath.Base(name), slices.Values(names))
	if near == "" {
		return "write the path relative to the directory of this file"
	}
	return fmt.Sprintf("write %q", path[:len(path)-len(filepath.Base(name))]+near)
}

// regular returns an error for anything but a regular file. A pipe could block
// indefinitely.
func regular(info os.FileInfo) error {
	switch {
	case info.IsDir():
		return errors.New("is a directory")
	case !info.Mode().IsRegular():
		return errors.New("not a regular file")
	}
	return nil
}
