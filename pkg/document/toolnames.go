package document

import (
	"strings"
	"sync"
)

// membersOfTools lists the names in other tools for the members of a request, in lower case and
// without separators.
var membersOfTools = sync.OnceValue(func() map[string]string {
	names := map[string]string{}
	for member, others := range map[string]string{
		"arrayProperties":          "array arraysize",
		"attemptDurationSeconds":   "seconds timeoutseconds attemptduration duration activedeadlineseconds walltime maxruntime timelimit",
		"attempts":                 "retries retry maxattempts maxretries retrycount maxretrycount backofflimit restartpolicy",
		"bidPercentage":            "bid spotprice maxprice spotbidpercentage",
		"command":                  "cmd args arguments script run",
		"computeEnvironmentOrder":  "computeenvironments environments",
		"dependsOn":                "dependencies dependency needs after",
		"ec2KeyPair":               "keypair keyname sshkey sshkeyname",
		"environment":              "env envs envvars envvariables environmentvariables",
		"executionRoleArn":         "executionrole taskexecutionrole taskexecutionrolearn",
		"image":                    "imagename imageuri dockerimage containerimage container",
		"imageId":                  "ami amiid",
		"instanceRole":             "instanceprofile instanceprofilearn iaminstanceprofile",
		"instanceTypes":            "instances machinetypes",
		"jobDefinitionName":        "definitionname jobdefinition family",
		"jobQueue":                 "queue queuename partition",
		"jobRoleArn":               "role rolearn jobrole taskrole taskrolearn iamrole serviceaccount",
		"jobStateTimeLimitActions": "statetimelimits timelimits timelimitactions",
		"logConfiguration":         "logging logs logconfig",
		"mountPoints":              "mounts",
		"parameters":               "params",
		"platformCapabilities":     "platform requirescompatibilities",
		"resourceRequirements":     "resources",
		"schedulingPriority":       "priority",
		"securityGroupIds":         "securitygroups sgs sgids",
		"shareIdentifier":          "share fairshare",
		"sharedMemorySize":         "shm shmsize sharedmemory",
		"subnets":                  "subnetids vpcsubnets",
		"tags":                     "labels",
		"user":                     "username runasuser uid",
	} {
		for other := range strings.FieldsSeq(others) {
			names[other] = member
		}
	}
	return names
})

// toolSeparators are what MemberOfTool ignores in a name.
var toolSeparators = strings.NewReplacer("_", "", "-", "")

// MemberOfTool returns the member of a request that Docker, Kubernetes, Slurm, ECS, EC2 or Terraform call
// by this name, in any case and with any separators; "" if there is none.
func MemberOfTool(name string) string {
	return membersOfTools()[toolSeparators.Replace(strings.ToLower(name))]
}
