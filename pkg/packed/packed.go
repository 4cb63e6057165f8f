// Package packed reads files that are compressed in a release. Texts such as kernels, examples and templates take a
// tenth of their size there. Only programs with the build tag packed have archives, which go generate writes beside the
// files; others embed the files themselves.
//
// An archive is a zip file without compression, compressed as a whole: small files that resemble each other need a
// fifth of the space that a zip file gives them.
package packed

import (
	"archive/zip"
	"bytes"
	"cmp"
	"compress/gzip"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
)

// Files opens an embedded archive. It panics if the archive is damaged, because that is a fault of the program.
func Files(archive string) fs.FS {
	r, err := open(archive)
	if err != nil {
		panic(fmt.Errorf("open an archive of the program: %w", err))
	}
	return r
}

func open(archive string) (fs.FS, error) {
	stream, err := gzip.NewReader(strings.NewReader(archive))
	if err != nil {
		return nil, err
	}
	files, err := io.ReadAll(stream)
	if err != nil {
		return nil, err
	}
	return zip.NewReader(bytes.NewReader(files), int64(len(files)))
}

// Text returns a file of an embedded archive. It panics if there is no such file.
func Text(files fs.FS, name string) string {
	text, err := fs.ReadFile(files, name)
	if err != nil {
		panic(fmt.Errorf("read a file of the program: %w", err))
	}
	return string(text)
}

// Pack returns an archive of the files that match any of the patterns. It is the same for the same files.
func Pack(files fs.FS, patterns ...string) ([]byte, error) {
	names, err := match(files, patterns)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	stream, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	w := zip.NewWriter(stream)
	for _, name := range names {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, err
		}
		f, err := w.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Store})
		if err != nil {
			return nil, err
		}
		if _, err := f.Write(text); err != nil {
			return nil, err
		}
	}
	if err := cmp.Or(w.Close(), stream.Close()); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// match returns the names of the files that match a pattern, in order.
func match(files fs.FS, patterns []string) (names []string, err error) {
	for _, pattern := range patterns {
		found, err := fs.Glob(files, pattern)
		if err != nil {
			return nil, err
		}
		if len(found) == 0 {
			return nil, fmt.Errorf("%s matches no file", pattern)
		}
		names = append(names, found...)
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}
