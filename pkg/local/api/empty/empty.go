// Package empty removes the empty members of requests.
//
// Clients of Batch fill members that they do not use: ParallelCluster sends nextToken "", Airflow
// arrayProperties {}. AWS takes an empty list, object or text like null and like an absent member,
// except where the tables in this package say otherwise. So requests lose their empty members when
// they are decoded, and no handler can treat them differently.
package empty

import (
	"maps"
	"reflect"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/batch/types"
)

// Meaning is what the empty value of a member means where it is not like an absent member.
type Meaning struct {
	// Why is the reason, with its source.
	Why string
	// Error is AWS Batch's error for the empty value; "" if AWS Batch accepts it.
	Error string
	// Needs is the member that the API model requires an empty structure to have, so the structure is an error. It is ""
	// for other members.
	Needs string
}

// These are errors of AWS Batch that others quote. It gives each for the empty member and for the absent one.
const (
	// NoAttempts is for a retry strategy without attempts.
	NoAttempts = "RetryAttempts must be provided with retry strategy."
	// NoPodContainer is for a pod without containers.
	NoPodContainer = "Containers must be provided for Batch on EKS jobs."
	// NoLimits is for service environments and quota shares without limits.
	NoLimits = "Capacitylimits are required."
	// NoServiceEnvironment is for queues of service jobs without an environment.
	NoServiceEnvironment = "Job queues of type SAGEMAKER_TRAINING must have serviceEnvironmentOrder."
)

// meanings are the members whose empty value differs from an absent one. A name is that of the structure and the
// member in the SDK. The tests read this table and needsMember, and have no other.
var meanings = map[string]Meaning{
	"KeyValuePair.Value":                       {Why: "an override may empty a variable; AWS Batch drops one that is empty in a definition"},
	"EksContainerEnvironmentVariable.Value":    {Why: "a variable may have an empty value"},
	"SubmitJobInput.RetryStrategy":             {Why: "a retry strategy needs attempts", Error: NoAttempts},
	"RegisterJobDefinitionInput.RetryStrategy": {Why: "a retry strategy needs attempts", Error: NoAttempts},
	"EksPodProperties.Containers":              {Why: "a pod needs a container", Error: NoPodContainer},
	"EksVolume.EmptyDir":                       {Why: "the member selects the type of the volume"},
	"UpdateJobQueueInput.ComputeEnvironmentOrder": {Why: "a queue needs an environment",
		Error: "At least 1 compute environment must be provided"},
	"UpdateJobQueueInput.ServiceEnvironmentOrder": {Why: "a queue for service jobs needs an environment",
		Error: NoServiceEnvironment},
	"UpdateServiceEnvironmentInput.CapacityLimits": {Why: "an update replaces the limits, and one is required",
		Error: NoLimits},
	"UpdateQuotaShareInput.CapacityLimits":         {Why: "a quota share needs a limit (user guide)", Error: NoLimits},
	"UpdateJobQueueInput.JobStateTimeLimitActions": {Why: "an update replaces the list, so an empty one removes all actions"},
	"ComputeResourceUpdate.LaunchTemplate":         {Why: "an empty id or name removes the launch template (API reference)"},
	"ComputeResourceUpdate.Ec2Configuration":       {Why: "an empty value removes the configuration (API reference)"},
	"ComputeResourceUpdate.Ec2KeyPair":             {Why: "an empty text removes the key pair (API reference)"},
	"ComputeResourceUpdate.ImageId":                {Why: "an empty text removes the custom image (API reference)"},
	"ComputeResourceUpdate.SecurityGroupIds":       {Why: "an empty list removes the security groups on EC2 (API reference)"},
	"ComputeResourceUpdate.Tags":                   {Why: "an update replaces the tags, so an empty object removes all of them"},
	"ComputeResourceUpdate.Subnets":                {Why: "an empty list removes the subnets on EC2 (API reference)"},
}

// needsMember are the structures that the API model requires to have a member, so that an empty one
// is an error and not absent.
var needsMember = map[string]string{
	"ComputeResource":                        "type",
	"EcsProperties":                          "taskProperties",
	"EFSVolumeConfiguration":                 "fileSystemId",
	"EksConfiguration":                       "eksClusterArn",
	"EksPersistentVolumeClaim":               "claimName",
	"EksSecret":                              "secretName",
	"EphemeralStorage":                       "sizeInGiB",
	"FirelensConfiguration":                  "type",
	"LogConfiguration":                       "logDriver",
	"NodeProperties":                         "numNodes",
	"QuotaSharePreemptionConfiguration":      "inSharePreemption",
	"QuotaShareResourceSharingConfiguration": "strategy",
	"ServiceJobRetryStrategy":                "attempts",
	"QuotaSharePolicy":                       "idleResourceAssignmentStrategy",
	"RepositoryCredentials":                  "credentialsParameter",
	"S3FilesVolumeConfiguration":             "fileSystemArn",
}

var computeResourceUpdate = reflect.TypeFor[types.ComputeResourceUpdate]()

// MeaningOf returns what the empty value of a member of a request means: member is Structure.Member, and structure
// the name of the structure that it is, or "". differs is false if the value means the same as an absent member.
func MeaningOf(member, structure string) (m Meaning, differs bool) {
	if name := needsMember[structure]; name != "" {
		return Meaning{Why: "the API model requires its member " + name, Needs: name}, true
	}
	m, differs = meanings[member]
	return m, differs
}

// Members returns the members, as Structure.Member, whose empty value has a meaning of its own.
func Members() []string { return slices.Sorted(maps.Keys(meanings)) }

// Drop makes the empty members of a request absent, and reports whether there were any. v is a
// structure that was decoded. The elements of lists and maps are values, so empty ones stay.
func Drop(v reflect.Value) (dropped bool) {
	t := v.Type()
	for i := range t.NumField() {
		f := t.Field(i)
		if !f.IsExported() || v.Field(i).IsZero() {
			continue
		}
		member := v.Field(i)
		if t == computeResourceUpdate && (f.Name == "LaunchTemplate" || f.Name == "Ec2Configuration") {
			continue // also the members below have a meaning when they are empty
		}
		empty := false
		switch member.Kind() {
		case reflect.Map:
			empty = member.Len() == 0
		case reflect.Slice:
			for k := range member.Len() {
				if e := member.Index(k); e.Kind() == reflect.Struct {
					dropped = Drop(e) || dropped
				}
			}
			empty = member.Len() == 0
		case reflect.Pointer:
			e := member.Elem()
			if e.Kind() == reflect.Struct {
				dropped = Drop(e) || dropped
				empty = e.IsZero()
			}
			empty = empty || e.Kind() == reflect.String && e.Len() == 0
		}
		if !empty {
			continue
		}
		structure := ""
		if f.Type.Kind() == reflect.Pointer {
			structure = f.Type.Elem().Name()
		}
		if _, differs := MeaningOf(t.Name()+"."+f.Name, structure); !differs {
			member.SetZero()
			dropped = true
		}
	}
	return dropped
}
