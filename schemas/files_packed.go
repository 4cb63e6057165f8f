//go:build packed

package schemas

import (
	_ "embed" // for the archive
	"io/fs"
	"sync"

	"github.com/batchctl/batchctl/pkg/packed"
)

//go:generate go run ../pkg/packed/pack output/v1.zip.gz output/v1.schema.json

//go:embed output/v1.zip.gz
var archive string

var unpacked = sync.OnceValue(func() fs.FS { return packed.Files(archive) })

// files returns the schemas of all JSON output. They are not part of FS, because no document refers to them.
func files() fs.FS { return unpacked() }
