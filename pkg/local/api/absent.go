package api

import (
	"reflect"

	"github.com/aws/aws-sdk-go-v2/service/batch/types"
)

// Clients of Batch fill members that they do not use: ParallelCluster sends nextToken "", Airflow
// arrayProperties {}. AWS takes an empty list, object or text like null and like an absent member,
// except where the tables below say otherwise. So requests lose their empty members when they are
// decoded, and no handler can treat them differently.

// emptyMeans are the members whose empty value differs from an absent one, with the reason. A name
// is that of the structure and the member in the SDK.
var emptyMeans = map[string]string{
	"KeyValuePair.Value":                           "a variable may have an empty value",
	"EksContainerEnvironmentVariable.Value":        "a variable may have an empty value",
	"SubmitJobInput.RetryStrategy":                 "RetryAttempts must be provided with retry strategy, also with an empty one (quoted error)",
	"RegisterJobDefinitionInput.RetryStrategy":     "RetryAttempts must be provided with retry strategy, also with an empty one (quoted error)",
	"EksVolume.EmptyDir":                           "the member selects the type of the volume",
	"UpdateJobQueueInput.ComputeEnvironmentOrder":  "a queue needs at least one compute environment",
	"UpdateJobQueueInput.ServiceEnvironmentOrder":  "a queue for service jobs needs a service environment",
	"UpdateServiceEnvironmentInput.CapacityLimits": "Capacitylimits are required, also in a list that replaces them",
	"UpdateQuotaShareInput.CapacityLimits":         "a quota share needs at least one capacity limit (user guide)",
	"UpdateJobQueueInput.JobStateTimeLimitActions": "an update replaces the list, so an empty one removes all actions",
	"ComputeResourceUpdate.LaunchTemplate":         "an empty id or name removes the launch template (API reference)",
	"ComputeResourceUpdate.Ec2Configuration":       "an empty value removes the configuration (API reference)",
	"ComputeResourceUpdate.Ec2KeyPair":             "an empty text removes the key pair (API reference)",
	"ComputeResourceUpdate.ImageId":                "an empty text removes the custom image (API reference)",
	"ComputeResourceUpdate.SecurityGroupIds":       "an empty list removes the security groups on EC2 (API reference)",
	"ComputeResourceUpdate.Tags":                   "an update replaces the tags, so an empty object removes all of them",
	"ComputeResourceUpdate.Subnets":                "an empty list removes the subnets on EC2 (API reference)",
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

// EmptyMeaning returns why the empty value of a member of a request differs from an absent one; "" if
// both mean the same.
func EmptyMeaning(structure reflect.Type, member reflect.StructField) string {
	if member.Type.Kind() == reflect.Pointer {
		if name := needsMember[member.Type.Elem().Name()]; name != "" {
			return "the API model requires its member " + name
		}
	}
	return emptyMeans[structure.Name()+"."+member.Name]
}

// dropEmpty makes the empty members of a request absent, and reports whether there were any. v is a
// structure that was decoded. The elements of lists and maps are values, so empty ones stay.
func dropEmpty(v reflect.Value) (dropped bool) {
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
					dropped = dropEmpty(e) || dropped
				}
			}
			empty = member.Len() == 0
		case reflect.Pointer:
			e := member.Elem()
			if e.Kind() == reflect.Struct {
				dropped = dropEmpty(e) || dropped
				empty = e.IsZero()
			}
			empty = empty || e.Kind() == reflect.String && e.Len() == 0
		}
		if empty && EmptyMeaning(t, f) == "" {
			member.SetZero()
			dropped = true
		}
	}
	return dropped
}
