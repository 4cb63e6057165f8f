package gpu

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
)

func unset(t *testing.T) {
	t.Setenv("CUDA_VISIBLE_DEVICES", "") // so that the test puts it back
	os.Unsetenv("CUDA_VISIBLE_DEVICES")
}

func TestOpenAll(t *testing.T) {
	unset(t)
	m := newMachine(3)
	for asked, opened := range map[int]int{0: 3, 1: 1, 3: 3} {
		cards, err := OpenAll(m, asked)
		if err != nil || len(cards) != opened {
			t.Fatalf("%d cards: %d, %v", asked, len(cards), err)
		}
		for i, c := range cards {
			if c.Info.Ordinal != i || c.Driver() != m {
				t.Errorf("card %d is %s", i, c)
			}
		}
		if err := cards.Close(); err != nil || m.left() != 0 {
			t.Errorf("%v, and %d things are left", err, m.left())
		}
	}
	m.fail("retain", 2)
	_, err := OpenAll(m, 2)
	want(t, err, "open GPU 0 (Toy): retain: CUDA error 2 (OUT_OF_MEMORY)\nopen GPU 1 (Toy): retain: CUDA error 2 (OUT_OF_MEMORY)")
}

func TestTooFewCards(t *testing.T) {
	unset(t)
	requirement := "; check that the job's resourceRequirements request "
	for _, test := range []struct {
		devices, asked int
		want           string
	}{
		{1, 2, "2 GPUs are requested, and 1 is visible" + requirement + "2 GPUs, and that CUDA_VISIBLE_DEVICES hides no GPU"},
		{4, 8, "8 GPUs are requested, and 4 are visible" + requirement + "8 GPUs, and that CUDA_VISIBLE_DEVICES hides no GPU"},
		{0, 1, "the NVIDIA driver sees no GPU" + requirement + "a GPU, and that CUDA_VISIBLE_DEVICES hides no GPU"},
		{0, 0, "the NVIDIA driver sees no GPU" + requirement + "a GPU, and that CUDA_VISIBLE_DEVICES hides no GPU"},
	} {
		_, err := OpenAll(newMachine(test.devices), test.asked)
		want(t, err, test.want)
		if missing, ok := errors.AsType[*UnavailableError](err); !ok || missing.Binding != "machine" {
			t.Errorf("%d of %d: got %#v", test.asked, test.devices, err)
		}
	}
	t.Setenv("CUDA_VISIBLE_DEVICES", "3,x")
	_, err := OpenAll(newMachine(1), 2)
	if err == nil || !strings.HasSuffix(err.Error(), `, and that CUDA_VISIBLE_DEVICES, which is "3,x", lists them`) {
		t.Errorf("got %v", err)
	}
}

func TestEach(t *testing.T) {
	m := newMachine(3)
	cards, err := OpenAll(m, 0)
	if err != nil {
		t.Fatal(err)
	}
	// All at the same time: each waits for the others.
	var all sync.WaitGroup
	all.Add(len(cards))
	err = cards.Each(func(i int, c *Card) error {
		all.Done()
		all.Wait()
		if i == 1 {
			return nil
		}
		return fmt.Errorf("work %d", i)
	})
	want(t, err, "GPU 0 (Toy): work 0\nGPU 2 (Toy): work 2")
	if err := cards.Close(); err != nil || m.left() != 0 {
		t.Errorf("%v, and %d things are left", err, m.left())
	}
}

func TestNotStarted(t *testing.T) {
	unset(t)
	for code, begin := range map[int]string{
		CodeStubLibrary: "libcuda.so.1 is the CUDA toolkit's stub", CodeNoDevice: "the NVIDIA driver sees no GPU",
		802: "the GPUs are not ready", 803: "libcuda and the NVIDIA driver's kernel module", 804: "the CUDA compatibility library", 999: "the NVIDIA driver cannot start",
	} {
		missing, ok := errors.AsType[*UnavailableError](NotStarted("way", code))
		if !ok || missing.Binding != "way" || !strings.HasPrefix(missing.Reason, begin) || missing.Remedy == "" {
			t.Errorf("%d: got %#v", code, missing)
		}
	}
	want(t, NotStarted("way", 2), "cuInit: CUDA error 2 (OUT_OF_MEMORY)")
	if err := OldDriver("way", 10000); err != nil {
		t.Error(err)
	}
	want(t, OldDriver("way", 9020), "the NVIDIA driver supports CUDA 9.2, and this program needs 10.0 or later; run the job on a machine image with driver 410 or later")
	want(t, NoLibrary("way", "libcuda.so.1 was not found"), "no NVIDIA driver found: libcuda.so.1 was not found; "+
		"request a GPU in the job's resourceRequirements, or start the container with --gpus all and NVIDIA's container runtime")
}
