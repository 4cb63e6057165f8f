package document

import (
	"testing"
	"unicode/utf16"

	"github.com/batchctl/batchctl/pkg/diag"
)

// body is the part that the job files below share.
const body = `"command": ["sh"], "resources": {"vcpus": 1, "memory": 512}, "timeout": "1h"`

// containerProps is a part of native requests.
const containerProps = `"containerProperties": {"image": "busybox:1", "resourceRequirements": [{"type": "VCPU", "value": "1"}]}`

// ourFiles are documents of batchctl with a mistake in the member that identifies them.
// The kind is the one under which the mistake is reported.
var ourFiles = []struct {
	text string
	kind Kind
}{
	{`{"nmae": "x", "image": "busybox:1", ` + body + `}`, KindJob},
	{`{"name": "x", "imgae": "busybox:1", ` + body + `}`, KindJob},
	{`{"name": "x", "imge": "busybox:1", ` + body + `}`, KindJob},
	{`{"nmae": "x", "imgae": "busybox:1", ` + body + `}`, KindJob},
	{`{"nmae": "x", "imgae": "busybox:1", "comand": ["sh"], "resouces": {"vcpus": 1}}`, KindJob},
	{`{"nmae": "x", "imgae": "busybox:1"}`, KindJob},
	{`{"name": "x", "imgae": "busybox:1"}`, KindJob},
	{`{"name": "x", "images": "busybox:1", "comand": ["sh"]}`, KindJob},
	{`{"Name": "a", "Image": "busybox:1", "Command": ["x"], "Resources": 1, "timeout": "1h"}`, KindJob},
	{`{"Name": "a", "Image": "busybox:1", "Command": ["x"], "resources": {"vcpus": 1}}`, KindJob},
	{`{"name": "x", "container_image": "busybox:1", ` + body + `}`, KindJob},
	{`{` + body + `}`, KindJob},
	{`{"name": "a", ` + body + `}`, KindJob},
	{`{"image": "busybox:1", ` + body + `}`, KindJob},
	{`{"image": "busybox:1", "command": ["sh"]}`, KindJob},
	{`{"image": "busybox:1", "comand": ["sh"]}`, KindJob},
	{`{"image": "busybox:1", "resources": {"memory": 512}}`, KindJob},
	{`{"command": ["sh"], "resources": {"cpu": 1}}`, KindJob},
	{`{"name": "a", "image": "busybox:1", "stray": 1}`, KindJob},
	{`{"name": "a", "image": "busybox:1", ` + body + `, "version": "1"}`, KindJob},
	{`{"name": "a", "image": "busybox:1", ` + body + `, "ports": [80]}`, KindJob},
	{`{"name": "a", "image": "busybox:1", ` + body + `, "policy": {}}`, KindJob},
	{`{"name": "a", "image": "busybox:1", ` + body + `, "targets": {}}`, KindJob},
	{`{"name": "a", "image": "busybox:1", ` + body + `, "jobs": 3}`, KindJob},
	{`{"name": "a", "image": "busybox:1", ` + body + `, "type": "container"}`, KindJob},
	{`{"name": "a", "image": "busybox:1", "vcpus": 1, "memory": 512, "command": ["sh"]}`, KindJob},
	{`{"name": "a", "image": "busybox:1", "cmd": ["sh"], "env": {"A": "1"}, "cpu": 1}`, KindJob},
	{`{"jobName": "a", "image": "busybox:1", ` + body + `}`, KindJob},
	{`{"jobName": "a", "image": "busybox:1"}`, KindJob},
	{`{"jobDefinitionName": "a", "image": "busybox:1", ` + body + `}`, KindJob},
	{`{"name": "a", "definition": "d"}`, KindJob},
	{`{"name": "a", "defintion": "d"}`, KindJob},
	{`{"name": "a", "image": "busybox:1" "command": ["sh"]`, KindJob},
	{`{"$schema": "https://example.com/batchctl/job.json", "name": "a"}`, KindJob},

	{`{"jobDefinitionName": "x", "type": "container", ` + containerProps + `}`, KindJobDefinition},
	{`{"jobDefinitionName": "x", ` + containerProps + `, "timeout": {"attemptDurationSeconds": 600}}`, KindJobDefinition},
	{`{"jobDefinitonName": "x", "type": "container", ` + containerProps + `}`, KindJobDefinition},
	{`{"type": "container", ` + containerProps + `}`, KindJobDefinition},
	{`{"jobDefinitionName": "x", "type": "container", "containerPropertes": {"image": "b:1"}}`, KindJobDefinition},
	{`{"jobDefinitionName": "x", "Type": "container", ` + containerProps + `}`, KindJobDefinition},
	{`{"JobDefinitionName": "x", "Type": "container", "ContainerProperties": {"Image": "b:1"}}`, KindJobDefinition},
	{`{"jobDefinitionName": "x", "type": "container"}`, KindJobDefinition},
	{`{"jobDefinitionName": "x"}`, KindJobDefinition},
	{`{"jobDefinitionName" "x"}`, KindJobDefinition},
	{`{"jobDefinitionName": "x", "type": "container", ` + containerProps + `, "command": ["x"]}`, KindJobDefinition},
	{`{"jobDefinitionName": "x", "type": "container", ` + containerProps + `, "command": ["x"], "environment": [{"name": "A", "value": "1"}],
		"jobRoleArn": "arn:aws:iam::123456789012:role/r", "timeout": {"attemptDurationSeconds": 600}}`, KindJobDefinition},
	{`{"jobDefinitionName": "x", "type": "container", ` + containerProps + `, "image": "busybox:1", "name": "x"}`, KindJobDefinition},
	{`{"jobDefinitionName": "x", "type": "container", ` + containerProps + `, "policy": {}}`, KindJobDefinition},
	{`{"$schema": "https://json-schema.org/draft/2020-12/schema", "jobDefinitionName": "x", "type": "container", ` + containerProps + `}`, KindJobDefinition},

	{`{"jobQueue": "q", "jobDefinition": "d:1"}`, KindSubmitJob},
	{`{"jobName": "a", "jobQueue": "q"}`, KindSubmitJob},
	{`{"jobName": "a", "jobDefinition": "d"}`, KindSubmitJob},
	{`{"jobNam": "a", "jobQueue": "q", "jobDefinition": "d"}`, KindSubmitJob},
	{`{"jobName": "a", "jobQueu": "q"}`, KindSubmitJob},
	{`{"jobName": "a", "jobQueue": "q", "jobDefinition": "d", "command": ["x"]}`, KindSubmitJob},
	{`{"jobName": "a", "jobQueue": "q", "jobDefinition": "d", "containerOverrides": {"command": ["x"]}, "environment": {"A": "1"}}`, KindSubmitJob},

	{`{"computeEnvironmentName": "c", "computeResources": {"type": "EC2"}}`, KindComputeEnvironment},
	{`{"computeEnvironmentNme": "c", "type": "MANAGED", "computeResources": {"type": "EC2", "maxvCpus": 1}}`, KindComputeEnvironment},
	{`{"type": "MANAGED", "computeResources": {"type": "EC2", "maxvCpus": 1}}`, KindComputeEnvironment},
	{`{"jobQueueName": "q", "priority": 1}`, KindJobQueue},
	{`{"jobQueueName": "q", "computeEnvironmentOrder": []}`, KindJobQueue},
	{`{"priority": 1, "computeEnvironmentOrder": [{"order": 1, "computeEnvironment": "c"}]}`, KindJobQueue},
	{`{"jobQueuename": "q", "priorty": 1}`, KindJobQueue},
	{`{"name": "a", "fairsharePolicy": {"shareDecaySeconds": 1}}`, KindSchedulingPolicy},
	{`{"name": "a", "fairSharePolicy": {"shareDecaySeconds": 1}}`, KindSchedulingPolicy},
	{`{"fairsharePolicy": {"shareDecaySeconds": 1}}`, KindSchedulingPolicy},
	{`{"fairsharePolicy": {}}`, KindSchedulingPolicy},
	{`{"consumableResourceName": "a", "totalQuantty": 3}`, KindConsumableResource},

	{`{"name": "w", "jobs": [{"name": "a", "image": "b:1"}]}`, KindWorkflow},
	{`{"jobs": [{"name": "a", "image": "b:1"}]}`, KindWorkflow},
	{`{"name": "w", "job": [{"name": "a", "image": "b:1"}]}`, KindWorkflow},
	{`{"name": "w", "jbos": [{"name": "a", "image": "b:1"}]}`, KindWorkflow},
	{`{"name": "w", "Jobs": [{"name": "a", "image": "b:1"}]}`, KindWorkflow},
	{`{"name": "w", "jobs": [{"nmae": "a", "image": "b:1", "command": ["x"]}]}`, KindWorkflow},
	{`{"name": "w", "jobs": [{"name": "a", "dependsOn": ["b"], "stray": 1}, {"name": "b", "image": "b:1"}]}`, KindWorkflow},
	{`{"name": "w", "defaults": {"image": "b:1", "resources": {"vcpus": 1}}, "jobs": [{"nmae": "a", "comand": ["x"]}]}`, KindWorkflow},
	{`{"name": "w", "jobs": {"a": {"image": "b:1", ` + body + `}}}`, KindWorkflow},
	{`{"name": "w", "image": "b:1", "command": ["x"], "jobs": [{"name": "a"}]}`, KindWorkflow},
	{`{"jobs": [{"jobNme": "a", "jobQueue": "q", "jobDefinition": "d"}]}`, KindJobList},
	{`{"jobs": [{"jobName": "a", "jobQueue": "q", "jobDefinition": "d"}]}`, KindJobList},
	{`{"targets": {"prod": {"region": "us-east-1"}}, "queues": {"cpu": {"jobQueue": "q"}}, "name": "platform"}`, KindPlatform},
}

func TestOurFiles(t *testing.T) {
	for _, c := range ourFiles {
		src := diag.NewSource("dir/x.json", c.text)
		if Recognize(src) != Ours {
			t.Errorf("not recognized: %s", c.text)
		}
		f, _ := Load(src, Options{Recognize: true})
		if f == nil || f.Kind != c.kind {
			t.Errorf("kind is not %s but %v: %s", c.kind, f, c.text)
		}
	}
}

// unclearFiles resemble documents of batchctl. A walk reports them.
var unclearFiles = []string{
	`[{"name": "a", "image": "b:1"}]`,
	`{"name": "a", "command": "echo hi", "timeout": "1h"}`,
	`{"image": "busybox:1", "timeout": "1h"}`,
	`{"command": ["x"], "environment": {"A": "1"}}`,
	`{"name": "web", "image": "nginx:1", "command": ["x"], "ports": [80]}`,
	``,
	" \n",
}

func TestUnclearFiles(t *testing.T) {
	for _, text := range unclearFiles {
		verdict := Ours
		f, problems := Load(diag.NewSource("dir/x.json", text), Options{Recognize: true, Recognized: &verdict})
		if verdict != Unclear || f != nil || problems != nil {
			t.Errorf("%q: %v, loaded %v, %v", text, verdict, f, problems)
		}
	}
}

// foreignFiles are files that repositories contain besides job files.
var foreignFiles = map[string]string{
	"package.json":         `{"name": "app", "version": "1.0.0", "scripts": {"build": "x"}, "config": {"image": "x"}, "dependencies": {}}`,
	"package with a queue": `{"name": "app", "version": "1.0.0", "jobQueue": "x", "scripts": {}, "dependencies": {}}`,
	"private package":      `{"name": "app", "private": true, "workspaces": ["a"], "type": "module", "bin": {}}`,
	"package-lock.json":    `{"name": "app", "version": "1.0.0", "lockfileVersion": 3, "requires": true, "packages": {}}`,
	"VS Code extension":    `{"name": "x", "displayName": "X", "publisher": "p", "version": "1", "engines": {"vscode": "*"}, "contributes": {}}`,
	"tsconfig":             `{"compilerOptions": {"strict": true}, "include": ["src"], "files": []}`,
	"eslint":               `{"root": true, "env": {"node": true}, "extends": ["x"], "rules": {}}`,
	"babel":                `{"presets": ["x"], "env": {"test": {}}}`,
	"composer.json":        `{"name": "a/b", "type": "library", "description": "x", "require": {"php": "8"}, "autoload": {}}`,
	"renovate":             `{"$schema": "https://docs.renovatebot.com/renovate-schema.json", "extends": ["config:base"], "timezone": "UTC"}`,
	"compose":              `{"version": "3", "services": {"web": {"image": "nginx:1", "command": ["x"]}}}`,
	"compose named":        `{"name": "x", "services": {"web": {"image": "nginx:1"}}, "networks": {}, "volumes": {}}`,
	"compose service":      `{"image": "nginx:1", "command": ["x"], "environment": {"A": "1"}, "ports": ["80:80"], "restart": "always"}`,
	"devcontainer":         `{"name": "Go", "image": "mcr.microsoft.com/devcontainers/go:1"}`,
	"devcontainer full":    `{"name": "Go", "image": "golang:1", "features": {}, "customizations": {"vscode": {}}, "postCreateCommand": "x", "mounts": []}`,
	"ECS task definition":  `{"family": "x", "containerDefinitions": [{"name": "a", "image": "b:1"}], "cpu": "256", "memory": "512", "executionRoleArn": "r"}`,
	"ECS containers":       `[{"name": "a", "image": "b:1", "cpu": 1, "memory": 1, "essential": true, "portMappings": []}]`,
	"ECS container":        `{"name": "a", "image": "b:1", "command": ["x"], "essential": true, "portMappings": []}`,
	"ECS run-task":         `{"cluster": "c", "taskDefinition": "t", "launchType": "FARGATE", "overrides": {}, "tags": []}`,
	"CodePipeline":         `[{"name": "a", "imageUri": "b:1"}]`,
	"Kubernetes job":       `{"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "x"}, "spec": {"template": {}}}`,
	"Kubernetes list":      `{"apiVersion": "v1", "kind": "List", "items": []}`,
	"Kubernetes container": `{"name": "a", "image": "b:1", "command": ["x"], "args": ["y"], "resources": {"limits": {"cpu": "1", "memory": "1Gi"}}}`,
	"pod spec":             `{"containers": [{"name": "a", "image": "b:1"}], "restartPolicy": "Never"}`,
	"Helm values":          `{"image": {"repository": "x", "tag": "1"}, "resources": {"limits": {"memory": "1Gi"}}, "command": ["x"], "env": [], "replicaCount": 1}`,
	"MCP server":           `{"command": "npx", "args": ["-y", "x"], "env": {"A": "1"}}`,
	"MCP servers":          `{"mcpServers": {"x": {"command": "npx", "args": []}}}`,
	"VS Code tasks":        `{"version": "2.0.0", "tasks": [{"label": "x", "type": "shell", "command": "y"}]}`,
	"native messaging":     `{"name": "x", "description": "y", "path": "/z", "type": "stdio", "allowed_origins": []}`,
	"browser extension":    `{"manifest_version": 3, "name": "x", "version": "1", "commands": {}}`,
	"web manifest":         `{"name": "x", "short_name": "y", "icons": [], "start_url": "/"}`,
	"NFT":                  `{"name": "x", "description": "y", "image": "ipfs://abc", "attributes": []}`,
	"recipe":               `{"name": "Soup", "image": "soup.jpg", "ingredients": []}`,
	"product":              `{"name": "Chair", "image": "chair", "price": 3}`,
	"person":               `{"name": "Bob", "image": "https://example.com/bob"}`,
	"glossary":             `{"name": "batch", "definition": "several jobs at once"}`,
	"JSON-LD":              `{"@context": "https://schema.org", "@type": "Thing", "name": "x", "image": "y"}`,
	"Heroku":               `{"name": "x", "image": "heroku/nodejs", "env": {}, "scripts": {}, "addons": [], "buildpacks": []}`,
	"COCO":                 `{"images": [{"id": 1}], "annotations": [], "categories": []}`,
	"CloudFormation":       `{"AWSTemplateFormatVersion": "2010-09-09", "Parameters": {}, "Resources": {"B": {"Type": "AWS::S3::Bucket"}}, "Outputs": {}}`,
	"CloudFormation short": `{"Description": "x", "Parameters": {}, "Resources": {"Memory": {"Type": "AWS::S3::Bucket"}}}`,
	"ARM":                  `{"$schema": "https://schema.management.azure.com/x.json", "parameters": {}, "resources": [], "outputs": {}}`,
	"Terraform state":      `{"version": 4, "terraform_version": "1", "serial": 1, "outputs": {}, "resources": []}`,
	"Terraform":            `{"resource": {"aws_batch_job_queue": {}}, "variable": {}}`,
	"OpenAPI":              `{"openapi": "3.0.0", "info": {}, "paths": {}, "tags": []}`,
	"GitHub jobs":          `{"total_count": 1, "jobs": [{"id": 1, "run_id": 2, "name": "build", "status": "done", "steps": []}]}`,
	"GitHub workflow":      `{"name": "CI", "on": "push", "jobs": {"build": {"runs-on": "ubuntu-latest", "steps": []}}}`,
	"GitHub repository":    `{"id": 1, "name": "x", "full_name": "y/x", "private": false, "url": "u"}`,
	"Jenkins":              `{"_class": "hudson", "jobs": [{"_class": "x", "name": "a", "url": "u", "color": "blue"}]}`,
	"CircleCI":             `{"version": 2.1, "jobs": {"build": {"docker": [{"image": "x"}], "steps": []}}}`,
	"GitLab":               `{"image": "golang:1", "stages": ["a"], "build": {"script": ["make"]}}`,
	"Slurm":                `{"meta": {}, "errors": [], "jobs": [{"name": "x", "job_id": 1, "account": "a", "command": "c", "array": {"job_id": 1}}]}`,
	"Google Batch":         `{"taskGroups": [{"taskSpec": {}}], "allocationPolicy": {}, "labels": {}}`,
	"Cloud Build":          `{"steps": [{"name": "x", "args": []}], "images": ["x"], "timeout": "600s", "tags": ["a"]}`,
	"Nx project":           `{"name": "x", "targets": {"build": {"executor": "y"}}, "tags": []}`,
	"RabbitMQ":             `{"queues": [{"name": "q", "vhost": "/"}], "exchanges": [], "policies": []}`,
	"Glue":                 `{"Name": "x", "Role": "r", "Command": {"Name": "glueetl", "ScriptLocation": "s3://x"}, "Timeout": 60, "Tags": {}}`,
	"SageMaker":            `{"TrainingJobName": "x", "AlgorithmSpecification": {}, "RoleArn": "r", "RetryStrategy": {"MaximumRetryAttempts": 1}, "Environment": {}}`,
	"Lambda":               `{"FunctionName": "x", "Runtime": "python3", "Role": "r", "Timeout": 3, "Environment": {"Variables": {}}}`,
	"Step Functions":       `{"StartAt": "A", "States": {"A": {"Type": "Task", "Parameters": {"JobName": "x"}}}}`,
	"Batch event":          `{"version": "0", "id": "x", "detail-type": "Batch Job State Change", "source": "aws.batch", "detail": {"jobName": "x", "jobQueue": "q"}}`,
	"submit-job's answer":  `{"jobArn": "a", "jobName": "x", "jobId": "1"}`,
	"register's answer":    `{"jobDefinitionName": "x", "jobDefinitionArn": "a", "revision": 1}`,
	"queue's answer":       `{"jobQueueName": "x", "jobQueueArn": "a"}`,
	"list-jobs":            `{"jobSummaryList": [{"jobArn": "a", "jobId": "1", "jobName": "x"}]}`,
	"describe-jobs":        `{"jobs": [{"jobName": "a", "jobQueue": "q", "jobId": "1"}]}`,
	"docker inspect":       `{"Id": "1", "Name": "/x", "Image": "sha256:00", "Config": {}, "HostConfig": {}, "State": {}, "Mounts": []}`,
	"OCI image":            `{"architecture": "amd64", "os": "linux", "config": {"Cmd": ["x"]}, "rootfs": {}, "history": []}`,
	"JSON schema":          `{"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "properties": {"image": {}}, "required": ["image"]}`,
	"notebook":             `{"cells": [], "metadata": {}, "nbformat": 4}`,
	"name and tags":        `{"name": "a", "tags": {}}`,
	"hook":                 `{"type": "command", "command": "x", "timeout": 10}`,
	"job's record":         `{"name": "x", "image": "repo/x:1", "jobId": "1", "status": "done"}`,
	"name and command":     `{"name": "x", "command": "y"}`,
	"string":               `"x"`,
	"list":                 `[1, 2]`,
	"no JSON":              `key: value`,
}

func TestForeignFiles(t *testing.T) {
	for what, text := range foreignFiles {
		verdict := Ours
		f, problems := Load(diag.NewSource("dir/x.json", text), Options{Recognize: true, Recognized: &verdict})
		if verdict != Foreign || f != nil || problems != nil {
			t.Errorf("%s: %v, loaded %v, %v", what, verdict, f, problems)
		}
	}
	for _, name := range []string{".devcontainer/devcontainer.json", "a/.devcontainer.json", "package.json"} {
		if Recognize(diag.NewSource(name, `{"name": "x", "image": "golang:1"}`)) == Ours {
			t.Errorf("%s is recognized as a job file", name)
		}
	}
}

// TestRecognizeUTF16 checks files that > writes in Windows PowerShell: the encoding is
// reported, but only for documents of batchctl.
func TestRecognizeUTF16(t *testing.T) {
	for text, want := range map[string]bool{
		`{"jobName": "a", "jobQueue": "q", "jobDefinition": "d"}`: true,
		`{"name": "app", "version": "1.0.0"}`:                     false,
	} {
		for _, low := range []int{0, 1} {
			encoded := []byte{0xff, 0xfe}
			if low == 1 {
				encoded = []byte{0xfe, 0xff}
			}
			for _, unit := range utf16.Encode([]rune(text)) {
				pair := [2]byte{byte(unit), byte(unit >> 8)}
				encoded = append(encoded, pair[low], pair[1-low])
			}
			_, problems := Load(diag.NewSource("x.json", string(encoded)), Options{Recognize: true})
			if len(problems) > 0 != want {
				t.Errorf("%s as UTF-16: %v", text, problems)
			}
		}
	}
}
