//go:build !packed

package page

import (
	"embed"
	"io/fs"
)

//go:embed assets/*
var plain embed.FS

// files returns the templates, scripts and style sheet of the pages.
func files() fs.FS { return plain }
