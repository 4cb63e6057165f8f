package main

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/csv"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/batchctl/batchctl/pkg/testtool"
)

func TestMain(m *testing.M) { testtool.Main(m) }

func TestPEP440(t *testing.T) {
	for _, c := range []struct{ version, want string }{
		{"1.2.3", "1.2.3"}, {"v1.2.3", "1.2.3"}, {"1.2.3-rc.1", "1.2.3rc1"}, {"1.2.3-rc1", "1.2.3rc1"}, {"1.2.3-rc", "1.2.3rc0"},
		{"1.2.3-alpha.2", "1.2.3a2"}, {"1.2.3-beta.10", "1.2.3b10"}, {"1.2.3-rc.1+linux-1", "1.2.3rc1+linux.1"}, {"1.2.3+A.b", "1.2.3+a.b"},
		{"0.0.1-snapshot.c0be7f33", "0.0.1.dev0+snapshot.c0be7f33"}, {"1.2.3-rc.1.2", "1.2.3.dev0+rc.1.2"}, {"1.2.3-x-y", "1.2.3.dev0+x.y"},
	} {
		if got, err := pep440(c.version); err != nil || got != c.want {
			t.Errorf("pep440(%q) = %q, %v; want %q", c.version, got, err, c.want)
		}
	}
	for _, version := range []string{"", "1.2", "1.2.3-", "1.2.3 ", "main"} {
		if got, err := pep440(version); err == nil {
			t.Errorf("pep440(%q) = %q, want an error", version, got)
		}
	}
}

// build writes a wheel of a program for a system in a new directory.
func build(t *testing.T, program, system, processor string) string {
	t.Helper()
	root := filepath.Join("..", "..")
	path, err := write(options{program: program, version: "1.2.3-rc.1", system: system, processor: processor, readme: filepath.Join(root, "README.md"),
		licenses: []string{filepath.Join(root, "LICENSE"), filepath.Join(root, "THIRD_PARTY.md")}, made: time.Unix(1764547200, 0), out: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// TestWheel reads wheels back: names, modes and times of the files, tags, and the hashes of RECORD (PEP 427).
func TestWheel(t *testing.T) {
	program := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(program, []byte("the program"), 0o600); err != nil {
		t.Fatal(err)
	}
	for platform, tags := range platforms {
		system, processor, _ := strings.Cut(platform, "/")
		path := build(t, program, system, processor)
		if want := "batchctl-1.2.3rc1-py3-none-" + strings.Join(tags, ".") + ".whl"; filepath.Base(path) != want {
			t.Errorf("%s, want %s", filepath.Base(path), want)
		}
		r, err := zip.OpenReader(path)
		if err != nil {
			t.Fatal(err)
		}
		content, names := map[string][]byte{}, []string{}
		for _, f := range r.File {
			file, err := f.Open()
			if err != nil {
				t.Fatal(err)
			}
			if content[f.Name], err = io.ReadAll(file); err != nil {
				t.Fatal(err)
			}
			names = append(names, f.Name)
			mode := "-rw-r--r--"
			if strings.Contains(f.Name, ".data/scripts/") {
				mode = "-rwxr-xr-x"
			}
			if f.Mode().String() != mode || !f.Modified.Equal(time.Unix(1764547200, 0)) {
				t.Errorf("%s: %s, %v; want %s", f.Name, f.Mode(), f.Modified, mode)
			}
		}
		r.Close()
		const data, info = "batchctl-1.2.3rc1.data/", "batchctl-1.2.3rc1.dist-info/"
		script := data + "scripts/batchctl"
		if system == "windows" {
			script += ".exe"
		}
		if want := []string{script, info + "licenses/LICENSE", info + "licenses/THIRD_PARTY.md", info + "METADATA", info + "WHEEL", info + "RECORD"}; !slices.Equal(names, want) {
			t.Errorf("files %q, want %q", names, want)
		}
		rows, err := csv.NewReader(bytes.NewReader(content[info+"RECORD"])).ReadAll()
		if err != nil || len(rows) != len(names) {
			t.Fatalf("RECORD has %d rows: %v", len(rows), err)
		}
		for _, row := range rows {
			sum := sha256.Sum256(content[row[0]])
			want := []string{row[0], "sha256=" + base64.RawURLEncoding.EncodeToString(sum[:]), strconv.Itoa(len(content[row[0]]))}
			if row[0] == info+"RECORD" {
				want = []string{row[0], "", ""}
			}
			if content[row[0]] == nil || !slices.Equal(row, want) {
				t.Errorf("RECORD has %q, want %q", row, want)
			}
		}
		want := "Wheel-Version: 1.0\nGenerator: batchctl\nRoot-Is-Purelib: false\n"
		for _, tag := range tags {
			want += fmt.Sprintf("Tag: py3-none-%s\n", tag)
		}
		if got := string(content[info+"WHEEL"]); got != want {
			t.Errorf("WHEEL is %q, want %q", got, want)
		}
		if got := string(content[info+"METADATA"]); !strings.HasPrefix(got, "Metadata-Version: 2.4\nName: batchctl\nVersion: 1.2.3rc1\n") || !strings.Contains(got, "\nLicense-File: LICENSE\nLicense-File: THIRD_PARTY.md\n") {
			t.Errorf("METADATA is %.300q", got)
		}
		first, second := readFile(t, path), readFile(t, build(t, program, system, processor))
		if !bytes.Equal(first, second) {
			t.Errorf("%s: two wheels of the same program differ", platform)
		}
	}
	if _, err := write(options{program: program, version: "1.2.3", system: "plan9", processor: "amd64"}); err == nil {
		t.Error("there is a wheel for Plan 9")
	}
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestInstall installs a wheel with pip, runs its program, and uninstalls it.
func TestInstall(t *testing.T) {
	testtool.Need(t, "python3")
	testtool.Works(t, "python3", "-m", "venv", "--help")
	testtool.Works(t, "python3", "-c", "import ensurepip")
	if platforms[runtime.GOOS+"/"+runtime.GOARCH] == nil {
		testtool.Unsupported(t, "there is no wheel for %s/%s", runtime.GOOS, runtime.GOARCH)
	}
	wheel := build(t, testtool.Program(t, "../../cmd/batchctl"), runtime.GOOS, runtime.GOARCH)
	venv := filepath.Join(t.TempDir(), "venv")
	bin := filepath.Join(venv, "bin")
	if runtime.GOOS == "windows" {
		bin = filepath.Join(venv, "Scripts")
	}
	run := func(args ...string) string {
		t.Helper()
		c := exec.Command(args[0], args[1:]...)
		c.Env = append(os.Environ(), "PIP_DISABLE_PIP_VERSION_CHECK=1", "PIP_CONFIG_FILE="+os.DevNull)
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	run("python3", "-m", "venv", venv)
	python := filepath.Join(bin, "python")
	run(python, "-m", "pip", "install", "--no-index", "--find-links", filepath.Dir(wheel), "--pre", "batchctl")
	if got := run(filepath.Join(bin, "batchctl"), "version"); !strings.HasPrefix(got, "batchctl ") {
		t.Errorf("batchctl version prints %q", got)
	}
	if got := run(python, "-m", "pip", "show", "batchctl"); !strings.Contains(got, "Version: 1.2.3rc1") {
		t.Errorf("pip show prints %q", got)
	}
	run(python, "-m", "pip", "check")
	run(python, "-m", "pip", "uninstall", "--yes", "batchctl")
	if left, _ := filepath.Glob(filepath.Join(bin, "batchctl*")); len(left) > 0 {
		t.Errorf("pip uninstall leaves %q", left)
	}
}
