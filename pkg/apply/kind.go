package apply

import (
	"fmt"
	"slices"
	"strings"

	"github.com/batchctl/batchctl/pkg/document"
)

// kind is a kind of resource: the operations on it, and how its members compare.
type kind struct {
	document.Kind
	// title is what messages call it.
	title string
	// describe is the operation that lists all resources with their members, and list the member of its output; "" for
	// kinds that need a call for each resource.
	describe, list string
	// name and arn are members of a description, reference the member by which other operations name the resource.
	name, arn, reference string
	// update and remove are operations.
	update, remove string
	// members are those of the request that creates the resource.
	members []string
	// absent maps members to the value that has the same meaning as their absence. A member that is not here and that
	// a file does not mention is the service's to choose.
	absent map[string]any
	// fixed maps the members that no update changes to what a user can do about it; "" if a new resource can replace it.
	fixed map[string]string
	// sets are lists whose order has no meaning; the value is the member by which their elements are sorted.
	sets map[string]string
}

const anotherName = "create one with another name, and delete this one once no job needs it"

// kinds are all kinds, in the order in which resources are created.
var kinds = []*kind{
	{
		Kind: document.KindSchedulingPolicy, title: "scheduling policy",
		name: "name", arn: "arn", reference: "arn", update: "UpdateSchedulingPolicy", remove: "DeleteSchedulingPolicy",
		members: words("name fairsharePolicy quotaSharePolicy tags"),
		absent: map[string]any{"tags": object{}, "fairsharePolicy": object{}, "fairsharePolicy.shareDecaySeconds": 0.0,
			"fairsharePolicy.computeReservation": 0.0,
			"fairsharePolicy.shareDistribution":  []any{}, "fairsharePolicy.shareDistribution[].weightFactor": 1.0},
		fixed: map[string]string{"quotaSharePolicy": anotherName},
		sets:  map[string]string{"fairsharePolicy.shareDistribution": "shareIdentifier"},
	},
	{
		Kind: document.KindConsumableResource, title: "consumable resource",
		name: "consumableResourceName", arn: "consumableResourceArn", reference: "consumableResource",
		update: "UpdateConsumableResource", remove: "DeleteConsumableResource",
		members: words("consumableResourceName totalQuantity resourceType tags"),
		absent:  map[string]any{"tags": object{}, "resourceType": "REPLENISHABLE"},
		fixed:   map[string]string{"resourceType": anotherName},
	},
	{
		Kind: document.KindServiceEnvironment, title: "service environment", describe: "DescribeServiceEnvironments",
		list: "serviceEnvironments",
		name: "serviceEnvironmentName", arn: "serviceEnvironmentArn", reference: "serviceEnvironment",
		update: "UpdateServiceEnvironment", remove: "DeleteServiceEnvironment",
		members: words("serviceEnvironmentName serviceEnvironmentType state capacityLimits tags"),
		absent:  map[string]any{"tags": object{}, "state": "ENABLED"},
		fixed:   map[string]string{"serviceEnvironmentType": anotherName},
		sets:    map[string]string{"capacityLimits": "capacityUnit"},
	},
	{
		Kind: document.KindComputeEnvironment, title: "compute environment", describe: "DescribeComputeEnvironments",
		list: "computeEnvironments",
		name: "computeEnvironmentName", arn: "computeEnvironmentArn", reference: "computeEnvironment",
		update: "UpdateComputeEnvironment", remove: "DeleteComputeEnvironment",
		members: words("computeEnvironmentName type state unmanagedvCpus computeResources serviceRole tags eksConfiguration context ecsSettings"),
		absent: map[string]any{"tags": object{}, "state": "ENABLED", "context": "", "computeResources.minvCpus": 0.0,
			"computeResources.bidPercentage": 100.0,
			"computeResources.imageId":       "", "computeResources.ec2KeyPair": "",
			"computeResources.placementGroup":                     "",
			"computeResources.tags":                               object{},
			"computeResources.launchTemplate":                     object{"launchTemplateId": ""},
			"computeResources.launchTemplate.version":             "$Default",
			"computeResources.launchTemplate.overrides":           []any{},
			"computeResources.ec2Configuration[].imageIdOverride": ""},
		fixed: map[string]string{"type": "", "eksConfiguration": "", "computeResources.spotIamFleetRole": ""},
		sets: map[string]string{"computeResources.subnets": "", "computeResources.securityGroupIds": "",
			"computeResources.instanceTypes": ""},
	},
	{
		Kind: document.KindJobQueue, title: "job queue", describe: "DescribeJobQueues", list: "jobQueues",
		name: "jobQueueName", arn: "jobQueueArn", reference: "jobQueue", update: "UpdateJobQueue",
		remove:  "DeleteJobQueue",
		members: words("jobQueueName state schedulingPolicyArn priority computeEnvironmentOrder serviceEnvironmentOrder jobQueueType tags jobStateTimeLimitActions"),
		absent: map[string]any{"tags": object{}, "state": "ENABLED", "jobStateTimeLimitActions": []any{},
			"schedulingPolicyArn": nil},
		fixed: map[string]string{"jobQueueType": anotherName},
		sets: map[string]string{"computeEnvironmentOrder": "order", "serviceEnvironmentOrder": "order",
			"jobStateTimeLimitActions": "reason"},
	},
	{
		Kind: document.KindQuotaShare, title: "quota share",
		name: "quotaShareName", arn: "quotaShareArn", reference: "quotaShareArn", update: "UpdateQuotaShare",
		remove:  "DeleteQuotaShare",
		members: words("quotaShareName jobQueue capacityLimits resourceSharingConfiguration preemptionConfiguration state tags"),
		absent:  map[string]any{"tags": object{}, "state": "ENABLED"},
		fixed:   map[string]string{"jobQueue": anotherName},
		sets:    map[string]string{"capacityLimits": "capacityUnit"},
	},
}

// kindOf returns the kind of a document that creates one resource.
func kindOf(k document.Kind) *kind {
	i := slices.IndexFunc(kinds, func(known *kind) bool { return known.Kind == k })
	return kinds[i]
}

// Describe names the resource that a request creates: job queue "cpu".
func Describe(r document.Request) string {
	k := kindOf(r.Kind)
	return fmt.Sprintf("%s %q", k.title, r.Get(k.name).Str())
}

// rank is the position of a kind in the order of creation.
func (k *kind) rank() int { return slices.Index(kinds, k) }

// object is a JSON object.
type object = map[string]any

func words(text string) []string { return strings.Fields(text) }

// infrastructure lists the members of computeResources that an update changes only with a new infrastructure: by an
// allocation strategy other than BEST_FIT, and by AWS Batch's service-linked role ("Updating compute environments",
// AWS Batch user guide). Without these, the environment needs a replacement.
var infrastructure = words("allocationStrategy bidPercentage ec2Configuration ec2KeyPair imageId instanceRole instanceTypes launchTemplate " +
	"placementGroup securityGroupIds subnets tags type")

// ofFargate are those among them that an update changes on Fargate.
var ofFargate = words("securityGroupIds subnets")

// ofImages are those that decide the AMI. AWS Batch selects a newer one only if the update asks for that.
var ofImages = words("ec2Configuration imageId launchTemplate")

// linkedRole ends the ARN of the service-linked role.
const linkedRole = "/AWSServiceRoleForBatch"
