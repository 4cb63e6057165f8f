package container

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/batchctl/batchctl/pkg/local/process/processtest"
	"github.com/batchctl/batchctl/pkg/usage"
)

// TestPeakInContainers compares measured peaks with what allocators had, and checks that no control group is left.
func TestPeakInContainers(t *testing.T) {
	programs(t, func(t *testing.T, program string) {
		x, err := New(t.Context(), Options{Program: program, Dir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		const image = "localhost/batchctl-alloc:1"
		archive := filepath.Join(t.TempDir(), "alloc.tar")
		if out, err := exec.Command("tar", "-cf", archive, "-C", filepath.Dir(processtest.Allocator(t)), "alloc").CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if out, err := exec.Command(program, "import", archive, image).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		exact := x.groups.canNest(x.client)
		for _, way := range processtest.Ways {
			for _, mib := range []int64{16, 64, 256, 1024, 4096} {
				if way == "file" || way == "spike" && mib != 64 || way == "shared" && mib > 256 {
					continue
				}
				r := newTrial(t, x, "")
				r.a.ID = "id-" + way + "-" + strconv.FormatInt(mib, 10)
				r.a.Container = properties(t, fmt.Sprintf(`{"image": %q, "vcpus": 1, "memory": %d}`, image, mib+mib/2+64))
				r.a.Command = []string{"/alloc", way, strconv.FormatInt(mib, 10)}
				var used []usage.Usage
				r.a.Measured = func(u usage.Usage) { used = append(used, u) }
				if o := r.run(t, t.Context()); o.exit != 0 || o.err != nil {
					t.Fatalf("%s: %+v", way, o)
				}
				if left := usage.Directories("/" + parentPrefix + r.a.ID); left != nil {
					t.Errorf("%s is left", left)
				}
				if len(used) != 1 || used[0].PeakMemory == nil {
					if exact {
						t.Errorf("%s %d MiB: %+v", way, mib, used)
					}
					continue // it ended before the first sample
				}
				u := used[0]
				t.Logf("%-8s %5d MiB: %8.1f MiB, %.3f s, CPU %.3f s, %s", way, mib, float64(*u.PeakMemory)/(1<<20), u.Seconds, *u.CPUSeconds, u.Source)
				if err := processtest.CheckPeak(way, mib, *u.PeakMemory); err != nil && exact {
					t.Errorf("%s: %v", way, err)
				}
				if *u.MemoryLimit != (mib+mib/2+64)<<20 {
					t.Errorf("limit %d", *u.MemoryLimit)
				}
			}
		}
		// Killed at its limit.
		r := newTrial(t, x, "")
		r.a.Container, r.a.Command = properties(t, fmt.Sprintf(`{"image": %q, "vcpus": 1, "memory": 32}`, image)), []string{"/alloc", "short", "64"}
		var used usage.Usage
		r.a.Measured = func(u usage.Usage) { used = u }
		if o := r.run(t, t.Context()); o.err == nil || o.exit != 137 || used.PeakMemory == nil || *used.PeakMemory != 32<<20 {
			t.Errorf("%+v %s", o, used.Line())
		}
	})
}

func TestOldGroupsAreRemoved(t *testing.T) {
	for _, dir := range usage.Directories("/") {
		group := filepath.Join(dir, parentPrefix+"test")
		if os.Mkdir(group, 0o700) != nil {
			continue // no control groups of this user
		}
		removeOldGroups()
		if _, err := os.Stat(group); err != nil {
			t.Errorf("%s is new: %v", group, err)
		}
		removeGroup("/" + parentPrefix + "test")
		if _, err := os.Stat(group); err == nil {
			t.Errorf("%s is left", group)
		}
		return
	}
}
