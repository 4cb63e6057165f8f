package templates

import "embed"

//go:embed infra/*.json
var infra embed.FS

// GPUHostUserData is the shell script that a GPU host runs at its first start. The
// templates gpu-host and ecs carry the same lines; a test holds them together.
//
//go:embed infra/gpu-host-user-data.sh
var GPUHostUserData string

// Template is one CloudFormation template of the infrastructure: one concern, one stack.
type Template struct {
	Name         string   // of the file without .json, such as "network"; a stack is called <Project>-<Name>
	Title        string   // what it makes, in a line
	Body         []byte   // the template as JSON
	Capabilities []string // what CreateChangeSet has to acknowledge: none, or CAPABILITY_IAM
	Optional     bool     // nothing else imports from it: deployed where it is asked for
}

// Infra is the templates in the order in which they are deployed: a template imports
// only what earlier ones export. The order backwards is the one that destroys.
//
// All have the parameter Project, the prefix of every export and of every name that is
// theirs. A parameter that is called as an output without export of an earlier template
// takes that output's value: an export cannot change while somebody imports it, so what
// changes with every deployment (the version of a launch template) is handed on so.
//
// Stacks should carry the tag Project, which passes to what they make: the budget counts by it.
func Infra() []Template {
	iam := []string{"CAPABILITY_IAM"}
	list := []Template{
		{Name: "network", Title: "VPC, private subnets, security group of hosts"},
		{Name: "endpoints", Title: "interface endpoints of the services that hosts call"},
		{Name: "data", Title: "bucket for what is too long for a request", Optional: true},
		{Name: "iam", Title: "roles of hosts, jobs, the agent and submitters", Capabilities: iam},
		{Name: "ecr", Title: "repository of images"},
		{Name: "gpu-image", Title: "pipeline that builds an AMI of your own for GPU hosts", Capabilities: iam, Optional: true},
		{Name: "gpu-host", Title: "launch template of GPU hosts"},
		{Name: "batch", Title: "compute environments, queues, fair share"},
		{Name: "ecs", Title: "ECS cluster with CPU and GPU capacity", Capabilities: iam, Optional: true},
		{Name: "observability", Title: "log groups, dashboard, alarms"},
		{Name: "budget", Title: "alarm on the month's cost", Optional: true},
	}
	for i := range list {
		list[i].Body = file(list[i].Name)
	}
	return list
}

// Root is the template that deploys all of Infra as nested stacks, for `aws
// cloudformation package` and `sam deploy`, which put the others into a bucket.
func Root() Template {
	return Template{Name: "root", Title: "all of them as nested stacks", Body: file("root"), Capabilities: []string{"CAPABILITY_IAM"}}
}

func file(name string) []byte {
	body, err := infra.ReadFile("infra/" + name + ".json")
	if err != nil {
		panic(err) // embedded: the list above and the directory differ
	}
	return body
}
