package document

import (
	"path"
	"slices"
	"strings"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// kindOfHosts returns the kind of a document about hosts or of another service; "" for any other document.
func kindOfHosts(root *jsontree.Node) Kind {
	switch {
	case root != nil && MentionsJobs(root.Source.Text) && ofEventBridge(root): // a search in the text is the fastest
		return KindEventBridge
	case !root.Is(jsontree.Object):
		return ""
	case isTemplate(root):
		return KindTemplate
	case isStateMachine(root):
		return KindStateMachine
	case isLaunchTemplate(root):
		return KindLaunchTemplate
	}
	return ""
}

// isTemplate recognises a CloudFormation template by the types of its resources.
func isTemplate(root *jsontree.Node) bool {
	resources := root.Get("Resources")
	if !resources.Is(jsontree.Object) {
		return false
	}
	if root.Get("AWSTemplateFormatVersion") != nil {
		return true
	}
	for r := range resources.Children() {
		if strings.HasPrefix(r.Get("Type").Str(), "AWS::") {
			return true
		}
	}
	return false
}

// isLaunchTemplate recognises the input of CreateLaunchTemplate, or only its data, by
// members that no other document has.
func isLaunchTemplate(root *jsontree.Node) bool {
	if root.Get("LaunchTemplateData").Is(jsontree.Object) {
		return true
	}
	if root.Get("jobName") != nil || root.Get("jobDefinitionName") != nil {
		return false
	}
	for _, member := range [...]string{"UserData", "BlockDeviceMappings", "MetadataOptions"} {
		if root.Get(member) != nil {
			return true
		}
	}
	return false
}

// aboutHosts is kindOfHosts for a walk through a directory. There, a template without any
// resource that is checked is not a document, and neither is a state machine without AWS Batch. Both cause no message.
func aboutHosts(root *jsontree.Node) Kind {
	switch kind := kindOfHosts(root); kind {
	case KindTemplate:
		mentions := MentionsJobs(root.Source.Text) // a search in the text is faster than one in the tree
		for r := range root.Get("Resources").Children() {
			if slices.Contains(checkedResources[:], r.Get("Type").Str()) || mentions && StartsJobs(r) ||
				DefinitionFile(r) != nil {
				return kind
			}
		}
	case KindStateMachine:
		if MentionsJobs(root.Source.Text) && StartsJobs(root) {
			return kind
		}
	default:
		return kind
	}
	return ""
}

// isUserData reports whether a text is the user data of an instance or another script: not JSON, and in one
// of the forms that cloud-init reads. In a walk through a directory, the name must also be
// that of user data, because other scripts look the same, or the script must call AWS Batch.
func (o Options) isUserData(src *diag.Source) bool {
	if !o.Hosts || o.Kind != "" && o.Kind != KindUserData {
		return false
	}
	if o.Kind == KindUserData {
		return true
	}
	text := src.Text[:min(len(src.Text), 200)]
	text = strings.TrimLeft(strings.TrimPrefix(text, "\ufeff"), " \t\r\n")
	if text == "" || text[0] == '{' || text[0] == '[' || IsYAML(src) && mentionsHosts(src.Text) {
		return false
	}
	named, isShell := namedUserData(src), strings.HasSuffix(strings.ToLower(src.Name), ".sh")
	if o.Recognize {
		return userDataForm(text) && (named || isShell && CallsBatch(src.Text))
	}
	return userDataForm(text) || named || isShell
}

// namedUserData reports whether a file has the name of user data.
func namedUserData(src *diag.Source) bool {
	name := strings.ToLower(path.Base(strings.ReplaceAll(src.Name, `\`, "/")))
	return strings.Contains(name, "user-data") || strings.Contains(name, "userdata") ||
		strings.Contains(name, "user_data")
}

// IsPlainScript reports whether nothing shows that a file of KindUserData is user data: neither --kind, nor its name,
// nor a form that only cloud-init reads, nor the name of the cluster that the host joins. People also run such a script
// on a host whose cloud-init has finished, for example to build an image.
func (f *File) IsPlainScript() bool {
	return f.Kind == KindUserData && !f.Forced && f.Source.Name != "-" && !namedUserData(f.Source) &&
		strings.HasPrefix(f.Source.Text, "#!") && !strings.Contains(f.Source.Text, "ECS_CLUSTER")
}

// userDataForm reports whether a text begins as user data does.
func userDataForm(text string) bool {
	text = strings.ToLower(text)
	for _, start := range [...]string{"#!", "#cloud-", "mime-version:", "content-type: multipart/"} {
		if strings.HasPrefix(text, start) {
			return true
		}
	}
	return false
}

// CallsBatch reports whether a script may have a command of AWS Batch, or a document for one.
func CallsBatch(script string) bool {
	return strings.Contains(script, "aws") && strings.Contains(script, "batch") || strings.Contains(script, `"job`) ||
		MentionsJobs(script)
}

// mentionsHosts reports whether a text names a resource that is checked, or may be a state machine that starts jobs. It
// saves parsing all other YAML, some of which is not valid YAML before a template engine has filled it in.
func mentionsHosts(text string) bool {
	if MentionsJobs(text) && (strings.Contains(text, "Resources") || strings.Contains(text, "StartAt")) {
		return true
	}
	if !strings.Contains(text, "Resources") {
		return false
	}
	if strings.Contains(text, "DefinitionUri") || strings.Contains(text, "DefinitionS3Location") {
		return true
	}
	for _, kind := range checkedResources {
		if strings.Contains(text, kind) {
			return true
		}
	}
	return false
}

// checkedResources are the types of resources that batchctl checks.
var checkedResources = [...]string{"AWS::Batch::ComputeEnvironment", "AWS::Batch::JobQueue",
	"AWS::Batch::JobDefinition", "AWS::Batch::SchedulingPolicy", "AWS::Batch::ConsumableResource",
	"AWS::EC2::LaunchTemplate", "AWS::EC2::Instance", "AWS::AutoScaling::LaunchConfiguration"}
