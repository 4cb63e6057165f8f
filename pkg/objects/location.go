package objects

import (
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"github.com/batchctl/batchctl/pkg/stage"
)

// bucketName matches names of buckets: today's, and the older ones of us-east-1 (Amazon S3 User
// Guide, "Bucket naming rules").
var bucketName = lazy(`^[A-Za-z0-9][A-Za-z0-9._-]{2,254}$`)

// lazy compiles an expression on first use: most runs of the program need none.
func lazy(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}

// location is a parsed URL or path.
type location struct {
	bucket, key string // of S3
	url         string // https
	path        string // local
}

// parseLocation parses a URL or an absolute path. Exactly one of bucket, url and path is set.
func parseLocation(text string) (location, error) {
	switch {
	case strings.HasPrefix(text, "s3://"):
		bucket, key, err := ParseURL(text)
		return location{bucket: bucket, key: key}, err
	case strings.HasPrefix(text, "https://"):
		return location{url: text}, nil
	case strings.HasPrefix(text, "http://"):
		return location{}, fmt.Errorf("%s: content over http cannot be trusted: write https://", stage.Shown(text))
	case strings.HasPrefix(text, "/") || isAbs(text):
		return location{path: text}, nil
	}
	return location{}, fmt.Errorf("%q is neither s3://bucket/key, https://… nor an absolute path", text)
}

// ParseURL parses s3://bucket/key. It takes the key literally: it unescapes nothing, and "?" and
// "#" belong to it. The key may be empty or end in a slash, for everything below it.
func ParseURL(text string) (bucket, key string, err error) {
	rest, ok := strings.CutPrefix(text, "s3://")
	bucket, key, slash := strings.Cut(rest, "/")
	if !ok || !slash || !bucketName().MatchString(bucket) {
		return "", "", fmt.Errorf("%q is not an S3 location: write s3://bucket/key, or s3://bucket/prefix/ for everything below it", text)
	}
	return bucket, key, nil
}

// objectURL is ParseURL for one object.
func objectURL(text string) (location, error) {
	bucket, key, err := ParseURL(text)
	if err == nil && key == "" {
		err = fmt.Errorf("%q has no key: write s3://bucket/key", text)
	}
	return location{bucket: bucket, key: key}, err
}

// String is the location without the secret parts of a URL.
func (p location) String() string {
	switch {
	case p.bucket != "":
		return "s3://" + p.bucket + "/" + p.key
	case p.url != "":
		return stage.Shown(p.url)
	}
	return p.path
}

// base returns the last element of a location's name.
func (p location) base() string {
	switch {
	case p.bucket != "":
		return path.Base(p.key)
	case p.url != "":
		_, file, _ := strings.Cut(strings.TrimPrefix(stage.Shown(p.url), "https://"), "/")
		return path.Base("/" + file)
	}
	return path.Base(p.path)
}

// join returns a location below another.
func (p location) join(name string) location {
	if p.bucket == "" {
		return location{path: filepath.Join(p.path, name)}
	}
	key := strings.TrimSuffix(p.key, "/")
	if key != "" {
		key += "/"
	}
	return location{bucket: p.bucket, key: key + name}
}

// above returns the location that contains a manifest.
func (p location) above() location {
	if p.bucket == "" {
		return location{path: filepath.Dir(p.path)}
	}
	dir, _ := path.Split(p.key)
	return location{bucket: p.bucket, key: dir}
}

// isAbs reports whether a local path is absolute. On Windows such a path does not begin with a slash.
func isAbs(name string) bool { return filepath.IsAbs(name) }
