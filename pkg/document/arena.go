package document

import "github.com/batchctl/batchctl/pkg/jsontree"

// Arena holds memory for documents that are no longer needed when the next one is loaded. A program that loads
// thousands of documents reuses it for all. A nil Arena allocates new memory for every document. An Arena is for one
// goroutine.
type Arena struct {
	nodes jsontree.Arena
	files slab[File]
	jobs  slab[Job]
}

// tree returns the memory for nodes; nil for a nil Arena.
func (a *Arena) tree() *jsontree.Arena {
	if a == nil {
		return nil
	}
	return &a.nodes
}

// file returns an empty file.
func (a *Arena) file() *File {
	if a == nil {
		return &File{}
	}
	return nextOf(&a.files)
}

// job returns an empty job.
func (a *Arena) job() *Job {
	if a == nil {
		return &Job{}
	}
	return nextOf(&a.jobs)
}

// Keep leaves everything allocated since Reset to the documents permanently.
func (a *Arena) Keep() {
	a.nodes.Keep()
	keepUsed(&a.files)
	keepUsed(&a.jobs)
}

// Reset reuses all memory except that of Keep. No other document of the arena may be used afterwards.
func (a *Arena) Reset() {
	a.nodes.Reset()
	clearUsed(&a.files)
	clearUsed(&a.jobs)
}

// slab hands out values that become free together. It has functions and no methods: methods of a generic type are
// compiled again in each package that uses a type with such a field.
type slab[T any] struct {
	values []T
	used   int
}

// nextOf returns a zero value.
func nextOf[T any](s *slab[T]) *T {
	if s.used == len(s.values) {
		s.values, s.used = make([]T, min(max(1, 2*len(s.values)), mostValues)),
			0 // values in use stay with their documents
	}
	s.used++
	return &s.values[s.used-1]
}

// mostValues bounds the values that a slab keeps after a document with many jobs.
const mostValues = 64

func keepUsed[T any](s *slab[T]) { s.values, s.used = s.values[s.used:], 0 }

func clearUsed[T any](s *slab[T]) {
	clear(s.values[:s.used])
	s.used = 0
}
