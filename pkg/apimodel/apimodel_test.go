package apimodel

import (
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
)

// TestNewer checks that the difference is one: once the Go SDK has a member or a value, it has to
// leave newer.json. Run generate.go then.
func TestNewer(t *testing.T) {
	n := Get()
	if len(n.Sources) != 2 || !regexp.MustCompile(`^\d{4}-\d{2}-\d{2}$`).MatchString(n.Date) {
		t.Errorf("sources %q of %q", n.Sources, n.Date)
	}
	for name, typ := range map[string]reflect.Type{
		"ComputeResource":               reflect.TypeFor[types.ComputeResource](),
		"EcsTaskProperties":             reflect.TypeFor[types.EcsTaskProperties](),
		"CreateComputeEnvironmentInput": reflect.TypeFor[awsbatch.CreateComputeEnvironmentInput](),
	} {
		if len(n.Structures[name]) == 0 {
			t.Errorf("%s has no newer members", name)
		}
		for member := range n.Structures[name] {
			if _, ok := typ.FieldByName(strings.ToUpper(member[:1]) + member[1:]); ok {
				t.Errorf("the Go SDK has %s.%s", name, member)
			}
		}
	}
	for _, v := range types.CRType("").Values() {
		if slices.Contains(n.Enumerations["CRType"], string(v)) {
			t.Errorf("the Go SDK has the type %s", v)
		}
	}
	if n.Structures["ComputeResource"]["managedInstancesProvider"] == "" {
		t.Error("ComputeResource lacks managedInstancesProvider")
	}
	if !IsTemplateMember("ComputeEnvironment.UpdatePolicy.TerminateJobsOnUpdate") || IsTemplateMember("ComputeEnvironment.Tags") {
		t.Error("IsTemplateMember does not tell members of templates from others")
	}
}

// TestTypes checks that every type in the data is one that readers understand.
func TestTypes(t *testing.T) {
	n := Get()
	for name, members := range n.Structures {
		for member, typ := range members {
			switch base := strings.Trim(typ, "[]{}"); {
			case base == "string", base == "number", base == "boolean", n.Structures[base] != nil, n.Enumerations[base] != nil:
			default:
				t.Errorf("%s.%s has type %s, which newer.json does not describe", name, member, typ)
			}
		}
	}
}
