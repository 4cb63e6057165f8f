package lsp

import (
	"net/url"
	"path/filepath"
	"strings"
)

// pathOf returns the path of a file URI. Other URIs, such as that of a text that was never
// saved, have no path.
func pathOf(uri string) (string, bool) {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" || u.Path == "" {
		return "", false
	}
	path := u.Path
	if len(path) > 2 && path[0] == '/' && filepath.VolumeName(path[1:]) != "" {
		path = path[1:] // file:///c:/jobs
	}
	return filepath.Clean(filepath.FromSlash(path)), true
}

// uriOf returns the file URI of an absolute path.
func uriOf(path string) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	return (&url.URL{Scheme: "file", Path: path}).String()
}
