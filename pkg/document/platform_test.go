package document

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/batchctl/batchctl/pkg/diag"
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
  "catalog": "types/new.json",
  "templates": {
    "$comment": "the order is kept",
    "train": { "source": "templates/train.json", "description": "training",
               "parameters": { "name": { "pattern": "[a-z]+", "description": "of the job" }, "size": { "default": 4, "allowedValues": [4, 8] } } },
    "all": { "source": "s3://bucket/all/" }
  }
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
		Templates: []Template{
			{Name: "train", Source: "templates/train.json", Description: "training", Parameters: []TemplateParameter{
				{Name: "name", Type: "string", Pattern: "[a-z]+", Description: "of the job"},
				{Name: "size", Type: "integer"}}},
			{Name: "all", Source: "s3://bucket/all/"},
		},
	}
	nodes := cmp.Options{
		cmpopts.IgnoreFields(Platform{}, "Root", "Defaults"), cmpopts.IgnoreFields(Target{}, "Node"),
		cmpopts.IgnoreFields(Queue{}, "Node"), cmpopts.IgnoreFields(Environment{}, "Node"), cmpopts.IgnoreFields(Policy{}, "Node"),
		cmpopts.IgnoreFields(Template{}, "Node"), cmpopts.IgnoreFields(TemplateParameter{}, "Node", "Default", "Allowed"),
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

// TestTemplateParameters checks the problems of the parameters of templates, and the values that they take.
func TestTemplateParameters(t *testing.T) {
	for _, c := range []struct{ member, problem string }{
		{`"p": {}`, ""},
		{`"$comment": "a", "p-1_b": { "default": "" }`, ""},
		{`"p": { "default": 1, "allowedValues": [0.5, 1] }`, ""},
		{`"p": { "type": "number", "default": 1 }`, ""},
		{`"p": { "type": "boolean", "default": true }`, ""},
		{`"p": { "pattern": "[a-z]+", "default": "ab" }`, ""},
		{`"1p": {}`, `no placeholder can name the parameter "1p"`},
		{`"a b": {}`, `no placeholder can name the parameter "a b"`},
		{`"": {}`, `no placeholder can name the parameter ""`},
		{`"p": { "pattern": "[" }`, "invalid pattern"},
		{`"p": { "pattern": "a)(b" }`, "invalid pattern"},
		{`"p": { "pattern": "[a-z]+", "default": "ab1" }`, `"ab1" does not match the pattern [a-z]+`},
		{`"p": { "pattern": "a|b", "default": "ax" }`, `"ax" does not match the pattern a|b`},
		{`"p": { "pattern": "a", "default": "a\n" }`, "does not match the pattern a"},
		{`"p": { "allowedValues": ["a"], "default": "b" }`, `"b" is not an allowed value: use a`},
		{`"p": { "allowedValues": ["1", 1] }`, "1 is not of the type string"},
		{`"p": { "type": "integer", "default": 1.5 }`, "1.5 is not a whole number"},
		{`"p": { "type": "string", "default": 1 }`, "1 is not of the type string"},
		{`"p": { "type": "boolean", "default": "yes" }`, `"yes" is not of the type boolean`},
		{`"p": { "type": "text" }`, "must be one of string, number, integer, boolean"},
		{`"p": { "default": [1] }`, "array"},
		{`"p": { "allowedValues": [] }`, "allowedValues"},
		{`"p": { "defalt": 1 }`, `"defalt"`},
	} {
		text := `{"$schema": "platform.schema.json", "templates": {"t": {"source": "a", "parameters": {` + c.member + `}}}}`
		_, problems := Load(diag.NewSource("batchctl.json", text), Options{})
		if got := fmt.Sprint(problems); len(problems) > 1 || (c.problem == "") != (len(problems) == 0) || !strings.Contains(got, c.problem) {
			t.Errorf("%s: %s, want %q", c.member, got, c.problem)
		}
	}
	for _, source := range []string{"", "-x", "--upload-pack=touch x"} {
		_, problems := Load(diag.NewSource("batchctl.json", `{"$schema": "platform.schema.json", "templates": {"t": {"source": "`+source+`"}}}`), Options{})
		if len(problems) != 1 || problems[0].Rule != RuleBadValue {
			t.Errorf("source %q: %v", source, problems)
		}
	}
	for _, c := range []struct{ kind, text, want string }{
		{"string", "10", `"10"`}, {"string", "", `""`}, {"string", "a\"b", `"a\"b"`},
		{"number", "1e3", "1e3"}, {"number", "-0.5", "-0.5"}, {"integer", "12345678901234567890", "12345678901234567890"},
		{"boolean", "true", "true"},
		{"number", "", ""}, {"number", " 1", ""}, {"number", "1 ", ""}, {"number", "01", ""}, {"number", "0x1", ""}, {"number", "NaN", ""},
		{"number", "true", ""}, {"number", `"1"`, ""}, {"number", "1,2", ""}, {"number", "[1]", ""}, {"integer", "1.0", ""}, {"integer", "1e3", ""},
		{"boolean", "True", ""}, {"boolean", "1", ""}, {"boolean", "", ""},
	} {
		got, err := TemplateParameter{Name: "p", Type: c.kind}.Value(c.text)
		if (err != nil) != (c.want == "") || err == nil && string(got.AppendJSON(nil)) != c.want {
			t.Errorf("%s %q: %v, %v, want %s", c.kind, c.text, got, err, c.want)
		}
	}
}
