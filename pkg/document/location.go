package document

import (
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
	return filepath.Join(filepath.Dir(path), file)
}
