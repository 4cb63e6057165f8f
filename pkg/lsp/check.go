package lsp

import (
	"maps"
	"slices"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/lint"
	"github.com/batchctl/batchctl/pkg/spec"
)

// group is the open documents of one directory. They are checked together, as
// `batchctl validate` does with a directory: a submission may run the definition
// next to it.
type group struct {
	platform *platform
	files    []*spec.File
	problems diag.List // of the files one by one
}

func (s *server) groups() map[string]*group {
	groups := map[string]*group{}
	for _, uri := range slices.Sorted(maps.Keys(s.docs)) {
		d := s.docs[uri]
		if d.isPlatform() {
			p := s.platformAt(d.path)
			d.file, d.platform = p.file, p
			groups[d.path] = &group{platform: p}
			continue
		}
		if !d.ours {
			continue
		}
		g := groups[d.room()]
		if g == nil {
			g = &group{platform: s.platformFor(d)}
			groups[d.room()] = g
		}
		s.load(d, g.platform)
		g.problems = append(g.problems, d.problems...)
		if d.file != nil {
			g.files = append(g.files, d.file)
		}
	}
	return groups
}

// check finds the problems of all open documents, if a text has changed since.
func (s *server) check() {
	if !s.dirty {
		return
	}
	s.dirty, s.found = false, nil
	var all diag.List
	used := map[*platform]bool{}
	for _, g := range s.groups() {
		all = append(all, g.problems...)
		all = append(all, lint.Check(g.files, g.platform.content(), s.rules)...)
		if g.platform != nil && !used[g.platform] {
			all = append(all, g.platform.problems...)
			used[g.platform] = true
		}
	}
	maps.DeleteFunc(s.platforms, func(_ string, p *platform) bool { return !used[p] })
	s.found, s.unreported = s.byURI(lint.Settle(all)), true
}

// byURI sorts the problems by the text they stand in. It may be a platform file
// that is not open: what it lends to a job can be wrong for that job.
func (s *server) byURI(all diag.List) map[string]diag.List {
	all.Sort()
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
