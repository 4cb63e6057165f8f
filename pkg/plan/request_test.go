package plan

import (
	"testing"

	"github.com/batchctl/batchctl/pkg/catalog"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

func parse(t *testing.T, text string) *jsontree.Node {
	t.Helper()
	if text == "" {
		return nil
	}
	n, diags := jsontree.Parse(diag.NewSource("t.json", text))
	if len(diags) > 0 {
		t.Fatal(diags)
	}
	return n
}

func TestRequestOf(t *testing.T) {
	const container = `{ "containerProperties": { "resourceRequirements": [
		{ "type": "VCPU", "value": "4" }, { "type": "MEMORY", "value": "8192" }, { "type": "GPU", "value": "1" }] } }`
	const legacy = `{ "containerProperties": { "vcpus": 2, "memory": 1024 } }`
	const task = `{ "ecsProperties": { "taskProperties": [{ "runtimePlatform": { "cpuArchitecture": "ARM64" }, "containers": [
		{ "name": "a", "resourceRequirements": [{ "type": "VCPU", "value": "1" }, { "type": "MEMORY", "value": "512" }] },
		{ "name": "b", "resourceRequirements": [{ "type": "VCPU", "value": "0.5" }, { "type": "MEMORY", "value": "512" }] }] }] } }`
	for _, tt := range []struct{ name, register, submit, want string }{
		{"plain", container, "", "1 GPU, 4 vCPU, 8192 MiB"},
		{"with a submission", container, `{ "jobName": "x" }`, "1 GPU, 4 vCPU, 8192 MiB"},
		{"overridden", container, `{ "containerOverrides": { "resourceRequirements": [{ "type": "MEMORY", "value": "512" }] } }`, "1 GPU, 4 vCPU, 512 MiB"},
		{"the deprecated override changes nothing", container, `{ "containerOverrides": { "memory": 512 } }`, "1 GPU, 4 vCPU, 8192 MiB"},
		{"deprecated members", legacy, "", "2 vCPU, 1024 MiB"},
		{"deprecated both", legacy, `{ "containerOverrides": { "vcpus": 1 } }`, "1 vCPU, 1024 MiB"},
		{"deprecated, overridden as it should be", legacy, `{ "containerOverrides": { "resourceRequirements": [{ "type": "VCPU", "value": "8" }] } }`, "8 vCPU, 1024 MiB"},
		{"task", task, "", "1.5 vCPU, 1024 MiB, arm64"},
		{"task, one container overridden", task, `{ "ecsPropertiesOverride": { "taskProperties": [{ "containers": [
			{ "name": "b", "resourceRequirements": [{ "type": "MEMORY", "value": "4096" }] }] }] } }`, "1.5 vCPU, 4608 MiB, arm64"},

		{"unknown definition", "", `{ "containerOverrides": { "vcpus": 1, "memory": 4 } }`, ""},
		{"nothing at all", "", "", ""},
		{"multinode", `{ "nodeProperties": { "numNodes": 2 } }`, "", ""},
		{"eks", `{ "eksProperties": {} }`, "", ""},
		{"no memory", `{ "containerProperties": { "vcpus": 2 } }`, "", ""},
		{"empty task", `{ "ecsProperties": { "taskProperties": [{ "containers": [] }] } }`, "", ""},
		{"not a number", `{ "containerProperties": { "vcpus": 2, "memory": "much" } }`, "", ""},
		{"NaN", `{ "containerProperties": { "vcpus": "NaN", "memory": 4 } }`, "", ""},
		{"hostile", `{ "containerProperties": { "vcpus": 1e308, "memory": "Inf" } }`, "", ""},
		{"negative", `{ "containerProperties": { "vcpus": -1, "memory": 4 } }`, "", ""},
		{"odd GPUs", `{ "containerProperties": { "vcpus": 1, "memory": 4, "resourceRequirements": [{ "type": "GPU", "value": [] }] } }`, "", ""},
		{"wrong types", `{ "containerProperties": [], "platformCapabilities": 3 }`, `[]`, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, ok := RequestOf(parse(t, tt.register), parse(t, tt.submit))
			if ok != (tt.want != "") || ok && r.String() != tt.want {
				t.Errorf("%v %v, want %q", r, ok, tt.want)
			}
		})
	}
}

func TestRequestOfPlatform(t *testing.T) {
	const need = `"resourceRequirements": [{ "type": "VCPU", "value": "1" }, { "type": "MEMORY", "value": "2048" }]`
	for register, want := range map[string]catalog.Request{
		`{ "platformCapabilities": ["FARGATE"], "containerProperties": { ` + need + ` } }`: {VCPUs: 1, MemoryMiB: 2048, Fargate: true},
		`{ "platformCapabilities": ["EC2"], "containerProperties": { ` + need + ` } }`:     {VCPUs: 1, MemoryMiB: 2048},
		`{ "platformCapabilities": ["FARGATE"], "containerProperties": { "runtimePlatform": { "cpuArchitecture": "X86_64" }, ` + need + ` } }`: {
			VCPUs: 1, MemoryMiB: 2048, Fargate: true, Arch: catalog.X86},
	} {
		if r, ok := RequestOf(parse(t, register), nil); !ok || r != want {
			t.Errorf("%s: %+v", register, r)
		}
	}
}

// What a task on Fargate adds to the price stands with its task, not with a container.
func TestNeedOfTask(t *testing.T) {
	const more = `"ephemeralStorage": { "sizeInGiB": 100 }, "runtimePlatform": { "operatingSystemFamily": "WINDOWS_SERVER_2022_CORE" }`
	const need = `"resourceRequirements": [{ "type": "VCPU", "value": "1" }, { "type": "MEMORY", "value": "2048" }]`
	for _, register := range []string{
		`{ "platformCapabilities": ["FARGATE"], "containerProperties": { ` + more + `, ` + need + ` } }`,
		`{ "platformCapabilities": ["FARGATE"], "ecsProperties": { "taskProperties": [{ ` + more + `, "containers": [{ "name": "main", ` + need + ` }] }] } }`,
	} {
		n, ok := NeedOf(parse(t, register), nil)
		if !ok || n.StorageGB != 100-catalog.FargateStorageGB || n.Platform != catalog.Windows {
			t.Errorf("%s: %+v", register, n)
		}
	}
}
