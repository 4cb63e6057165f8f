package lsp

import (
	"maps"
	"slices"

	"github.com/batchctl/batchctl/pkg/check"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
)

// check finds the problems of all open documents, if a text has changed since. They are checked
// together, as `batchctl validate` does with the same files.
func (s *server) check() {
	if !s.dirty {
		return
	}
	s.dirty, s.found = false, nil
	s.checker = check.New(check.Options{Keep: true, Rules: s.rules, FindPlatform: s.options.FindPlatform,
		Editor: &check.Editor{Open: s.openSource, Known: s.platforms, Log: func(err error) { s.logf("%v", err) }}})
	var documents []check.Document
	for _, uri := range slices.Sorted(maps.Keys(s.docs)) {
		documents = append(documents, s.docs[uri].document())
	}
	result := s.checker.Check(documents)
	for _, err := range result.Unread {
		s.logf("%v", err)
	}
	s.platforms = result.Platforms
	s.keep(result)
	s.found, s.unreported = s.byURI(result.Problems), true
}

// keep stores in each open document the file that the check loaded from it.
func (s *server) keep(result *check.Result) {
	files := map[*diag.Source]*document.File{}
	for _, f := range result.Files {
		files[f.Source] = f
	}
	platforms := map[string]*document.File{}
	for _, p := range result.Platforms {
		platforms[p.Path] = p.File
	}
	for _, d := range s.docs {
		d.file = files[d.src]
		if d.file == nil && d.saved {
			d.file = platforms[d.path]
		}
	}
}

// byURI groups the problems by the text that they are in. This can be a file that is not
// open: a default in a platform file can be wrong for a job.
func (s *server) byURI(all diag.List) map[string]diag.List {
	uris := map[string]string{}
	for _, uri := range slices.Sorted(maps.Keys(s.docs)) {
		uris[s.docs[uri].src.Name] = uri
	}
	found := map[string]diag.List{}
	for _, d := range all {
		if d.Source == nil {
			s.logf("%v", d)
			continue
		}
		uri, open := uris[d.Source.Name]
		if !open {
			uri = uriOf(d.Source.Name)
		}
		found[uri] = append(found[uri], d)
	}
	return found
}
