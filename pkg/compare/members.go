package compare

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/client"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/stage"
	"github.com/batchctl/batchctl/pkg/sweep"
	"github.com/batchctl/batchctl/pkg/wire"
)

// scope is which members of two runs can be compared.
type scope int

const (
	// whole is the descriptions of both jobs.
	whole scope = iota
	// defined is the container of the definition, for a job that the service has forgotten.
	defined
	// recorded is what the record of attempts has.
	recorded
)

// scopeOf returns the scope of two runs: that of the one of which less is known.
func scopeOf(runs ...Run) scope {
	s := whole
	for _, r := range runs {
		switch {
		case r.Forgotten && r.Definition == nil:
			return recorded
		case r.Forgotten:
			s = defined
		}
	}
	return s
}

// unknown says what could not be compared.
func unknown(good, bad Run, s scope) (list []string) {
	switch s {
	case defined:
		list = append(list, "overrides of the submission, tags and parameters: the target no longer has both jobs")
	case recorded:
		list = append(list, "command, environment, inputs and other members: the target no longer has both jobs and their definitions")
	}
	image := imageOf(good)
	if !haveDigests(good, bad) && image != "" && image == imageOf(bad) && !strings.Contains(image, "@") {
		list = append(list, fmt.Sprintf("the content of the image: both runs name %s, but a tag can change; a digest (image@sha256:...) cannot", image))
	}
	if (good.last().InstanceType == "") != (bad.last().InstanceType == "") {
		list = append(list, "the instance type: it is recorded for only one of the runs")
	}
	return list
}

// imageOf returns the image of a run; "" if it is unknown.
func imageOf(r Run) string {
	if c := r.Job.Container; c != nil && aws.ToString(c.Image) != "" {
		return aws.ToString(c.Image)
	}
	if d := r.Definition; d != nil && d.ContainerProperties != nil {
		return aws.ToString(d.ContainerProperties.Image)
	}
	return r.last().Image
}

// perRun are the members of a job's description that differ in every run, or say how it went, by the path of the object
// that has them. All others are what was asked for.
func perRun(path string) []string {
	switch path {
	case "":
		return []string{"attempts", "createdAt", "eksAttempts", "isCancelled", "isTerminated", "jobArn", "jobId",
			"nodeDetails", "startedAt", "status", "statusReason", "stoppedAt"}
	case "container":
		return []string{"containerInstanceArn", "exitCode", "logStreamName", "networkInterfaces", "reason", "taskArn"}
	case "dependsOn":
		return []string{"jobId"}
	case "arrayProperties":
		return []string{"statusSummary", "statusSummaryLastUpdatedAt"}
	case "ecsProperties.taskProperties":
		return []string{"containerInstanceArn", "taskArn"}
	case "ecsProperties.taskProperties.containers":
		return []string{"exitCode", "logStreamName", "networkInterfaces", "reason"}
	case "eksProperties.podProperties":
		return []string{"nodeName", "podName"}
	case "eksProperties.podProperties.containers", "eksProperties.podProperties.initContainers":
		return []string{"exitCode", "reason"}
	case "tags", "parameters": // batchctl's own
		return []string{client.RunTag, client.SubmissionTag, batch.DirectoryParameter}
	}
	return nil
}

// haveDigests reports whether the digests of both images are recorded.
func haveDigests(good, bad Run) bool {
	return len(good.last().ImageDigests) > 0 && len(bad.last().ImageDigests) > 0
}

// textsOf returns an object of texts.
func textsOf(texts map[string]string) *jsontree.Node {
	object := jsontree.NewObject(nil)
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		object.Set(name, jsontree.NewString(texts[name], nil))
	}
	return object
}

// document returns the members of the run that another can have in common. The digests of images are only members if
// both runs have them.
func (r Run) document(s scope, digests bool) (*jsontree.Node, error) {
	object := jsontree.NewObject(nil)
	switch s {
	case whole:
		described, err := nodeOf(r.Job)
		if err != nil {
			return nil, err
		}
		for m := range described.Children() {
			if m.Name != "jobQueue" && m.Name != "jobDefinition" && !slices.Contains(perRun(""), m.Name) {
				set(object, m.Name, cleaned(m, m.Name))
			}
		}
	case defined:
		described, err := r.definition()
		if err != nil {
			return nil, err
		}
		for m := range described.Children() {
			name := strings.Replace(m.Name, "containerProperties", "container", 1)
			if slices.Contains(ofDefinitions[:], name) {
				set(object, name, cleaned(m, name))
			}
		}
		retries := object.Get("retryStrategy")
		if n := retries.Get("attempts"); n != nil && n.Text == "1" { // AWS Batch adds the default to a job
			retries.Remove(n)
		}
	default:
		r.recordedMembers(object)
	}
	text := func(name, value string) {
		if value != "" {
			object.Set(name, jsontree.NewString(value, nil))
		}
	}
	text("jobDefinition", batch.Name(aws.ToString(r.Job.JobDefinition)))
	text("jobQueue", batch.Name(aws.ToString(r.Job.JobQueue)))
	last := r.last()
	text("instanceType", last.InstanceType)
	if last.Spot != nil {
		text("purchase", map[bool]string{true: "Spot", false: "on demand"}[*last.Spot])
	}
	if digests {
		object.Set("imageDigests", textsOf(last.ImageDigests))
	}
	if len(r.Cell) > 0 {
		object.Set("cell", textsOf(r.Cell))
	}
	return object, nil
}

// recordedMembers adds what the record of attempts has.
func (r Run) recordedMembers(object *jsontree.Node) {
	container := jsontree.NewObject(nil)
	if image := imageOf(r); image != "" {
		container.Set("image", jsontree.NewString(image, nil))
	}
	requested := r.last().Requested
	list := jsontree.NewArray(nil)
	for _, need := range []struct {
		kind  string
		value float64
	}{{"VCPU", requested.VCPUs}, {"MEMORY", float64(requested.MemoryMiB)}, {"GPU", float64(requested.GPUs)}} {
		if need.value == 0 {
			continue
		}
		entry := jsontree.NewObject(nil)
		entry.Set("type", jsontree.NewString(need.kind, nil))
		entry.Set("value", jsontree.NewString(strconv.FormatFloat(need.value, 'f', -1, 64), nil))
		list.Append(entry)
	}
	if list.Len() > 0 {
		container.Set("resourceRequirements", list)
	}
	set(object, "container", container)
}

// ofDefinitions are the members that a definition and the description of a job have in common.
var ofDefinitions = [...]string{"container", "ecsProperties", "eksProperties", "nodeProperties", "retryStrategy",
	"timeout", "platformCapabilities", "schedulingPriority", "propagateTags",
	"consumableResourceProperties"}

// definition returns the description of the job, or the definition of a forgotten one.
func (r Run) definition() (*jsontree.Node, error) {
	if !r.Forgotten {
		return nodeOf(r.Job)
	}
	return nodeOf(*r.Definition)
}

// nodeOf returns a shape of the SDK with the names of the API.
func nodeOf(shape any) (*jsontree.Node, error) {
	text, err := wire.Marshal(shape)
	if err != nil {
		return nil, err
	}
	root, problems := jsontree.Parse(diag.NewSource("", string(text)))
	if problems.HasErrors() {
		return nil, problems[0]
	}
	return root, nil
}

// set adds a member unless it is empty.
func set(object *jsontree.Node, name string, value *jsontree.Node) {
	if value != nil {
		object.Set(name, value)
	}
}

// cleaned returns a copy without the members that differ in every run. path is that of the value, without the indexes
// of lists. The document of batchctl stage becomes its inputs and outputs.
func cleaned(n *jsontree.Node, path string) *jsontree.Node {
	switch {
	case n == nil:
		return nil
	case n.Is(jsontree.Object):
		object := jsontree.NewObject(nil)
		for m := range n.Children() {
			if !slices.Contains(perRun(path), m.Name) {
				set(object, m.Name, cleaned(m, strings.TrimPrefix(path+"."+m.Name, ".")))
			}
		}
		addStaging(object, n.Get("environment"))
		return object
	case n.Is(jsontree.Array):
		if n.Name == "command" {
			return usersCommand(n)
		}
		list := jsontree.NewArray(nil)
		for e := range n.Children() {
			if n.Name == "environment" && isOfSubmission(e) {
				continue
			}
			// A dependency without its id says nothing, unless it has a type.
			if c := cleaned(e, path); c != nil && (path != "dependsOn" || c.Len() > 0) {
				list.Append(c)
			}
		}
		return list
	}
	return n.Clone()
}

// usersCommand returns a command without the launcher that gives the children of an array their values.
func usersCommand(n *jsontree.Node) *jsontree.Node {
	var command []string
	for e := range n.Children() {
		command = append(command, e.Text)
	}
	list := jsontree.NewArray(nil)
	own, _ := sweep.UserCommand(command)
	for _, element := range own {
		list.Append(jsontree.NewString(element, nil))
	}
	return list
}

// isOfSubmission reports whether a variable names the submission, or has the document that becomes inputs and outputs.
func isOfSubmission(variable *jsontree.Node) bool {
	name := variable.Get("name").Str()
	return name == client.SubmissionVariable || name == stage.Variable && stagingOf(variable) != nil
}

// stagingOf reads the document of batchctl stage; nil if the variable has none.
func stagingOf(variable *jsontree.Node) *stage.Document {
	var d stage.Document
	if json.Unmarshal([]byte(variable.Get("value").Str()), &d) != nil || d.Version == 0 {
		return nil
	}
	return &d
}

// addStaging adds the inputs and outputs of a container as members that are named by their paths.
func addStaging(container, environment *jsontree.Node) {
	for e := range environment.Children() {
		if e.Get("name").Str() != stage.Variable {
			continue
		}
		d := stagingOf(e)
		if d == nil {
			return
		}
		inputs, outputs := jsontree.NewArray(nil), jsontree.NewArray(nil)
		for _, in := range d.Inputs {
			inputs.Append(textObject("name", in.To, "from", in.From, "sha256", in.SHA256))
		}
		for _, out := range d.Outputs {
			outputs.Append(textObject("name", out.From, "to", out.To, "when", out.When))
		}
		container.Set("inputs", inputs)
		container.Set("outputs", outputs)
		return
	}
}

// textObject returns an object of pairs of names and texts, without empty ones.
func textObject(pairs ...string) *jsontree.Node {
	object := jsontree.NewObject(nil)
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			object.Set(pairs[i], jsontree.NewString(pairs[i+1], nil))
		}
	}
	return object
}

// leaves returns the paths of the members of a document and of its container, which have topics.
func leaves(document *jsontree.Node) (paths []string) {
	for m := range document.Children() {
		if m.Name != "container" {
			if m.Name != "dependsOn" || m.Len() > 0 {
				paths = append(paths, m.Name)
			}
			continue
		}
		for c := range m.Children() {
			if c.Name == "resourceRequirements" {
				for e := range c.Children() {
					paths = append(paths, "container.resourceRequirements["+e.Get("type").Str()+"]")
				}
			} else if c.Len() > 0 || c.Text != "" && c.Text != "false" {
				paths = append(paths, "container."+c.Name)
			}
		}
	}
	return paths
}

// topicOf returns the topic of a member by its path.
func topicOf(path string) string {
	has := func(prefixes ...string) bool {
		return slices.ContainsFunc(prefixes, func(p string) bool {
			rest, ok := strings.CutPrefix(path, p)
			return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
		})
	}
	// The container of a job, of a task and of a node have the same members.
	inner := path
	for _, container := range []string{"container.", "containers["} {
		if at := strings.LastIndex(path, container); at >= 0 {
			inner = path[at+len(container):]
			if container == "containers[" {
				_, inner, _ = strings.Cut(inner, "].")
			}
		}
	}
	member, _, _ := strings.Cut(inner, ".")
	member, key, _ := strings.Cut(member, "[")
	switch {
	case has("cell"):
		return "cell"
	case has("jobQueue"):
		return "queue"
	case has("jobDefinition"):
		return "definition"
	case has("jobName"):
		return "name"
	case has("imageDigests"):
		return digestTopic
	case has("instanceType", "purchase"):
		return "instance type"
	case has("timeout"):
		return "timeout"
	case has("retryStrategy"):
		return "retries"
	case has("tags", "propagateTags"):
		return "tags"
	case has("shareIdentifier", "schedulingPriority"):
		return "share"
	case has("parameters"):
		return "parameters"
	case has("arrayProperties"):
		return "array"
	case has("dependsOn"):
		return "dependencies"
	}
	if member == "environment" && strings.HasPrefix(key, sweep.DocumentVariable) { // and its URL
		return "array"
	}
	switch member {
	case "image", "command", "inputs", "outputs", "environment", "secrets", "memory", "vcpus":
		return member
	case "resourceRequirements":
		kinds := map[string]string{"MEMORY": "memory", "VCPU": "vcpus", "GPU": "gpus"}
		if topic := kinds[strings.TrimSuffix(key, "]")]; topic != "" {
			return topic
		}
	}
	return "container"
}
