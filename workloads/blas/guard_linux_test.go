package blas

import (
	"fmt"
	"os"
	"syscall"
	"testing"
	"unsafe"
)

// fenced returns n elements between two inaccessible pages: directly after the first or, with
// behind, directly before the second.
func fenced[T Float](t *testing.T, n int, behind bool) []T {
	t.Helper()
	page := os.Getpagesize()
	body := (n*size[T]() + page - 1) / page * page
	memory, err := syscall.Mmap(-1, 0, body+2*page, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Munmap(memory) })
	for _, at := range []int{0, page + body} {
		if err := syscall.Mprotect(memory[at:at+page], syscall.PROT_NONE); err != nil {
			t.Fatal(err)
		}
	}
	start := page
	if behind {
		start = page + body - n*size[T]()
	}
	return unsafe.Slice((*T)(unsafe.Pointer(&memory[start])), n)
}

// testFences crashes on a read or a write outside the operands.
func testFences[T Float](t *testing.T, isa ISA) {
	for _, s := range [][3]int{{1, 1, 1}, {8, 48, 4}, {8, 24, 8}, {9, 25, 13}, {7, 47, 33}, {16, 100, 577}, {5, 3, 2}, {23, 71, 388}} {
		m, n, k := s[0], s[1], s[2]
		for _, behind := range []bool{false, true} {
			a, b, c := fenced[T](t, m*k, behind), fenced[T](t, k*n, behind), fenced[T](t, m*n, behind)
			for i := range a {
				a[i] = 1
			}
			for i := range b {
				b[i] = 2
			}
			for which := range 4 {
				transA, transB := which&1 > 0, which&2 > 0
				lda, ldb := k, n
				if transA {
					lda = m
				}
				if transB {
					ldb = k
				}
				Gemm(transA, transB, m, n, k, 1, a, lda, b, ldb, 0, c, n, Options{ISA: isa, Threads: 1})
				for i, v := range c {
					if v != T(2*k) {
						t.Fatalf("%s %v: element %d is %v, want %d", isa, s, i, v, 2*k)
					}
				}
			}
		}
	}
}

func TestFences(t *testing.T) {
	for _, isa := range Available() {
		t.Run(fmt.Sprint(isa, "/float64"), func(t *testing.T) { testFences[float64](t, isa) })
		t.Run(fmt.Sprint(isa, "/float32"), func(t *testing.T) { testFences[float32](t, isa) })
	}
}
