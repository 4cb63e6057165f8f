//go:build !packed

package pixels

import (
	"embed"
	"io/fs"
)

//go:embed *.ptx
var plain embed.FS

// files returns the PTX of all sources.
func files() fs.FS { return plain }
