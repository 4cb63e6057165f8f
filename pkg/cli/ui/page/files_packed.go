//go:build packed

package page

import (
	_ "embed" // for the archive
	"io/fs"
	"sync"

	"github.com/batchctl/batchctl/pkg/packed"
)

//go:generate go run ../../../../pkg/packed/pack assets.zip.gz assets/*

//go:embed assets.zip.gz
var archive string

var unpacked = sync.OnceValue(func() fs.FS { return packed.Files(archive) })

// files returns the templates, scripts and style sheet of the pages.
func files() fs.FS { return unpacked() }
