package lint

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// Authors write the names of Docker, Kubernetes, Slurm and ECS, and right names in the
// wrong object. "Remove it" is bad advice for both: the value is meant.

var submitShape = sync.OnceValue(func() *shape {
	return shapeOf(reflect.TypeFor[awsbatch.SubmitJobInput](), map[reflect.Type]*shape{})
})

// foreignMembers holds what other tools call the members of a request, with their names
// folded by foldName.
var foreignMembers = sync.OnceValue(func() map[string]string {
	names := map[string]string{}
	for member, words := range map[string]string{
		"attempts":               "retries retry maxattempts maxretries retrycount maxretrycount backofflimit restartpolicy",
		"attemptDurationSeconds": "seconds timeoutseconds attemptduration duration activedeadlineseconds walltime maxruntime timelimit",
		"command":                "cmd args arguments script run",
		"dependsOn":              "dependencies dependency needs after",
		"environment":            "env envs envvars envvariables environmentvariables",
		"executionRoleArn":       "executionrole taskexecutionrole taskexecutionrolearn",
		"image":                  "imagename imageuri dockerimage containerimage container",
		"jobDefinitionName":      "definitionname jobdefinition family",
		"jobQueue":               "queue queuename partition",
		"jobRoleArn":             "role rolearn jobrole taskrole taskrolearn iamrole serviceaccount",
		"arrayProperties":        "array arraysize",
		"logConfiguration":       "logging logs logconfig",
		"mountPoints":            "mounts",
		"parameters":             "params",
		"platformCapabilities":   "platform requirescompatibilities",
		"resourceRequirements":   "resources",
		"schedulingPriority":     "priority",
		"shareIdentifier":        "share fairshare",
		"sharedMemorySize":       "shm shmsize sharedmemory",
		"tags":                   "labels",
		"user":                   "username runasuser uid",
	} {
		for word := range strings.FieldsSeq(words) {
			names[word] = member
		}
	}
	return names
})

// foreignResources holds the words for what an entry of resourceRequirements asks for.
var foreignResources = map[string]string{
	"gpu": "GPU", "gpus": "GPU", "numgpus": "GPU", "gpucount": "GPU",
	"cpu": "VCPU", "cpus": "VCPU", "vcpu": "VCPU", "vcpus": "VCPU", "cores": "VCPU", "ncpus": "VCPU",
	"memory": "MEMORY", "mem": "MEMORY", "ram": "MEMORY", "memorymib": "MEMORY", "memorymb": "MEMORY", "memoryreservation": "MEMORY",
}

// absentMembers holds what AWS Batch has no member for, with the way to do it.
var absentMembers = map[string]string{
	"entrypoint":       `put it first in "command", or into the image: AWS Batch cannot change an entry point`,
	"workdir":          `set WORKDIR in the image, or change the directory in "command"`,
	"workingdir":       `set WORKDIR in the image, or change the directory in "command"`,
	"workingdirectory": `set WORKDIR in the image, or change the directory in "command"`,
	"ports":            "leave the ports out: a job listens on those of its host or network interface",
	"portmappings":     "leave the ports out: a job listens on those of its host or network interface",
}

// foldName returns a name without case and separators.
func foldName(name string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(name))
}

// holder is an object of a request, or the place of one, with the members that the API has there.
type holder struct {
	node  *jsontree.Node
	shape *shape
	name  string // of the member that holds it
}

// unknownMember returns what to do about a member that the API does not have in the
// innermost of the objects around it.
func (j Job) unknownMember(n *jsontree.Node, around []holder) (hint string, fix *diag.Fix) {
	in := around[len(around)-1]
	if n.Name == "waivers" && !j.compact() {
		return document.NoWaivers, nil
	}
	if isNote(n.Name) {
		return "remove it", Site{Job: j}.remove(n)
	}
	if n.Name == "name" && in.shape.members["jobDefinitionName"] != nil {
		return instead(n, in, "jobDefinitionName")
	}
	word := foldName(n.Name)
	if name := in.shape.folded(word); name != "" {
		return instead(n, in, name)
	}
	if kind := foreignResources[word]; kind != "" && (n.Is(jsontree.Number) || n.Is(jsontree.String)) {
		if path := in.path("resourceRequirements"); path != nil {
			return requirementHint(n, in.node.At(path...), kind, path), nil
		}
	}
	wanted := foreignMembers()[word]
	if name := in.shape.folded(foldName(wanted)); name != "" {
		hint, fix = instead(n, in, name)
		if nearIn(n.Name, maps.Keys(in.shape.members)) != name {
			fix = nil // the other tool may count in other units, or mean something else
		}
		return hint, fix
	}
	// Near words come after right names in the wrong object: "environment" beside
	// containerProperties is no misspelling.
	for _, name := range []string{word, foldName(wanted)} {
		if hint := elsewhere(n, around, name); hint != "" {
			return hint, nil
		}
	}
	if hint := absentMembers[word]; hint != "" {
		return hint, nil
	}
	if near := nearIn(n.Name, maps.Keys(in.shape.members)); near != "" {
		return instead(n, in, near)
	}
	return "remove it", Site{Job: j}.remove(n)
}

// instead advises to give the member another name of the same object.
func instead(n *jsontree.Node, in holder, name string) (hint string, fix *diag.Fix) {
	switch {
	case in.node.Get(name) != nil:
		return "did you mean " + quote(name) + "? It is there already", nil
	case !n.Is(in.shape.members[name].kind):
		return "write " + quote(name), nil // its value is of another type
	}
	return "write " + quote(name), rename(n, name)
}

// elsewhere names the object that has such a member: below, around or in SubmitJob.
func elsewhere(n *jsontree.Node, around []holder, word string) string {
	if word == "" {
		return ""
	}
	in := around[len(around)-1]
	as := func(name, where string) string {
		if name == n.Name {
			return "it belongs " + where
		}
		return "write " + quote(name) + " " + where
	}
	if path := in.path(word); path != nil {
		last := len(path) - 1
		return as(path[last], "in "+quote(strings.Join(path[:last], ".")))
	}
	for i := len(around) - 2; i >= 0; i-- {
		if name := around[i].shape.folded(word); name != "" {
			where := "beside "
			if i == len(around)-2 {
				where = "one level up, beside "
			}
			return as(name, where+quote(around[i+1].name))
		}
		if path := around[i].path(word); path != nil && i == 0 {
			last := len(path) - 1
			return as(path[last], "in "+quote(strings.Join(path[:last], ".")))
		}
	}
	if name := submitShape().folded(word); name != "" {
		return as(name, "in the request SubmitJob")
	}
	return ""
}

// requirementHint writes an entry of resourceRequirements.
func requirementHint(n, list *jsontree.Node, kind string, path []string) string {
	where := quote(strings.Join(path, "."))
	for entry := range list.Children() {
		if entry.Get("type").Str() == kind {
			return fmt.Sprintf("change the %s in %s", kind, where)
		}
	}
	value := "..."
	if isWhole(n.Text) && len(n.Text) < 10 {
		value = n.Text
	}
	return fmt.Sprintf(`write { "type": %q, "value": %q } in %s`, kind, value, where)
}

// deepest bounds how far below an object a name is looked for.
const deepest = 3

// names returns the index of the members at and below an object: folded names to the
// shortest paths without lists, of which there can be several.
func (s *shape) names() map[string][][]string {
	s.indexed.Do(func() {
		s.index = map[string][][]string{}
		type step struct {
			shape *shape
			path  []string
		}
		level := []step{{shape: s}}
		for range deepest {
			var next []step
			for _, at := range level {
				for _, name := range slices.Sorted(maps.Keys(at.shape.members)) {
					path := append(slices.Clone(at.path), name)
					word := foldName(name)
					if known := s.index[word]; known == nil || len(known[0]) == len(path) {
						s.index[word] = append(known, path)
					}
					next = append(next, step{at.shape.members[name], path})
				}
			}
			level = next
		}
	})
	return s.index
}

// folded returns the member whose name folds to the word; "" if there is none.
func (s *shape) folded(word string) string {
	if paths := s.names()[word]; len(paths) > 0 && len(paths[0]) == 1 {
		return paths[0][0]
	}
	return ""
}

// path returns the shortest path to a member at or below the object whose name folds to
// the word, if possible along a member that the object has.
func (h holder) path(word string) []string {
	paths := h.shape.names()[foldName(word)]
	for _, path := range paths {
		if h.node.Get(path[0]) != nil {
			return path
		}
	}
	if len(paths) == 0 {
		return nil
	}
	return paths[0]
}
