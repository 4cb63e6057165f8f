package api

import (
	"slices"

	"github.com/batchctl/batchctl/pkg/local/model"
	"github.com/batchctl/batchctl/pkg/wire"
)

// Batch creates an ECS cluster for each compute environment. Two operations of ECS describe these
// clusters, and nothing else. Their shapes are our own, with only the members that are filled in;
// the SDK's ECS client is not linked.

type listClustersInput struct {
	MaxResults *int32
	NextToken  *string
}

type listClustersOutput struct {
	ClusterArns []string
	NextToken   *string
}

type describeClustersInput struct {
	Clusters []string
	Include  []string // nothing of it is known here
}

type describeClustersOutput struct {
	Clusters []cluster
	Failures []failure
}

// cluster is an ECS cluster as DescribeClusters shows it.
type cluster struct {
	ClusterArn  *string
	ClusterName *string
	Status      *string
}

// failure is the entry of DescribeClusters for an unknown cluster.
type failure struct {
	Arn    *string
	Reason *string
}

func clusterARN(name string) string { return model.ECSPrefix + "cluster/" + name }

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

// clusterStatus is empty for a cluster that never existed.
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
