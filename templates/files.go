//go:build !packed

package templates

import (
	"embed"
	"io/fs"
)

//go:embed infra/*.json
var plain embed.FS

// files returns the templates of the infrastructure.
func files() fs.FS { return plain }
