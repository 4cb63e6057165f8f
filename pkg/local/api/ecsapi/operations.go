package ecsapi

import (
	"github.com/batchctl/batchctl/pkg/local/api/call"
)

// Operations returns the handlers of the operations that the engine implements.
func (a *API) Operations() map[string]call.Handler {
	return map[string]call.Handler{
		"DescribeClusters":           call.Serve(a.describeClusters),
		"DescribeContainerInstances": call.Serve(a.describeContainerInstances),
		"DescribeTaskDefinition":     call.Serve(a.describeTaskDefinition),
		"DescribeTasks":              call.Serve(a.describeTasks),
		"ListClusters":               call.Serve(a.listClusters),
		"ListContainerInstances":     call.Serve(a.listContainerInstances),
		"ListTasks":                  call.Serve(a.listTasks),
	}
}
