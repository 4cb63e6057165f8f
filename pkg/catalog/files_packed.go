//go:build packed

package catalog

import (
	_ "embed" // for the archive
	"io/fs"
	"sync"

	"github.com/batchctl/batchctl/pkg/packed"
)

//go:generate go run ../../pkg/packed/pack tables.zip.gz *.csv

//go:embed tables.zip.gz
var archive string

var unpacked = sync.OnceValue(func() fs.FS { return packed.Files(archive) })

// files returns the tables of instance types and prices.
func files() fs.FS { return unpacked() }
