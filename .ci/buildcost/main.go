// Command buildcost measures what a cold build and a start of batchctl cost, and how much of the build each part takes:
// a module, or a service of the AWS SDK. Run it from the root of the repository; it exits with status 1 if a limit is
// exceeded.
//
// The limits of the build are in bounds.tsv, in MB of object files: the files that the compiler writes, one for each
// package, in the format of linux/amd64. A part's MB and its CPU-seconds go together, 0.15 to 0.35 s for a MB, but the
// MB are the same on every machine and in every run of the same Go. So a check that fails has found a change, and not a
// busy machine. CPU-seconds are printed beside them.
//
// The limit of a start is 8 times an empty Go program, for `batchctl version` and `batchctl validate FILE`.
package main

import (
	"cmp"
	"debug/elf"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	_ "embed"
)

// mostStart is the limit of a start, in times of an empty program.
const mostStart = 8

// boundsTable has a line for each part: its name, the most MB of its object files, and why batchctl needs it.
//
//go:embed bounds.tsv
var boundsTable string

// The names in bounds.tsv that are not parts.
const (
	allParts   = "all parts together"
	otherParts = "a part without a row"
)

// bounds returns the limit of each part in MB.
func bounds() (map[string]float64, error) {
	limits := map[string]float64{}
	for line := range strings.Lines(boundsTable) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		fields := strings.Split(strings.TrimSpace(line), "\t")
		if len(fields) != 3 {
			return nil, fmt.Errorf("bounds.tsv: want a part, MB and a reason: %q", line)
		}
		limit, err := strconv.ParseFloat(fields[1], 64)
		if err != nil {
			return nil, fmt.Errorf("bounds.tsv: %q: %w", line, err)
		}
		limits[fields[0]] = limit
	}
	return limits, nil
}

func main() {
	starts := flag.Int("starts", 41, "start each program `N` times; 0: measure only the build")
	flag.Parse()
	work, err := os.MkdirTemp("", "buildcost-")
	if err == nil {
		err = measure(work, *starts)
	}
	if err = cmp.Or(err, os.RemoveAll(work)); err != nil {
		fmt.Fprintln(os.Stderr, "buildcost:", err)
		os.Exit(1)
	}
}

// measure builds both programs below work and starts each that many times. It is an error if a limit is
// exceeded.
func measure(work string, starts int) error {
	// Downloads are not part of the build.
	if err := command(nil, "go", "mod", "download").Run(); err != nil {
		return fmt.Errorf("download modules: %w", err)
	}
	program := filepath.Join(work, "batchctl")
	exceeded, err := build(work, program)
	if err != nil {
		return err
	}
	if starts == 0 {
		if exceeded {
			err = errExceeded
		}
		return err
	}
	// The start is that of the release, as `make build` builds it.
	release := command([]string{"GOCACHE=" + filepath.Join(work, "cache"), "CGO_ENABLED=0"}, "go", "build", "-tags",
		"urfave_cli_no_docs", "-ldflags", "-s -w", "-o", program, "./cmd/batchctl")
	if err := release.Run(); err != nil {
		return fmt.Errorf("build the release: %w", err)
	}
	empty := filepath.Join(work, "empty")
	if err := os.WriteFile(empty+".go", []byte("package main\n\nfunc main() {}\n"), 0o600); err != nil {
		return err
	}
	if err := command(nil, "go", "build", "-o", empty, empty+".go").Run(); err != nil {
		return fmt.Errorf("build the empty program: %w", err)
	}
	// The first line is the reference.
	late, err := start(starts, [][]string{{empty}, {program, "version"}, {program, "validate", "jobs/matrix-cpu.json"}})
	if err == nil && (exceeded || late) {
		err = errExceeded
	}
	return err
}

var errExceeded = errors.New("a limit is exceeded; remove what is not needed, or give the reason in .ci/buildcost/bounds.tsv")

// build builds batchctl with an empty cache and prints the parts, the largest first, with their limits.
func build(work, program string) (exceeded bool, err error) {
	graph := filepath.Join(work, "graph.json")
	// The action graph has the CPU time of each step. Paths of the machine would change the size of the object files.
	c := compiler(work, "build", "-trimpath", "-debug-actiongraph="+graph, "-o", program, "./cmd/batchctl")
	began := time.Now()
	if err := c.Run(); err != nil {
		return false, fmt.Errorf("build batchctl: %w", err)
	}
	used := (c.ProcessState.UserTime() + c.ProcessState.SystemTime()).Seconds()
	fmt.Printf("cold build: %.1f CPU-seconds, %.1f s elapsed\n", used, time.Since(began).Seconds())
	text, err := os.ReadFile(graph)
	if err != nil {
		return false, err
	}
	var actions []action
	if err := json.Unmarshal(text, &actions); err != nil {
		return false, err
	}
	seconds := map[string]float64{}
	for _, a := range actions {
		seconds[a.part()] += (a.CmdUser + a.CmdSys).Seconds()
		seconds[allParts] += (a.CmdUser + a.CmdSys).Seconds()
	}
	objects, packages, err := objectFiles(work)
	if err != nil {
		return false, err
	}
	sizes, err := symbols(program)
	if err != nil {
		return false, err
	}
	limits, err := bounds()
	if err != nil {
		return false, err
	}
	fmt.Println("CPU-seconds  packages  object files (at most)  program  part; all but packages and seconds in MB")
	names := slices.SortedFunc(maps.Keys(objects), func(a, b string) int { return cmp.Compare(objects[b], objects[a]) })
	for _, name := range names {
		mb := float64(objects[name]) / 1e6
		limit, listed := limits[name]
		if !listed {
			limit = limits[otherParts]
		}
		if listed || mb > limit || sizes[name] > largeSize {
			fmt.Printf("%11.1f  %8d  %12.1f (%7.1f)  %7.2f  %s\n", seconds[name], packages[name], mb, limit,
				float64(sizes[name])/1e6, name)
		}
		if mb > limit {
			fmt.Printf("  limit exceeded: %s has %.1f MB of object files, at most %.1f\n", name, mb, limit)
			exceeded = true
		}
		if name != allParts {
			delete(limits, name)
		}
	}
	for name := range limits {
		if name != allParts && name != otherParts {
			fmt.Printf("  %s is not part of the build: remove its row from .ci/buildcost/bounds.tsv\n", name)
			exceeded = true
		}
	}
	return exceeded, nil
}

// objectFiles returns the size of the object files of each part, and the number of its packages.
func objectFiles(work string) (sizes map[string]int64, packages map[string]int, err error) {
	c := compiler(work, "list", "-trimpath", "-export", "-deps", "-f",
		"{{if .Export}}{{.ImportPath}} {{.Export}}{{end}}", "./cmd/batchctl")
	out, err := c.Output()
	if err != nil {
		return nil, nil, fmt.Errorf("list the object files: %w", err)
	}
	sizes, packages = map[string]int64{}, map[string]int{}
	for line := range strings.Lines(string(out)) {
		pkg, file, _ := strings.Cut(strings.TrimSpace(line), " ")
		info, err := os.Stat(file)
		if err != nil {
			return nil, nil, err
		}
		for _, part := range []string{partOf(pkg), allParts} {
			sizes[part] += info.Size()
			packages[part]++
		}
	}
	return sizes, packages, nil
}

// compiler returns a go command with the cache of the cold build. Object files of other systems have other sizes.
func compiler(work string, args ...string) *exec.Cmd {
	return command([]string{"GOCACHE=" + filepath.Join(work, "cache"), "CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64",
		"GOFLAGS=-buildvcs=false"}, "go", args...)
}

// largeSize is the size in bytes from which a part is printed, however fast it compiles.
const largeSize = 100_000

// symbolPackage finds the package in the name of a symbol: up to the first dot after the last slash, without what the
// compiler puts before a type and without the arguments of generic code.
var symbolPackage = regexp.MustCompile(`^(?:type:[.a-z]*\*?|go:itab\.\*?)?([^\[ ]*/)?([^\[. ]+)`)

// symbols returns the bytes of code and data that each part has in a program. The tables that the linker writes about
// all of them, about as large as the code, belong to no part.
func symbols(program string) (map[string]int64, error) {
	sizes := map[string]int64{}
	file, err := elf.Open(program)
	if err != nil {
		return nil, fmt.Errorf("list the symbols: %w", err)
	}
	defer file.Close()
	list, err := file.Symbols()
	if err != nil {
		return nil, fmt.Errorf("list the symbols: %w", err)
	}
	for _, s := range list {
		m := symbolPackage.FindStringSubmatch(s.Name)
		if m != nil && int(s.Section) < len(file.Sections) && file.Sections[s.Section].Type != elf.SHT_NOBITS {
			sizes[partOf(m[1]+m[2])] += int64(s.Size)
		}
	}
	return sizes, nil
}

// action is a step of a build, from the file of -debug-actiongraph.
type action struct {
	Mode, Package   string
	CmdUser, CmdSys time.Duration
}

// part is the part of the build that an action belongs to: a module, or a service of the AWS SDK.
func (a action) part() string {
	if a.Mode == "link" {
		return "linking"
	}
	return partOf(a.Package)
}

// partOf returns the module of a package, or its service of the AWS SDK.
func partOf(pkg string) string {
	elements := strings.Split(pkg, "/")
	switch {
	case !strings.Contains(elements[0], "."):
		return "standard library"
	case len(elements) > 4 && elements[3] == "service":
		return strings.Join(elements[:5], "/")
	}
	return strings.Join(elements[:min(3, len(elements))], "/")
}

// start starts the programs in turns, so that a busy machine slows all of them, and prints their
// medians with the ratio to the first one's. late means that a ratio exceeds the limit.
func start(n int, lines [][]string) (late bool, err error) {
	took := make([][]time.Duration, len(lines)) // by program, in the order of the starts
	for range n {
		for i, line := range lines {
			began := time.Now()
			if out, err := exec.Command(line[0], line[1:]...).CombinedOutput(); err != nil {
				return false, fmt.Errorf("%s: %w\n%s", strings.Join(line, " "), err, out)
			}
			took[i] = append(took[i], time.Since(began))
		}
	}
	for i, line := range lines {
		slices.Sort(took[i])
		median, ratio := took[i][n/2], took[i][n/2].Seconds()/took[0][n/2].Seconds()
		name := "an empty program"
		if i > 0 {
			name = "batchctl " + line[1]
		}
		fmt.Printf("start: %-18s median %5.1f ms, fastest %5.1f ms, %4.1f times an empty program (at most %d)\n",
			name, median.Seconds()*1e3, took[i][0].Seconds()*1e3, ratio, mostStart)
		late = late || ratio > mostStart
	}
	return late, nil
}

// command returns a command with additional variables, which prints its errors.
func command(environment []string, name string, args ...string) *exec.Cmd {
	c := exec.Command(name, args...)
	c.Env = append(os.Environ(), environment...)
	c.Stderr = os.Stderr
	return c
}
