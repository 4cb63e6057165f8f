package lint

import (
	"fmt"
	"maps"
	"strings"
	"sync"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/lint/shape"
)

// Authors write member names of Docker, Kubernetes, Slurm and ECS, or correct names in
// the wrong object. "Remove it" would be bad advice for both, since they need the value.

// foreignMembers lists the names in other tools for the members of a request, folded
// by shape.Fold.
var foreignMembers = sync.OnceValue(func() map[string]string {
	names := map[string]string{}
	for member, others := range map[string]string{
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
		for other := range strings.FieldsSeq(others) {
			names[other] = member
		}
	}
	return names
})

// foreignResources lists other names for the resources of resourceRequirements.
var foreignResources = map[string]string{
	"gpu": "GPU", "gpus": "GPU", "numgpus": "GPU", "gpucount": "GPU",
	"cpu": "VCPU", "cpus": "VCPU", "vcpu": "VCPU", "vcpus": "VCPU", "cores": "VCPU", "ncpus": "VCPU",
	"memory": "MEMORY", "mem": "MEMORY", "ram": "MEMORY", "memorymib": "MEMORY", "memorymb": "MEMORY", "memoryreservation": "MEMORY",
}

// absentMembers lists members that AWS Batch does not have, with the alternative.
var absentMembers = map[string]string{
	"entrypoint":       `put it first in "command", or into the image: AWS Batch cannot change an entry point`,
	"workdir":          `set WORKDIR in the image, or change the directory in "command"`,
	"workingdir":       `set WORKDIR in the image, or change the directory in "command"`,
	"workingdirectory": `set WORKDIR in the image, or change the directory in "command"`,
	"ports":            "remove the ports: a job can listen on all ports of its host or network interface",
	"portmappings":     "remove the ports: a job can listen on all ports of its host or network interface",
}

// unknownMember returns the hint and the fix for a member that the API does not have
// in the innermost of the objects around it.
func (f userFile) unknownMember(n *jsontree.Node, around []shape.Object) (hint string, fix *diag.Fix, isNew bool) {
	if n.Name == "waivers" && !f.compact() {
		return document.NoWaivers, nil, false
	}
	if isNote(n.Name) {
		return "remove it", f.remove(n), false
	}
	if hint, fix = knownMember(n, around); hint == "" {
		return "AWS Batch rejects a member that it does not have", nil, true
	}
	return hint, fix, false
}

// knownMember suggests the member that an unknown one stands for: another spelling, another tool's
// word, or a member of another object. The hint is empty if nothing resembles it.
func knownMember(n *jsontree.Node, around []shape.Object) (hint string, fix *diag.Fix) {
	in := around[len(around)-1]
	if n.Name == "name" && in.Shape.Members["jobDefinitionName"] != nil {
		return instead(n, in, "jobDefinitionName")
	}
	folded := shape.Fold(n.Name)
	if name := in.Shape.Folded(folded); name != "" {
		return instead(n, in, name)
	}
	if kind := foreignResources[folded]; kind != "" && (n.Is(jsontree.Number) || n.Is(jsontree.String)) {
		if path := in.Path("resourceRequirements"); path != nil {
			return requirementHint(n, in.Node.At(path...), kind, path), nil
		}
	}
	wanted := foreignMembers()[folded]
	if name := in.Shape.Folded(shape.Fold(wanted)); name != "" {
		hint, fix = instead(n, in, name)
		if nearIn(n.Name, maps.Keys(in.Shape.Members)) != name {
			fix = nil // the other tool may count in other units, or mean something else
		}
		return hint, fix
	}
	// Similar names come after correct names in the wrong object: "environment" next to
	// containerProperties is not a misspelling.
	for _, name := range []string{folded, shape.Fold(wanted)} {
		if hint := elsewhere(n, around, name); hint != "" {
			return hint, nil
		}
	}
	if hint := absentMembers[folded]; hint != "" {
		return hint, nil
	}
	if near := nearIn(n.Name, maps.Keys(in.Shape.Members)); near != "" {
		return instead(n, in, near)
	}
	return "", nil
}

// instead suggests another name of the same object for the member.
func instead(n *jsontree.Node, in shape.Object, name string) (hint string, fix *diag.Fix) {
	switch {
	case in.Node.Get(name) != nil:
		return "did you mean " + quote(name) + "? It exists already", nil
	case !n.Is(in.Shape.Members[name].Kind):
		return "write " + quote(name), nil // its value is of another type
	}
	return "write " + quote(name), rename(n, name)
}

// elsewhere names the object that has such a member: below, around or in SubmitJob.
func elsewhere(n *jsontree.Node, around []shape.Object, folded string) string {
	if folded == "" {
		return ""
	}
	in := around[len(around)-1]
	as := func(name, where string) string {
		if name == n.Name {
			return "it belongs " + where
		}
		return "write " + quote(name) + " " + where
	}
	if path := in.Path(folded); path != nil {
		// The last part of the path is the name as the API spells it.
		last := len(path) - 1
		return as(path[last], "in "+quote(strings.Join(path[:last], ".")))
	}
	for i := len(around) - 2; i >= 0; i-- {
		if name := around[i].Shape.Folded(folded); name != "" {
			where := "beside "
			if i == len(around)-2 {
				where = "one level up, beside "
			}
			return as(name, where+quote(around[i+1].Name))
		}
		if path := around[i].Path(folded); path != nil && i == 0 {
			last := len(path) - 1
			return as(path[last], "in "+quote(strings.Join(path[:last], ".")))
		}
	}
	if name := shape.Of(document.KindSubmitJob).Folded(folded); name != "" {
		return as(name, "in the request SubmitJob")
	}
	return ""
}

// requirementHint suggests an entry of resourceRequirements.
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
