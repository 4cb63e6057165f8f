package document

import (
	"path"
	"slices"
	"strings"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// traits counts the signs for and against an object being a job or a request.
type traits struct {
	// native counts the members that only requests of AWS Batch have. batch counts members
	// that few other formats share; two of them decide.
	native, batch int
	// strong counts the members of a job that few other formats have, with the values of a
	// job.
	strong int
	// known counts all members of a job, foreign those of other tools, and unknown the
	// members that no job has, including the foreign ones.
	known, unknown, foreign int
	// named is true for an object with a name. bare is true if the image is a single word,
	// with neither a registry nor a tag.
	named, bare bool
	// resources is true for resources in the form of the job file.
	resources bool
	// textCommand is true if the command is a string and not a list.
	textCommand bool
	// answer is true for the output of an AWS operation.
	answer bool
}

// traitsOf counts the traits of an object. It stops after mostMembers, as at a data file.
func traitsOf(n *jsontree.Node) (m traits) {
	if !n.Is(jsontree.Object) {
		return m
	}
	read := 0
	for member := range n.Children() {
		if read++; read > mostMembers {
			m.unknown++
			break
		}
		m.add(n, member)
	}
	return m
}

// certain reports whether the signs are sufficient without a doubt.
func (m traits) certain() bool {
	return m.native > 0 || m.batch > 1 || m.strong > 1 && m.resources || m.strong > 2
}

// verdict decides by the strongest trait. Members of AWS requests decide alone; members of
// the job file are common words, so it takes several of them.
func (m traits) verdict() Recognition {
	switch {
	case m.answer && m.known+m.batch+m.native < 3:
		return Foreign
	case m.native > 0, m.batch > 1:
		return Ours
	case m.batch > 0 && m.named:
		return Ours
	case m.foreign > 1 && m.strong > 2:
		return Unclear
	case m.foreign > 1:
		return Foreign
	case m.strong > 2, m.strong == 2 && m.foreign == 0 && m.unknown <= m.known:
		return Ours
	case m.strong == 2 && (m.foreign == 0 || m.named):
		return Unclear
	case m.strong == 2, m.foreign > 0:
		return Foreign
	case m.strong == 1 && m.named:
		return m.verdictOnOne()
	case m.strong == 1 && m.unknown == 0 && m.known > 2:
		return Ours
	case (m.strong == 1 && m.known > 1 || m.textCommand && m.named && m.known > 2) && m.unknown == 0:
		return Unclear
	}
	return Foreign
}

// verdictOnOne decides about a named object with one strong sign. Recipes and collections
// also have a name and an image.
func (m traits) verdictOnOne() Recognition {
	switch {
	case m.unknown == 0, !m.bare && 2*m.unknown <= m.known:
		return Ours
	case m.unknown <= m.known && !m.bare:
		return Unclear
	}
	return Foreign
}

// add counts one member of the object n.
func (m *traits) add(n, member *jsontree.Node) {
	name := member.Name
	if strings.HasPrefix(name, "$") {
		return
	}
	if foreignMembers[name] {
		m.foreign++
		m.unknown += 2
		return
	}
	folded := plain(name)
	if !m.count(folded, member) {
		near := nearMark(name)
		if near == "" || n.Get(near) != nil || !m.count(plain(near), member) {
			m.unknown++
		}
	}
}

// count counts a member by its plain name. It returns false if neither jobs nor requests
// have it.
func (m *traits) count(folded string, n *jsontree.Node) bool {
	isObject, isString, isArray := n.Is(jsontree.Object), n.Is(jsontree.String), n.Is(jsontree.Array)
	switch folded {
	case "name":
		m.named = m.named || isString
	case "image":
		if !isString || !isImage(n.Text) {
			return false
		}
		m.strong++
		m.bare = !strings.ContainsAny(n.Text, ":/@$")
	case "command":
		if isObject {
			return false
		}
		if isArray {
			m.strong++
		}
		m.textCommand = m.textCommand || isString
	case "resources":
		m.countResources(n)
	case "definition":
		if !isString || strings.ContainsAny(n.Text, " \n") {
			return false
		}
		m.strong++
	case "array":
		if !isObject {
			return false
		}
		m.strong++
	case "retrystrategy":
		if isObject {
			m.strong++
		}
	case "jobrolearn", "vcpus", "resourcerequirements":
		m.strong++
	case "jobdefinition", "submitjob":
		if isObject {
			m.strong++ // of a short job
			break
		}
		m.batch++
	case "jobqueue", "jobname", "containeroverrides", "arrayproperties":
		m.batch++
	case "jobdefinitionname", "containerproperties", "ecsproperties", "eksproperties", "nodeproperties",
		"computeenvironmentname", "computeenvironmentorder", "serviceenvironmentorder", "jobqueuename",
		"jobstatetimelimitactions",
		"fairsharepolicy", "quotasharepolicy", "consumableresourcename", "unmanagedvcpus", "serviceenvironmentname",
		"quotasharename":
		m.native++
	case "computeresources":
		if isObject && (n.Get("maxvCpus") != nil || n.Get("instanceTypes") != nil || n.Get("subnets") != nil ||
			n.Get("type") != nil) {
			m.native++
		}
	case "jobdefinitionarn", "jobqueuearn", "computeenvironmentarn", "consumableresourcearn", "jobarn", "jobid":
		m.answer = true
		return true
	case "platformcapabilities", "propagatetags", "shareidentifier", "schedulingpriority", "jobqueuetype",
		"resourcetype", "totalquantity",
		"priority", "state", "servicerole", "type":
		if folded == "totalquantity" || folded == "type" || folded == "state" || folded == "priority" {
			return false // of requests, but also of many other formats
		}
	case "cpu", "cpus", "gpu", "gpus", "memory", "ram", "mem", "env", "args", "cmd", "entrypoint", "retries", "retry",
		"dockerimage":
	default:
		shape := membersOf[KindJob]()[folded]
		if shape == nil {
			return false
		}
		if !shape.fitsSome(n) {
			return true // a mistake, or of another tool: no sign
		}
	}
	m.known++
	return true
}

// countResources distinguishes the resources of a job from those of Kubernetes and
// compose.
func (m *traits) countResources(n *jsontree.Node) {
	if !n.Is(jsontree.Object) {
		return
	}
	ours := false
	for r := range n.Children() {
		switch plain(r.Name) {
		case "vcpus", "vcpu", "gpus", "sharedmemory":
			ours, m.resources = true, true
		case "memory", "cpu", "cpus", "gpu", "ram", "mem":
			ours = ours || !r.Is(jsontree.Object) // a template names its own resources
		case "limits", "requests", "reservations":
			m.foreign += 2
			m.unknown++
		default:
			ours = ours || !r.Is(jsontree.Object) && diag.Near(r.Name,
				slices.Values([]string{"vcpus", "memory", "gpus"})) != ""
		}
	}
	if ours {
		m.strong++
	}
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

// foreignMembers are members of other tools' files that can also have a name, an image and
// a command.
var foreignMembers = setOf(
	"apiVersion", "metadata", "spec", // Kubernetes
	"volumeMounts", "imagePullPolicy", "livenessProbe", "readinessProbe", "securityContext",
	"services", "ports", "restart", "build", "container_name", "networks", "expose", "healthcheck", // compose
	// devcontainer
	"features", "customizations", "forwardPorts", "runArgs", "postCreateCommand", "postStartCommand", "onCreateCommand",
	"remoteUser", "containerUser", "containerEnv", "remoteEnv", "workspaceFolder", "workspaceMount", "hostRequirements",
	"initializeCommand",
	// ECS
	"containerDefinitions", "family", "taskDefinition", "essential", "portMappings", "requiresCompatibilities",
	"taskRoleArn",
	// packages
	"compilerOptions", "dependencies", "devDependencies", "peerDependencies", "scripts", "lockfileVersion", "require",
	"autoload",
	"license", "author", "version", "homepage", "repository", "keywords", "publisher", "engines",
	"@context", "@type", "@id", "attributes", "external_url", "price", "ingredients", "_id", "_class", "url",
	"html_url",
	"AWSTemplateFormatVersion", "Transform", "terraform_version", "manifest_version", "openapi", "swagger",
	"mcpServers",
	"detail-type", "taskGroups", "containers", "steps", "runs-on", "script", "stages", "stage",
	"buildpacks", "addons", "formation", "HostConfig", "Config", "RepoTags", "rootfs", "allowed_origins", "replicas",
	"replicaCount",
	"packageRules", "extends", "parserOptions", "plugins", "rules", "job_id", "run_id", "workflow_name",
)

// setOf returns the set of the names.
func setOf(names ...string) map[string]bool {
	set := make(map[string]bool, len(names))
	for _, name := range names {
		set[name] = true
	}
	return set
}
