package document

import (
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// containerMembers are the members that a job and ContainerProperties have under the same name
// and in the same form.
var containerMembers = [...]string{
	"jobRoleArn", "executionRoleArn", "user", "privileged", "readonlyRootFilesystem",
	"volumes", "mountPoints", "ulimits", "linuxParameters", "logConfiguration",
	"networkConfiguration", "fargatePlatformConfiguration", "ephemeralStorage",
	"runtimePlatform", "repositoryCredentials", "enableExecuteCommand",
}

// means is the way in which a job states what runs.
type means uint8

const (
	// Each layer of defaults may use another one of these ways.
	byNothing  means = iota
	byImage          // a container of its own: image, or jobDefinition.containerProperties
	byName           // definition, which is registered
	byFragment       // jobDefinition with ecsProperties, eksProperties or nodeProperties
)

// meansOf returns the way that one layer uses; byNothing if it does not state what runs.
func meansOf(layer *jsontree.Node) means {
	fragment := layer.Get("jobDefinition")
	switch {
	case layer.Get("definition") != nil:
		return byName
	case fragmentName(fragment) != "":
		return byFragment
	case layer.Get("image") != nil, fragment.Get("containerProperties").Get("image") != nil:
		return byImage
	}
	return byNothing
}

// fragmentName returns the member of a job definition that describes several containers, a
// pod or nodes; "" for a single container.
func fragmentName(jobDefinition *jsontree.Node) string {
	for _, name := range [...]string{"ecsProperties", "eksProperties", "nodeProperties"} {
		if jobDefinition.Get(name) != nil {
			return name
		}
	}
	return ""
}

// foreign returns the members that have no effect in a job that uses this way.
func (m means) foreign() []string {
	switch m {
	case byName:
		return append([]string{"image", "secrets", "platformCapabilities", "jobDefinition"}, containerMembers[:]...)
	case byFragment:
		return append([]string{"image", "definition", "command", "environment", "secrets", "resources", "inputs", "outputs", "checkpoint", "metrics", "onFailure"}, containerMembers[:]...)
	case byImage:
		return []string{"definition"} // of the defaults
	}
	return nil
}

// layers are the defaults that a job starts from; each may be nil.
type layers struct {
	platform, workflow *jsontree.Node
	// faulty is true if the file violates its schema. lost is true if the invalid part is
	// what runs.
	faulty, lost bool
	// spoilt is true if the invalid part is in an array. references is true if a text of
	// the file or of the platform's defaults may refer to the array's values.
	spoilt, references bool
	// unreadable lists the members of the job and its defaults whose values are left out; see File.Unreadable.
	unreadable []string
}

// under merges a job over its defaults. The topmost layer that states what runs decides.
// Defaults for jobs of another kind are then dropped without a message.
func (d layers) under(job *jsontree.Node) (*jsontree.Node, means) {
	if d.platform == nil && d.workflow == nil {
		return job, meansOf(job)
	}
	stack := [...]*jsontree.Node{d.platform, d.workflow, job}
	decided, top := byNothing, 0
	for i, layer := range stack {
		if m := meansOf(layer); m != byNothing {
			decided, top = m, i
		}
	}
	merged := jsontree.NewObject(job)
	for i, layer := range stack {
		switch {
		case i == 0 && decided == byName && top > 0:
			layer = only(layer, submitMembers[:])
		case i < top:
			layer = without(layer, decided.foreign())
		}
		merged = lay(merged, layer)
	}
	return withoutIdleArray(merged, job), decided
}

// submitMembers are the platform's defaults that apply to a job with a registered
// definition. The other defaults would replace members of that definition.
var submitMembers = [...]string{"queue", "tags", "shareIdentifier", "submitJob", "onFailure", "notify"}

// lay merges over onto n. A member of both has the location that it has in over. A map and
// AWS's list of the same variables are two forms of the same value, so they are merged
// too.
func lay(n, over *jsontree.Node) *jsontree.Node {
	if over == nil {
		return n
	}
	out := jsontree.Merge(n, over)
	for name, value := range map[string]string{"environment": "value", "secrets": "valueFrom"} {
		below, above := n.Get(name), over.Get(name)
		if below != nil && above != nil && below.Kind != above.Kind {
			out.Set(name, jsontree.Merge(asMap(below, value), asMap(above, value)))
		}
	}
	for _, name := range [...]string{"inputs", "outputs"} {
		// The source for a container path and its options belong together.
		for m := range over.Get(name).Children() {
			out.Get(name).Set(m.Name, m.Clone())
		}
	}
	if below, above := n.Get("array"), over.Get("array"); below != nil && above != nil {
		out.Set("array", layArray(below, above))
	}
	settle(out, over)
	return out
}

// layArray merges arrays. Only one of the members that define the children can apply.
func layArray(below, above *jsontree.Node) *jsontree.Node {
	if above.Get("size") == nil && ArraySource(above) == nil {
		return jsontree.Merge(below, above)
	}
	return jsontree.Merge(without(below, []string{"size", "matrix", "exclude", "include", "table", "commands"}), above)
}

// withoutIdleArray drops an array of the defaults that only says how children are started:
// it is for jobs that are arrays.
func withoutIdleArray(merged, job *jsontree.Node) *jsontree.Node {
	array := merged.Get("array")
	if array == nil || job.Get("array") != nil || array.Get("size") != nil || ArraySource(array) != nil {
		return merged
	}
	return without(merged, []string{"array"})
}

// settle gives objects that both sides have the location of the later one, at every depth.
func settle(out, over *jsontree.Node) {
	out.Source, out.Span, out.Key = over.Source, over.Span, over.Key
	for m := range over.Children() {
		if both := out.Get(m.Name); both.Is(jsontree.Object) {
			settle(both, m)
		}
	}
}

// asMap returns a list of names and values as a map from names to values.
func asMap(n *jsontree.Node, value string) *jsontree.Node {
	if n.Is(jsontree.Object) {
		return n
	}
	out := jsontree.NewObject(n)
	for entry := range n.Children() {
		if v := entry.Get(value).Clone(); v != nil {
			v.Key = entry.Get("name").Span
			out.Set(entry.Get("name").Str(), v)
		}
	}
	return out
}

// NoWaivers is the hint about waivers in an AWS request.
const NoWaivers = "AWS requests cannot contain waivers: add one to the platform file, or list the problem in a baseline (validate --write-baseline FILE)"

// waiversOf returns the waivers of the layers, those of the first layer first.
func waiversOf(layers ...*jsontree.Node) (list []Waiver) {
	for _, layer := range layers {
		for n := range layer.Get("waivers").Children() {
			list = append(list, Waiver{Rule: n.Get("rule").Str(), Reason: n.Get("reason").Str(), Until: n.Get("until").Str(), Node: n})
		}
	}
	return list
}
