package template

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"
	"unicode"

	"github.com/batchctl/batchctl/pkg/objects"
)

// The bounds of a template. A source may be a stranger's repository.
const (
	// MaxFiles is the most files that a template may have.
	MaxFiles = 100
	// MaxBytes is the most bytes of all its files together.
	MaxBytes = 1 << 20
	// timeout is how long the transfer of a template may take.
	timeout = time.Minute
)

// File is a file of a template.
type File struct {
	// Name is the path below the source, with forward slashes; for a source that is a file, its base name.
	Name string
	Text string
}

// Content is what a source has.
type Content struct {
	Files []File
	// IsDirectory reports whether the source is a directory. A directory with one file stays a directory.
	IsDirectory bool
}

// Reader reads sources.
type Reader struct {
	// Directory is that of the platform file.
	Directory string
	// Objects reads S3 locations.
	Objects *objects.Store
	// Environ is the environment of git.
	Environ []string
}

// Read returns the files of a source. Nothing of a source is executed, and nothing outside of it is read: no links,
// no submodules. The error is a sentence without the source.
func (r *Reader) Read(ctx context.Context, source string) (*Content, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	content, err := r.read(ctx, source)
	switch {
	case err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded):
		return nil, fmt.Errorf("no complete template after %v", timeout)
	case err != nil:
		return nil, err
	case len(content.Files) == 0:
		return nil, errors.New("it has no files")
	}
	return content, nil
}

func (r *Reader) read(ctx context.Context, source string) (*Content, error) {
	switch {
	case source == "":
		return nil, errors.New("it is empty")
	case strings.HasPrefix(source, "-"):
		return nil, errors.New("it begins with -, like an option")
	case strings.ContainsFunc(source, unicode.IsControl):
		return nil, errors.New("it has a control character")
	case strings.HasPrefix(source, "s3://"):
		return r.fromS3(ctx, source)
	case strings.Contains(source, "://"):
		at, err := parseURL(source)
		if err != nil {
			return nil, err
		}
		return r.fromGit(ctx, at)
	}
	if host, name, ok := strings.Cut(source, ":"); ok && strings.Contains(host, "@") &&
		!strings.ContainsAny(host, `/\`) {
		return nil, fmt.Errorf("write it as a URL: ssh://%s/%s", host, strings.TrimPrefix(name, "/"))
	}
	return r.fromPath(ctx, source)
}

// fromPath reads a path beside the platform file, or a git checkout anywhere.
func (r *Reader) fromPath(ctx context.Context, source string) (*Content, error) {
	whole, below, split := strings.Cut(filepath.ToSlash(source), "//")
	if split && !validName(below) {
		return nil, fmt.Errorf("%q after // is outside the checkout", below)
	}
	base := whole
	at := ""
	if _, err := os.Lstat(r.resolve(base)); err != nil {
		if name, ref, ok := cutLast(base, "@"); ok && isCheckout(r.resolve(name)) {
			base, at = name, ref
		}
	}
	dir := r.resolve(base)
	switch {
	case at != "":
		if !validRef(at) {
			return nil, fmt.Errorf("invalid ref %q", at)
		}
		full, err := filepath.Abs(dir)
		if err != nil {
			return nil, err
		}
		return r.fromGit(ctx, location{repository: full, ref: at, below: below})
	case split || !filepath.IsLocal(filepath.FromSlash(base)):
		if !isCheckout(dir) {
			return nil, fmt.Errorf("%s is not a git checkout, and only a checkout may be outside the directory of the platform file", base)
		}
		return fromDirectory(dir, below)
	}
	return fromDirectory(r.Directory, path.Clean(base))
}

// resolve returns a path from the working directory.
func (r *Reader) resolve(name string) string {
	name = filepath.FromSlash(name)
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(r.Directory, name)
}

// isCheckout reports whether a directory is the top of a git checkout.
func isCheckout(dir string) bool {
	_, err := os.Lstat(filepath.Join(dir, ".git"))
	return err == nil
}

// cutLast cuts s at the last separator.
func cutLast(s, separator string) (before, after string, found bool) {
	i := strings.LastIndex(s, separator)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(separator):], true
}

// validName reports whether a name can be a file below a directory on every system.
func validName(name string) bool {
	return fs.ValidPath(name) && filepath.IsLocal(filepath.FromSlash(name)) && !strings.ContainsAny(name, `\:`) &&
		!strings.ContainsFunc(name, unicode.IsControl) && !insideGit(name)
}

// insideGit reports whether a path is in the .git of a checkout. File systems that ignore case have .GIT, too.
func insideGit(name string) bool {
	for part := range strings.SplitSeq(name, "/") {
		if strings.EqualFold(part, ".git") {
			return true
		}
	}
	return false
}

// gathering collects files within the bounds.
type gathering struct {
	content Content
	bytes   int64
}

// fits adds a file of this size to the bounds.
func (g *gathering) fits(name string, size int64) error {
	if !validName(name) {
		return fmt.Errorf("it has a file named %q, which some systems place outside the directory", name)
	}
	if len(g.content.Files) == MaxFiles {
		return fmt.Errorf("it has more than %d files", MaxFiles)
	}
	if g.bytes += size; g.bytes > MaxBytes {
		return fmt.Errorf("its files have more than %d bytes", MaxBytes)
	}
	return nil
}

// add reads a file. The size is a claim of the source, so it is checked again.
func (g *gathering) add(name string, from io.Reader, size int64) error {
	text, err := io.ReadAll(io.LimitReader(from, size+1))
	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	if int64(len(text)) > size {
		return fmt.Errorf("%s has changed while it was read", name)
	}
	g.content.Files = append(g.content.Files, File{name, string(text)})
	return nil
}

// fromDirectory reads a file or a directory below another one. A link on the way is an error: it may lead anywhere.
func fromDirectory(dir, below string) (*Content, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, cause(err)
	}
	defer root.Close()
	if below == "" {
		below = "."
	}
	if below != "." && !validName(below) {
		return nil, fmt.Errorf("invalid path %q", below)
	}
	for i := range below + "/" {
		if i < len(below) && below[i] != '/' {
			continue
		}
		info, err := root.Lstat(filepath.FromSlash(below[:i]))
		if err != nil {
			return nil, cause(err)
		}
		if info.Mode()&fs.ModeSymlink != 0 {
			return nil, fmt.Errorf("%s is a link, and links are not followed", below[:i])
		}
	}
	g := &gathering{}
	err = fs.WalkDir(root.FS(), below, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return cause(err)
		}
		if d.IsDir() {
			g.content.IsDirectory = g.content.IsDirectory || name == below
			if insideGit(name) {
				return fs.SkipDir
			}
			return nil
		}
		if insideGit(name) { // the .git of a submodule or of a second worktree is a file
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return cause(err)
		}
		if !info.Mode().IsRegular() {
			return fmt.Errorf("%s is not a regular file: links are not followed", name)
		}
		short := strings.TrimPrefix(name, below+"/")
		if name == below {
			short = path.Base(name)
		}
		if err := g.fits(short, info.Size()); err != nil {
			return err
		}
		f, err := root.Open(filepath.FromSlash(name))
		if err != nil {
			return cause(err)
		}
		defer f.Close()
		return g.add(short, f, info.Size())
	})
	return &g.content, err
}

// fromS3 reads an object, or the objects below a prefix.
func (r *Reader) fromS3(ctx context.Context, source string) (*Content, error) {
	found, _, err := r.Objects.List(ctx, source, "")
	if err != nil {
		return nil, err
	}
	g := &gathering{}
	g.content.IsDirectory = len(found) != 1 || found[0].URL != source
	for _, o := range found {
		if err := g.fits(o.Name, o.Size); err != nil {
			return nil, err
		}
		if err := r.addObject(ctx, g, o); err != nil {
			return nil, err
		}
	}
	return &g.content, nil
}

// addObject reads one object.
func (r *Reader) addObject(ctx context.Context, g *gathering, o objects.Found) error {
	body, err := r.Objects.Open(ctx, o.URL)
	if err != nil {
		return err
	}
	defer body.Close()
	return g.add(o.Name, body, o.Size)
}

// cause returns an error without the path of the file.
func cause(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
}
