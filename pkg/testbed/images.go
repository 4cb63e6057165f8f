package testbed

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/local/container"
	"github.com/batchctl/batchctl/templates"
)

// Images are the images of a benchmark's jobs.
type Images struct {
	// Given are the user's own, by side.
	Given map[string]string
	// Built are those that are made here: the GPU's, and the CPU's unless the GPU's serves
	// both sides.
	Built []*Image
}

// Image is an image of batchctl-workloads.
type Image struct {
	Sides      []string // that run it
	Program    []byte
	dockerfile string
	args       []string
	// Tag is made of the hash of all that goes in, so that one which is there is the same.
	Tag string
	// Exists says that the repository has it; Name is its name once it can be pulled.
	Exists bool
	Name   string
}

// Of is the image of a side; "" where that of the job file stands.
func (w *Images) Of(side string) string {
	if name := w.Given[side]; name != "" {
		return name
	}
	for _, image := range w.Built {
		if slices.Contains(image.Sides, side) {
			return image.Name
		}
	}
	return ""
}

// Programs are the batchctl-workloads for Linux on x86_64 of a directory: static has no libraries,
// for an image of nothing else, and dynamic looks for a GPU's driver. nil for none.
type Programs struct{ static, dynamic []byte }

// FindPrograms finds the programs in a directory.
func FindPrograms(dir string) (Programs, error) {
	var p Programs
	for _, name := range []string{"batchctl-workloads", "batchctl-workloads-static"} {
		program, links, err := linuxProgram(filepath.Join(dir, name))
		if err != nil {
			return p, err
		}
		switch {
		case program == nil:
		case links:
			p.dynamic = program
		default:
			p.static = program
		}
	}
	return p, nil
}

// Images are the images that sides need. The program that looks for a GPU's driver serves both
// sides where there is no other; ok is false where it is needed and missing. base is the image
// that the GPU's is built on; "" for that of its Dockerfile.
func (p Programs) Images(sides []string, base string) (images []*Image, ok bool) {
	var args []string
	if base != "" {
		args = []string{"BASE=" + base}
	}
	var rest []string
	for _, side := range sides {
		if side == "CPU" && p.static != nil {
			images = append(images, newImage("cpu", p.static, templates.CPUDockerfile, nil, side))
		} else {
			rest = append(rest, side)
		}
	}
	switch {
	case len(rest) == 0:
		return images, true
	case p.dynamic == nil:
		return nil, false
	}
	return append(images, newImage("gpu", p.dynamic, templates.GPUDockerfile, args, rest...)), true
}

func newImage(kind string, program []byte, dockerfile string, args []string, sides ...string) *Image {
	h := sha256.New()
	for _, part := range append([][]byte{program, []byte(dockerfile)}, []byte(strings.Join(args, "\n"))) {
		_, _ = fmt.Fprintf(h, "%d ", len(part))
		_, _ = h.Write(part) // a hash takes everything
	}
	return &Image{Sides: slices.Sorted(slices.Values(sides)), Program: program, dockerfile: dockerfile, args: args,
		Tag: kind + "-" + hex.EncodeToString(h.Sum(nil))[:12]}
}

// linuxProgram reads a program for Linux on x86_64, and reports whether it needs
// libraries. A file that is not there, or is for another system, is nil.
func linuxProgram(path string) (program []byte, links bool, err error) {
	program, err = os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, exit.Fail(exit.NotDone, "read %s: %v", path, exit.Cause(err))
	}
	f, err := elf.NewFile(bytes.NewReader(program))
	if err != nil || f.Machine != elf.EM_X86_64 {
		return nil, false, nil
	}
	for _, segment := range f.Progs {
		links = links || segment.Type == elf.PT_INTERP
	}
	return program, links, nil
}

// Build builds an image under its name, from the program alone.
func (image *Image) Build(ctx context.Context, builder *container.Images, log io.Writer) (err error) {
	dir, err := os.MkdirTemp("", "batchctl-image")
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, os.RemoveAll(dir)) }()
	path := filepath.Join(dir, "batchctl-workloads")
	if err := os.WriteFile(path, image.Program, 0o755); err != nil {
		return err
	}
	if err := os.Chmod(path, 0o755); err != nil { // whatever the umask: a container's user starts it
		return err
	}
	return builder.Build(ctx, container.Build{Name: image.Name, Platform: "linux/amd64", Dockerfile: image.dockerfile,
		Dir: dir, Args: image.args}, log)
}
