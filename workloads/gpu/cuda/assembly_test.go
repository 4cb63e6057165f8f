package cuda_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/batchctl/batchctl/pkg/testtool"
)

var update = flag.Bool("update", false, "write testdata/assembly.txt")

// assembler is the version of ptxas that made the table. Another allocates other registers.
const assembler = "V12.4.131"

// devices are those that the table shows. PTX for a target with an a is for that device alone.
var devices = []int{70, 75, 80, 86, 89, 90}

// assembled is what ptxas makes of one kernel for one device.
type assembled struct {
	kernel, device                   string
	registers, spills, shared, warps int
	// loop is the number of instructions of the loop with the most multiply-adds, and of those.
	loop, adds int
}

func (a assembled) String() string {
	share := "-"
	if a.loop > 0 {
		share = fmt.Sprintf("%d %% of %d", 100*a.adds/a.loop, a.loop)
	}
	return fmt.Sprintf("%-22s %-7s %9d %6d %6d %5d  %s", a.kernel, a.device, a.registers, a.spills, a.shared, a.warps, share)
}

const heading = `What ptxas ` + assembler + ` makes of each kernel. Spills and static shared memory are in bytes.
Warps are those that fit a multiprocessor by registers, threads and static shared memory.
Multiply-adds are the share of FFMA, DFMA, HMMA, DMMA or HGMMA in the loop that has most of them.
go test ./workloads/gpu/cuda -run TestAssembly -update writes this file.

kernel                 device  registers spills shared warps  multiply-adds
`

// TestAssembly compares the machine code of all kernels with the table. So a change that
// makes ptxas spill registers, or that adds instructions to a loop, is seen without a GPU.
func TestAssembly(t *testing.T) {
	testtool.Long(t)
	testtool.Need(t, "ptxas", "nvdisasm")
	version, err := exec.Command("ptxas", "--version").Output()
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(version, []byte(assembler)) {
		testtool.Missing(t, "ptxas %s: another version allocates other registers", assembler)
	}
	var files []string
	for _, pattern := range []string{"../gemm/*.ptx", "../pixels/*.ptx"} {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(found), err)
		}
		files = append(files, found...)
	}
	folder := t.TempDir()
	var lines []string
	for _, file := range files {
		for _, device := range fits(t, file) {
			t.Run(filepath.Base(file)+" on "+device, func(t *testing.T) {
				for _, a := range assemble(t, file, device, folder) {
					lines = append(lines, a.String())
				}
			})
		}
	}
	slices.Sort(lines)
	got, table := heading+strings.Join(lines, "\n")+"\n", filepath.Join("testdata", "assembly.txt")
	if *update {
		if err := os.WriteFile(table, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(table)
	if err != nil {
		t.Fatal(err)
	}
	old := strings.Split(string(want), "\n")
	for _, line := range strings.Split(got, "\n") {
		if !slices.Contains(old, line) {
			t.Errorf("not in the table: %s", line)
		}
	}
	if !t.Failed() && got != string(want) {
		t.Error("the table has kernels that are no more: run the test with -update")
	}
}

var target = regexp.MustCompile(`\n\.target sm_(\d+)(a?)\n`)

// fits lists the devices for which a file can be assembled.
func fits(t *testing.T, file string) (names []string) {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	found := target.FindSubmatch(text)
	if found == nil {
		t.Fatalf("%s names no target", file)
	}
	oldest, _ := strconv.Atoi(string(found[1]))
	if len(found[2]) > 0 {
		return []string{fmt.Sprintf("sm_%da", oldest)}
	}
	for _, device := range devices {
		if device >= oldest {
			names = append(names, fmt.Sprintf("sm_%d", device))
		}
	}
	return names
}

var (
	properties = regexp.MustCompile(`Function properties for (\w+)\n.* (\d+) bytes spill stores, (\d+) bytes spill loads\n.*Used (\d+) registers(.*)`)
	static     = regexp.MustCompile(`(\d+) bytes smem`)
	largest    = regexp.MustCompile(`\.entry (\w+)\([^)]*\)\s*\.maxntid (\d+)`)
)

func assemble(t *testing.T, file, device, folder string) (all []assembled) {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	threads := map[string]int{}
	for _, found := range largest.FindAllStringSubmatch(string(text), -1) {
		threads[found[1]], _ = strconv.Atoi(found[2])
	}
	object := filepath.Join(folder, "object.cubin")
	log, err := exec.CommandContext(t.Context(), "ptxas", "-v", "-arch="+device, file, "-o", object).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, log)
	}
	code, err := exec.CommandContext(t.Context(), "nvdisasm", "-c", object).Output()
	if err != nil {
		t.Fatal(err)
	}
	loops := mainLoops(string(code))
	for _, found := range properties.FindAllStringSubmatch(string(log), -1) {
		number := func(text string) int {
			n, _ := strconv.Atoi(text)
			return n
		}
		a := assembled{kernel: found[1], device: device, registers: number(found[4]), spills: number(found[2]) + number(found[3])}
		if shared := static.FindStringSubmatch(found[5]); shared != nil {
			a.shared = number(shared[1])
		}
		if threads[a.kernel] == 0 {
			t.Errorf("%s has no bound of threads", a.kernel)
			continue
		}
		a.warps = warps(number(strings.Trim(device, "sm_a")), threads[a.kernel], a.registers, a.shared)
		a.loop, a.adds = loops[a.kernel][0], loops[a.kernel][1]
		all = append(all, a)
	}
	if len(all) != strings.Count(string(text), ".entry ") {
		t.Errorf("%d of %d kernels in\n%s", len(all), strings.Count(string(text), ".entry "), log)
	}
	return all
}

// warps is how many warps of a kernel fit a multiprocessor: Table "Technical Specifications per
// Compute Capability" of the CUDA programming guide. Registers are allocated 256 for a warp, and
// each block takes 1 KiB of shared memory more from Ampere on.
func warps(device, threads, registers, shared int) int {
	most := map[int]struct{ warps, blocks, shared int }{
		70: {64, 32, 96}, 75: {32, 16, 64}, 80: {64, 32, 164}, 86: {48, 16, 100}, 89: {48, 24, 100}, 90: {64, 32, 228},
	}[device]
	each := (threads + 31) / 32
	// A multiprocessor has four parts with 16384 registers, and a warp is in one of them.
	byRegisters := 4 * (16384 / ((registers*32 + 255) / 256 * 256))
	blocks := min(most.blocks, most.warps/each, byRegisters/each)
	if device >= 80 {
		shared += 1024
	}
	if shared > 0 {
		blocks = min(blocks, most.shared*1024/shared)
	}
	return blocks * each
}

var (
	label       = regexp.MustCompile(`^(\.L_x_\d+):`)
	branch      = regexp.MustCompile("BRA.* `\\((\\.L_x_\\d+)\\)")
	multiplyAdd = regexp.MustCompile(`^\s+/\*[0-9a-f]{4,}\*/\s+(@!?U?P\d+ )?\s*(FFMA|DFMA|HMMA|DMMA|HGMMA)\b`)
	instruction = regexp.MustCompile(`^\s+/\*[0-9a-f]{4,}\*/\s+\S`)
)

// mainLoops finds, of each kernel, the loop with the most multiply-adds, and among such the
// shortest: its instructions and its multiply-adds.
func mainLoops(code string) map[string][2]int {
	loops := map[string][2]int{}
	var kernel string
	var at, adds int
	begins := map[string][2]int{}
	for line := range strings.Lines(code) {
		if name, ok := strings.CutPrefix(line, ".text."); ok {
			kernel, at, adds = strings.TrimSuffix(strings.TrimSpace(name), ":"), 0, 0
			clear(begins)
		}
		if found := label.FindStringSubmatch(line); found != nil {
			begins[found[1]] = [2]int{at, adds}
		}
		if instruction.MatchString(line) {
			at++
		}
		if multiplyAdd.MatchString(line) {
			adds++
		}
		if found := branch.FindStringSubmatch(line); found != nil {
			begin, backward := begins[found[1]]
			loop := [2]int{at - begin[0], adds - begin[1]}
			best := loops[kernel]
			if backward && (loop[1] > best[1] || loop[1] == best[1] && loop[1] > 0 && loop[0] < best[0]) {
				loops[kernel] = loop
			}
		}
	}
	return loops
}

func TestMain(m *testing.M) { testtool.Main(m) }
