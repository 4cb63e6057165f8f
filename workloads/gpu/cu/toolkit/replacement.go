package main

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// The packages whose calls of the driver the library must have.
const (
	upstream = "gorgonia.org/cu"
	binding  = "github.com/batchctl/batchctl/workloads/gpu/cu"
)

// shim is the source of libcuda.a: it loads the driver at run time.
//
//go:embed c/shim.c
var shim []byte

// replacement is a cuda.h and a libcuda.a with the functions that gorgonia.org/cu and the binding use.
func replacement(env environment) (product, error) {
	module, own, err := sources()
	if err != nil {
		return product{}, err
	}
	declarations := filepath.Join(module, "cmd", "genlib", "cuda.h")
	text, err := os.ReadFile(declarations)
	if err != nil {
		return product{}, err
	}
	text, functions, err := header(text)
	if err != nil {
		return product{}, fmt.Errorf("read %s: %w", declarations, err)
	}
	called, err := calls(module, own)
	if err != nil {
		return product{}, err
	}
	// cu's own functions are named like the driver's, but the header does not have them.
	called = slices.DeleteFunc(called, func(name string) bool { return !slices.Contains(functions, name) })
	return product{
		files:   map[string][]byte{"cuda.h": text, "symbols.h": symbols(called), "shim.c": shim},
		finish:  func(folder string) error { return archive(folder, env) },
		depends: [][]byte{[]byte(env.CC)},
	}, nil
}

// sources returns the folders of the module, which is downloaded if necessary, and of the binding.
func sources() (module, own string, err error) {
	out, err := goCommand("mod", "download", "-json", upstream)
	if err != nil {
		return "", "", err
	}
	var downloaded struct{ Dir string }
	if err := json.Unmarshal(out, &downloaded); err != nil {
		return "", "", err
	}
	out, err = goCommand("list", "-f", "{{.Dir}}", binding)
	return downloaded.Dir, strings.TrimSpace(string(out)), err
}

// callers are the patterns of files that call the driver, and of the calls in them.
var callers = map[string]*regexp.Regexp{
	"*.go": regexp.MustCompile(`\bC\.(cu[A-Z]\w*)\(`),
	"*.c":  regexp.MustCompile(`\b(cu[A-Z]\w*)\(`),
}

// calls returns the names of the functions that the files in the folders call.
func calls(folders ...string) ([]string, error) {
	var all []string
	for _, folder := range folders {
		for pattern, call := range callers {
			files, err := filepath.Glob(filepath.Join(folder, pattern))
			if err != nil {
				return nil, err
			}
			for _, file := range files {
				text, err := os.ReadFile(file)
				if err != nil {
					return nil, err
				}
				all = append(all, names(call, text)...)
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}

// symbols is the table that shim.c includes. It omits cuInit, which the shim defines itself.
func symbols(functions []string) []byte {
	functions = slices.DeleteFunc(functions, func(name string) bool { return name == "cuInit" })
	b := []byte("#define SYMBOLS(X)")
	for i, name := range functions {
		b = fmt.Appendf(b, " \\\n\tX(%d, %s, %s)", i, symbol(name), older(name))
	}
	return append(b, '\n')
}

// archive compiles the shim into libcuda.a.
func archive(folder string, env environment) error {
	compile := append(strings.Fields(env.CC), "-std=gnu11", "-O2", "-fPIC", "-Wall", "-Wextra", "-Werror", "-c",
		"shim.c", "-o", "shim.o")
	for _, command := range [][]string{compile, {env.AR, "rcsD", "libcuda.a", "shim.o"}} {
		cmd := exec.Command(command[0], command[1:]...)
		cmd.Dir = folder
		out, err := cmd.CombinedOutput()
		if errors.Is(err, exec.ErrNotFound) {
			return fmt.Errorf("%w: install a C compiler (Debian's packages gcc and libc6-dev), or name one by CC", err)
		}
		if err != nil {
			return fmt.Errorf("%s: %w: %s", strings.Join(command, " "), err, out)
		}
	}
	return nil
}
