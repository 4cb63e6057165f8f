package document

import (
	"path"
	"slices"
	"strings"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// kindOfHosts finds which document about hosts an object is; "" for none.
func kindOfHosts(root *jsontree.Node) Kind {
	switch {
	case isTemplate(root):
		return KindTemplate
	case isLaunchTemplate(root):
		return KindLaunchTemplate
	}
	return ""
}

// isTemplate knows a template of CloudFormation by the types of its resources.
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

// isLaunchTemplate knows the input of CreateLaunchTemplate, or its data alone, by
// members that nothing else has.
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

// aboutHosts is kindOfHosts for a walk through a directory, where a template of which
// nothing is checked must not be complained about.
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

// isUserData reports whether a text is the user data of an instance: no JSON, and of
// one of the forms that cloud-init reads. In a walk through a directory, where other
// scripts lie too, its name must say so.
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

// checkedResources are the types of resources that are looked into.
var checkedResources = [...]string{"AWS::Batch::ComputeEnvironment", "AWS::Batch::JobQueue", "AWS::Batch::JobDefinition", "AWS::Batch::SchedulingPolicy", "AWS::Batch::ConsumableResource",
	"AWS::EC2::LaunchTemplate", "AWS::EC2::Instance", "AWS::AutoScaling::LaunchConfiguration"}
