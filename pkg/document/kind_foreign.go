package document

import (
	"strings"

	"github.com/batchctl/batchctl/pkg/jsontree"
)

// otherTools describes documents that resemble those of batchctl, by two members that have no other reader. The members
// are spelt as plain returns them, so CloudFormation's capitals count too.
var otherTools = [...]struct {
	what           string
	member, beside string // beside lists alternatives
}{
	{"an ECS task definition", "containerdefinitions",
		"family requirescompatibilities networkmode taskrolearn executionrolearn cpu memory volumes placementconstraints taskdefinitionarn"},
	{"an ECS task definition", "taskdefinition", ""},
	{"an ECS RunTask request", "taskdefinition",
		"cluster launchtype overrides networkconfiguration startedby desiredcount servicename"},
	{"an EventBridge event", "detailtype", "detail source"},
	{"a Kubernetes object", "apiversion", "kind"},
	{"a Step Functions state machine", "startat", "states"},
	{"a plan or state of Terraform", "terraformversion", "formatversion serial lineage"},
	{"an IAM policy", "statement", "version id"},
	{"a Terraform configuration", "resource", "provider terraform variable output data locals module"},
	{"a job of Google Cloud Batch", "taskgroups", "logspolicy allocationpolicy labels priority notifications"},
	{"a job run of Amazon EMR on EKS", "virtualclusterid", "jobdriver releaselabel"},
	{"a training job of Amazon SageMaker", "trainingjobname", "algorithmspecification resourceconfig"},
	{"a Compose file", "services", "version networks volumes name configs secrets xcommon"},
}

// aResource is a part of a CloudFormation template.
const aResource = "a resource without its CloudFormation template"

// otherTool names the format of another tool that the document has, such as "an ECS task definition"; "" for an unknown
// format.
func otherTool(root *jsontree.Node) string {
	if root.Is(jsontree.Array) {
		first := root.Index(0)
		if first.Get("name") != nil && first.Get("image") != nil && (first.Get("essential") != nil ||
			first.Get("portMappings") != nil) {
			return "a list of ECS container definitions"
		}
		return ""
	}
	names := map[string]*jsontree.Node{}
	for m := range root.Children() {
		if len(names) > mostMembers {
			break
		}
		names[plain(m.Name)] = m
	}
	if strings.HasPrefix(root.Get("Type").Str(), "AWS::") && names["properties"] != nil {
		return aResource
	}
	for kind := range names["resource"].Children() {
		if strings.HasPrefix(kind.Name, "aws_") {
			return "a Terraform configuration"
		}
	}
	if o := names["containeroverrides"]; o.Is(jsontree.Array) && o.Index(0).Get("name") != nil {
		return "an override of an ECS RunTask request"
	}
	for _, t := range otherTools {
		m := names[t.member]
		if m == nil || t.what == "a Compose file" && !m.Is(jsontree.Object) {
			continue
		}
		for beside := range strings.FieldsSeq(t.beside) {
			if names[beside] != nil {
				return t.what
			}
		}
		// An answer of ECS contains the definition.
		if t.member == "taskdefinition" && otherTool(m) != "" {
			return t.what
		}
	}
	return ""
}

// ofEventBridge reports whether a document is what EventBridge starts jobs of AWS Batch with: targets of a rule, or a
// request with them, a schedule or a pipe.
func ofEventBridge(root *jsontree.Node) bool {
	targets := root.Get("Targets")
	if root.Is(jsontree.Array) {
		targets = root
	}
	for t := range targets.Children() {
		if t.Get("BatchParameters") != nil && t.Get("Arn") != nil {
			return true
		}
	}
	return root.Get("ScheduleExpression") != nil && MentionsJobs(root.Get("Target").Get("Arn").Str()) ||
		root.Get("TargetParameters").Get("BatchJobParameters") != nil && root.Get("Target") != nil
}

// isStateMachine recognises a definition in the Amazon States Language, and a single state of one that starts jobs.
func isStateMachine(root *jsontree.Node) bool {
	return root.Get("StartAt") != nil && root.Get("States").Is(jsontree.Object) ||
		root.Get("Type").Str() == "Task" && MentionsJobs(root.Get("Resource").Str())
}

// StartsJobs reports whether a value below the node is the name of an operation of AWS Batch in Step Functions or
// EventBridge Scheduler, also inside a text, or the parameters of a target of EventBridge.
func StartsJobs(n *jsontree.Node) bool {
	if MentionsJobs(n.Str()) {
		return true
	}
	for child := range n.Children() {
		if child.Name == "BatchParameters" || child.Name == "BatchJobParameters" || StartsJobs(child) {
			return true
		}
	}
	return false
}

// MentionsJobs is StartsJobs for a text.
func MentionsJobs(text string) bool {
	if !strings.Contains(text, "atch") { // most texts need no other search
		return false
	}
	for _, name := range [...]string{":states:::batch:", ":aws-sdk:batch:", "BatchParameters", "BatchJobParameters"} {
		if strings.Contains(text, name) {
			return true
		}
	}
	return false
}
