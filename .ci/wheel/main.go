// Command wheel writes a Python wheel that contains a released program, so that pip and uvx can install it:
//
//	wheel -program dist/batchctl -version 1.2.3 -os linux -arch amd64 -time 1764547200 -out dist
//
// Goreleaser calls it after each build. It needs only Go, because no maintained tool for other languages than Python
// is a Go module. The same arguments give the same bytes.
package main

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"debug/elf"
	"encoding/base64"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// platforms has the platform tags of PEP 425 for a system and a processor. A static program needs no C library, so
// one wheel is for manylinux and musllinux; pip accepts a wheel if it supports one of its tags. The oldest glibc that
// Python's packaging names for these processors is 2.17, and the oldest musl is 1.1. Go 1.26 needs macOS 12.
var platforms = map[string][]string{
	"linux/amd64":   {"manylinux_2_17_x86_64", "manylinux2014_x86_64", "musllinux_1_1_x86_64"},
	"linux/arm64":   {"manylinux_2_17_aarch64", "manylinux2014_aarch64", "musllinux_1_1_aarch64"},
	"darwin/amd64":  {"macosx_12_0_x86_64"},
	"darwin/arm64":  {"macosx_12_0_arm64"},
	"windows/amd64": {"win_amd64"},
	"windows/arm64": {"win_arm64"},
}

// options are the arguments of the command.
type options struct {
	program, version, system, processor string
	// readme and licenses are paths of files in the wheel.
	readme   string
	licenses []string
	made     time.Time
	out      string
}

func main() {
	var o options
	var seconds int64
	flag.StringVar(&o.program, "program", "", "the program")
	flag.StringVar(&o.version, "version", "", "the semantic version, without v")
	flag.StringVar(&o.system, "os", "", "GOOS of the program")
	flag.StringVar(&o.processor, "arch", "", "GOARCH of the program")
	flag.StringVar(&o.readme, "readme", "build/README.md", "the description")
	flag.StringVar(&o.out, "out", "dist", "the directory for the wheel")
	flag.Int64Var(&seconds, "time", 0, "the time of the commit, in seconds")
	flag.Parse()
	o.licenses, o.made = []string{"LICENSE", "THIRD_PARTY.md"}, time.Unix(seconds, 0)
	path, err := write(o)
	if err != nil {
		fmt.Fprintln(os.Stderr, "wheel:", err)
		os.Exit(1)
	}
	fmt.Println(path)
}

// write writes the wheel and returns its path.
func write(o options) (string, error) {
	tags := platforms[o.system+"/"+o.processor]
	if tags == nil {
		return "", fmt.Errorf("no wheel for %s/%s", o.system, o.processor)
	}
	version, err := pep440(o.version)
	if err != nil {
		return "", err
	}
	w := wheel{made: o.made}
	w.zip = zip.NewWriter(&w.bytes)
	name := "batchctl-" + version
	program := "batchctl"
	if o.system == "windows" {
		program += ".exe"
	}
	text, err := os.ReadFile(o.program)
	if err != nil {
		return "", err
	}
	if isDynamic(text) {
		return "", fmt.Errorf("%s needs a C library, so the tags of Linux would be wrong: build it with CGO_ENABLED=0",
			o.program)
	}
	w.add(name+".data/scripts/"+program, text, 0o755)
	metadata := "Metadata-Version: 2.4\nName: batchctl\nVersion: " + version +
		"\nSummary: Check, plan, submit and run AWS Batch jobs\n" +
		"License-Expression: Apache-2.0\nKeywords: aws,batch\n" +
		"Project-URL: Source, https://github.com/batchctl/batchctl\nProject-URL: Changelog, https://github.com/batchctl/batchctl/blob/main/CHANGELOG.md\n"
	for _, path := range o.licenses {
		text, err := os.ReadFile(path)
		if err != nil {
			return "", err
		}
		metadata += "License-File: " + filepath.Base(path) + "\n"
		w.add(name+".dist-info/licenses/"+filepath.Base(path), text, 0o644)
	}
	readme, err := os.ReadFile(o.readme)
	if err != nil {
		return "", err
	}
	metadata += "Description-Content-Type: text/markdown; charset=UTF-8\n\n" + string(readme)
	w.add(name+".dist-info/METADATA", []byte(metadata), 0o644)
	about := "Wheel-Version: 1.0\nGenerator: batchctl\nRoot-Is-Purelib: false\n"
	for _, tag := range tags {
		about += "Tag: py3-none-" + tag + "\n"
	}
	w.add(name+".dist-info/WHEEL", []byte(about), 0o644)
	w.record.WriteString(name + ".dist-info/RECORD,,\n")
	w.add(name+".dist-info/RECORD", bytes.Clone(w.record.Bytes()), 0o644) // the last file, as PEP 427 recommends
	if w.err == nil {
		w.err = w.zip.Close()
	}
	if w.err != nil {
		return "", w.err
	}
	path := filepath.Join(o.out, name+"-py3-none-"+strings.Join(tags, ".")+".whl")
	return path, os.WriteFile(path, w.bytes.Bytes(), 0o644)
}

// isDynamic reports whether a program for Linux needs a loader, and so a C library.
func isDynamic(program []byte) bool {
	f, err := elf.NewFile(bytes.NewReader(program))
	return err == nil && slices.ContainsFunc(f.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP })
}

// wheel is a zip file with the list of its files.
type wheel struct {
	made   time.Time
	bytes  bytes.Buffer
	zip    *zip.Writer
	record bytes.Buffer
	err    error // the first one
}

// add adds a file, and its line to RECORD.
func (w *wheel) add(path string, text []byte, mode fs.FileMode) {
	if w.err != nil {
		return
	}
	sum := sha256.Sum256(text)
	fmt.Fprintf(&w.record, "%s,sha256=%s,%d\n", path, base64.RawURLEncoding.EncodeToString(sum[:]), len(text))
	header := &zip.FileHeader{Name: path, Method: zip.Deflate, Modified: w.made.UTC()}
	header.SetMode(mode)
	file, err := w.zip.CreateHeader(header)
	if err == nil {
		_, err = file.Write(text)
	}
	w.err = err
}

// semantic matches a semantic version: numbers, prerelease, build.
var semantic = regexp.MustCompile(`^(\d+\.\d+\.\d+)(?:-([0-9A-Za-z.-]+))?(?:\+([0-9A-Za-z.-]+))?$`)

// prerelease matches the prereleases that PEP 440 knows.
var prerelease = regexp.MustCompile(`^(alpha|beta|a|b|rc)[.-]?(\d*)$`)

// pep440 converts a semantic version to a version of PEP 440. A prerelease that PEP 440 does not know, such as that of
// a snapshot, becomes a development version, which pip installs only with --pre.
func pep440(version string) (string, error) {
	m := semantic.FindStringSubmatch(strings.TrimPrefix(version, "v"))
	if m == nil {
		return "", fmt.Errorf("%q is not a semantic version", version)
	}
	numbers, before, build := m[1], strings.ToLower(m[2]), m[3]
	if known := prerelease.FindStringSubmatch(before); known != nil {
		kind := map[string]string{"alpha": "a", "beta": "b"}[known[1]]
		if kind == "" {
			kind = known[1]
		}
		number := strings.TrimLeft(known[2], "0")
		if number == "" {
			number = "0"
		}
		numbers, before = numbers+kind+number, ""
	}
	if before != "" {
		numbers += ".dev0"
		build = strings.Trim(before+"."+build, ".")
	}
	if build != "" {
		numbers += "+" + strings.Trim(regexp.MustCompile(`[^0-9a-z]+`).ReplaceAllString(strings.ToLower(build), "."),
			".")
	}
	return numbers, nil
}
