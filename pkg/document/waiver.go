package document

import "github.com/batchctl/batchctl/pkg/jsontree"

// Waiver is a rule that a job may break. It is no part of the AWS requests.
type Waiver struct {
	Rule, Reason string
	// Until is the last day on which it counts, as written; "" for ever.
	Until string
	// Node is what the user wrote. Jobs that share a waiver of their workflow's
	// defaults share the node.
	Node *jsontree.Node
}

// NoWaivers is what to do about waivers in an AWS request.
const NoWaivers = "AWS Batch takes no waivers: make it a job file, which does (batchctl convert), or list the problem in a baseline (validate --write-baseline FILE)"

// waiversOf returns the waivers of the layers, those of the first layer first.
func waiversOf(layers ...*jsontree.Node) (list []Waiver) {
	for _, layer := range layers {
		for n := range layer.Get("waivers").Children() {
			list = append(list, Waiver{Rule: n.Get("rule").Str(), Reason: n.Get("reason").Str(), Until: n.Get("until").Str(), Node: n})
		}
	}
	return list
}
