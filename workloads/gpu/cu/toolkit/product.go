package main

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// product is the content of a folder in which cgo finds the header and the library.
type product struct {
	files map[string][]byte
	// finish completes the folder after the files are written; it may be nil.
	finish func(folder string) error
	// includes and libraries are further folders for the compiler and the linker.
	includes, libraries []string
	// depends is the other input of the compilation, for the sum.
	depends [][]byte
}

// sum is a hash of everything in the product that a program's build depends on.
func (p product) sum() string {
	h := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(p.files)) {
		fmt.Fprintf(h, "%s %d\n%s", name, len(p.files[name]), p.files[name])
	}
	for _, text := range p.depends {
		fmt.Fprintf(h, "%d\n%s", len(text), text)
	}
	return fmt.Sprintf("%x", h.Sum(nil)[:6])
}

// put writes the product into the folder, or into the user's cache if folder is "". It returns the
// absolute path.
func (p product) put(folder string) (string, error) {
	if folder == "" {
		return p.cache()
	}
	folder, err := filepath.Abs(folder)
	if err != nil {
		return "", err
	}
	return folder, p.write(folder)
}

// cache writes the product to its folder in the user's cache, unless it exists. The folder gets its
// name when it is complete, so several programs may do this at the same time.
func (p product) cache() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("%w: say by -o where to write", err)
	}
	cache = filepath.Join(cache, "batchctl", "cuda")
	folder := filepath.Join(cache, p.sum())
	if _, err := os.Stat(folder); err == nil {
		return folder, nil
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return "", err
	}
	draft, err := os.MkdirTemp(cache, "draft-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(draft)
	if err := p.write(draft); err != nil {
		return "", err
	}
	if err := os.Rename(draft, folder); err != nil {
		if _, other := os.Stat(folder); other != nil {
			return "", err
		}
	}
	return folder, nil
}

func (p product) write(folder string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	for name, text := range p.files {
		if err := os.WriteFile(filepath.Join(folder, name), text, 0o644); err != nil {
			return err
		}
	}
	if p.finish == nil {
		return nil
	}
	return p.finish(folder)
}

// settings puts the product's flags before those that are already set, so that no other cuda.h and
// libcuda are found first. The macro invalidates the go command's cache, which depends on the flags,
// but not on the files in the folders that they name.
func (p product) settings(folder string, env environment) settings {
	cflags := []string{"-DBATCHCTL_CUDA_TOOLKIT=0x" + p.sum()}
	for _, include := range append([]string{folder}, p.includes...) {
		cflags = append(cflags, "-I"+include)
	}
	ldflags := []string{"-L" + folder}
	for _, library := range p.libraries {
		ldflags = append(ldflags, "-L"+library)
	}
	return settings{cflags: flags(cflags, env.CGO_CFLAGS), ldflags: flags(ldflags, env.CGO_LDFLAGS)}
}
