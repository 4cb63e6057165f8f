package call

import (
	"fmt"
	"strings"
)

// TagProblem returns what is wrong with a tag: keys have 1 to 128 and values up to 256 characters, none with the prefix
// that AWS reserves for itself. It is "" for valid tags.
func TagProblem(tags map[string]string) string {
	for _, key := range SortedKeys(tags) {
		switch {
		case key == "" || len([]rune(key)) > 128:
			return "Tag keys have 1 to 128 characters."
		case len([]rune(tags[key])) > 256:
			return fmt.Sprintf("Tag %s: values have at most 256 characters.", key)
		case strings.HasPrefix(strings.ToLower(key), "aws:"):
			return fmt.Sprintf("Tag %s: keys must not start with aws:.", key)
		case strings.HasPrefix(strings.ToLower(tags[key]), "aws:"):
			return fmt.Sprintf("Tag %s: values must not start with aws:.", key)
		}
	}
	return ""
}
