// Package ecsapi answers the part of Amazon ECS that describes what AWS Batch creates there: a cluster for each compute
// environment, with its container instances, tasks and task definitions.
//
// The shapes are our own: inputs have every member of the SDK's, because an unknown member is rejected; outputs have
// the members that are filled in. The SDK's ECS client is not linked.
//
// operations.go has the table of operations. clusters.go, instances.go, tasks.go and taskdefinitions.go have the
// operations on one resource each; identifiers.go and shapes.go have what they share.
package ecsapi
