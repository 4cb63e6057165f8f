package catalog

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// printed is the output of EC2 for a new type, a known type with other figures, a type
// with GPUs, and a Mac, with members that batchctl ignores.
const printed = `{ "InstanceTypes": [
  { "InstanceType": "m9z.large", "CurrentGeneration": true, "BareMetal": false,
    "ProcessorInfo": { "SupportedArchitectures": ["arm64"], "SustainedClockSpeedInGhz": 3.1 },
    "VCpuInfo": { "DefaultVCpus": 2, "DefaultCores": 2 }, "MemoryInfo": { "SizeInMiB": 8192 } },
  { "InstanceType": "m4.large", "ProcessorInfo": { "SupportedArchitectures": ["i386", "x86_64"] },
    "VCpuInfo": { "DefaultVCpus": 2 }, "MemoryInfo": { "SizeInMiB": 9000 } },
  { "InstanceType": "g9.xlarge", "ProcessorInfo": { "SupportedArchitectures": ["x86_64"] },
    "VCpuInfo": { "DefaultVCpus": 4 }, "MemoryInfo": { "SizeInMiB": 16384 },
    "GpuInfo": { "Gpus": [{ "Name": "X1", "Manufacturer": "NVIDIA", "Count": 2, "MemoryInfo": { "SizeInMiB": 24576 } }], "TotalGpuMemoryInMiB": 49152 } },
  { "InstanceType": "g4dn.xlarge", "ProcessorInfo": { "SupportedArchitectures": ["x86_64"] },
    "VCpuInfo": { "DefaultVCpus": 4 }, "MemoryInfo": { "SizeInMiB": 16384 } },
  { "InstanceType": "mac9.metal", "ProcessorInfo": { "SupportedArchitectures": ["arm64_mac"] },
    "VCpuInfo": { "DefaultVCpus": 8 }, "MemoryInfo": { "SizeInMiB": 16384 } }
] }`

func TestRead(t *testing.T) {
	c, err := Read(strings.NewReader(printed), "types.json")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]InstanceType{
		"m9z.large":   {VCPUs: 2, MemoryMiB: 8192, Arch: Arm},
		"m4.large":    {VCPUs: 2, MemoryMiB: 9000, Arch: X86},
		"g9.xlarge":   {VCPUs: 4, MemoryMiB: 16384, Arch: X86, GPUs: 2, GPUMaker: "NVIDIA", GPUName: "X1"},
		"g4dn.xlarge": {VCPUs: 4, MemoryMiB: 16384, Arch: X86}, // as measured
	} {
		want.Name = name
		if got, ok := c.Lookup(name); !ok || got.Name != want.Name || got.VCPUs != want.VCPUs || got.MemoryMiB != want.MemoryMiB || got.Arch != want.Arch ||
			got.GPUs != want.GPUs || got.GPUMaker != want.GPUMaker || got.GPUName != want.GPUName {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if t4, _ := c.Lookup("g4dn.xlarge"); t4.UsableMiB() != 15731-AgentReserveMiB {
		t.Errorf("g4dn.xlarge has %d MiB for jobs, not what was measured", t4.UsableMiB())
	}
	if _, ok := c.Lookup("mac9.metal"); ok {
		t.Error("AWS Batch does not run on a Mac")
	}
	if c.Expand("m9z") == nil || c.Expand("m5") == nil || !slices.IsSortedFunc(c.types, bySize) || !slices.Contains(c.Entries(), "g9") {
		t.Error("the supplied types have not joined the others")
	}
	if carried.Expand("m9z") != nil || carried.String() != "the catalogue of "+InstanceTypesDate {
		t.Errorf("%s has changed", carried)
	}
	if c.String() != "the catalogue of "+InstanceTypesDate+" with types.json" {
		t.Error(c)
	}
	fits := Environment{InstanceTypes: []string{"g9"}, Catalog: c}.Place(Request{VCPUs: 4, MemoryMiB: 1024, GPUs: 2})
	if !fits.Fits || fits.Instance.Name != "g9.xlarge" || fits.Reason != "" {
		t.Errorf("%+v", fits)
	}
}

func TestReadRefuses(t *testing.T) {
	whole := `"InstanceType": "a.b", "VCpuInfo": { "DefaultVCpus": 2 }, "MemoryInfo": { "SizeInMiB": 8192 }`
	for text, want := range map[string]string{
		"":                                  "the file is empty",
		" \n":                               "the file is empty",
		"{\n  \"InstanceTypes\": [,":        "not JSON: line 2: invalid character ',' looking for beginning of value",
		"[]":                                "not the output of EC2: the document cannot be array",
		"{}":                                `not the output of EC2: the document has no "InstanceTypes"`,
		`{ "InstanceTypes": [] }`:           "InstanceTypes is empty",
		`{ "InstanceTypes": ["m5.large"] }`: "not the output of EC2: InstanceTypes cannot be string",
		`{ "InstanceTypes": [{}] }`:         "InstanceTypes[0] (no name): no InstanceType",
		`{ "InstanceTypes": [{ "InstanceType": "a.b" }] }`:                                    "InstanceTypes[0] (a.b): no VCpuInfo.DefaultVCpus",
		`{ "InstanceTypes": [{ "InstanceType": "a.b", "VCpuInfo": { "DefaultVCpus": 2 } }] }`: "InstanceTypes[0] (a.b): no MemoryInfo.SizeInMiB",
		`{ "InstanceTypes": [{ ` + whole + ` }] }`:                                            "InstanceTypes[0] (a.b): ProcessorInfo.SupportedArchitectures has neither x86_64 nor arm64",
		`{ "InstanceTypes": [{ ` + whole + `, "ProcessorInfo": { "SupportedArchitectures": ["arm64"] }, "GpuInfo": { "Gpus": [{ "Count": -1 }] } }] }`: "InstanceTypes[0] (a.b): GpuInfo.Gpus has an invalid Count",
	} {
		if _, err := Read(strings.NewReader(text), "t"); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

func TestReadFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "types.json")
	if _, err := ReadFile(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
	if err := os.WriteFile(path, []byte(printed), 0o644); err != nil {
		t.Fatal(err)
	}
	if c, err := ReadFile(path); err != nil || c.supplied != "types.json" {
		t.Errorf("%v, %v", c, err)
	}
}
