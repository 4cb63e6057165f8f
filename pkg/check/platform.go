package check

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/batchctl/batchctl/pkg/catalog"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/lint"
)

// Platform is a platform file that governs documents, read and checked once.
type Platform struct {
	// Path is the file; "" for the documents that no platform file governs.
	Path string
	// Content is the decoded file; nil if there is no file, or if it is not JSON.
	Content *document.Platform
	// Problems are those of the file itself.
	Problems diag.List
	// File is the document; nil in the same cases as Content.
	File *document.File
	// First is the path of the first document that the file governs, after a check.
	First string

	once   sync.Once
	err    error
	source *diag.Source
	// together are the documents that rules compare, in their order. Of two that define
	// the same name, the last one is used.
	together []*document.File
	// createsQueue reports whether one of them creates a queue, so that jobs can be placed.
	createsQueue bool
}

// CatalogError reports a file of instance types that cannot be read.
type CatalogError struct {
	// Path is the file, and NamedIn the platform file that names it; "" for a file that the user named.
	Path, NamedIn string
	Err           error
}

// Error names the file, where it was named, and the cause.
func (e *CatalogError) Error() string {
	named := ""
	if e.NamedIn != "" {
		named = ", which " + e.NamedIn + " names"
	}
	return fmt.Sprintf("read instance types %s%s: %v", e.Path, named, e.Err)
}

// Unwrap returns the cause.
func (e *CatalogError) Unwrap() error { return e.Err }

// InstanceTypes selects the catalog of instance types for the queues of a platform file. The zero
// value is the catalog that the file names.
type InstanceTypes struct {
	// Catalog replaces the one that the file names; nil does not.
	Catalog *catalog.Catalog
	// Unneeded reads no catalog. It is for commands that place no jobs.
	Unneeded bool
}

// ReadPlatform reads and checks a platform file. The error is a *ReadError or a *CatalogError.
func ReadPlatform(path string, types InstanceTypes) (*Platform, error) {
	src, err := ReadFile(path)
	if err != nil {
		err.(*ReadError).Platform = true
		return nil, err
	}
	p := &Platform{Path: path}
	return p, p.load(src, types, lint.Rules())
}

// load parses and checks the text of a platform file. An unreadable catalog is the error;
// the other results are valid nevertheless.
func (p *Platform) load(src *diag.Source, types InstanceTypes, rules []lint.Rule) (err error) {
	p.source = src
	p.File, p.Problems = document.Load(src, document.Options{Kind: document.KindPlatform})
	if p.File == nil {
		return nil
	}
	p.Content = p.File.Platform
	p.Problems = lint.Waive(p.File, p.Content, p.Problems)
	if types.Catalog != nil && p.Content != nil {
		p.Content.Catalog = types.Catalog
	} else if !types.Unneeded {
		if cause := p.Content.ReadCatalog(p.Path); cause != nil {
			err = &CatalogError{p.Content.CatalogPath(p.Path), p.Path, cause}
		}
	}
	p.Problems = append(p.Problems, lint.Check([]*document.File{p.File}, p.Content, rules)...)
	return err
}

// Ungoverned returns the platform of documents without a platform file: only the instance types, if any.
func Ungoverned(types *catalog.Catalog) *document.Platform {
	if types == nil {
		return nil
	}
	return &document.Platform{Catalog: types}
}

// FindPlatform returns the path of the platform file that governs the documents of a directory:
// batchctl.json there or in the nearest directory above it.
func FindPlatform(dir string) (path string, ok bool) {
	path, ok = document.FindPlatform(dir)
	return relative(path), ok
}

// relative returns the path relative to the working directory for a file below it.
func relative(path string) string {
	if cwd, err := os.Getwd(); err == nil {
		if rel, err := filepath.Rel(cwd, path); err == nil && !strings.HasPrefix(rel, "..") {
			return rel
		}
	}
	return path
}

// PlatformOf returns the platform file for a document; its Path is "" without one. It reads
// each file once. The error is a *ReadError or a *CatalogError.
func (c *Checker) PlatformOf(d Document) (*Platform, error) {
	p := c.governing(d)
	p.once.Do(func() {
		switch {
		case p.Path == "":
			p.Content = Ungoverned(c.options.Catalog)
		case c.options.Editor != nil:
			c.options.Editor.read(p, c.rules)
		default:
			read, err := ReadPlatform(p.Path, InstanceTypes{Catalog: c.options.Catalog})
			if p.err = err; err == nil {
				p.Content, p.Problems, p.File = read.Content, read.Problems, read.File
			}
		}
	})
	return p, p.err
}

// governing returns the one Platform of the platform file of a document.
func (c *Checker) governing(d Document) *Platform {
	c.mu.Lock()
	defer c.mu.Unlock()
	if d.Alone {
		p := &Platform{}
		c.platforms = append(c.platforms, p)
		return p
	}
	dir := d.Directory
	if dir == "" {
		dir = document.DirectoryOf(d.Path)
	}
	p := c.byDirectory[dir]
	if p == nil {
		path := c.options.PlatformFile
		if path == "" {
			path, _ = c.options.FindPlatform(dir)
		}
		p = c.at(path)
		c.byDirectory[dir] = p
	}
	if c.options.PlatformFile == "" && filepath.Base(d.Path) == document.PlatformFile && !p.is(d.Path) {
		return c.at(d.Path) // it is in the editor only
	}
	return p
}

// at returns the one Platform of a path. The caller holds c.mu.
func (c *Checker) at(path string) *Platform {
	p := c.byPath[path]
	if p == nil {
		p = &Platform{Path: path}
		c.byPath[path] = p
		c.platforms = append(c.platforms, p)
	}
	return p
}

// read reads a platform file, from the editor if it is open there.
func (e *Editor) read(p *Platform, rules []lint.Rule) {
	src := e.Open(p.Path)
	if src == nil {
		var err error
		if src, err = ReadFile(p.Path); err != nil {
			e.Log(fmt.Errorf("read platform file: %w", err))
			return
		}
	}
	for _, known := range e.Known {
		if known.Path == p.Path && known.source != nil && known.source.Text == src.Text {
			p.Content, p.Problems, p.File, p.source = known.Content, known.Problems, known.File, known.source
			return
		}
	}
	if err := p.load(src, InstanceTypes{}, rules); err != nil {
		from, span := p.File.Root.Get("catalog").Location()
		p.Problems = append(p.Problems, diag.Diagnostic{Rule: "platform-catalog", Source: from, Span: span,
			Message: "read instance types: " + err.(*CatalogError).Err.Error()})
	}
}

// is reports whether a document is the platform file itself.
func (p *Platform) is(path string) bool {
	if p.Path == path {
		return true
	}
	if p.Path == "" || filepath.Base(p.Path) != filepath.Base(path) {
		return false
	}
	a, errA := filepath.Abs(p.Path)
	b, errB := filepath.Abs(path)
	return errA == nil && errB == nil && a == b
}
