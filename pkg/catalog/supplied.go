package catalog

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// Command prints the instance types of a Region in the form that Read accepts.
const Command = "aws ec2 describe-instance-types --output json"

// maxSupplied bounds a supplied file. All types of a Region take about 6 MB.
const maxSupplied = 128 << 20

// described is the output of EC2 DescribeInstanceTypes, with the members that placement
// needs.
type described struct{ InstanceTypes []describedType }

type describedType struct {
	InstanceType  string
	VCpuInfo      struct{ DefaultVCpus int }
	MemoryInfo    struct{ SizeInMiB int }
	ProcessorInfo struct{ SupportedArchitectures []string }
	GpuInfo       struct {
		Gpus []struct {
			Name, Manufacturer string
			Count              int
		}
	}
}

// ReadFile reads a file as Read does.
func ReadFile(path string) (*Catalog, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, withoutPath(err)
	}
	defer f.Close()
	c, err := Read(f, filepath.Base(path))
	return c, withoutPath(err)
}

// Read reads the output of Command and returns the catalogue with these types: they
// replace types of the same name. The name is the file's, for messages. It fails for a
// text that is not JSON, that has another structure, or that has no type.
func Read(r io.Reader, name string) (*Catalog, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxSupplied+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxSupplied {
		return nil, fmt.Errorf("longer than %d MiB", maxSupplied>>20)
	}
	supplied, err := decode(text)
	if err != nil {
		return nil, err
	}
	types := map[string]InstanceType{}
	for _, it := range embedded().types {
		types[it.Name] = it
	}
	for i, d := range supplied.InstanceTypes {
		it, err := d.instanceType()
		if err != nil {
			return nil, fmt.Errorf("InstanceTypes[%d] (%s): %w", i, cmp.Or(d.InstanceType, "no name"), err)
		}
		if isMac(it.Arch) {
			continue
		}
		if known := types[it.Name]; known.MemoryMiB == it.MemoryMiB {
			it.measured = known.measured // measured on such a machine
		}
		types[it.Name] = it
	}
	c := newCatalog(slices.Collect(maps.Values(types)))
	c.supplied = name
	return c, nil
}

// decode returns the decoder's errors in batchctl's wording.
func decode(text []byte) (d described, err error) {
	if len(bytes.TrimSpace(text)) == 0 {
		return d, errors.New("the file is empty")
	}
	err = json.Unmarshal(text, &d)
	if slip, ok := errors.AsType[*json.SyntaxError](err); ok {
		line := 1 + bytes.Count(text[:min(slip.Offset, int64(len(text)))], []byte("\n"))
		return d, fmt.Errorf("not JSON: line %d: %w", line, slip)
	}
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return d, fmt.Errorf("not the output of EC2: %s cannot be %s", cmp.Or(wrong.Field, "the document"), wrong.Value)
	}
	switch {
	case err != nil:
		return d, err
	case d.InstanceTypes == nil:
		return d, errors.New(`not the output of EC2: the document has no "InstanceTypes"`)
	case len(d.InstanceTypes) == 0:
		return d, errors.New("InstanceTypes is empty")
	}
	return d, nil
}

// mostSize keeps sums of hostile figures within an int.
const mostSize = 1 << 30

func (d describedType) instanceType() (it InstanceType, err error) {
	it = InstanceType{Name: d.InstanceType, VCPUs: d.VCpuInfo.DefaultVCpus, MemoryMiB: d.MemoryInfo.SizeInMiB}
	archs := d.ProcessorInfo.SupportedArchitectures
	if len(archs) > 0 {
		it.Arch = archs[len(archs)-1] // "i386" comes before "x86_64"
	}
	for _, a := range []string{Arm, X86} {
		if slices.Contains(archs, a) {
			it.Arch = a
		}
	}
	for i, g := range d.GpuInfo.Gpus {
		if i == 0 {
			it.GPUMaker, it.GPUName = g.Manufacturer, g.Name
		}
		if g.Count < 0 || g.Count > mostSize {
			return it, errors.New("GpuInfo.Gpus has an invalid Count")
		}
		it.GPUs += g.Count
	}
	switch {
	case it.Name == "":
		return it, errors.New("no InstanceType")
	case it.VCPUs < 1 || it.VCPUs > mostSize:
		return it, errors.New("no VCpuInfo.DefaultVCpus")
	case it.MemoryMiB < 1 || it.MemoryMiB > mostSize:
		return it, errors.New("no MemoryInfo.SizeInMiB")
	case it.Arch != X86 && it.Arch != Arm && !isMac(it.Arch):
		return it, errors.New("ProcessorInfo.SupportedArchitectures has neither x86_64 nor arm64")
	}
	return it, nil
}
