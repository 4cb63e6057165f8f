// Command modules checks the modules that batchctl is built from, on every system that it supports:
//
//   - against .ci/modules/known.txt, the vulnerabilities of the Go vulnerability database that
//     concern these modules. .ci/run uses it where govulncheck cannot reach the database.
//   - against THIRD_PARTY.md, the list of modules with their versions and licences.
//
// Run it from the root of the repository. It exits with status 1 if a module has a known
// vulnerability, if known.txt does not cover a module, or if THIRD_PARTY.md is out of date.
//
//	go run .ci/modules/main.go                  check both
//	go run .ci/modules/main.go -update DIR      write known.txt; DIR is a clone of golang/vulndb
//	go run .ci/modules/main.go -licenses        write THIRD_PARTY.md
package main

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// The files that the command checks or writes.
const (
	listFile    = ".ci/modules/known.txt"
	licenseFile = "THIRD_PARTY.md"
	standard    = "stdlib" // the database's name of the standard library
)

func main() {
	update := flag.String("update", "", "write "+listFile+" from `DIR`, a clone of golang/vulndb")
	licenses := flag.Bool("licenses", false, "write "+licenseFile)
	flag.Parse()
	if err := run(*update, *licenses); err != nil {
		fmt.Fprintln(os.Stderr, "modules:", err)
		os.Exit(1)
	}
}

// run writes one of the files, or checks both. The error joins all problems.
func run(update string, licenses bool) error {
	modules, err := built()
	if err != nil {
		return err
	}
	if update != "" {
		return writeKnown(update, modules)
	}
	table, err := licenseTable(modules)
	if err != nil {
		return err
	}
	if licenses {
		return os.WriteFile(licenseFile, table, 0o644)
	}
	var problems []error
	if old, err := os.ReadFile(licenseFile); err != nil || !bytes.Equal(old, table) {
		problems = append(problems, fmt.Errorf("%s is out of date: go run .ci/modules/main.go -licenses", licenseFile))
	}
	return errors.Join(append(problems, checkKnown(modules)...)...)
}

// module is a module that at least one of the builds compiles. Dir is its folder in the module cache.
type module struct{ Path, Version, Dir string }

// built returns the modules compiled into the commands, sorted by path, and the standard library.
func built() ([]module, error) {
	// The modules differ by system.
	seen := map[string]module{}
	for _, system := range []string{"linux", "darwin", "windows"} {
		list := exec.Command("go", "list", "-deps", "-tags", "cuda", "-f",
			`{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}} {{.Dir}}{{end}}{{end}}`, "./cmd/...", packed)
		list.Env = append(os.Environ(), "GOOS="+system, "CGO_ENABLED=0")
		if system == "linux" { // the tag cuda needs cgo
			list.Env = append(list.Env, "CGO_ENABLED=1")
		}
		list.Stderr = os.Stderr
		text, err := list.Output()
		if err != nil {
			return nil, fmt.Errorf("list the modules for %s: %w", system, err)
		}
		for line := range strings.Lines(string(text)) {
			if f := strings.Fields(line); len(f) == 3 {
				seen[f[0]] = module{f[0], f[1], f[2]}
			}
		}
	}
	modules := slices.SortedFunc(maps.Values(seen), func(a, b module) int { return strings.Compare(a.Path, b.Path) })
	return append(modules, module{Path: standard, Version: "v" + strings.TrimPrefix(runtime.Version(), "go")}), nil
}

// entry is the used part of one file of the database: https://ossf.github.io/osv-schema/
type entry struct {
	ID        string
	Withdrawn string
	Affected  []struct {
		Package struct{ Name string }
		Ranges  []struct {
			Events []struct{ Introduced, Fixed string }
		}
	}
}

// writeKnown writes the list from a clone of the database: one line per module and affected range: "MODULE INTRODUCED FIXED ID", and
// "MODULE none" for a module without any.
func writeKnown(clone string, modules []module) error {
	files, err := filepath.Glob(filepath.Join(clone, "data", "osv", "*.json"))
	if err != nil || len(files) == 0 {
		return fmt.Errorf("no entries in %s: %w", filepath.Join(clone, "data", "osv"), cmp.Or(err, os.ErrNotExist))
	}
	lines := map[string][]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		var e entry
		if err := json.Unmarshal(text, &e); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		if e.Withdrawn != "" { // no longer a vulnerability
			continue
		}
		for _, a := range e.Affected {
			for _, r := range a.Ranges {
				// Events come in pairs: introduced, fixed. Without a fix the range is open.
				introduced := "0"
				for i, event := range r.Events {
					switch {
					case event.Fixed != "":
						lines[a.Package.Name] = append(lines[a.Package.Name], introduced+" "+event.Fixed+" "+e.ID)
					case event.Introduced != "":
						introduced = event.Introduced
						if i == len(r.Events)-1 {
							lines[a.Package.Name] = append(lines[a.Package.Name], introduced+" - "+e.ID)
						}
					}
				}
			}
		}
	}
	date, err := exec.Command("git", "-C", clone, "log", "-1", "--format=%cs").Output()
	if err != nil {
		return fmt.Errorf("the date of %s: %w", clone, err)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# Vulnerabilities of the modules that batchctl is built from: MODULE INTRODUCED FIXED ID.\n# From the Go vulnerability database of %s, %d entries.\n", strings.TrimSpace(string(date)), len(files))
	for _, m := range modules {
		if len(lines[m.Path]) == 0 {
			fmt.Fprintf(&b, "%s none\n", m.Path)
		}
		slices.Sort(lines[m.Path])
		for _, line := range lines[m.Path] {
			fmt.Fprintf(&b, "%s %s\n", m.Path, line)
		}
	}
	return os.WriteFile(listFile, []byte(b.String()), 0o644)
}

// checkKnown reports the modules that are in an affected range and those that the list does not cover.
func checkKnown(modules []module) (problems []error) {
	file, err := os.Open(listFile)
	if err != nil {
		return []error{err}
	}
	defer file.Close()
	covered := map[string]bool{} // the modules that the list covers
	version := map[string]string{}
	for _, m := range modules {
		version[m.Path] = strings.TrimPrefix(m.Version, "v")
	}
	for in := bufio.NewScanner(file); in.Scan(); {
		f := strings.Fields(in.Text())
		if len(f) < 2 || f[0] == "#" { // a comment
			continue
		}
		covered[f[0]] = true
		if len(f) != 4 || version[f[0]] == "" { // "none", or a module that is no longer used
			continue
		}
		v, introduced, fixed, id := version[f[0]], f[1], f[2], f[3]
		if compare(v, introduced) >= 0 && (fixed == "-" || compare(v, fixed) < 0) {
			problems = append(problems, fmt.Errorf("%s %s has the vulnerability %s, fixed in %s", f[0], v, id, fixed))
		}
	}
	for _, m := range modules {
		if !covered[m.Path] {
			problems = append(problems,
				fmt.Errorf("%s does not cover %s: go run .ci/modules/main.go -update DIR, with a clone of golang/vulndb", listFile, m.Path))
		}
	}
	return problems
}

// compare orders two versions as https://semver.org/#spec-item-11 does, without the v and without
// build metadata.
func compare(a, b string) int {
	a, preA, _ := strings.Cut(strings.Split(a, "+")[0], "-")
	b, preB, _ := strings.Cut(strings.Split(b, "+")[0], "-")
	if c := parts(a, b); c != 0 || preA == preB {
		return c
	}
	if preA == "" || preB == "" { // a release comes after its pre-releases
		return strings.Compare(preB, preA)
	}
	return parts(preA, preB)
}

// parts orders two lists of identifiers between dots, numerically where both are numbers. A missing
// identifier is 0.
func parts(a, b string) int {
	as, bs := strings.Split(a, "."), strings.Split(b, ".")
	for i := range max(len(as), len(bs)) {
		x, y := "0", "0"
		if i < len(as) {
			x = as[i]
		}
		if i < len(bs) {
			y = bs[i]
		}
		n, errN := strconv.Atoi(x)
		m, errM := strconv.Atoi(y)
		c := strings.Compare(x, y)
		if errN == nil && errM == nil {
			c = cmp.Compare(n, m)
		}
		if c != 0 {
			return c
		}
	}
	return 0
}

// packed is a package that the programs do not import although its file is in them: pkg/heatmap has the font compressed.
const packed = "codeberg.org/go-fonts/liberation/liberationsansregular"

// known recognises a licence by a phrase that no other of these has. The order matters: BSD-3-Clause
// contains BSD-2-Clause.
var known = []struct {
	id     string
	phrase *regexp.Regexp
}{
	{"Apache-2.0", regexp.MustCompile(`Apache\s+License,?\s+Version\s+2\.0`)},
	{"MPL-2.0", regexp.MustCompile(`Mozilla\s+Public\s+License,?\s+[Vv]ersion\s+2\.0`)},
	{"CC-BY-4.0", regexp.MustCompile(`Creative\s+Commons\s+Attribution\s+4\.0`)},
	{"OFL-1.1", regexp.MustCompile(`SIL\s+OPEN\s+FONT\s+LICENSE\s+Version\s+1\.1`)},
	{"FTL", regexp.MustCompile(`FreeType\s+(Project\s+)?[Ll]icense`)},
	{"MIT", regexp.MustCompile(`Permission\s+is\s+hereby\s+granted,\s+free\s+of\s+charge`)},
	{"ISC", regexp.MustCompile(`Permission\s+to\s+use,\s+copy,\s+modify,\s+and/or\s+distribute`)},
	{"BSD-3-Clause", regexp.MustCompile(`[Nn]either\s+the\s+name|names\s+of\s+its\s+contributors`)},
	{"BSD-2-Clause", regexp.MustCompile(`Redistributions\s+in\s+binary\s+form`)},
}

// licenseTable returns the text of THIRD_PARTY.md.
func licenseTable(modules []module) ([]byte, error) {
	var b bytes.Buffer
	b.WriteString("# Modules and licences\n\nThe modules compiled into batchctl, with their licences. `go run .ci/modules/main.go -licenses` writes this list, and `.ci/run` checks it.\n\n| module | version | licence |\n| --- | --- | --- |\n")
	for _, m := range modules {
		if m.Path == standard {
			fmt.Fprintln(&b, "| Go's standard library | of the Go that builds it | BSD-3-Clause |")
			continue
		}
		license, err := licenseOf(m)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", m.Path, m.Version, license)
	}
	return b.Bytes(), nil
}

// licenseOf reads the licences from the LICENSE and COPYING files of the module's own directory. It is an
// error if none is known.
func licenseOf(m module) (string, error) {
	files, err := os.ReadDir(m.Dir)
	if err != nil {
		return "", fmt.Errorf("the licence of %s: %w", m.Path, err)
	}
	found := map[string]bool{} // a module may have several licences
	for _, file := range files {
		name := strings.ToUpper(file.Name())
		if file.IsDir() || !strings.HasPrefix(name, "LICEN") && !strings.HasPrefix(name, "COPYING") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(m.Dir, file.Name()))
		if err != nil {
			return "", err
		}
		for _, l := range known {
			if l.phrase.Match(text) {
				found[l.id] = true
				break
			}
		}
	}
	if len(found) == 0 {
		return "", fmt.Errorf("the licence of %s in %s is unknown", m.Path, m.Dir)
	}
	return strings.Join(slices.Sorted(maps.Keys(found)), " and "), nil
}
