package lsp

import (
	"io"
	"os"
	"path/filepath"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/lint"
	"github.com/batchctl/batchctl/pkg/spec"
)

// document is a text that is open in the editor.
type document struct {
	uri     string
	path    string
	saved   bool // path names a file
	version int
	text    text
	src     *diag.Source

	// ours says that the text is one of our documents, and known that it is or
	// was one since it was opened: half-typed text is not always recognised.
	ours, known bool

	// What the last check read, under which platform file. file is nil before
	// the first one and for other people's texts.
	file     *spec.File
	problems diag.List
	platform *platform
	loaded   bool
	// beside is the files that the text names, as they were read.
	beside []beside
}

// set gives the document a new text.
func (d *document) set(t text) {
	name := d.uri
	if d.saved {
		name = d.path
	}
	d.text, d.src = t, diag.NewSource(name, t.s)
	d.ours = spec.Recognize(d.src) == spec.Ours
	d.known = d.known || d.ours
	d.file, d.problems, d.platform, d.loaded, d.beside = nil, nil, nil, false, nil
}

// room names what is checked together with the document: its directory. A text
// that was never saved stands alone.
func (d *document) room() string {
	if d.saved {
		return filepath.Dir(d.path)
	}
	return d.uri
}

func (d *document) isPlatform() bool { return d.saved && filepath.Base(d.path) == spec.PlatformFile }

// load reads the document's text under a platform file, which may be nil, and the
// files that it names.
func (s *server) load(d *document, p *platform) {
	if d.loaded && d.platform == p && s.unchanged(d.beside) {
		return
	}
	d.beside = nil
	d.file, d.problems = spec.Load(d.src, spec.Options{Platform: p.content(), Read: s.readBeside(d), Find: s.findBeside(d)})
	d.platform, d.loaded = p, true
}

// platform is a platform file as it is now: in the editor if it is open there,
// else on disk.
type platform struct {
	src      *diag.Source
	file     *spec.File
	problems diag.List
}

func (p *platform) content() *spec.Platform {
	if p == nil || p.file == nil {
		return nil
	}
	return p.file.Platform
}

// platformFor returns the platform file that governs the document, or nil.
func (s *server) platformFor(d *document) *platform {
	if !d.saved {
		return nil
	}
	path, ok := s.findPlatform(filepath.Dir(d.path))
	if !ok {
		return nil
	}
	return s.platformAt(filepath.Clean(path))
}

// platformAt reads a platform file, unless it has been read and is still the same.
func (s *server) platformAt(path string) *platform {
	src := s.openSource(path)
	if src == nil {
		text, err := readFile(path)
		if err != nil {
			s.logf("read platform file: %v", err)
			return nil
		}
		src = diag.NewSource(path, text)
	}
	if p := s.platforms[path]; p != nil && p.src.Text == src.Text {
		return p
	}
	p := &platform{src: src}
	p.file, p.problems = spec.Load(src, spec.Options{Kind: spec.KindPlatform})
	if p.file != nil {
		if err := p.content().ReadCatalog(path); err != nil {
			from, span := p.file.Root.Get("catalog").Place()
			p.problems = append(p.problems, diag.Diagnostic{Rule: "platform-catalog", Source: from, Span: span,
				Message: "read instance types: " + err.Error()})
		}
		p.problems = append(p.problems, lint.Check([]*spec.File{p.file}, p.content(), s.rules)...)
	}
	s.platforms[path] = p
	return p
}

// openSource returns the text of an open document by its path, or nil.
func (s *server) openSource(path string) *diag.Source {
	for _, d := range s.docs {
		if d.saved && d.path == path {
			return d.src
		}
	}
	return nil
}

// maxFile is one byte more than the parser takes, so that it refuses the text.
const maxFile = 16<<20 + 1

func readFile(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxFile))
	return string(text), err
}
