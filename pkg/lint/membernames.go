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

// suggestion is what to do about a member that the API does not have.
type suggestion struct {
	hint string
	fix  *diag.Fix
	// meant is the member of the same object that it stands for; "" if there is none.
	meant string
}

// unknownMember returns what to do about a member that the API does not have in the innermost of the
// objects around it.
func (f userFile) unknownMember(n *jsontree.Node, around []shape.Object) (s suggestion, isNew bool) {
	if n.Name == "waivers" && !f.compact() {
		return suggestion{hint: document.NoWaivers}, false
	}
	if isNote(n.Name) {
		return suggestion{hint: "remove it", fix: f.remove(n)}, false
	}
	if s = knownMember(n, around); s.hint == "" {
		return suggestion{hint: "AWS Batch rejects a member that it does not have"}, true
	}
	return s, false
}

// knownMember suggests the member that an unknown one stands for: another spelling, another tool's
// word, or a member of another object. The hint is empty if nothing resembles it.
func knownMember(n *jsontree.Node, around []shape.Object) suggestion {
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
			return suggestion{hint: requirementHint(n, in.Node.At(path...), kind, path)}
		}
	}
	wanted := foreignMembers()[folded]
	if name := in.Shape.Folded(shape.Fold(wanted)); name != "" {
		s := instead(n, in, name)
		if nearIn(n.Name, maps.Keys(in.Shape.Members)) != name {
			s.fix = nil // the other tool may count in other units, or mean something else
		}
		return s
	}
	// Similar names come after correct names in the wrong object: "environment" next to
	// containerProperties is not a misspelling.
	for _, name := range []string{folded, shape.Fold(wanted)} {
		if hint := elsewhere(n, around, name); hint != "" {
			return suggestion{hint: hint}
		}
	}
	if hint := absentMembers[folded]; hint != "" {
		return suggestion{hint: hint}
	}
	if near := nearIn(n.Name, maps.Keys(in.Shape.Members)); near != "" {
		return instead(n, in, near)
	}
	return suggestion{}
}

// instead suggests another name of the same object for the member.
func instead(n *jsontree.Node, in shape.Object, name string) suggestion {
	switch {
	case in.Node.Get(name) != nil:
		return suggestion{hint: "did you mean " + quote(name) + "? It exists already"}
	case !n.Is(in.Shape.Members[name].Kind):
		return suggestion{hint: "write " + quote(name), meant: name} // its value is of another type
	}
	return suggestion{"write " + quote(name), rename(n, name), name}
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
	if list.With("type", kind) != nil {
		return fmt.Sprintf("change the %s in %s", kind, where)
	}
	value := "..."
	if isWhole(n.Text) && len(n.Text) < 10 {
		value = n.Text
	}
	return fmt.Sprintf(`write { "type": %q, "value": %q } in %s`, kind, value, where)
}
