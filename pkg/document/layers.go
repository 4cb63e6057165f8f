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

// means is how a job says what runs.
type means uint8

const (
	byNothing  means = iota
	byImage          // a container of its own: image, or jobDefinition.containerProperties
	byName           // definition, which is registered
	byFragment       // jobDefinition with ecsProperties, eksProperties or nodeProperties
)

// meansOf says what the members of one layer decide.
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

func fragmentName(jobDefinition *jsontree.Node) string {
	for _, name := range [...]string{"ecsProperties", "eksProperties", "nodeProperties"} {
		if jobDefinition.Get(name) != nil {
			return name
		}
	}
	return ""
}

// foreign are the members that have no meaning for a job that says in this way
// what runs.
func (m means) foreign() []string {
	switch m {
	case byName:
		return append([]string{"image", "secrets", "platformCapabilities", "jobDefinition"}, containerMembers[:]...)
	case byFragment:
		return append([]string{"image", "definition", "command", "environment", "secrets", "resources", "inputs", "outputs"}, containerMembers[:]...)
	case byImage:
		return []string{"definition"} // of the defaults
	}
	return nil
}

// layers are the defaults that a job starts from; each may be nil.
type layers struct {
	platform, workflow *jsontree.Node
	// faulty says that the file has breaches of its schema, and lost that what
	// runs is among them.
	faulty, lost bool
	// spoilt says that a breach is in an array, and references that a text of the file
	// or of the platform's may refer to the values of one.
	spoilt, references bool
}

// under lays a job on top of the defaults. What runs is decided by the
// topmost layer that says it. Defaults below that are meant for jobs of another
// kind and fall away without a word.
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

// submitMembers are the defaults of the platform that reach a job with a
// registered definition. The others would replace what that definition says.
var submitMembers = [...]string{"queue", "tags", "shareIdentifier", "submitJob"}

// lay merges over onto n. A member of both takes the place that it has in over. A map and
// AWS's list of the same variables are two forms of the same thing, so they are merged too.
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

// layArray merges arrays, but of what says what the children are only one can count.
func layArray(below, above *jsontree.Node) *jsontree.Node {
	if above.Get("size") == nil && ArraySource(above) == nil {
		return jsontree.Merge(below, above)
	}
	return jsontree.Merge(without(below, []string{"size", "matrix", "exclude", "include", "table", "commands"}), above)
}

// withoutIdleArray drops an array of the defaults that says how children are started
// and not what they are: it is meant for the jobs that are arrays.
func withoutIdleArray(merged, job *jsontree.Node) *jsontree.Node {
	array := merged.Get("array")
	if array == nil || job.Get("array") != nil || array.Get("size") != nil || ArraySource(array) != nil {
		return merged
	}
	return without(merged, []string{"array"})
}

func settle(out, over *jsontree.Node) {
	out.Source, out.Span, out.Key = over.Source, over.Span, over.Key
	for m := range over.Children() {
		if both := out.Get(m.Name); both.Is(jsontree.Object) {
			settle(both, m)
		}
	}
}

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

// NoWaivers is what to do about waivers in an AWS request.
const NoWaivers = "AWS requests cannot contain waivers: convert it to a job file (batchctl convert), or list the problem in a baseline (validate --write-baseline FILE)"

// waiversOf returns the waivers of the layers, those of the first layer first.
func waiversOf(layers ...*jsontree.Node) (list []Waiver) {
	for _, layer := range layers {
		for n := range layer.Get("waivers").Children() {
			list = append(list, Waiver{Rule: n.Get("rule").Str(), Reason: n.Get("reason").Str(), Until: n.Get("until").Str(), Node: n})
		}
	}
	return list
}
