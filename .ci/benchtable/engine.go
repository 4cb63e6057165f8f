package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// goBenchmark is a side that runs benchmarks of a package, in a process of its own. choose picks the figures from those
// that it prints, by benchmark and unit.
func (w *workshop) goBenchmark(name, pkg, pattern, times string, choose func(map[string]map[string]float64) figures,
	env ...string) side {
	binary := strings.NewReplacer("./", "", "/", "-").Replace(pkg) + ".test"
	return side{name: name, prepare: func(context.Context) error {
		if w.built[binary] {
			return nil
		}
		_, err := w.build(binary, "test -c", pkg)
		w.built[binary] = err == nil
		return err
	}, run: func(ctx context.Context) (figures, error) {
		out, _, err := w.output(ctx, program{dir: filepath.Join(w.root, pkg), env: env,
			args: []string{w.path(binary), "-test.run=^$", "-test.bench=" + pattern, "-test.benchtime=" + times,
				"-test.timeout=60m"}})
		if err != nil {
			return nil, err
		}
		all := parseBenchmarks(out)
		if len(all) == 0 {
			return nil, fmt.Errorf("%s %s printed no figures: %s", pkg, pattern, lastLine(string(out)))
		}
		return choose(all), nil
	}}
}

// procs is the number of CPUs that the testing package appends to the name of a benchmark.
var procs = regexp.MustCompile(`-\d+$`)

// parseBenchmarks reads the figures of Go benchmarks, by name and unit.
func parseBenchmarks(out []byte) map[string]map[string]float64 {
	all := map[string]map[string]float64{}
	lines := bufio.NewScanner(bytes.NewReader(out))
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) < 4 || !strings.HasPrefix(fields[0], "Benchmark") {
			continue
		}
		units := map[string]float64{}
		for i := 2; i+1 < len(fields); i += 2 {
			if v, err := strconv.ParseFloat(fields[i], 64); err == nil {
				units[fields[i+1]] = v
			}
		}
		all[procs.ReplaceAllString(fields[0], "")] = units
	}
	return all
}

// perOperation picks the seconds of an operation. The figure's name is the last element of the benchmark's name.
func perOperation(all map[string]map[string]float64) figures {
	f := figures{}
	for name, units := range all {
		f[name[strings.LastIndexByte(name, '/')+1:]] = []float64{units["ns/op"] / 1e9}
	}
	return f
}

// A row whose side has this suffix keeps its state on an ext4 with a journal. Machines have one, but disks of some
// virtual machines have none. Without it, ext4 looks at each inode that was deleted in the last minutes before it
// creates a file (recently_deleted in the kernel's fs/ext4/ialloc.c), so rows there depend on what ran before them.
const (
	onJournaled  = "-journaled"
	journaledDir = "journaled" // where the workshop mounts it
)

// mountJournaled mounts a new ext4 with a journal in the workshop, and returns how to unmount it.
func (w *workshop) mountJournaled() (unmount func(), err error) {
	if os.Getuid() != 0 {
		return nil, needs("root")
	}
	if err := lookPath("mkfs.ext4"); err != nil {
		return nil, err
	}
	image, dir := w.path(journaledDir+".img"), w.path(journaledDir)
	if err := errors.Join(os.Mkdir(dir, 0o700), os.WriteFile(image, nil, 0o600),
		os.Truncate(image, 4<<30)); err != nil {
		return nil, err
	}
	for _, args := range [][]string{{"mkfs.ext4", "-q", "-F", image}, {"mount", "-o", "loop", image, dir}} {
		if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			return nil, needs(fmt.Sprintf("a loop mount of ext4 (%s: %s)", args[0], firstLine(string(out))))
		}
	}
	return func() { _ = exec.Command("umount", dir).Run() }, nil
}

// engineGroups compares the engine with programs that do the same without it, and with itself when it has many jobs.
func (w *workshop) engineGroups() []group {
	const pkg = "./pkg/local"
	true10k := func(name string) side {
		s := w.goBenchmark(name, pkg, "^BenchmarkTrue$/^"+name+"$", "1x", perOperation)
		if name == "xargs" || name == "parallel" {
			build := s.prepare
			s.prepare = func(ctx context.Context) error {
				if err := lookPath(name); err != nil {
					return err
				}
				return build(ctx)
			}
		}
		return s
	}
	onJournal := func(name string) side {
		s := w.goBenchmark(name+onJournaled, pkg, "^BenchmarkTrue$/^"+name+"$", "1x", perOperation,
			"TMPDIR="+w.path(journaledDir))
		build := s.prepare
		s.prepare = func(ctx context.Context) error {
			if err := w.journaled(); err != nil {
				return err
			}
			return build(ctx)
		}
		return s
	}
	against := func(ours, peer string, x float64) row {
		benchmark := strings.TrimSuffix(ours, onJournaled)
		return row{name: "engine/" + ours + "/" + peer, peer: peer, ours: figure{ours, benchmark},
			theirs: figure{peer, peer}, goal: atLeast(x)}
	}
	submits := fmt.Sprintf("%dx", w.size(10000, 500))
	groups := []group{{
		rounds: 3,
		rows: []row{
			{name: "engine/array/elapsed", ours: figure{"array", "array"}, goal: below(10)},
			against("array", "xargs", 2), against("array", "parallel", 3), against("jobs", "xargs", 2),
			against("jobs", "parallel", 3),
			against("array"+onJournaled, "xargs", 2), against("jobs"+onJournaled, "xargs", 2),
		},
		sides: []side{true10k("array"), onJournal("array"), true10k("xargs"), true10k("jobs"), onJournal("jobs"),
			true10k("parallel")},
	}, {
		rounds: 3,
		rows: []row{{name: "engine/durable", peer: "stores nothing", ours: figure{"engine", "engine"},
			theirs: figure{"nothing", "nothing"}, goal: atLeast(0.5)}},
		sides: []side{w.goBenchmark("engine", pkg, "^BenchmarkSubmit$/^engine$", submits, perOperation),
			w.goBenchmark("nothing", pkg, "^BenchmarkSubmit$/^nothing$", submits, perOperation)},
	}}
	for _, size := range []struct {
		name   string
		rounds int
		long   bool
	}{{"100k", 3, false}, {"1000k", 1, true}} {
		g := group{rounds: size.rounds, long: size.long}
		for _, call := range []string{"submit", "describe", "list", "listJOB_NAME", "listAFTER_CREATED_AT"} {
			g.rows = append(g.rows, row{name: "engine/growth-" + size.name + "/" + call, peer: "1,000 jobs",
				ours: figure{"many", call}, theirs: figure{"few", call}, goal: atMost(1.1)})
		}
		calls := fmt.Sprintf("%dx", w.size(3000, 100))
		g.sides = []side{w.goBenchmark("many", pkg, "^BenchmarkGrowth$/^"+size.name+"$", calls, perOperation,
			"BATCHCTL_LONG_TESTS=1"),
			w.goBenchmark("few", pkg, "^BenchmarkGrowth$/^1k$", calls, perOperation)}
		groups = append(groups, g)
	}
	return groups
}
