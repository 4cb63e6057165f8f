package ecsapi

import (
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/batchctl/batchctl/pkg/local/api/call"
	"github.com/batchctl/batchctl/pkg/local/model"
	"github.com/batchctl/batchctl/pkg/wire"
)

const (
	// The statuses of clusters, container instances and task definitions. A cluster is INACTIVE after its
	// environment was deleted.
	statusActive   = "ACTIVE"
	statusInactive = "INACTIVE"
)

// failure is the entry of an answer for an unknown cluster, task or container instance.
type failure struct {
	Arn *string
	// Reason is MISSING.
	Reason *string
}

// missingIn returns the entry for a resource that does not exist.
func missingIn(arn string) failure { return failure{&arn, aws.String("MISSING")} }

// clusterARN returns the ARN of a cluster. Its account and Region are the engine's.
func clusterARN(name string) string { return model.ECSPrefix + "cluster/" + name }

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

// taskDefinitionARN returns the ARN of a job definition as a task definition, with the same name and
// revision. It is nil for a multi-node one: its ranges of nodes have different containers, so they
// are not one task definition.
func taskDefinitionARN(d *model.Definition) *string {
	if d.Request.NodeProperties != nil {
		return nil
	}
	return aws.String(model.ECSPrefix + "task-definition/" + d.ID())
}
