package document

import (
	"os"
	"path/filepath"

	"github.com/batchctl/batchctl/pkg/catalog"
)

// PlatformFile is the name of a platform file. batchctl finds it by this name.
const PlatformFile = "batchctl.json"

// LocalTarget is the name of the engine on this machine, which needs no entry.
const LocalTarget = "local"

// FindPlatform searches for the platform file in dir and in its parents, up to the root. A link that leads to no file
// counts, so that reading it fails: with the file of a parent, or none, its policy would end silently.
func FindPlatform(dir string) (path string, ok bool) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", false
	}
	for {
		path = filepath.Join(dir, PlatformFile)
		info, err := os.Stat(path)
		if err == nil && info.Mode().IsRegular() {
			return path, true
		}
		if _, linked := os.Lstat(path); err != nil && linked == nil {
			return path, true
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", false
		}
		dir = parent
	}
}

// ReadCatalog reads the instance types of the file that the platform file names; path is
// the path of the platform file. It does nothing if the platform file names no such file.
// The error is a sentence without the name of the file.
func (p *Platform) ReadCatalog(path string) (err error) {
	if p == nil || p.CatalogFile == "" {
		return nil
	}
	if err := Regular(p.CatalogPath(path)); err != nil {
		return err
	}
	p.Catalog, err = catalog.ReadFile(p.CatalogPath(path))
	return err
}

// CatalogPath returns the path of CatalogFile; path is that of the platform file.
func (p *Platform) CatalogPath(path string) string { return siblingPath(path, p.CatalogFile) }

// PricesPath returns the path of PricesFile; path is that of the platform file.
func (p *Platform) PricesPath(path string) string { return siblingPath(path, p.PricesFile) }
