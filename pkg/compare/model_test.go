package compare

import (
	"encoding/json"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/wire"
)

// filled returns a value of a shape of the API with all its members, as JSON. Lists have one element.
func filled(t reflect.Type) any {
	switch t.Kind() {
	case reflect.Pointer:
		return filled(t.Elem())
	case reflect.Struct:
		object := map[string]any{}
		for f := range t.Fields() {
			if f.IsExported() && f.Name != "ResultMetadata" {
				object[strings.ToLower(f.Name[:1])+f.Name[1:]] = filled(f.Type)
			}
		}
		return object
	case reflect.Slice:
		return []any{filled(t.Elem())}
	case reflect.Map:
		return map[string]any{"key": filled(t.Elem())}
	case reflect.Bool:
		return true
	case reflect.String:
		if values := reflect.Zero(t).MethodByName("Values"); values.IsValid() {
			return values.Call(nil)[0].Index(0).String()
		}
		return "a"
	}
	return float64(3)
}

// leafPaths lists the paths of the scalars in a value; those in lists have no index.
func leafPaths(path string, value any) (all []string) {
	switch v := value.(type) {
	case map[string]any:
		for name, member := range v {
			all = append(all, leafPaths(strings.TrimPrefix(path+"."+name, "."), member)...)
		}
		return all
	case []any:
		return leafPaths(path, v[0])
	}
	return []string{path}
}

// with returns a copy of a value with another scalar at a path.
func with(value any, path []string) any {
	switch v := value.(type) {
	case map[string]any:
		object := map[string]any{}
		for name, member := range v {
			if object[name] = member; name == path[0] {
				object[name] = with(member, path[1:])
			}
		}
		return object
	case []any:
		return []any{with(v[0], path)}
	case bool:
		return !v
	case string:
		return v + "-other"
	}
	return value.(float64) + 1
}

// TestEveryMember changes each member of RegisterJobDefinition and of SubmitJob in turn. diff names it, and no other.
func TestEveryMember(t *testing.T) {
	register := filled(reflect.TypeFor[awsbatch.RegisterJobDefinitionInput]()).(map[string]any)
	submit := filled(reflect.TypeFor[awsbatch.SubmitJobInput]()).(map[string]any)
	register["container"], submit["schedulingPriority"] = register["containerProperties"], submit["schedulingPriorityOverride"]
	// The description of a job has the overrides in the place of what they replace. jobDefinition names the definition,
	// and DescribeJobs has no more of it than these.
	for _, absent := range []string{"containerProperties", "jobDefinitionName", "resourceRetentionPolicy", "type"} {
		delete(register, absent)
	}
	description := map[string]any{}
	for name, value := range submit {
		if !strings.Contains(name, "Override") {
			description[name] = value
		}
	}
	for name, value := range register {
		description[name] = value
	}
	index := regexp.MustCompile(`\[[^]]*\]`)
	paths := leafPaths("", description)
	slices.Sort(paths)
	run := func(description any) Run {
		text, err := json.Marshal(description)
		if err != nil {
			t.Fatal(err)
		}
		var job types.JobDetail
		if err := wire.Unmarshal(text, &job); err != nil {
			t.Fatal(err)
		}
		return Run{Job: job}
	}
	good, named := run(description), 0
	for _, path := range paths {
		c := compared(t, good, run(with(description, strings.Split(path, "."))))
		if path == "dependsOn.jobId" { // differs in every run
			if len(c.Changes) > 0 {
				t.Errorf("%s is a change: %+v", path, c.Changes)
			}
			continue
		}
		parent := path[:max(strings.LastIndex(path, "."), 0)]
		found := len(c.Changes) > 0
		for _, change := range c.Changes { // the name of an element identifies it, so another name is another element
			at := index.ReplaceAllString(change.Path, "")
			found = found && (at == path || at == parent || strings.HasPrefix(at, parent+"."))
		}
		if !found {
			t.Errorf("changed %s: diff names %+v", path, c.Changes)
			continue
		}
		named++
	}
	if named < 200 {
		t.Errorf("only %d of %d members are named", named, len(paths))
	}
	t.Logf("%d of %d members are named", named, len(paths))
}
