// Command buildcost measures what a cold build and a start of batchctl cost, and how much of both each large
// dependency takes, against the limits of the project: 150 CPU-seconds for the build, and 8 times an empty Go program for `batchctl version` and
// `batchctl validate FILE`. Run it from the root of the repository; it exits with status 1 if a
// limit is exceeded.
package main

import (
	"cmp"
	"debug/elf"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"
)

// The limits; see the doc comment of the command.
const (
	mostBuild = 150 // CPU-seconds
	mostStart = 8   // times an empty program
)

func main() {
	starts := flag.Int("starts", 41, "start each program `N` times")
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
	slow, err := build(work, program)
	if err != nil {
		return err
	}
	// The start is that of the release, as `make build` builds it.
	release := command([]string{"GOCACHE=" + filepath.Join(work, "cache"), "CGO_ENABLED=0"}, "go", "build", "-tags", "urfave_cli_no_docs", "-ldflags", "-s -w", "-o", program, "./cmd/batchctl")
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
	if err == nil && (slow || late) {
		err = fmt.Errorf("a limit is exceeded")
	}
	return err
}

// build builds batchctl with an empty cache and prints the CPU-seconds, and those of the largest parts.
// slow means that the limit is exceeded.
func build(work, program string) (slow bool, err error) {
	graph := filepath.Join(work, "graph.json")
	// The action graph has the CPU time of each step.
	c := command([]string{"GOCACHE=" + filepath.Join(work, "cache"), "CGO_ENABLED=0"}, "go", "build", "-debug-actiongraph="+graph, "-o", program, "./cmd/batchctl")
	began := time.Now()
	if err := c.Run(); err != nil {
		return false, fmt.Errorf("build batchctl: %w", err)
	}
	used := (c.ProcessState.UserTime() + c.ProcessState.SystemTime()).Seconds()
	fmt.Printf("cold build: %.1f CPU-seconds (at most %d), %.1f s elapsed\n", used, mostBuild, time.Since(began).Seconds())
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
	}
	sizes, err := symbols(program)
	if err != nil {
		return false, err
	}
	names := slices.Collect(maps.Keys(seconds))
	slices.SortFunc(names, func(a, b string) int { return cmp.Compare(seconds[b], seconds[a]) })
	fmt.Println("CPU-seconds      MB  part: its compilation, and its code and data in the program")
	for i, name := range names {
		if i < 12 || sizes[name] > largeSize {
			fmt.Printf("%11.1f  %6.2f  %s\n", seconds[name], float64(sizes[name])/1e6, name)
		}
	}
	return used > mostBuild, nil
}

// largeSize is the size in bytes from which a part is printed, however fast it compiles.
const largeSize = 100_000

// symbolPackage finds the package in the name of a symbol: up to the first dot after the last slash, without what the
// compiler puts before a type and without the arguments of generic code.
var symbolPackage = regexp.MustCompile(`^(?:type:[.a-z]*\*?|go:itab\.\*?)?([^\[ ]*/)?([^\[. ]+)`)

// symbols returns the bytes of code and data that each part has in a program. The tables that the linker writes about
// all of them, about as large as the code, belong to no part. Only the format of Linux says which symbols are in the
// file.
func symbols(program string) (map[string]int64, error) {
	sizes := map[string]int64{}
	if runtime.GOOS != "linux" {
		return sizes, nil
	}
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
