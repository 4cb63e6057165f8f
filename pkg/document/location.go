package document

import (
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"
)

// IsLocal reports whether a source or destination is a local path: it has no scheme, unlike
// s3://bucket/key.
func IsLocal(location string) bool {
	scheme, _, ok := strings.Cut(location, ":")
	if !ok || len(scheme) < 2 { // C:\data
		return true
	}
	return strings.ContainsFunc(scheme, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '+' && r != '-' && r != '.'
	})
}

var bucketPattern = lazy(`^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$`)

// s3Location parses s3://bucket/key and removes slashes at its end. With object, the key
// is required and cannot be a folder.
func s3Location(url string, object bool) (location string, ok bool) {
	rest, ok := strings.CutPrefix(url, "s3://")
	if !ok || !utf8.ValidString(url) || strings.ContainsFunc(url, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return "", false
	}
	bucket, key, _ := strings.Cut(rest, "/")
	if !bucketPattern().MatchString(bucket) || object && (key == "" || strings.HasSuffix(key, "/")) {
		return "", false
	}
	return strings.TrimRight(url, "/"), true
}

// siblingPath returns the path of a file that another file names relative to itself.
func siblingPath(path, file string) string {
	if filepath.IsAbs(file) {
		return file
	}
	return filepath.Join(DirectoryOf(path), file)
}

// DirectoryOf returns the directory of a document, which the paths in it are relative to and its process runs in. A
// document that a device or an open descriptor brings, such as /dev/stdin or /dev/fd/63 for <(command), has the working
// directory, as "-" has. A named pipe elsewhere is a file of its directory.
func DirectoryOf(document string) string {
	dir, path := filepath.Dir(document), document
	for range maxLinks {
		info, err := os.Lstat(path)
		inProc := strings.HasPrefix(path, "/proc/")
		if err != nil || info.Mode().IsRegular() && !inProc {
			return dir // as nearly all documents
		}
		real, err := filepath.EvalSymlinks(filepath.Dir(path))
		switch {
		case err != nil:
			return dir
		case info.Mode()&os.ModeCharDevice != 0, real == "/dev", real == "/dev/fd",
			strings.HasPrefix(real+"/", "/proc/"):
			return "."
		case inProc && path == document:
			dir = real // such as /proc/self/cwd, which is another directory in another process
		}
		target, err := os.Readlink(path)
		if err != nil {
			return dir // not a link
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join(real, target)
		}
		path = target
	}
	return dir
}

// maxLinks is how many symbolic links Linux follows in a path.
const maxLinks = 40
