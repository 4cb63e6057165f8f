package main

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// product is a folder for cgo to find things in.
type product struct {
	files map[string][]byte
	// finish does in the folder what is left when the files are there.
	finish func(folder string) error
	// includes and libraries are folders that have the rest.
	includes, libraries []string
	// depends are what else decides over what is compiled.
	depends [][]byte
}

// sum changes with whatever a program that is built with the product depends on.
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

// put writes the product into the folder, or, without one, into the user's cache.
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

// cache has a folder for each product. It gets its name when it is complete, so that any
// number of programs may make it at once.
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

// settings has the flags before those that are set already, so that no other cuda.h and
// libcuda are found first. The macro is for the go command's cache, which knows a flag's
// value, and nothing of the files in a folder that it names.
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
