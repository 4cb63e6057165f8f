// Package infra deploys, describes and destroys the CloudFormation stacks of the job queues. It
// shows change sets and what they cost a month, follows events, and reports what a failure left and
// how to continue. Every request has a token, and stacks are found by name. So a command can be
// interrupted at any point, and the next one continues from the state at AWS.
package infra

import (
	"github.com/batchctl/batchctl/pkg/catalog"
	"github.com/batchctl/batchctl/pkg/client"
)

// Stacks are the stacks of one prefix in one account and Region.
type Stacks struct {
	Project
	Batch *client.Client
	// Prices are those of the proposals; nil for batchctl's own.
	Prices *catalog.Prices
	// Approve shows a proposal and returns whether to execute it.
	Approve func(*Proposal) (bool, error)
	// Confirm asks a yes-or-no question.
	Confirm func(question string) (bool, error)
}

// New returns the stacks of templates with a prefix. The caller sets Notify and Progress, and what the commands that it
// calls need.
func New(cloud *Cloud, batch *client.Client, templates []Template, prefix string) *Stacks {
	return &Stacks{Project: Project{Operations: Operations{Cloud: cloud}, Templates: templates, Prefix: prefix},
		Batch: batch}
}
