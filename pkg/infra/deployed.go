package infra

import (
	"errors"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// Deployed is the result for one stack, as infra deploy prints it.
type Deployed struct {
	*Proposal
	// Outcome is created, updated, unchanged, failed or not done.
	Outcome string     `json:"outcome"`
	Reasons []string   `json:"reasons,omitempty"` // why resources failed, one line each
	Left    []Resource `json:"left,omitempty"`    // resources that a failed deployment did not delete
}

// DeployedAs describes the outcome of a deployment from its proposal and its
// error.
func DeployedAs(proposal *Proposal, err error) Deployed {
	d := Deployed{Proposal: proposal, Outcome: "not done"}
	failed, ok := errors.AsType[*FailedError](err)
	switch {
	case ok:
		d.Outcome, d.Left = "failed", failed.Left
		for _, e := range failed.Reasons {
			d.Reasons = append(d.Reasons, aws.ToString(e.LogicalResourceId)+": "+aws.ToString(e.ResourceStatusReason))
		}
	case err != nil:
	case proposal.Action == None:
		d.Outcome = "unchanged"
	default:
		d.Outcome = proposal.Action + "d"
	}
	return d
}
