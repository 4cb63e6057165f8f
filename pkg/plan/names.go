package plan

import (
	"fmt"
	"maps"
	"regexp"
	"strings"
	"sync"

	"github.com/batchctl/batchctl/pkg/document"
)

// taken is the names that jobs and definitions made by Build must keep clear of.
type taken map[string]bool

// namesOf is what the jobs of a file are called, and the definitions of all files.
func (b *builder) namesOf(f *document.File) taken {
	names := taken{}
	for name := range maps.Keys(b.known) {
		names[name] = true
	}
	for _, j := range f.Jobs {
		names[j.Name] = true
	}
	return names
}

// free returns an unused name: the base, shortened if necessary, and the ending, with a number
// after it if the name is taken.
func (t taken) free(base, ending string) string {
	name := cut(base, ending)
	for n := 2; t[name]; n++ {
		name = cut(base, fmt.Sprintf("%s-%d", ending, n))
	}
	t[name] = true
	return name
}

// madeEnding is the text after the name of a job in the names of its parts and joins.
var madeEnding = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`-([0-9]+of[0-9]+|join[0-9]*)(-[0-9]+)?$`) })

// IsMadeFor reports whether Build may have given the name to a job that it made for one of
// the file: one of several arrays (see Job.Group), or a join before it (Job.Join).
func IsMadeFor(name, job string) (made, join bool) {
	ending := madeEnding().FindString(name)
	made = ending != "" && name == cut(job, ending)
	return made, made && strings.HasPrefix(ending, "-join")
}

func cut(base, ending string) string {
	return base[:min(len(base), maxMadeName-len(ending))] + ending
}
