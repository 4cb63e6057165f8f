package templates

import (
	_ "embed" // for the script below

	"github.com/batchctl/batchctl/pkg/packed"
)

// GPUHostUserData is the shell script that a GPU host runs at its first start. The
// templates gpu-host and ecs contain the same lines; a test compares them.
//
//go:embed infra/gpu-host-user-data.sh
var GPUHostUserData string

// Template is one CloudFormation template of the infrastructure: one concern, one stack.
type Template struct {
	Name         string   // of the file without .json, such as "network"; a stack is called <Project>-<Name>
	Title        string   // what it creates, in one line
	Body         []byte   // the template as JSON
	Capabilities []string // what CreateChangeSet has to acknowledge: none, or CAPABILITY_IAM
	Optional     bool     // deployed only on request: no other template imports from it
}

// Infra lists the templates in the order of deployment: a template imports only exports
// of earlier ones. Deletion uses the reverse order.
//
// All have the parameter Project, the prefix of all their exports and names. A parameter
// with the name of an earlier template's output without export gets that output's value.
// Values that change with every deployment, such as the version of a launch template, are
// passed in this way, because an export cannot change while a stack imports it.
//
// Stacks should have the tag Project, which their resources inherit: the budget counts by it.
func Infra() []Template {
	iam := []string{"CAPABILITY_IAM"}
	list := []Template{
		{Name: "network", Title: "VPC, private subnets, security group of hosts"},
		{Name: "endpoints", Title: "interface endpoints of the services that hosts call"},
		{Name: "data", Title: "bucket for data that is too long for a request", Optional: true},
		{Name: "iam", Title: "roles of hosts, jobs, the agent and submitters", Capabilities: iam},
		{Name: "ecr", Title: "repository of images"},
		{Name: "gpu-image", Title: "pipeline that builds a custom AMI for GPU hosts", Capabilities: iam,
			Optional: true},
		{Name: "gpu-host", Title: "launch template of GPU hosts"},
		{Name: "batch", Title: "compute environments, queues, fair share"},
		{Name: "ecs", Title: "ECS cluster with CPU and GPU capacity", Capabilities: iam, Optional: true},
		{Name: "observability", Title: "log groups, dashboard, alarms"},
		{Name: "budget", Title: "alarm on the monthly cost", Optional: true},
		{Name: "ladder", Title: "submits failed jobs again without a waiting client", Capabilities: iam,
			Optional: true},
	}
	for i := range list {
		list[i].Body = file(list[i].Name)
	}
	return list
}

// Root returns the template that deploys all of Infra as nested stacks, for `aws
// cloudformation package` and `sam deploy`, which upload the others to a bucket.
func Root() Template {
	return Template{Name: "root", Title: "all of them as nested stacks", Body: file("root"),
		Capabilities: []string{"CAPABILITY_IAM"}}
}

func file(name string) []byte {
	return []byte(packed.Text(files(), "infra/"+name+".json"))
}
