package document

import (
	"fmt"
	"strconv"
)

var referencePattern = lazy(`^\$\{([A-Za-z0-9_-]+)\}$`)

// nameInside finds the intended name in a reference of a wrong form.
var nameInside = lazy(`[A-Za-z0-9_-]+`)

// referenceTo returns the form that reference parses.
func referenceTo(name string) string { return "${" + name + "}" }

// reference parses ${name}. A name has the characters of a jobName.
func reference(s string) (name string, err error) {
	if m := referencePattern().FindStringSubmatch(s); m != nil {
		return m[1], nil
	}
	hint := `write "${name}" with the jobName of a job in this file, or the id of a submitted job`
	if names := nameInside().FindAllString(s, 2); len(names) == 1 {
		hint = "did you mean " + strconv.Quote(referenceTo(names[0])) + "?"
	}
	return "", unitError{fmt.Sprintf("%s is neither a job id nor a reference to a job", strconv.Quote(clip(s))), hint}
}
