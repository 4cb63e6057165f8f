//go:build packed

package examples

import (
	_ "embed" // for the archive
	"io/fs"
	"sync"

	"github.com/batchctl/batchctl/pkg/packed"
)

//go:generate go run ../../../pkg/packed/pack examples.zip.gz */*.txtar

//go:embed examples.zip.gz
var archive string

var unpacked = sync.OnceValue(func() fs.FS { return packed.Files(archive) })

// files returns the archives of the rules.
func files() fs.FS { return unpacked() }
