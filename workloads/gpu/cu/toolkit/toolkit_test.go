package main

import (
	"bytes"
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/batchctl/batchctl/pkg/testtool"
)

// needCompiler ends the test where there is no C compiler, and where there is no driver to
// link with.
func needCompiler(t *testing.T) environment {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("the import library is for Linux")
	}
	env, err := goEnv()
	if err != nil {
		t.Fatal(err)
	}
	testtool.Need(t, strings.Fields(env.CC)[0])
	return env
}

// made is a folder with the replacement of the toolkit.
func made(t *testing.T, env environment) string {
	t.Helper()
	testtool.Module(t, upstream)
	p, err := replacement(env)
	if err != nil {
		t.Fatal(err)
	}
	folder, err := p.put(filepath.Join(t.TempDir(), "toolkit"))
	if err != nil {
		t.Fatal(err)
	}
	return folder
}

// compile runs the C compiler and returns what it says.
func compile(env environment, args ...string) ([]byte, error) {
	command := append(strings.Fields(env.CC), args...)
	return exec.Command(command[0], command[1:]...).CombinedOutput()
}

// TestImportLibrary runs a C program that is linked with the import library: it starts
// without a driver, and its calls arrive once one is loaded.
func TestImportLibrary(t *testing.T) {
	env := needCompiler(t)
	folder, programs := made(t, env), t.TempDir()
	driver, program := filepath.Join(programs, "driver.so"), filepath.Join(programs, "calls")
	for _, args := range [][]string{
		{"-shared", "-fPIC", "-o", driver, "testdata/driver.c"},
		{"-Wall", "-Werror", "-o", program, "testdata/calls.c", "-I" + folder, "-L" + folder, "-lcuda", "-ldl"},
	} {
		if out, err := compile(env, args...); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
	linked, err := elf.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer linked.Close()
	needed, err := linked.ImportedLibraries()
	if err != nil || !slices.Contains(needed, "libc.so.6") || slices.ContainsFunc(needed, func(l string) bool { return strings.Contains(l, "cuda") }) {
		t.Errorf("the program needs %v: %v", needed, err)
	}
	got, err := exec.Command(program, driver).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, got)
	}
	want, err := os.ReadFile("testdata/calls.txt")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Error(diff)
	}
}

// TestEveryCallHasATrampoline holds the header, the table and the sources together.
func TestEveryCallHasATrampoline(t *testing.T) {
	env := needCompiler(t)
	folder := made(t, env)
	table, err := os.ReadFile(filepath.Join(folder, "symbols.h"))
	if err != nil {
		t.Fatal(err)
	}
	// What cu calls, and what the binding calls on its own.
	for _, entry := range []string{
		"(0, cuArray3DCreate_v2, cuArray3DCreate_v2)", ", cuLaunchKernel, cuLaunchKernel)", ", cuMemAlloc_v2, cuMemAlloc_v2)",
		", cuTexRefSetAddress2D_v3, cuTexRefSetAddress2D_v3)", ", cuDeviceGetUuid_v2, cuDeviceGetUuid)",
		", cuMemHostAlloc, cuMemHostAlloc)", ", cuFuncSetAttribute, cuFuncSetAttribute)", ", cuDriverGetVersion, cuDriverGetVersion)",
	} {
		if !bytes.Contains(table, []byte(entry)) {
			t.Errorf("the table has no %s", entry)
		}
	}
	for _, name := range []string{"cuInit", "cuAllocAndCopy", "cuLaunchAndSync", "cuDeviceGetAttributes"} {
		if regexp.MustCompile(`\b` + name + `\b`).Match(table) {
			t.Errorf("the table has %s, which is not the driver's to give", name)
		}
	}
	if n := bytes.Count(table, []byte("\tX(")); n < 159 {
		t.Errorf("the table has %d functions, and cu alone calls 159", n)
	}
}

// TestArm64 has the trampolines of the other processor assembled.
func TestArm64(t *testing.T) {
	const compiler = "clang-19"
	env := needCompiler(t)
	if runtime.GOARCH == "arm64" {
		t.Skip("the other tests have done that")
	}
	testtool.Need(t, compiler)
	folder, include := made(t, env), t.TempDir()
	// This machine's C library lacks the one header that another processor's would have.
	if err := os.MkdirAll(filepath.Join(include, "gnu"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(include, "gnu", "stubs-32.h"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	object := filepath.Join(include, "shim.o")
	out, err := exec.Command(compiler, "--target=aarch64-linux-gnu", "-I"+include, "-I/usr/include/x86_64-linux-gnu", "-Wall", "-Wextra", "-Werror",
		"-fPIC", "-c", filepath.Join(folder, "shim.c"), "-o", object).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// TestCUDA13 compiles calls of the five functions that CUDA 13 changed.
func TestCUDA13(t *testing.T) {
	env := needCompiler(t)
	before := made(t, env)
	cuda := t.TempDir()
	include, stubs := filepath.Join(cuda, "include"), filepath.Join(cuda, "lib64", "stubs")
	for _, folder := range []string{include, stubs} {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	changes, err := filepath.Abs("testdata/cuda13.h")
	if err != nil {
		t.Fatal(err)
	}
	both := "#pragma once\n#include \"" + filepath.Join(before, "cuda.h") + "\"\n#include \"" + changes + "\"\n"
	for file, text := range map[string]string{filepath.Join(include, "cuda.h"): both, filepath.Join(stubs, "libcuda.so"): ""} {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	p, err := installed(cuda)
	if err != nil {
		t.Fatal(err)
	}
	folder, err := p.put(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	syntax := []string{"-fsyntax-only", "-Wall", "-Werror", "testdata/signatures.c"}
	if out, err := compile(env, append(syntax, "-I"+include)...); err == nil {
		t.Errorf("without the header of ours, nothing is wrong:\n%s", out)
	}
	cflags := strings.Fields(p.settings(folder, environment{}).cflags)
	if out, err := compile(env, append(syntax, cflags...)...); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	if out, err := compile(env, append(syntax, "-I"+folder, "-I"+before)...); err != nil {
		t.Errorf("with a toolkit of before: %v\n%s", err, out)
	}
}

// TestCache has many programs make the same thing at once.
func TestCache(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	p := product{files: map[string][]byte{"cuda.h": bytes.Repeat([]byte("x"), 1<<20)}}
	folders := make([]string, 8)
	var all sync.WaitGroup
	for i := range folders {
		all.Go(func() {
			var err error
			if folders[i], err = p.put(""); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	for _, folder := range folders {
		if folder != folders[0] {
			t.Errorf("%s and %s", folder, folders[0])
		}
	}
	text, err := os.ReadFile(filepath.Join(folders[0], "cuda.h"))
	if err != nil || !bytes.Equal(text, p.files["cuda.h"]) {
		t.Errorf("the header is of %d bytes: %v", len(text), err)
	}
	left, err := os.ReadDir(filepath.Dir(folders[0]))
	if err != nil || len(left) != 1 {
		t.Errorf("in the cache is %v: %v", left, err)
	}
}

// TestSum holds that whatever changes what is compiled changes the settings.
func TestSum(t *testing.T) {
	base := product{files: map[string][]byte{"cuda.h": []byte("ab"), "shim.c": []byte("c")}, depends: [][]byte{[]byte("gcc")}}
	sums := map[string]bool{base.sum(): true}
	for _, p := range []product{
		{files: map[string][]byte{"cuda.h": []byte("a"), "shim.c": []byte("bc")}, depends: base.depends},
		{files: map[string][]byte{"cuda.h": []byte("ab")}, depends: base.depends},
		{files: base.files, depends: [][]byte{[]byte("clang")}},
		{files: base.files},
	} {
		if s := p.sum(); sums[s] {
			t.Errorf("%v has the sum of another", p)
		} else {
			sums[s] = true
		}
	}
}

// TestSettings has a shell read the settings.
func TestSettings(t *testing.T) {
	p := product{includes: []string{"/a b/include"}, libraries: []string{"/it's/lib"}}
	script := p.settings("/made", environment{CGO_CFLAGS: "-O2 -g", CGO_LDFLAGS: "-Wl,-z,now"}).String()
	out, err := exec.Command("sh", "-c", script+`echo "$CGO_ENABLED"; echo "$CGO_CFLAGS"; echo "$CGO_LDFLAGS"`).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	want := "1\n-DBATCHCTL_CUDA_TOOLKIT=0x" + p.sum() + " -I/made \"-I/a b/include\" -O2 -g\n-L/made -L/it's/lib -Wl,-z,now\n"
	if diff := cmp.Diff(want, string(out)); diff != "" {
		t.Error(diff)
	}
}

func TestRun(t *testing.T) {
	for _, test := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"FOLDER"}, 2, "usage: toolkit [-o FOLDER] [-cuda FOLDER]"},
		{[]string{"-x"}, 2, "flag provided but not defined: -x"},
		{[]string{"-cuda", "testdata"}, 1, "testdata is no CUDA toolkit: "},
		{[]string{"-o", "main.go/folder"}, 1, "main.go: not a directory"},
	} {
		if test.args[0] == "-o" {
			testtool.Module(t, upstream)
		}
		var stdout, stderr bytes.Buffer
		if code := run(test.args, &stdout, &stderr); code != test.code || stdout.Len() > 0 || !strings.Contains(stderr.String(), test.says) {
			t.Errorf("%v: %d\n%s%s", test.args, code, &stdout, &stderr)
		}
	}
}

// TestNoCompiler says what to install.
func TestNoCompiler(t *testing.T) {
	err := archive(t.TempDir(), environment{CC: "no-such-compiler", AR: "ar"})
	if err == nil || !strings.Contains(err.Error(), "install a C compiler") {
		t.Error(err)
	}
}

func TestHeaderWithoutDeclarations(t *testing.T) {
	if _, _, err := header([]byte("int x;")); err == nil {
		t.Error("a file without declarations makes a header")
	}
}
