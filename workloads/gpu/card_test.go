package gpu

import (
	"errors"
	"fmt"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
)

func open(t *testing.T, m *machine) *Card {
	t.Helper()
	c, err := Open(m, 0)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// want checks the whole of an error.
func want(t *testing.T, err error, text string) {
	t.Helper()
	if err == nil || err.Error() != text {
		t.Errorf("got  %v\nwant %s", err, text)
	}
}

func TestInfo(t *testing.T) {
	m := newMachine(2)
	all, err := Devices(m)
	if err != nil {
		t.Fatal(err)
	}
	info := Info{
		Ordinal: 1, Name: "Toy", UUID: "GPU-1", PCI: "0032:21:22", Memory: room, Capability: 99, Multiprocessors: 9, ClockKHz: 9,
		MemoryClockKHz: 9, MemoryBusBits: 9, L2Bytes: 0, SharedBytes: 97000, ECC: false,
	}
	if len(all) != 2 || all[1] != info {
		t.Errorf("got %+v", all)
	}
	m.fail("attribute", 999)
	_, err = Devices(m)
	want(t, err, "query GPU 0: attribute: CUDA error 999 (UNKNOWN)")
	m.fail("count", CodeNoDevice)
	if all, err := Devices(m); err != nil || len(all) != 0 {
		t.Errorf("no device: got %v, %v", all, err)
	}
}

func TestDo(t *testing.T) {
	c := open(t, newMachine(1))
	broken := errors.New("broken")
	if err := c.Do(func() error { return broken }); err != broken {
		t.Errorf("got %v", err)
	}
	// One after the other: the race detector watches the counter.
	count := 0
	var wait sync.WaitGroup
	for range 100 {
		wait.Go(func() {
			if err := c.Do(func() error { count++; return nil }); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	if count != 100 {
		t.Errorf("%d of 100 ran", count)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	want(t, c.Do(func() error { return nil }), "the GPU is closed")
	if err := c.Close(); err != nil {
		t.Errorf("closed again: %v", err)
	}
}

func TestPanicComesOut(t *testing.T) {
	c := open(t, newMachine(1))
	cause := errors.New("bad index")
	func() {
		defer func() {
			err, ok := recover().(error)
			if !ok || !errors.Is(err, cause) || !strings.Contains(err.Error(), "card_test.go") {
				t.Errorf("got %v, want the cause and where it was", err)
			}
		}()
		c.Do(func() error { panic(cause) })
		t.Error("Do returned")
	}()
	if err := errors.Join(c.Do(func() error { return nil }), c.Close()); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

// TestExitComesOut is t.Fatal within Do: it ends both goroutines, and the card continues.
func TestExitComesOut(t *testing.T) {
	m := newMachine(2)
	c := open(t, m)
	returned := false
	var wait sync.WaitGroup
	wait.Go(func() {
		c.Do(func() error { runtime.Goexit(); return nil })
		returned = true
	})
	wait.Wait()
	if returned {
		t.Error("Do returned")
	}
	if err := errors.Join(c.Do(func() error { return nil }), c.Close()); err != nil {
		t.Errorf("afterwards: %v", err)
	}
	cards, err := OpenAll(m, 0)
	if err != nil {
		t.Fatal(err)
	}
	err = cards.Each(func(i int, c *Card) error {
		if i == 1 {
			runtime.Goexit()
		}
		return nil
	})
	want(t, err, "a GPU's goroutine exited before its work was done")
	if err := cards.Close(); err != nil || m.left() != 0 {
		t.Errorf("%v, and %d things are left", err, m.left())
	}
}

func TestLostCard(t *testing.T) {
	for _, code := range []int{214, 700, 715, 716, 717, 718, 719} {
		m := newMachine(1)
		c := open(t, m)
		m.fail("synchronize", code)
		err := c.Do(func() error {
			q, err := c.NewQueue()
			if err != nil {
				return err
			}
			_ = q.Synchronize() // kept from the caller
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		m.fail("synchronize", 0)
		want(t, c.Do(func() error { t.Error("ran on a lost card"); return nil }),
			fmt.Sprintf("the GPU is no longer usable: synchronize: CUDA error %d (%s)", code, CodeName(code)))
		if CodeName(code) == "UNKNOWN" {
			t.Errorf("%d has no name", code)
		}
		if err := c.Close(); err != nil || m.left() != 0 {
			t.Errorf("%v, and %d things are left", err, m.left())
		}
	}
}

func TestErrorThatSpoilsNothing(t *testing.T) {
	m := newMachine(1)
	c := open(t, m)
	m.fail("alloc", CodeOutOfMemory)
	err := c.Do(func() error { _, err := c.Alloc(3 << 30); return err })
	want(t, err, "allocate 3 GiB of GPU 0 (Toy), which has 256 MiB of 1 GiB free: alloc: CUDA error 2 (OUT_OF_MEMORY)")
	m.fail("info", 1)
	err = c.Do(func() error { _, err := c.Alloc(100); return err })
	want(t, err, "allocate 100 B of GPU 0 (Toy): alloc: CUDA error 2 (OUT_OF_MEMORY)")
	err = c.Do(func() error { _, err := c.Alloc(0); return err })
	want(t, err, "allocate memory of GPU 0 (Toy): invalid size of 0 bytes")
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

func TestLeaks(t *testing.T) {
	m := newMachine(1)
	c := open(t, m)
	err := c.Do(func() error {
		_, err := c.Alloc(5 << 20)
		host, errHost := c.AllocHost(1000)
		q, errQueue := c.NewQueue()
		_, errMark := c.NewMark()
		return errors.Join(err, errHost, errQueue, errMark, q.Close(), host.Free())
	})
	if err != nil {
		t.Fatal(err)
	}
	err = c.Close()
	form := regexp.MustCompile(`^GPU 0 \(Toy\) was closed before this was freed: a mark \(card_test.go:\d+\), 5 MiB of memory \(card_test.go:\d+\)$`)
	if err == nil || !form.MatchString(err.Error()) {
		t.Errorf("got %v", err)
	}
	if n := m.left(); n != 0 {
		t.Errorf("%d things are left", n)
	}
}

func TestFreeTwice(t *testing.T) {
	m := newMachine(1)
	c := open(t, m)
	err := c.Do(func() error {
		memory, err := c.Alloc(1)
		return errors.Join(err, memory.Free(), memory.Free())
	})
	want(t, err, "free memory: it was already freed")
	if err := c.Close(); err != nil || m.left() != 0 {
		t.Errorf("%v, and %d things are left", err, m.left())
	}
}

func TestOpenFails(t *testing.T) {
	m := newMachine(1)
	m.fail("retain", 46)
	_, err := Open(m, 0)
	want(t, err, "open GPU 0 (Toy): retain: CUDA error 46 (DEVICE_UNAVAILABLE)")
	m.fail("retain", 0)
	m.fail("current", 201)
	_, err = Open(m, 0)
	want(t, err, "open GPU 0 (Toy): the GPU is no longer usable: current: CUDA error 201 (INVALID_CONTEXT)")
	if n := m.left(); n != 0 {
		t.Errorf("%d things are left", n)
	}
}

func TestWrongArgument(t *testing.T) {
	c := open(t, newMachine(1))
	err := c.Do(func() error {
		q, err := c.NewQueue()
		if err != nil {
			return err
		}
		return errors.Join(q.Launch(&Kernel{Name: "blur"}, Dim{1, 1, 1}, Dim{1, 1, 1}, 0, Pointer(1), int32(2), 3), q.Close())
	})
	want(t, err, "launch blur: argument 2 is a int: want a gpu.Pointer, int32, uint32, int64, float32 or float64")
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

func TestTooMuchSharedMemory(t *testing.T) {
	c := open(t, newMachine(1))
	_, err := (&Library{card: c}).Kernel("blur", 97001)
	want(t, err, "kernel blur needs 97001 bytes of shared memory per block, and GPU 0 (Toy) has 97000")
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}
