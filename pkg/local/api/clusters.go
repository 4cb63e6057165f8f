package api

import (
	"slices"

	"github.com/batchctl/batchctl/pkg/local/model"
	"github.com/batchctl/batchctl/pkg/wire"
)

// Batch creates an ECS cluster for each compute environment. Two operations of ECS describe these
// clusters, and nothing else. Their shapes are our own, with only the members that are filled in;
// the SDK's ECS client is not linked.

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
	// Include is accepted without effect: the engine has no statistics, settings or attachments.
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
}

// failure is the entry of DescribeClusters for an unknown cluster.
type failure struct {
	Arn *string
	// Reason is MISSING.
	Reason *string
}

// clusterARN returns the ARN of a cluster. Its account and Region are the engine's.
func clusterARN(name string) string { return model.ECSPrefix + "cluster/" + name }

// listClusters returns the clusters of existing environments, by name; each environment has
// exactly one. Clusters of deleted environments are not listed.
func (a *API) listClusters(_ *call, in *listClustersInput) (*listClustersOutput, error) {
	m, done := a.backend.View()
	defer done()
	var names []string
	for _, v := range m.Environments {
		names = append(names, v.Cluster())
	}
	slices.Sort(names)
	page, next, err := pageOf(names, in.MaxResults, 100, in.NextToken, func(name string) string { return name })
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
func (a *API) describeClusters(_ *call, in *describeClustersInput) (*describeClustersOutput, error) {
	if len(in.Clusters) > 100 {
		return nil, &wire.Fault{Type: "InvalidParameterException", Message: "clusters can have at most 100 items."}
	}
	if len(in.Clusters) == 0 {
		in.Clusters = []string{"default"} // as ECS
	}
	m, done := a.backend.View()
	defer done()
	out := &describeClustersOutput{Clusters: []cluster{}, Failures: []failure{}}
	for _, text := range in.Clusters {
		name := model.ResourceName(text, "cluster")
		arn, status := clusterARN(name), clusterStatus(m, name)
		if status == "" {
			reason := "MISSING"
			out.Failures = append(out.Failures, failure{&arn, &reason})
			continue
		}
		out.Clusters = append(out.Clusters, cluster{ClusterArn: &arn, ClusterName: &name, Status: &status})
	}
	return out, nil
}

// clusterStatus returns the ECS status of a cluster; "" for one that never existed.
func clusterStatus(m *model.Model, name string) string {
	for _, v := range m.Environments {
		if v.Cluster() == name {
			return statusActive
		}
	}
	if slices.Contains(m.GoneClusters, name) {
		return statusInactive
	}
	return ""
}
