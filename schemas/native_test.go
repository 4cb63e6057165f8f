package schemas

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/google/go-cmp/cmp"

	"github.com/batchctl/batchctl/pkg/apimodel"
)

// object is a decoded JSON object.
type object = map[string]any

func read(t *testing.T, name string) object {
	t.Helper()
	text, err := FS.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var doc object
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return doc
}

func TestNativeIsGenerated(t *testing.T) {
	out := filepath.Join(t.TempDir(), "native.schema.json")
	cmd := exec.CommandContext(t.Context(), "go", "run", "generate.go", out)
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	want, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	got, err := FS.ReadFile("native.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), string(got)); d != "" {
		t.Errorf("run go generate ./schemas (-want +got):\n%s", d)
	}
}

// TestNativeHasTheSDKsMembers compares every definition with the struct that
// the SDK would decode it into and with the newer members of apimodel, both ways.
func TestNativeHasTheSDKsMembers(t *testing.T) {
	defs := read(t, "native.schema.json")["$defs"].(object)
	seen := map[string]bool{}
	var visit func(name string, typ reflect.Type)
	visit = func(name string, typ reflect.Type) {
		for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice || typ.Kind() == reflect.Map {
			typ = typ.Elem()
		}
		if name == "" {
			name = typ.Name()
		}
		if typ.PkgPath() == "" || seen[name] {
			return
		}
		seen[name] = true
		def, ok := defs[name].(object)
		if !ok {
			t.Errorf("no definition of %s", name)
			return
		}
		if typ.Kind() == reflect.String {
			compareEnum(t, name, def, typ)
			return
		}
		var fields []string
		for f := range typ.Fields() {
			if !f.IsExported() {
				continue
			}
			fields = append(fields, strings.ToLower(f.Name[:1])+f.Name[1:])
			visit("", f.Type)
		}
		for _, structure := range []string{name, name + "Input"} {
			for member := range apimodel.Get().Structures[structure] {
				fields = append(fields, member)
			}
		}
		compareMembers(t, name, def, fields)
		if fragment, ok := defs[name+".fragment"].(object); ok {
			compareMembers(t, name+".fragment", fragment, fields)
			if fragment["required"] != nil {
				t.Errorf("%s.fragment requires members", name)
			}
		}
	}
	visit("RegisterJobDefinition", reflect.TypeFor[batch.RegisterJobDefinitionInput]())
	visit("SubmitJob", reflect.TypeFor[batch.SubmitJobInput]())
	visit("CreateComputeEnvironment", reflect.TypeFor[batch.CreateComputeEnvironmentInput]())
	visit("CreateJobQueue", reflect.TypeFor[batch.CreateJobQueueInput]())
	visit("CreateSchedulingPolicy", reflect.TypeFor[batch.CreateSchedulingPolicyInput]())
	visit("CreateConsumableResource", reflect.TypeFor[batch.CreateConsumableResourceInput]())
	visit("CreateQuotaShare", reflect.TypeFor[batch.CreateQuotaShareInput]())
	visit("CreateServiceEnvironment", reflect.TypeFor[batch.CreateServiceEnvironmentInput]())
	visit("UpdateComputeEnvironment", reflect.TypeFor[batch.UpdateComputeEnvironmentInput]())
	visit("UpdateJobQueue", reflect.TypeFor[batch.UpdateJobQueueInput]())
	visit("UpdateSchedulingPolicy", reflect.TypeFor[batch.UpdateSchedulingPolicyInput]())
	visit("UpdateConsumableResource", reflect.TypeFor[batch.UpdateConsumableResourceInput]())
	visit("UpdateQuotaShare", reflect.TypeFor[batch.UpdateQuotaShareInput]())
	visit("UpdateServiceEnvironment", reflect.TypeFor[batch.UpdateServiceEnvironmentInput]())
	visit("UpdateServiceJob", reflect.TypeFor[batch.UpdateServiceJobInput]())
	visit("SubmitServiceJob", reflect.TypeFor[batch.SubmitServiceJobInput]())
	for name := range defs {
		newer := apimodel.Get()
		if !seen[strings.TrimSuffix(name, ".fragment")] && newer.Structures[strings.TrimSuffix(name, ".fragment")] == nil && newer.Enumerations[name] == nil {
			t.Errorf("the SDK has no %s", name)
		}
	}
}

func compareMembers(t *testing.T, name string, def object, fields []string) {
	t.Helper()
	var members []string
	for m := range def["properties"].(object) {
		if m[0] != '$' {
			members = append(members, m)
		}
	}
	slices.Sort(members)
	slices.Sort(fields)
	if d := cmp.Diff(fields, members); d != "" {
		t.Errorf("%s (-SDK +schema):\n%s", name, d)
	}
	if def["properties"].(object)["$comment"] == nil || def["additionalProperties"] != false {
		t.Errorf("%s: $comment must be allowed, and no other unknown member", name)
	}
}

func compareEnum(t *testing.T, name string, def object, typ reflect.Type) {
	t.Helper()
	var want, got []string
	for _, v := range reflect.Zero(typ).MethodByName("Values").Call(nil)[0].Seq2() {
		want = append(want, v.String())
	}
	want = append(want, apimodel.Get().Enumerations[typ.Name()]...)
	listed, _ := def["examples"].([]any)
	if !slices.Contains(apimodel.Get().AnyCase, name) {
		listed = def["anyOf"].([]any)[0].(object)["enum"].([]any)
	}
	for _, v := range listed {
		got = append(got, v.(string))
	}
	slices.Sort(want)
	slices.Sort(got)
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s (-SDK +schema):\n%s", name, d)
	}
}

// TestNativeRequires checks a few requirements of the model, which reflection cannot see.
func TestNativeRequires(t *testing.T) {
	defs := read(t, "native.schema.json")["$defs"].(object)
	for name, want := range map[string][]any{
		"RegisterJobDefinition": {"jobDefinitionName", "type"},
		"SubmitJob":             {"jobDefinition", "jobName", "jobQueue"},
		"CreateJobQueue":        {"jobQueueName", "priority"},
		"ComputeResource":       {"maxvCpus", "type"},
		"ResourceRequirement":   {"type", "value"},
		"LogConfiguration":      {"logDriver"},
		"Ulimit":                {"hardLimit", "name", "softLimit"},
		"ContainerProperties":   nil,
	} {
		got, _ := defs[name].(object)["required"].([]any)
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}
