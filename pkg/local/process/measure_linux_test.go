package process

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/local/attempt"
	"github.com/batchctl/batchctl/pkg/local/process/processtest"
	"github.com/batchctl/batchctl/pkg/testtool"
	"github.com/batchctl/batchctl/pkg/usage"
)

// measureWith returns an executor that measures in control groups, or by samples of processes.
func measureWith(t *testing.T, groups bool) Executor {
	p := newProcess(nil)
	if !groups {
		p.measure = nil
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	if groups && p.measure.current() == nil {
		testtool.Unsupported(t, "this user cannot create control groups that measure memory")
	}
	return p
}

// runMeasured runs a command and returns what it used.
func runMeasured(t *testing.T, p Executor, dir string, command ...string) (u usage.Usage, exit int) {
	t.Helper()
	log, err := os.CreateTemp(t.TempDir(), "log")
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	calls := 0
	exit, err = p.Run(t.Context(), attempt.Attempt{ID: uniqueID(t), Container: memoryOf(8192), Command: command, Directory: dir,
		Started: func(string) {}, Kill: make(chan struct{}), Measured: func(got usage.Usage) { u, calls = got, calls+1 }}, log)
	if err != nil || calls != 1 {
		t.Fatalf("%v, measured %d times", err, calls)
	}
	if u.PeakMemory == nil || u.CPUSeconds == nil || u.Version != 1 || u.Seconds <= 0 || *u.MemoryLimit != 8192<<20 {
		t.Fatalf("%s", u.Line())
	}
	return u, exit
}

// memoryOf returns a container with a limit.
func memoryOf(mib int64) *types.ContainerProperties {
	return &types.ContainerProperties{Image: aws.String("busybox"), ResourceRequirements: []types.ResourceRequirement{
		{Type: types.ResourceTypeVcpu, Value: aws.String("1")}, {Type: types.ResourceTypeMemory, Value: aws.String(strconv.FormatInt(mib, 10))}}}
}

// sizes are those of the accuracy test in MiB. BATCHCTL_LONG_TESTS adds the large ones.
func sizes() []int64 {
	if testtool.IsLong() {
		return []int64{16, 64, 256, 1024, 4096}
	}
	return []int64{16, 64}
}

func TestPeakOfAllocators(t *testing.T) {
	program := processtest.Allocator(t)
	p := measureWith(t, true)
	for _, way := range processtest.Ways {
		for _, mib := range sizes() {
			if way == "file" && mib > 1024 {
				continue // the test writes a file of this size
			}
			u, exit := runMeasured(t, p, t.TempDir(), program, way, strconv.FormatInt(mib, 10))
			t.Logf("%-8s %5d MiB: %8.1f MiB, %.3f s, CPU %.3f s, %s", way, mib, float64(*u.PeakMemory)/(1<<20), u.Seconds, *u.CPUSeconds, u.Source)
			if err := processtest.CheckPeak(way, mib, *u.PeakMemory); err != nil || exit != 0 {
				t.Errorf("%s: %v, exit %d", way, err, exit)
			}
		}
	}
}

// TestPeakWithoutGroups checks the measurement of users who cannot create control groups. It does not know the peak of
// processes that end between two samples, except the largest one.
func TestPeakWithoutGroups(t *testing.T) {
	program := processtest.Allocator(t)
	p := measureWith(t, false)
	for _, way := range []string{"spike", "threads", "short"} {
		for _, mib := range []int64{256, 512} { // smaller than this program, whose size they begin with, would be unknown
			u, exit := runMeasured(t, p, t.TempDir(), program, way, strconv.FormatInt(mib, 10))
			t.Logf("%-8s %5d MiB: %8.1f MiB, %.3f s, CPU %.3f s, %s", way, mib, float64(*u.PeakMemory)/(1<<20), u.Seconds, *u.CPUSeconds, u.Source)
			if err := processtest.CheckPeak(way, mib, *u.PeakMemory); err != nil || exit != 0 || u.Source != "processes" {
				t.Errorf("%s: %v, exit %d, source %s", way, err, exit, u.Source)
			}
		}
	}
}

// TestMemoryLimitOfShortJobs has commands that mostly end before the first check of the memory watch.
func TestMemoryLimitOfShortJobs(t *testing.T) {
	program := processtest.Allocator(t)
	for _, isMeasured := range []bool{false, true} {
		for _, isGrouped := range []bool{true, false} {
			t.Run(fmt.Sprintf("measured %t, in groups %t", isMeasured, isGrouped), func(t *testing.T) {
				p := measureWith(t, isGrouped)
				for _, c := range []struct {
					command string
					isOut   bool // in a group
					exceeds bool // as far as the sizes of the processes tell
				}{
					{"exec PROGRAM short 300", true, true},
					{"PROGRAM short 300; exit 3", true, true},
					{"PROGRAM short 300; exit 0", false, true}, // the command survives the end of its child
					{"exec PROGRAM short 50", false, false},
					{"exec PROGRAM file 80", false, false}, // the kernel takes the cache of files back
					{"exit 3", false, false},
				} {
					log, err := os.CreateTemp(t.TempDir(), "log")
					if err != nil {
						t.Fatal(err)
					}
					defer log.Close()
					var differed []string
					a := attempt.Attempt{ID: uniqueID(t), Container: memoryOf(100), Command: []string{"sh", "-c", strings.ReplaceAll(c.command, "PROGRAM", program)}, Directory: t.TempDir(),
						Started: func(string) {}, Kill: make(chan struct{}), Differed: func(phrase string) { differed = append(differed, phrase) }}
					if isMeasured {
						a.Measured = func(u usage.Usage) {
							if *u.MemoryLimit != 100<<20 || isGrouped && *u.PeakMemory > 101<<20 {
								t.Errorf("%s: %s", c.command, u.Line())
							}
						}
					}
					exit, err := p.Run(t.Context(), a, log)
					isOut := errors.Is(err, errOutOfMemory)
					if err != nil && !isOut || isGrouped && isOut != c.isOut {
						t.Errorf("%s: exit %d, %v", c.command, exit, err)
					}
					// Without a group, a busy machine can be slow enough for the watch, which then ends the job.
					// Smaller sizes than that of this program mean nothing.
					if isGrouped && len(differed) > 0 || !isGrouped && (isOut || len(differed) == 1) != c.exceeds {
						t.Errorf("%s: exit %d, %v, %q", c.command, exit, err, differed)
					}
				}
			})
		}
	}
}

func TestMeasuredFigures(t *testing.T) {
	testtool.Need(t, "dd")
	p := measureWith(t, true)
	dir := t.TempDir()
	u, exit := runMeasured(t, p, dir, "sh", "-c", "dd if=/dev/zero of=out bs=1M count=20 conv=fsync 2>/dev/null; i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; exit 3")
	if exit != 3 || *u.CPUSeconds < 0.05 || *u.CPUSeconds > 2*u.Seconds {
		t.Errorf("exit %d, %s", exit, u.Line())
	}
	if u.BytesWritten == nil || *u.BytesWritten < 20<<20 || *u.BytesWritten > 40<<20 {
		t.Errorf("wrote 20 MiB: %s", u.Line())
	}
	// The next attempt starts from zero, also in a group that was used before.
	u, _ = runMeasured(t, p, dir, "true")
	if *u.PeakMemory > 4<<20 || *u.CPUSeconds > 0.5 || *u.BytesWritten > 1<<20 {
		t.Errorf("the figures of another attempt count: %s", u.Line())
	}
	u, exit = runMeasured(t, p, dir, "sh", "-c", "kill -9 $$")
	if exit != 137 {
		t.Errorf("exit %d of a killed command: %s", exit, u.Line())
	}
}
