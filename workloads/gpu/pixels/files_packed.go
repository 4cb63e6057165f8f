//go:build packed

package pixels

import (
	_ "embed" // for the archive
	"io/fs"
	"sync"

	"github.com/batchctl/batchctl/pkg/packed"
)

//go:generate go run ../../../pkg/packed/pack ptx.zip.gz *.ptx

//go:embed ptx.zip.gz
var archive string

var unpacked = sync.OnceValue(func() fs.FS { return packed.Files(archive) })

// files returns the PTX of all sources.
func files() fs.FS { return unpacked() }
