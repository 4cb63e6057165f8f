package api

import (
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/batchctl/batchctl/pkg/local/api/call"
	"github.com/batchctl/batchctl/pkg/local/model"
	"github.com/batchctl/batchctl/pkg/wire"
)

// Batch creates an ECS cluster for each compute environment, with instances and tasks. The operations
// of ECS that describe them are here. Their shapes are our own: inputs have every member of the SDK's,
// because an unknown member is rejected; outputs have the members that are filled in. The SDK's ECS
// client is not linked.

// listClustersInput is the request of ECS ListClusters.
type listClustersInput struct {
	// MaxResults is 1 to 100; nil means 100.
	MaxResults *int32
	NextToken  *string
}

// listClustersOutput is its answer. An empty list of ARNs is [], not null.
type listClustersOutput struct {
	ClusterArns []string
	// NextToken is nil on the last page.
	NextToken *string
}

// describeClustersInput is the request of ECS DescribeClusters.
type describeClustersInput struct {
	// Clusters are names or ARNs, at most 100; none means the cluster named default.
	Clusters []string
	// Include is accepted without effect: the engine has no settings, attachments or tags of clusters.
	Include []string
}

// describeClustersOutput has an entry for each requested cluster, in one of the two lists.
type describeClustersOutput struct {
	Clusters []cluster
	Failures []failure
}

// cluster is an ECS cluster as DescribeClusters shows it.
type cluster struct {
	ClusterArn  *string
	ClusterName *string
	// Status is ACTIVE or INACTIVE.
	Status *string
	// The counts are of active container instances, and of tasks that are not being ended.
	RegisteredContainerInstancesCount *int32
	RunningTasksCount                 *int32
	PendingTasksCount                 *int32
}

// failure is the entry of an answer for an unknown cluster, task or container instance.
type failure struct {
	Arn *string
	// Reason is MISSING.
	Reason *string
}

// clusterARN returns the ARN of a cluster. Its account and Region are the engine's.
func clusterARN(name string) string { return model.ECSPrefix + "cluster/" + name }

// listClusters returns the clusters of existing environments, by name; each environment on ECS has
// exactly one. Clusters of deleted environments are not listed.
func (a *API) listClusters(_ *call.Call, in *listClustersInput) (*listClustersOutput, error) {
	m, done := a.backend.View()
	defer done()
	var names []string
	for _, v := range m.Environments {
		if v.Platform() != model.PlatformEKS {
			names = append(names, v.Cluster())
		}
	}
	slices.Sort(names)
	page, next, err := call.Page(names, in.MaxResults, 100, in.NextToken, func(name string) string { return name })
	if err != nil {
		return nil, err
	}
	out := &listClustersOutput{NextToken: next, ClusterArns: []string{}}
	for _, name := range page {
		out.ClusterArns = append(out.ClusterArns, clusterARN(name))
	}
	return out, nil
}

// describeClusters returns the clusters of deleted environments as INACTIVE, as ECS does for a
// while.
func (a *API) describeClusters(_ *call.Call, in *describeClustersInput) (*describeClustersOutput, error) {
	if len(in.Clusters) > 100 {
		return nil, call.Invalid("clusters can have at most 100 items.")
	}
	if len(in.Clusters) == 0 {
		in.Clusters = []string{"default"} // as ECS
	}
	m, done := a.backend.View()
	defer done()
	out := &describeClustersOutput{Clusters: []cluster{}, Failures: []failure{}}
	for _, text := range in.Clusters {
		name := model.ResourceName(text, "cluster")
		arn := clusterARN(name)
		v, known := m.ClusterEnvironment(name)
		if !known {
			out.Failures = append(out.Failures, missingIn(arn))
			continue
		}
		status := statusActive
		if v == nil {
			status = statusInactive
		}
		running, pending := countTasks(m, func(e model.ECSTask) bool { return e.Of().Environment.Cluster() == name })
		out.Clusters = append(out.Clusters, cluster{ClusterArn: &arn, ClusterName: &name, Status: &status,
			RegisteredContainerInstancesCount: aws.Int32(int32(len(a.activeInstances(m, name)))), RunningTasksCount: &running, PendingTasksCount: &pending})
	}
	return out, nil
}

// missingIn returns the entry for a resource that does not exist.
func missingIn(arn string) failure { return failure{&arn, aws.String("MISSING")} }

// clusterOf returns the name of an existing cluster, which a request names by its name or ARN.
// INACTIVE clusters also have their tasks.
func clusterOf(m *model.Model, text *string) (name string, err error) {
	name = "default" // as ECS
	if text != nil {
		name = model.ResourceName(*text, "cluster")
	}
	if _, known := m.ClusterEnvironment(name); !known {
		return "", &wire.Fault{Type: "ClusterNotFoundException", Message: "Cluster not found."}
	}
	return name, nil
}

// identifierIn returns the id of a resource of a cluster, which a request names by its id or ARN.
// ECS has an error, quoted here, for the ARN of a resource in another cluster.
func identifierIn(cluster, kind, text string) (id string, err error) {
	if !strings.HasPrefix(text, "arn:") {
		return text, nil
	}
	_, name, ok := strings.Cut(text, ":"+kind+"/")
	of, id, inCluster := strings.Cut(name, "/")
	switch {
	case !ok:
		return "", call.Invalid("Invalid identifier: %s is not the ARN of a %s.", text, kind)
	case !inCluster: // the older form of ARNs
		return name, nil
	case of != cluster:
		return "", call.Invalid("Invalid identifier: Identifier is for cluster %s. Your cluster is %s", of, cluster)
	}
	return id, nil
}

// checkListed rejects lists of identifiers that ECS rejects. The text for an empty list is quoted.
func checkListed(what string, all []string) error {
	switch {
	case len(all) == 0:
		return call.Invalid("%s cannot be empty.", what)
	case len(all) > 100:
		return call.Invalid("%s can have at most 100 items.", what)
	}
	return nil
}

// checkInclude rejects values that ECS does not have.
func checkInclude(include []string, valid ...string) error {
	for _, text := range include {
		if !slices.Contains(valid, text) {
			return call.Invalid("include %s is not valid. Valid values: %v", text, valid)
		}
	}
	return nil
}

// countTasks counts the tasks that run, and those that are about to.
func countTasks(m *model.Model, of func(model.ECSTask) bool) (running, pending int32) {
	for e := range m.ActiveECSTasks() {
		switch {
		case e.Ends() || !of(e):
		case e.Of().StartedAt == 0:
			pending++
		default:
			running++
		}
	}
	return running, pending
}
