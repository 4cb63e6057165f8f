//go:build !packed

package examples

import (
	"embed"
	"io/fs"
)

//go:embed */*.txtar
var plain embed.FS

// files returns the archives of the rules.
func files() fs.FS { return plain }
