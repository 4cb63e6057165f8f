//go:build packed

package templates

import (
	_ "embed" // for the archive
	"io/fs"
	"sync"

	"github.com/batchctl/batchctl/pkg/packed"
)

//go:generate go run ../pkg/packed/pack infra.zip.gz infra/*.json

//go:embed infra.zip.gz
var archive string

var unpacked = sync.OnceValue(func() fs.FS { return packed.Files(archive) })

// files returns the templates of the infrastructure.
func files() fs.FS { return unpacked() }
