package document

import (
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// class is what a member says about the object that has it.
type class uint8

const (
	unknown class = iota // no job and no request has it
	foreign              // files of other tools that can also have a name, an image and a command have it
	known                // jobs have it, and so have many other formats
	named                // a name
	textual              // a command that is a text and not a list
	strong               // of jobs, with the value of a job: few other formats have it
	bare                 // the image is a single word, with neither a registry nor a tag
	request              // of requests: few other formats have it
	native               // only requests of AWS Batch have it
	answer               // the output of an operation has it
	sized                // resources in the form of the job file
	other                // a mistake, or of another tool: no sign
	classes
)

// weights are the points for 0, 1 and more members of a class. Members of requests decide alone; members of a job are
// common words, so it takes several. Recipes and collections also have a name and an image of one word. TestOurFiles,
// TestUnclearFiles and TestForeignFiles have the documents that these numbers have to tell apart.
var weights = [classes][]int{
	unknown: {0, -7, -14, -17, -18, -22, -26, -31, -34},
	foreign: {0, -32, -84},
	known:   {0, 2, 4},
	named:   {0, 15},
	textual: {0, 3},
	strong:  {0, 19, 38, 90},
	bare:    {0, -8},
	request: {0, 15, 280},
	native:  {0, 150, 300},
	answer:  {0, -16},
}

// A document with that many points is one of batchctl, or may be one.
const (
	isOurs    = 23
	isUnclear = 20
)

// signs counts the members of each class.
type signs [classes]int

// signsOf counts the members of an object. It stops after mostMembers, as at a data file.
func signsOf(n *jsontree.Node) (s signs) {
	if !n.Is(jsontree.Object) {
		return s
	}
	read := 0
	for member := range n.Children() {
		if read++; read > mostMembers {
			s[unknown]++
			break
		}
		s.add(n, member)
	}
	return s
}

// verdict decides by the points of all members.
func (s signs) verdict() Recognition {
	if s[unknown] == 0 {
		s[bare] = 0 // only beside members of another tool, the image may be something else
	}
	points := 0
	for c, of := range weights {
		if len(of) > 0 {
			points += of[min(max(s[c], 0), len(of)-1)]
		}
	}
	switch {
	case points >= isOurs:
		return Ours
	case points >= isUnclear:
		return Unclear
	}
	return Foreign
}

// certain reports whether the signs suffice although something else speaks against them.
func (s signs) certain() bool {
	return s[native] > 0 || s[request] > 1 || s[strong] > 1 && s[sized] > 0 || s[strong] > 2
}

// add counts one member of the object n. A misspelt name counts as the one that is meant.
func (s *signs) add(n, member *jsontree.Node) {
	if strings.HasPrefix(member.Name, "$") {
		return
	}
	c := s.classOf(meant(n, member), member)
	switch s[c]++; c {
	case foreign:
		s[known] -= 2
	case bare, sized:
		s[strong]++
	}
}

// classOf returns the class of a member with a name, and counts what else its value says.
func (s *signs) classOf(name string, n *jsontree.Node) class {
	sign, ok := signOf()[name]
	isObject, isString := n.Is(jsontree.Object), n.Is(jsontree.String)
	switch {
	case !ok:
		switch shape := membersOf[KindJob]()[name]; {
		case shape == nil:
			return unknown
		case !shape.fitsSome(n):
			return other
		}
		return known
	case name == "name" && !isString, name == "retrystrategy" && !isObject:
		return known
	case name == "image" && (!isString || !isImage(n.Text)),
		name == "array" && !isObject,
		name == "command" && isObject,
		name == "definition" && (!isString || strings.ContainsAny(n.Text, " \n")):
		return unknown
	case name == "image" && !strings.ContainsAny(n.Text, ":/@$"):
		return bare
	case name == "command" && isString:
		return textual
	case name == "command" && !n.Is(jsontree.Array):
		return known
	case name == "resources":
		return s.ofResources(n)
	case (name == "jobdefinition" || name == "submitjob") && isObject:
		return strong // of a short job
	case name == "computeresources" && n.Get("maxvCpus") == nil && n.Get("instanceTypes") == nil &&
		n.Get("subnets") == nil && n.Get("type") == nil:
		return known
	}
	return sign.class
}

// ofResources distinguishes the resources of a job from those of Kubernetes and compose.
func (s *signs) ofResources(n *jsontree.Node) class {
	c := known
	if !n.Is(jsontree.Object) {
		return c
	}
	for r := range n.Children() {
		switch name := plain(r.Name); name {
		case "vcpus", "vcpu", "gpus", "sharedmemory":
			c = sized
		case "limits", "requests", "reservations":
			s[foreign] += 2
		case "memory", "cpu", "cpus", "gpu", "ram", "mem":
			if c != sized && !r.Is(jsontree.Object) { // a template names its own resources
				c = strong
			}
		default:
			if c != sized && !r.Is(jsontree.Object) &&
				diag.Near(r.Name, slices.Values([]string{"vcpus", "memory", "gpus"})) != "" {
				c = strong
			}
		}
	}
	return c
}

// isImage distinguishes the image of a container from a picture.
func isImage(ref string) bool {
	if ref == "" || strings.Contains(ref, "://") || strings.HasPrefix(ref, "data:") ||
		strings.ContainsAny(ref, " \n") || strings.Contains(ref, "devcontainers") {
		return false
	}
	switch strings.ToLower(path.Ext(ref)) {
	case ".png", ".jpg", ".jpeg", ".gif", ".svg", ".webp", ".ico", ".bmp", ".tif", ".tiff", ".avif", ".iso", ".img",
		".qcow2":
		return false
	}
	return true
}

// onlyOne is the weight of a member that only one kind of document has.
const onlyOne = 8

// sign is what the name of a member says.
type sign struct {
	class class
	// weight is the additional score of the member for one kind, or, without a kind, for all kinds that have it.
	weight int
	kind   Kind
}

// signOf holds the signs by the names of the members: those of foreign members as written, the others as plain returns
// them.
var signOf = sync.OnceValue(func() map[string]sign {
	all := map[string]sign{}
	for _, row := range signTable {
		for name := range strings.FieldsSeq(row.members) {
			if row.class != foreign {
				name = plain(name)
			}
			all[name] = row.sign
		}
	}
	return all
})

// signTable lists the members that tell documents of batchctl from others, and the kinds of documents from each other.
var signTable = [...]struct {
	sign
	members string
}{
	{sign{native, onlyOne, ""}, `containerProperties ecsProperties eksProperties nodeProperties computeEnvironmentOrder
		fairsharePolicy quotaSharePolicy computeResources`},
	{sign{native, 0, ""}, `jobDefinitionName computeEnvironmentName serviceEnvironmentOrder jobQueueName
		jobStateTimeLimitActions consumableResourceName unmanagedvCpus serviceEnvironmentName quotaShareName`},
	{sign{request, onlyOne, ""}, `containerOverrides`},
	{sign{request, 3, KindSubmitJob}, `jobQueue jobDefinition`},
	{sign{request, 0, ""}, `jobName arrayProperties submitJob`},
	{sign{strong, 3, KindJob}, `image command resources definition`},
	{sign{strong, 0, ""}, `array retryStrategy jobRoleArn vcpus resourceRequirements`},
	{sign{named, 0, ""}, `name`},
	{sign{known, 0, ""}, `platformCapabilities propagateTags shareIdentifier schedulingPriority jobQueueType
		resourceType serviceRole cpu cpus gpu gpus memory ram mem env args cmd entrypoint retries retry dockerImage`},
	{sign{answer, 0, ""}, `jobDefinitionArn jobQueueArn computeEnvironmentArn consumableResourceArn jobArn jobId`},
	{sign{unknown, onlyOne, ""}, `resourceSharingConfiguration serviceEnvironmentType`},
	// Requests have these, and so have many other formats.
	{sign{unknown, 0, ""}, `totalQuantity priority state type`},
	// Kubernetes, compose, devcontainer and ECS
	{sign{foreign, 0, ""}, `apiVersion metadata spec volumeMounts imagePullPolicy livenessProbe readinessProbe
		securityContext services ports restart build container_name networks expose healthcheck features customizations
		forwardPorts runArgs postCreateCommand postStartCommand onCreateCommand remoteUser containerUser containerEnv
		remoteEnv workspaceFolder workspaceMount hostRequirements initializeCommand containerDefinitions family
		taskDefinition essential portMappings requiresCompatibilities taskRoleArn`},
	// packages and other files
	{sign{foreign, 0, ""}, `compilerOptions dependencies devDependencies peerDependencies scripts lockfileVersion require
		autoload license author version homepage repository keywords publisher engines @context @type @id attributes
		external_url price ingredients _id _class url html_url AWSTemplateFormatVersion Transform terraform_version
		manifest_version openapi swagger mcpServers detail-type taskGroups containers steps runs-on script stages stage
		buildpacks addons formation HostConfig Config RepoTags rootfs allowed_origins replicas replicaCount packageRules
		extends parserOptions plugins rules job_id run_id workflow_name`},
}
