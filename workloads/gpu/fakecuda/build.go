package fakecuda

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/batchctl/batchctl/pkg/testtool"
)

// Variable is the environment variable with a folder of libraries that Build returns
// instead of making some: on a machine with a GPU, links to its own.
const Variable = "BATCHCTL_TEST_DRIVER"

// Build makes the libraries and returns the folder that holds them. They are made once
// for each state of their sources, and kept with the user's caches. Without a C++
// compiler it skips the test like testtool.Need.
func Build(t testing.TB) string {
	t.Helper()
	if folder := os.Getenv(Variable); folder != "" {
		return folder
	}
	return build(t, nil)
}

// BuildSanitized makes them with kernels that end the process at the first access beyond
// their memory, and returns what a process that loads them needs in its environment. A
// test with the race detector is skipped, since no process can have both. It is a long
// test: the kernels run many times slower.
func BuildSanitized(t testing.TB) (folder string, environment []string) {
	t.Helper()
	if info, ok := debug.ReadBuildInfo(); ok && slices.Contains(info.Settings,
		debug.BuildSetting{Key: "-race", Value: "true"}) {
		testtool.Unsupported(t, "AddressSanitizer and the race detector exclude each other")
	}
	testtool.Long(t)
	folder = build(t, sanitizers)
	return folder, sanitizedEnvironment(t, folder)
}

// Need skips the test like testtool.Need if Build cannot make the libraries here. It
// builds nothing.
func Need(t testing.TB) {
	t.Helper()
	if os.Getenv(Variable) == "" {
		need(t)
	}
}

func need(t testing.TB) {
	t.Helper()
	if runtime.GOOS != "linux" {
		testtool.Unsupported(t, "the fake driver is a library for Linux")
	}
	testtool.Need(t, compiler)
}

func sanitizedEnvironment(t testing.TB, folder string) []string {
	t.Helper()
	library, err := exec.Command(compiler, "-print-file-name=libasan.so").Output()
	if err != nil {
		t.Fatalf("find the library of AddressSanitizer: %v", err)
	}
	return []string{"LD_PRELOAD=" + strings.TrimSpace(string(library)), "ASAN_OPTIONS=detect_leaks=0",
		"LD_LIBRARY_PATH=" + folder}
}

// build makes the libraries with the rooms beside this one and with those named.
func build(t testing.TB, flags []string, rooms ...string) string {
	t.Helper()
	need(t)
	gpu, err := findSources()
	if err != nil {
		t.Fatal(err)
	}
	folder, err := makeLibraries(gpu, flags, rooms)
	if err != nil {
		t.Fatal(testtool.BuildError("the fake driver", "", err))
	}
	return folder
}

// findSources is the folder workloads/gpu of the module that the test runs in.
func findSources() (string, error) {
	at, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(at, "go.mod")); err == nil {
			return filepath.Join(at, "workloads", "gpu"), nil
		}
		if filepath.Dir(at) == at {
			return "", errors.New("no go.mod above the working directory: run the test within the repository")
		}
		at = filepath.Dir(at)
	}
}
