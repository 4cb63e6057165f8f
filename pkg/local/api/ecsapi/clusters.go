package ecsapi

import (
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/batchctl/batchctl/pkg/local/api/call"
	"github.com/batchctl/batchctl/pkg/local/model"
)

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

// listClusters returns the clusters of existing environments, by name; each environment on ECS has
// exactly one. Clusters of deleted environments are not listed.
func (a *API) listClusters(_ *call.Call, in *listClustersInput) (*listClustersOutput, error) {
	m, done := a.state.View()
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
	m, done := a.state.View()
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
			RegisteredContainerInstancesCount: aws.Int32(int32(len(a.activeInstances(m, name)))),
			RunningTasksCount:                 &running, PendingTasksCount: &pending})
	}
	return out, nil
}
