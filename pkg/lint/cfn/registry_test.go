package cfn

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"

	"github.com/batchctl/batchctl/pkg/apimodel"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/lint/shape"
	"github.com/batchctl/batchctl/pkg/testtool"
)

func TestMain(m *testing.M) { testtool.Main(m) }

// registry prints the paths of all properties of the AWS Batch resources in
// CloudFormation's registry, as cfn-lint has it, without those that are read only.
const registry = `
import json
from cfnlint.schema import PROVIDER_SCHEMA_MANAGER as M
out = {}
for kind in ("JobDefinition", "JobQueue", "ComputeEnvironment", "SchedulingPolicy", "ConsumableResource", "QuotaShare", "ServiceEnvironment"):
    s = M.get_resource_schema("us-east-1", "AWS::Batch::" + kind).schema
    gone = set(p[len("/properties/"):].replace("/*", "").replace("/", ".") for p in s.get("readOnlyProperties", []))
    paths = []
    def walk(x, path, seen):
        while "$ref" in x:
            if x["$ref"] in seen: return
            seen = seen | {x["$ref"]}
            n = s
            for t in x["$ref"].lstrip("#/").split("/"): n = n[t]
            x = n
        if "items" in x: walk(x["items"], path, seen)
        for name, v in x.get("properties", {}).items():
            below = (path + "." + name).lstrip(".")
            if below not in gone:
                paths.append(below)
                walk(v, below, seen)
    walk({"properties": s["properties"]}, "", frozenset())
    out[kind] = paths
print(json.dumps(out))
`

// Every property that CloudFormation has is a member of the request, by the name that
// the mapping gives it, or is known to be CloudFormation's own.
func TestMembersOfRegistry(t *testing.T) {
	var all map[string][]string
	testtool.Long(t)
	testtool.Works(t, "python3", "-c", "import cfnlint")
	text, err := exec.Command("python3", "-c", registry).Output()
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	seen, own := 0, map[string]bool{}
	for kind, paths := range all {
		for _, path := range paths {
			seen++
			if apimodel.IsTemplateMember(kind + "." + path) {
				own[kind+"."+path] = true
				continue
			}
			s := shape.Of(batchResources["AWS::Batch::"+kind])
			for step := range strings.SplitSeq(path, ".") {
				for s != nil && s.Kind == jsontree.Array {
					s = s.Element
				}
				if s = s.Members[memberOf(step)]; s == nil {
					t.Errorf("%s.%s has no place in the request", kind, path)
					break
				}
			}
		}
	}
	for _, path := range apimodel.Get().Templates {
		if !own[path] {
			t.Logf("%s is not in the registry of this cfn-lint", path)
		}
	}
	if len(own) < 4 {
		t.Errorf("the registry has %d members that only CloudFormation has", len(own))
	}
	if seen < 300 {
		t.Errorf("only %d properties", seen)
	}
}
