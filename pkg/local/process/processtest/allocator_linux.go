package processtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/batchctl/batchctl/pkg/testtool"
)

// allocator is a program with almost no memory of its own: "alloc WAY MIB" writes to each page of that much memory.
//
//	short    one process, which ends at once
//	spike    the same; then it frees all but a MiB and runs on for a second
//	forked   four processes have a quarter each, all at the same time
//	shared   a process has all, and four children that share it
//	threads  four threads have a quarter each, all at the same time
//	file     short, after reading as much from a file, whose cache does not count
const allocator = `#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <fcntl.h>
#include <unistd.h>

static size_t part;
static pthread_barrier_t all;

static void *take(size_t size) {
	char *p = mmap(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED) { perror("mmap"); exit(9); }
	madvise(p, size, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < size; i += 4096) p[i] = 1;
	return p;
}
static void *thread(void *unused) { take(part); pthread_barrier_wait(&all); return unused; }

int main(int argc, char **argv) {
	size_t size = (size_t)atol(argv[2]) << 20;
	const char *way = argv[1];
	part = size / 4;
	if (!strcmp(way, "short")) take(size);
	if (!strcmp(way, "spike")) {
		munmap((char *)take(size) + (1 << 20), size - (1 << 20));
		sleep(1);
	}
	if (!strcmp(way, "forked") || !strcmp(way, "shared")) {
		int ready[2], go[2];
		char c = 0;
		if (pipe(ready) || pipe(go)) return 8;
		if (!strcmp(way, "shared")) take(size);
		for (int i = 0; i < 4; i++) if (fork() == 0) {
			close(go[1]);
			if (!strcmp(way, "forked")) take(part);
			if (write(ready[1], &c, 1) != 1) return 7;
			if (read(go[0], &c, 1) != 0) return 6;
			return 0;
		}
		for (int i = 0; i < 4; i++) if (read(ready[0], &c, 1) != 1) return 5;
		close(go[1]);
		while (wait(0) > 0);
	}
	if (!strcmp(way, "threads")) {
		pthread_t t[4];
		pthread_barrier_init(&all, 0, 4);
		for (int i = 0; i < 4; i++) pthread_create(&t[i], 0, thread, 0);
		for (int i = 0; i < 4; i++) pthread_join(t[i], 0);
	}
	if (!strcmp(way, "file")) {
		static char block[1 << 20];
		int f = open("data", O_CREAT | O_RDWR, 0600);
		for (size_t i = 0; i < size; i += sizeof block) if (write(f, block, sizeof block) < 0) return 4;
		fsync(f);
		lseek(f, 0, SEEK_SET);
		while (read(f, block, sizeof block) > 0);
		take(size);
	}
	return 0;
}
`

// Ways are the ways in which the program of Allocator allocates.
var Ways = []string{"short", "spike", "forked", "shared", "threads", "file"}

// Allocator builds a static program "alloc WAY MIB", which has this much memory at its peak, and returns its path.
func Allocator(t testing.TB) string {
	t.Helper()
	testtool.Need(t, "cc")
	dir := t.TempDir()
	source, program := filepath.Join(dir, "alloc.c"), filepath.Join(dir, "alloc")
	if err := os.WriteFile(source, []byte(allocator), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("cc", "-O1", "-static", "-pthread", "-o", program, source).
		CombinedOutput(); err != nil {
		testtool.Missing(t, "cc -static: %v\n%s", err, out)
	}
	return program
}

// CheckPeak compares a measured peak with what an allocator had: at most 2 %, or 4 MiB, may be between them. For the
// way "file" it is 4 %: control groups of version 1 do not tell which memory of the kernel belongs to the cache.
func CheckPeak(way string, mib, peak int64) error {
	want := mib << 20
	tolerance := max(want/50, 4<<20)
	if way == "file" {
		tolerance = max(want/25, 4<<20)
	}
	if off := max(peak-want, want-peak); off > tolerance {
		return fmt.Errorf("measured %.1f MiB of %d MiB", float64(peak)/(1<<20), mib)
	}
	return nil
}
