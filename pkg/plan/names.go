package plan

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
)

// taken are names that generated jobs and definitions must not have.
type taken map[string]bool

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

// IsMadeFor reports whether name can be that of a job which Build generated for job: one of
// several arrays (see Job.Group), or a join before it (see Job.Join).
func IsMadeFor(name, job string) (made, join bool) {
	ending := madeEnding().FindString(name)
	made = ending != "" && name == cut(job, ending)
	return made, made && strings.HasPrefix(ending, "-join")
}

// cut shortens base so that the name with the ending has at most maxMadeName
// characters.
func cut(base, ending string) string {
	return base[:min(len(base), maxMadeName-len(ending))] + ending
}
