package document

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

const platformText = `{
  "$schema": "schemas/platform.schema.json",
  "defaultTarget": "prod",
  "targets": {
    "$comment": "the order is kept",
    "prod": { "region": "us-east-1", "profile": "batch-prod" },
    "local": { "vcpus": 1.5, "memory": "8 GiB", "gpus": 1, "executor": "podman" },
    "dev": { "endpoint": "http://127.0.0.1:5000", "$comment": "moto" }
  },
  "queues": {
    "gpu": { "jobQueue": "gpu-job-queue", "computeEnvironments": [ { "type": "EC2", "instanceTypes": ["g5.8xlarge", "g5.12xlarge"], "maxvCpus": 256 } ] },
    "cpu": { "jobQueue": "arn:aws:batch:us-east-1:123456789012:job-queue/cpu-job-queue", "computeEnvironments": [ { "computeEnvironment": "spot", "type": "SPOT", "instanceTypes": ["c5"] }, { "type": "FARGATE" } ] },
    "bare": { "jobQueue": "gpu" }
  },
  "defaults": { "tags": { "Department": "Research" } },
  "policy": { "requiredTags": ["Team", "CostCenter"], "allowedImages": ["*.dkr.ecr.us-east-1.amazonaws.com/*"],
              "denyLatestTag": true, "maxAttempts": 5, "maxTimeout": "24h", "owner": "the team", "waiver": "ask", "maxvCpus": 0.5,
              "maxMemory": "2 GiB", "maxGpus": 0, "maxArraySize": 9, "allowedQueues": ["gpu"], "allowedJobRoles": ["a"], "allowedExecutionRoles": ["b"] },
  "catalog": "types/new.json"
}`

func TestPlatform(t *testing.T) {
	f := load(t, platformText, Options{})
	got := f.Platform
	want := &Platform{
		DefaultTarget: "prod",
		Targets: []Target{
			{Name: "prod", Region: "us-east-1", Profile: "batch-prod"},
			{Name: "local", VCPUs: 1.5, MemoryMiB: 8192, GPUs: 1, Executor: "podman"},
			{Name: "dev", Endpoint: "http://127.0.0.1:5000"},
		},
		Queues: []Queue{
			{Alias: "gpu", Name: "gpu-job-queue", Environments: []Environment{
				{Type: "EC2", InstanceTypes: []string{"g5.8xlarge", "g5.12xlarge"}, MaxvCpus: 256}}},
			{Alias: "cpu", Name: "arn:aws:batch:us-east-1:123456789012:job-queue/cpu-job-queue", Environments: []Environment{
				{Name: "spot", Type: "SPOT", InstanceTypes: []string{"c5"}}, {Type: "FARGATE"}}},
			{Alias: "bare", Name: "gpu"},
		},
		Policy: Policy{RequiredTags: []string{"Team", "CostCenter"}, AllowedImages: []string{"*.dkr.ecr.us-east-1.amazonaws.com/*"},
			DenyLatestTag: true, MaxAttempts: 5, MaxTimeout: 86400, Owner: "the team", Waiver: "ask", MaxvCpus: .5, MaxMemoryMiB: 2048,
			MaxGPUs: new(int), MaxArraySize: 9, AllowedQueues: []string{"gpu"}, AllowedJobRoles: []string{"a"}, AllowedExecutionRoles: []string{"b"}},
		CatalogFile: "types/new.json",
	}
	nodes := cmp.Options{
		cmpopts.IgnoreFields(Platform{}, "Root", "Defaults"), cmpopts.IgnoreFields(Target{}, "Node"),
		cmpopts.IgnoreFields(Queue{}, "Node"), cmpopts.IgnoreFields(Environment{}, "Node"), cmpopts.IgnoreFields(Policy{}, "Node"),
	}
	if d := cmp.Diff(want, got, nodes); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	if len(f.Jobs) > 0 || got.Defaults.At("tags", "Department").Str() != "Research" {
		t.Errorf("jobs %v, defaults %s", f.Jobs, got.Defaults.AppendJSON(nil))
	}
	if textOf(got.Queues[0].Environments[0].Node.Get("type")) != `"EC2"` {
		t.Error("an environment's node does not point at its text")
	}
}

func TestReadCatalog(t *testing.T) {
	dir := t.TempDir()
	p := load(t, platformText, Options{}).Platform
	at := filepath.Join(dir, PlatformFile)
	if err := p.ReadCatalog(at); err == nil || p.Catalog != nil {
		t.Errorf("a missing file: %v", err)
	}
	const types = `{ "InstanceTypes": [{ "InstanceType": "m99.large", "VCpuInfo": { "DefaultVCpus": 2 },
	  "MemoryInfo": { "SizeInMiB": 8192 }, "ProcessorInfo": { "SupportedArchitectures": ["x86_64"] } }] }`
	if err := os.Mkdir(filepath.Join(dir, "types"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "types", "new.json"), []byte(types), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := p.ReadCatalog(at); err != nil || len(p.Catalog.Expand("m99")) != 1 {
		t.Errorf("%v, %v", p.Catalog, err)
	}
	p.CatalogFile = filepath.Join(dir, "types", "new.json")
	if got := p.CatalogPath("elsewhere/batchctl.json"); got != p.CatalogFile {
		t.Errorf("an absolute path became %s", got)
	}
	for path, want := range map[string]string{dir: "is a directory", os.DevNull: "not a regular file"} {
		p.CatalogFile = path
		if err := p.ReadCatalog(at); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", path, err, want)
		}
	}
	if err := (*Platform)(nil).ReadCatalog(at); err != nil {
		t.Error(err)
	}
}

func TestTarget(t *testing.T) {
	p := load(t, platformText, Options{}).Platform
	if target, ok := p.Target("dev"); !ok || target.Endpoint == "" {
		t.Errorf("dev: %v, %v", target, ok)
	}
	if target, ok := p.Target("Dev"); ok {
		t.Errorf("Dev: %v", target)
	}
}

func TestQueue(t *testing.T) {
	p := load(t, platformText, Options{}).Platform
	for word, alias := range map[string]string{
		"gpu":           "gpu", // an alias goes before a name
		"gpu-job-queue": "gpu",
		"cpu-job-queue": "cpu",
		"arn:aws:batch:us-east-1:123456789012:job-queue/gpu-job-queue": "gpu",
		"arn:aws:batch:us-east-1:123456789012:job-queue/cpu-job-queue": "cpu",
		"arn:aws:batch::123456789012:job-queue/cpu-job-queue":          "cpu",
		"arn:aws:batch:eu-west-1:123456789012:job-queue/cpu-job-queue": "",
		"arn:aws:batch:us-east-1:210987654321:job-queue/cpu-job-queue": "",
		"arn:aws:batch:us-east-1:123456789012:job-queue/":              "",
		"GPU": "",
		"":    "",
	} {
		q, ok := p.Queue(word)
		if q.Alias != alias || ok != (alias != "") {
			t.Errorf("%s: %q, want %q", word, q.Alias, alias)
		}
	}
}

func TestFindPlatform(t *testing.T) {
	top := t.TempDir()
	deep := filepath.Join(top, "jobs", "train")
	if err := os.MkdirAll(filepath.Join(deep, PlatformFile), 0o755); err != nil {
		t.Fatal(err)
	}
	if path, ok := FindPlatform(deep); ok {
		t.Errorf("found %s", path)
	}
	want := filepath.Join(top, PlatformFile)
	if err := os.WriteFile(want, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{deep, filepath.Dir(deep), top} {
		if path, ok := FindPlatform(dir); !ok || path != want {
			t.Errorf("from %s: %q", dir, path)
		}
	}
	t.Chdir(deep)
	if path, ok := FindPlatform("."); !ok || path != want {
		t.Errorf("from .: %q", path)
	}
}
