package lint

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// placeholderForms are placeholders in place of a value, with quotes and without.
var placeholderForms = []string{"${x}", "{{ x }}", `"${x}"`, `"<x>"`, `"__x__"`, `"#{x}"`, "REPLACE_ME"}

// TestPlaceholders writes a placeholder in place of each value of each document, one at a time. Only one message is
// new and the kind stays: no rule reports the value or its absence.
func TestPlaceholders(t *testing.T) {
	archive := bases(t)
	for _, name := range archive.Names("*.json") {
		text := archive.Text(t, name)
		before, file := settledText(name, text)
		switch {
		case file == nil, file.Kind == cancelJob, file.Kind == terminateJob, file.Kind == describeJobs:
			continue // only an engine receives it
		}
		known := map[string]bool{}
		for _, d := range before {
			known[d.Rule+d.Message] = true
		}
		for _, n := range valuesBelow(file.Root) {
			if n.Name == "jobs" {
				continue // without its jobs, no list tells its kind
			}
			for _, form := range placeholderForms {
				if n.Name == "jobId" && form == `"${x}"` {
					continue // a reference to another job of the list
				}
				changed := text[:n.Span.Start] + form + text[n.Span.End:]
				got, now := settledText(name, changed)
				where := fmt.Sprintf("%s: %s = %s", name, n.Name, form)
				if now.Kind == describeJobs {
					continue // only for an engine, of which a list of names is the request
				}
				if now.Kind != file.Kind {
					t.Errorf("%s: the kind is %s, not %s", where, now.Kind, file.Kind)
					continue
				}
				count := 0
				for _, d := range got {
					switch {
					case d.Rule == jsontree.RulePlaceholder:
						count++
					case !known[d.Rule+d.Message]:
						t.Errorf("%s: a follower: %v", where, d)
					}
				}
				if count != 1 && !strings.HasPrefix(form, `"`) || count > 1 {
					t.Errorf("%s: %d messages about the placeholder", where, count)
				}
			}
		}
	}
}

// valuesBelow returns the values below a node that have a location of their own.
func valuesBelow(n *jsontree.Node) (all []*jsontree.Node) {
	for c := range n.Children() {
		if strings.HasPrefix(c.Name, "$") {
			continue
		}
		all = append(append(all, c), valuesBelow(c)...)
	}
	return all
}

// settledText returns the problems of one text.
func settledText(name, text string) (diag.List, *document.File) {
	f, problems := loadSource(diag.NewSource(name, text), nil, variantFile)
	if f == nil {
		return problems, nil
	}
	return slices.Clip(Settle(append(problems, Check([]*document.File{f}, nil, Rules())...))), f
}

// TestPlaceholderForMembers checks a placeholder for whole members: any member may be among them.
func TestPlaceholderForMembers(t *testing.T) {
	for _, text := range []string{
		`{ "jobDefinitionName": "a", "type": "container", "containerProperties": { ${container} }, "timeout": { "attemptDurationSeconds": 60 } }`,
		`{ "jobDefinitionName": "a", "type": "container", {{ rest }} }`,
		`{ "computeEnvironmentName": "a", "type": "MANAGED", "computeResources": { "type": "EC2", <network> } }`,
		`{ "name": "a", "image": "busybox:1.37", ${rest} }`,
	} {
		found, _ := settledText("a.json", text)
		if len(found) != 1 || found[0].Rule != jsontree.RulePlaceholder || found[0].Severity != diag.Error {
			t.Errorf("%s: %v", text, found)
		}
	}
}

// TestNoPlaceholders checks texts that batchctl, a shell, Docker or CloudFormation replaces.
func TestNoPlaceholders(t *testing.T) {
	for _, text := range []string{
		`{ "name": "a", "image": "busybox:1.37", "command": ["sh", "-c", "sort < ${IN} > ${OUT} && echo $HOME {{.}}"], "resources": { "vcpus": 1, "memory": "1 GiB" }, "timeout": "1h" }`,
		`{ "name": "a", "image": "busybox:1.37", "command": ["train", "${{ matrix.lr }}"], "environment": { "LR": "${{ matrix.lr }}" },
			"array": { "matrix": { "lr": [1, 2] } }, "resources": { "vcpus": 1, "memory": "1 GiB" }, "timeout": "1h" }`,
		`{ "name": "a", "image": "busybox:1.37", "command": ["cmd", "/c", "%TEMP%", "$HOME", "((i++))", "[a_b]", "python", "-m", "__main__"], "environment": { "HOME2": "$HOME", "IP": "$(POD_IP)" },
			"resources": { "vcpus": 1, "memory": "1 GiB" }, "timeout": "1h" }`,
		`{ "$comment": "fill in <x> and ${y}", "jobDefinitionName": "a", "type": "container", "parameters": { "in": "x" }, "timeout": { "attemptDurationSeconds": 60 },
			"containerProperties": { "image": "busybox:1.37", "command": ["cat", "Ref::in"], "resourceRequirements": [{ "type": "VCPU", "value": "1" }, { "type": "MEMORY", "value": "512" }],
			"logConfiguration": { "logDriver": "awslogs", "options": { "tag": "{{.Name}}" } } } }`,
		`{ "jobs": [{ "jobName": "a", "jobQueue": "q", "jobDefinition": "d" }, { "jobName": "b", "jobQueue": "q", "jobDefinition": "d", "dependsOn": [{ "jobId": "${a}" }] }] }`,
		`{ "Resources": { "Q": { "Type": "AWS::Batch::JobQueue", "Properties": { "Priority": 1, "JobQueueName": { "Fn::Sub": "${AWS::StackName}-${Stage}" }, "SchedulingPolicyArn": "{{resolve:ssm:policy}}" } } } }`,
	} {
		found, _ := settledText("a.json", text)
		if list := byRule(found, jsontree.RulePlaceholder); len(list) > 0 {
			t.Errorf("%s: %v", text, list)
		}
	}
}
