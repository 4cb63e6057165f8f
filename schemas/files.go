//go:build !packed

package schemas

import (
	"embed"
	"io/fs"
)

//go:embed output/v1.schema.json
var plain embed.FS

// files returns the schemas of all JSON output. They are not part of FS, because no document refers to them.
func files() fs.FS { return plain }
