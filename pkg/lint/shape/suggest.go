package shape

import (
	"fmt"
	"maps"
	"strconv"
	"strings"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// Authors write member names of Docker, Kubernetes, Slurm and ECS, or correct names in
// the wrong object. "Remove it" would be bad advice for both, since they need the value.

// foreignResources lists other names for the resources of resourceRequirements.
var foreignResources = map[string]string{
	"gpu": "GPU", "gpus": "GPU", "numgpus": "GPU", "gpucount": "GPU",
	"cpu": "VCPU", "cpus": "VCPU", "vcpu": "VCPU", "vcpus": "VCPU", "cores": "VCPU", "ncpus": "VCPU",
	"memory": "MEMORY", "mem": "MEMORY", "ram": "MEMORY", "memorymib": "MEMORY", "memorymb": "MEMORY",
	"memoryreservation": "MEMORY",
}

// absentMembers returns members that AWS Batch does not have, folded, with the alternative, in
// which %s stands for the member command.
var absentMembers = map[string]string{
	"entrypoint":       "put it first in %s, or into the image: AWS Batch cannot change an entry point",
	"workdir":          "set WORKDIR in the image, or change the directory in %s",
	"workingdir":       "set WORKDIR in the image, or change the directory in %s",
	"workingdirectory": "set WORKDIR in the image, or change the directory in %s",
	"ports":            "remove the ports: a job can listen on all ports of its host or network interface",
	"portmappings":     "remove the ports: a job can listen on all ports of its host or network interface",
}

// Suggestion is what to do about a member that a request does not have.
type Suggestion struct {
	// Hint is empty if nothing resembles the member.
	Hint string
	// Meant is the member of the same object that it stands for, as the API spells it; "" if there is none.
	Meant string
	// Renames means that only the name is wrong: Meant can have this value, in the same unit.
	Renames bool
}

// Suggest suggests the member that an unknown one stands for, given the objects around it as Object.Unknown passes
// them: another spelling, another tool's word, or a member of another object.
func Suggest(n *jsontree.Node, around []Object) Suggestion {
	in := around[len(around)-1]
	if strings.EqualFold(n.Name, "name") && in.Shape.Members["jobDefinitionName"] != nil {
		return in.instead(n, "jobDefinitionName")
	}
	folded := Fold(n.Name)
	if folded == "valuefrom" && Fold(in.Name) == "environment" {
		return Suggestion{Hint: "it belongs in " + diag.Quote(in.spelling("secrets"))}
	}
	if name := in.Shape.Folded(folded); name != "" {
		return in.instead(n, name)
	}
	if kind := foreignResources[folded]; kind != "" && (n.Is(jsontree.Number) || n.Is(jsontree.String)) {
		if path := in.Path("resourceRequirements"); path != nil {
			return Suggestion{Hint: in.requirementHint(n, kind, path)}
		}
	}
	wanted := document.MemberOfTool(n.Name)
	if name := in.Shape.Folded(Fold(wanted)); name != "" {
		s := in.instead(n, name)
		// The other tool may count in other units, or mean something else.
		if s.Renames && diag.Near(n.Name, maps.Keys(in.Shape.Members)) != name {
			return Suggestion{Hint: "did you mean " + diag.Quote(in.spelling(name)) + "?", Meant: name}
		}
		return s
	}
	near := diag.Near(n.Name, maps.Keys(in.Shape.Members))
	if wanted != "" && strings.HasPrefix(Fold(near), folded) {
		return in.instead(n, near) // serviceAccount of a pod is serviceAccountName, and no role of a container
	}
	// Other similar names come after correct names in the wrong object: "environment" next to
	// containerProperties is not a misspelling.
	for _, name := range []string{folded, Fold(wanted)} {
		if hint := elsewhere(n, around, name); hint != "" {
			return Suggestion{Hint: hint}
		}
	}
	if hint := absentMembers[folded]; hint != "" {
		return Suggestion{Hint: strings.ReplaceAll(hint, "%s", diag.Quote(in.spelling("command")))}
	}
	if near != "" {
		return in.instead(n, near)
	}
	return Suggestion{}
}

// IsNote reports whether a member is a comment, by its name.
func IsNote(name string) bool {
	return strings.HasPrefix(name, "_") || strings.HasPrefix(name, "//") || strings.HasPrefix(name, "#") ||
		strings.HasPrefix(strings.ToLower(name), "comment")
}

// spelling returns the name of a member as the document writes it.
func (o Object) spelling(member string) string {
	if o.Spell == nil {
		return member
	}
	return o.Spell(member)
}

// spelledPath returns a path as the document writes it, with dots.
func (o Object) spelledPath(path []string) string {
	var names []string
	for _, name := range path {
		names = append(names, o.spelling(name))
	}
	return strings.Join(names, ".")
}

// instead suggests another name of the same object for the member.
func (o Object) instead(n *jsontree.Node, name string) Suggestion {
	spelled := o.spelling(name)
	if o.Node.Get(spelled) != nil {
		return Suggestion{Hint: "did you mean " + diag.Quote(spelled) + "? It exists already"}
	}
	if !n.Is(o.Shape.Members[name].Kind) {
		return Suggestion{Hint: "did you mean " + diag.Quote(spelled) + "?", Meant: name}
	}
	return Suggestion{Hint: "write " + diag.Quote(spelled), Meant: name, Renames: true}
}

// elsewhere names the object that has such a member: below, around or in SubmitJob.
func elsewhere(n *jsontree.Node, around []Object, folded string) string {
	if folded == "" {
		return ""
	}
	in := around[len(around)-1]
	as := func(name, where string) string {
		if name = in.spelling(name); name != n.Name {
			return "it belongs " + where + ", as " + diag.Quote(name)
		}
		return "it belongs " + where
	}
	inside := func(o Object, path []string) string {
		// The last part of the path is the name as the API spells it.
		last := len(path) - 1
		return as(path[last], "in "+diag.Quote(o.spelledPath(path[:last])))
	}
	if path := in.Path(folded); path != nil {
		return inside(in, path)
	}
	if n.Name == in.Name && n.Is(jsontree.Object) {
		return "write its members in the " + diag.Quote(in.Name) + " around it"
	}
	for i := len(around) - 2; i >= 0; i-- {
		if name := around[i].Shape.Folded(folded); name != "" {
			where := "beside "
			if i == len(around)-2 {
				where = "one level up, beside "
			}
			return as(name, where+diag.Quote(around[i+1].Name))
		}
		if path := around[i].Path(folded); path != nil && i == 0 {
			return inside(around[i], path)
		}
	}
	if name := Of(document.KindSubmitJob).Folded(folded); name != "" {
		return as(name, "in the request SubmitJob")
	}
	return ""
}

// requirementHint suggests an entry of the list of resource requirements at a path.
func (o Object) requirementHint(n *jsontree.Node, kind string, path []string) string {
	list := o.Node
	for _, name := range path {
		list = list.Get(o.spelling(name))
	}
	where := diag.Quote(o.spelledPath(path))
	if list.With(o.spelling("type"), kind) != nil {
		return fmt.Sprintf("change the %s in %s", kind, where)
	}
	value := "..."
	if _, err := strconv.ParseUint(n.Text, 10, 32); err == nil {
		value = n.Text
	}
	return fmt.Sprintf(`list it as { %q: %q, %q: %q } in %s`, o.spelling("type"), kind, o.spelling("value"), value,
		where)
}
