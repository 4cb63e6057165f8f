package document

import (
	"path"
	"slices"
	"strings"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// kindOfHosts returns the kind of a document about hosts; "" for any other object.
func kindOfHosts(root *jsontree.Node) Kind {
	switch {
	case isTemplate(root):
		return KindTemplate
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
// resource that is checked is not a document, and causes no message.
func aboutHosts(root *jsontree.Node) Kind {
	kind := kindOfHosts(root)
	if kind != KindTemplate {
		return kind
	}
	for r := range root.Get("Resources").Children() {
		if slices.Contains(checkedResources[:], r.Get("Type").Str()) {
			return kind
		}
	}
	return ""
}

// isUserData reports whether a text is the user data of an instance: not JSON, and in one
// of the forms that cloud-init reads. In a walk through a directory, the name must also be
// that of user data, because other scripts look the same.
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
	name := strings.ToLower(path.Base(strings.ReplaceAll(src.Name, `\`, "/")))
	named := strings.Contains(name, "user-data") || strings.Contains(name, "userdata") || strings.Contains(name, "user_data")
	if o.Recognize {
		return named && userDataForm(text)
	}
	return userDataForm(text) || named || strings.HasSuffix(name, ".sh")
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

// mentionsHosts reports whether a text names a resource that is checked. It saves parsing all
// other YAML, some of which is not valid YAML before a template engine has filled it in.
func mentionsHosts(text string) bool {
	if !strings.Contains(text, "Resources") {
		return false
	}
	for _, kind := range checkedResources {
		if strings.Contains(text, kind) {
			return true
		}
	}
	return false
}

// checkedResources are the types of resources that batchctl checks.
var checkedResources = [...]string{"AWS::Batch::ComputeEnvironment", "AWS::Batch::JobQueue", "AWS::Batch::JobDefinition", "AWS::Batch::SchedulingPolicy", "AWS::Batch::ConsumableResource",
	"AWS::EC2::LaunchTemplate", "AWS::EC2::Instance", "AWS::AutoScaling::LaunchConfiguration"}
