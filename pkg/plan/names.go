package plan

import (
	"fmt"
	"maps"

	"github.com/batchctl/batchctl/pkg/spec"
)

// taken is the names that jobs and definitions made by Build must keep clear of.
type taken map[string]bool

// namesOf is what the jobs of a file are called, and the definitions of all files.
func (b *builder) namesOf(f *spec.File) taken {
	names := taken{}
	for name := range maps.Keys(b.known) {
		names[name] = true
	}
	for _, j := range f.Jobs {
		names[j.Name] = true
	}
	return names
}

// free returns a name that nothing else has: the base, cut if need be, and the
// ending, with a number behind it where that is taken.
func (t taken) free(base, ending string) string {
	name := cut(base, ending)
	for n := 2; t[name]; n++ {
		name = cut(base, fmt.Sprintf("%s-%d", ending, n))
	}
	t[name] = true
	return name
}

func cut(base, ending string) string {
	return base[:min(len(base), maxMadeName-len(ending))] + ending
}
