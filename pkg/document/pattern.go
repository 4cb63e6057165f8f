package document

import (
	"regexp"
	"sync"
)

// lazy returns a regular expression that is compiled on first use.
func lazy(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}
