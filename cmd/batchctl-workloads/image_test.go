//go:build linux

package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/batchctl/batchctl/pkg/testtool"
	"github.com/batchctl/batchctl/workloads"
	"github.com/batchctl/batchctl/workloads/gpu/fakecuda"
)

// maxProgram bounds what the program adds to an image, in bytes.
const maxProgram = 8_000_000

// TestCPUImage runs workloads in the image that has nothing but the program.
func TestCPUImage(t *testing.T) {
	i := newPodman(t).make(t, "image", "localhost/batchctl-workloads:cpu")
	i.check(t)
	if i.Size > maxProgram {
		t.Errorf("the image has %d bytes, and %d are allowed", i.Size, maxProgram)
	}
	i.run(t, nil, "matrix", "--sizes", "64", "--repeats", "1").want(t, workloads.ExitOK, "Matrix multiplication 64x64: ", " verified)")
	i.run(t, nil, "image", "--sizes", "64", "--batch", "1", "--repeats", "1").want(t, workloads.ExitOK, "Sobel edges 64x64 batch 1: ", " verified)")
	i.run(t, nil, "matrix", "--device", "cuda").want(t, workloads.ExitNoDevice,
		"--device cuda: this program is built without GPU support; use the GPU image of batchctl-workloads; ")
}

// TestGPUImage builds on this machine's C library, so that no registry need be in reach.
// The fake driver comes into the container from outside, as NVIDIA's does, and its cuBLAS
// lies where CUDA's packages put theirs.
func TestGPUImage(t *testing.T) {
	fakecuda.Need(t)
	testtool.Need(t, "ldd")
	p := newPodman(t)
	fake := readable(t, fakecuda.Build(t))
	base := p.importBase(t, "localhost/base:here", fake)
	i := p.make(t, "image-gpu", "localhost/batchctl-workloads:gpu", "BASE="+base.name)
	i.check(t)
	if added := i.Size - base.Size; added > maxProgram {
		t.Errorf("the program adds %d bytes to the base, and %d are allowed", added, maxProgram)
	}
	for _, want := range []string{"NVIDIA_VISIBLE_DEVICES=all", "NVIDIA_DRIVER_CAPABILITIES=compute,utility"} {
		if !slices.Contains(i.Config.Env, want) {
			t.Errorf("the environment %q lacks %s", i.Config.Env, want)
		}
	}
	i.run(t, nil, "matrix", "--sizes", "64", "--repeats", "1").want(t, workloads.ExitOK, "Matrix multiplication 64x64: ", " verified)")
	i.run(t, nil, "gpu-info").want(t, workloads.ExitNoDevice, "no NVIDIA driver is loaded on this machine", "--gpus all")

	driver := []string{"--volume", fake + ":/usr/local/nvidia/lib64:ro", "--env", "FAKECUDA_DEVICES=2"}
	product := []string{"matrix", "--device", "cuda", "--sizes", "64", "--repeats", "1"}
	i.run(t, driver, "gpu-info").want(t, workloads.ExitOK, "2 of 2 can be used", "Fake GPU", "cuBLAS is not in this image")
	i.run(t, driver, product...).want(t, workloads.ExitOK, "Matrix multiplication 64x64: ", " kernel builtin, ", " verified)")

	cublas := append(driver, "--volume", fake+":/usr/local/cuda/lib64:ro")
	i.run(t, cublas, product...).want(t, workloads.ExitOK, "Matrix multiplication 64x64: ", " kernel cuBLAS ", " verified)")
}

// check is what both images have in common.
func (i *image) check(t *testing.T) {
	t.Helper()
	if user := i.Config.User; user != "65532:65532" {
		t.Errorf("the user is %q", user)
	}
	if entry := i.Config.Entrypoint; !slices.Equal(entry, []string{"/batchctl-workloads"}) {
		t.Errorf("the entry point is %q", entry)
	}
	for _, label := range []string{"title", "description"} {
		if i.Config.Labels["org.opencontainers.image."+label] == "" {
			t.Errorf("the labels %q lack %s", i.Config.Labels, label)
		}
	}
}

// readable is a copy of a folder that users other than its owner can read.
func readable(t *testing.T, folder string) string {
	t.Helper()
	open := filepath.Join(t.TempDir(), "open")
	if err := os.CopyFS(open, os.DirFS(folder)); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(open, 0o755); err != nil {
		t.Fatal(err)
	}
	return open
}
