//go:build !packed

package catalog

import (
	"embed"
	"io/fs"
)

//go:embed *.csv
var plain embed.FS

// files returns the tables of instance types and prices.
func files() fs.FS { return plain }
