package platform

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/infra"
	"github.com/batchctl/batchctl/pkg/target"
	"github.com/batchctl/batchctl/pkg/text"
)

// infraDeploy is batchctl infra deploy. It shows every proposal and asks before
// CloudFormation executes it.
func infraDeploy(ctx context.Context, con *term.Console, o infraOptions) error {
	call, err := openInfra(ctx, con, o, target.ToChange)
	if err != nil {
		return err
	}
	defer call.Close()
	if err := call.KnowsParameters(ctx); err != nil {
		return call.failed(ctx, err)
	}
	wanted, err := call.wanted(ctx)
	if err != nil {
		return call.failed(ctx, err)
	}
	call.Approve = func(proposal *infra.Proposal) (bool, error) {
		if err := printProposal(con, textOutput(con, o.Format), proposal); err != nil {
			return false, err
		}
		return Confirm(ctx, con, o.Yes, fmt.Sprintf("%s stack %s?", proposal.Action, proposal.Stack))
	}
	done, err := DeployStacks(ctx, con, call.Stacks, wanted, call.Given)
	var proposals []*infra.Proposal
	for _, d := range done {
		proposals = append(proposals, d.Proposal)
	}
	if err := printTotal(textOutput(con, o.Format), proposals); err != nil {
		return err
	}
	if o.Format == "json" {
		if err := con.JSON(done); err != nil {
			return err
		}
	}
	if err == nil {
		fmt.Fprintf(con.Err, "next: %s\n", diag.Printable(call.next("outputs")))
	}
	return call.failed(ctx, err)
}

// DeployStacks creates or updates the stacks of templates in their order, and
// stops at the first that fails. The result contains the stacks up to and
// including that one.
func DeployStacks(ctx context.Context, con *term.Console, s *infra.Stacks, wanted []infra.Template,
	given map[string]string) ([]infra.Deployed, error) {
	done := []infra.Deployed{}
	for _, t := range wanted {
		proposal, err := s.Deploy(ctx, t, given)
		if proposal == nil {
			proposal = &infra.Proposal{Stack: s.Name(t), Changes: []infra.Change{}}
		}
		done = append(done, infra.DeployedAs(proposal, err))
		printDeployed(con, done[len(done)-1])
		if err != nil {
			return done, err
		}
	}
	return done, nil
}

// textOutput returns the writer for tables: stdout, or stderr if stdout is for
// JSON.
func textOutput(con *term.Console, format string) io.Writer {
	if format == "json" {
		return con.Err
	}
	return con.Out
}

// printDeployed prints the outcome of one stack on stderr.
func printDeployed(con *term.Console, d infra.Deployed) {
	fmt.Fprintf(con.Err, "stack %s: %s\n", diag.Printable(d.Stack), d.Outcome)
	for _, r := range d.Reasons {
		fmt.Fprintf(con.Err, "  %s\n", diag.Printable(con.Redacted(r)))
	}
	for _, r := range d.Left {
		fmt.Fprintf(con.Err, "  left: %s %s %s\n", diag.Printable(r.Name), ShortType(r.Type), diag.Printable(r.ID))
	}
}

// infraDiff is batchctl infra diff. It exits with exit.Change if a stack would
// change.
func infraDiff(ctx context.Context, con *term.Console, o infraOptions) error {
	call, err := openInfra(ctx, con, o, target.ToRead)
	if err != nil {
		return err
	}
	defer call.Close()
	fmt.Fprintf(con.Err, "target: %s\n", diag.Printable(call.Label)) // diff creates change sets there, and deletes them
	if err := call.KnowsParameters(ctx); err != nil {
		return call.failed(ctx, err)
	}
	wanted, err := call.wanted(ctx)
	if err != nil {
		return call.failed(ctx, err)
	}
	proposals, changes := []*infra.Proposal{}, false
	for _, t := range wanted {
		proposal, err := call.Diff(ctx, t, call.Given)
		if err != nil {
			return call.failed(ctx, err)
		}
		proposals, changes = append(proposals, proposal), changes || proposal.Action != infra.None
		if o.Format == "text" {
			if err := printProposal(con, con.Out, proposal); err != nil {
				return err
			}
		}
	}
	if o.Format == "json" {
		if err := con.JSON(proposals); err != nil {
			return err
		}
	} else if err := printTotal(con.Out, proposals); err != nil {
		return err
	}
	if changes {
		fmt.Fprintf(con.Err, "next: %s\n", diag.Printable(call.next("deploy")))
		return exit.Silent(exit.Change)
	}
	return nil
}

// printProposal prints a change set, one line per resource.
func printProposal(con *term.Console, w io.Writer, proposal *infra.Proposal) error {
	head := fmt.Sprintf("stack %s: %s", proposal.Stack, proposal.Action)
	switch {
	case proposal.Action == infra.None:
		head = fmt.Sprintf("stack %s: unchanged", proposal.Stack)
	case proposal.Replaced != "":
		head += ", after the one in " + proposal.Replaced + " is deleted"
	}
	fmt.Fprintln(w, diag.Printable(head))
	if len(proposal.Changes) == 0 {
		return nil
	}
	t := &term.Table{Out: w, Width: term.Width(w)}
	for _, change := range proposal.Changes {
		t.Row("  "+verb(change), change.Name, ShortType(change.Type))
	}
	if err := t.Flush(); err != nil || proposal.Price == nil {
		return err
	}
	return printPrice(w, "  ", "the change costs", proposal.Price)
}

// printPrice prints what resources add to the monthly bill: one line per resource with a price, the sum, and what
// the sum does not include. subject begins the line of the sum.
func printPrice(w io.Writer, indent, subject string, p *infra.Price) error {
	t := &term.Table{Out: w, Width: term.Width(w)}
	for _, c := range p.Charges {
		t.Row(indent+signed(c.Low, c.High)+" USD", c.Resource, c.What+c.How)
	}
	if len(p.Charges) > 0 {
		if err := t.Flush(); err != nil {
			return err
		}
	}
	without := ""
	if !p.Known() {
		without = ", without what is unknown"
	}
	fmt.Fprintf(w, "%s%s %s USD a month%s (%s, %s)\n", indent, subject, signed(p.Low, p.High), without,
		diag.Printable(p.Region), diag.Printable(p.Prices))
	for _, usage := range p.Usage {
		fmt.Fprintf(w, "%splus usage: %s\n", indent, diag.Printable(usage))
	}
	for _, m := range p.Unknown {
		names := strings.Join(m.Resources, ", ")
		if n := len(m.Resources); n > 3 {
			names = fmt.Sprintf("%s, %s and %d others", m.Resources[0], m.Resources[1], n-2)
		}
		fmt.Fprintf(w, "%sunknown: %s: %s\n", indent, diag.Printable(names), diag.Printable(m.Why))
	}
	return nil
}

// signed formats the amount of a change, with its sign: "+36.50", "-36.50", "+1.20 to +4.80", "0".
func signed(low, high float64) string {
	one := func(usd float64) string {
		switch {
		case usd < 0:
			return "-" + text.Money(-usd)
		case usd > 0:
			return "+" + text.Money(usd)
		}
		return "0"
	}
	if one(low) == one(high) {
		return one(low)
	}
	return one(low) + " to " + one(high)
}

// printTotal prints the price of all stacks together. Of one stack it would repeat the price.
func printTotal(w io.Writer, proposals []*infra.Proposal) error {
	var total *infra.Price
	n := 0
	for _, p := range proposals {
		if p.Price == nil {
			continue
		}
		if n++; total == nil {
			total = &infra.Price{Region: p.Price.Region, Prices: p.Price.Prices}
		}
		total.Add(p.Price)
	}
	if n < 2 {
		return nil
	}
	total.Charges, total.Usage = nil, nil // printed with each stack
	return printPrice(w, "", text.Count(n, "stack")+" together cost", total)
}

// verb returns the label of a change. "!" marks those that replace the resource
// or may do so.
func verb(c infra.Change) string {
	switch {
	case c.Action == "Add":
		return "+ add"
	case c.Action == "Remove":
		return "- remove"
	case c.Replacement == "True":
		return "! replace"
	case c.Replacement == "Conditional":
		return "! may replace"
	}
	return "~ " + strings.ToLower(c.Action)
}

// ShortType returns a CloudFormation resource type without its AWS:: prefix.
func ShortType(t string) string { return diag.Printable(strings.TrimPrefix(t, "AWS::")) }

// StackEvent prints an event of a stack, and the reason below it if something
// failed.
func StackEvent(con *term.Console, progress infra.Progress) {
	e := progress.Event
	at := ""
	if e.Timestamp != nil {
		at = e.Timestamp.UTC().Format("15:04:05Z")
	}
	count := ""
	if progress.Total > 0 {
		count = fmt.Sprintf("%d/%d  ", min(progress.Done, progress.Total), progress.Total)
	}
	fmt.Fprintf(con.Err, "%s  %s%s  %s\n", at, count, diag.Printable(string(e.ResourceStatus)),
		diag.Printable(aws.ToString(e.LogicalResourceId)))
	status, reason := string(e.ResourceStatus), aws.ToString(e.ResourceStatusReason)
	if reason != "" && (strings.HasSuffix(status, "_FAILED") || strings.Contains(status, "ROLLBACK")) {
		fmt.Fprintf(con.Err, "           %s\n", diag.Printable(con.Redacted(reason)))
	}
}

// infraStatus is batchctl infra status.
func infraStatus(ctx context.Context, con *term.Console, o infraOptions) error {
	call, err := openInfra(ctx, con, o, target.ToRead)
	if err != nil {
		return err
	}
	defer call.Close()
	states, err := call.Status(ctx, call.chosen)
	if err != nil {
		return call.failed(ctx, err)
	}
	if o.Format == "json" {
		return con.JSON(states)
	}
	t := con.Table("STACK", "STATUS", "CHANGED", "REASON")
	for _, s := range states {
		reason, changed := s.Reason, "-"
		if s.Foreign {
			reason = "not created by batchctl"
		}
		if at, err := time.Parse(time.RFC3339Nano, s.Changed); err == nil {
			changed = text.Duration(time.Since(at)) + " ago"
		}
		t.Row(s.Stack, s.Status, changed, con.Redacted(reason))
	}
	return t.Flush()
}

// infraDestroy is batchctl infra destroy. With --output json it prints the plan
// only after the deletion.
func infraDestroy(ctx context.Context, con *term.Console, o infraOptions) error {
	call, err := openInfra(ctx, con, o, target.ToChange)
	if err != nil {
		return err
	}
	defer call.Close()
	d, err := call.PlanDestruction(ctx, call.chosen)
	if err != nil {
		return call.failed(ctx, err)
	}
	if len(d.Stacks) == 0 {
		fmt.Fprintln(con.Err, "no stacks that batchctl created")
	} else {
		if err := printDestruction(con, textOutput(con, o.Format), d); err != nil {
			return err
		}
		yes, asked := Confirm(ctx, con, o.Yes, "delete "+text.Count(len(d.Stacks), "stack")+"?")
		if err = asked; err == nil && !yes {
			err = infra.ErrDeclined
		}
		if err == nil {
			err = DestroyStacks(ctx, con, call.Stacks, d)
		}
	}
	if o.Format == "json" && err == nil {
		err = con.JSON(d)
	}
	return call.failed(ctx, err)
}

// DestroyStacks deletes stacks. It prints why a deletion failed, and the
// resources that were kept although the plan did not list them.
func DestroyStacks(ctx context.Context, con *term.Console, s *infra.Stacks, d *infra.Destruction) error {
	known := len(d.Keeps)
	err := s.Destroy(ctx, d)
	if failed, ok := errors.AsType[*infra.FailedError](err); ok {
		printDeployed(con, infra.DeployedAs(&infra.Proposal{Stack: failed.Stack}, err))
	}
	// Destroy appends resources that it finds during the deletion.
	for _, k := range d.Keeps[known:] {
		fmt.Fprintf(con.Err, "kept: %s %s: %s\n", ShortType(k.Type), diag.Printable(k.ID), k.Reason)
	}
	return err
}

// printDestruction prints what is deleted, in order, and what is kept.
func printDestruction(con *term.Console, w io.Writer, d *infra.Destruction) error {
	t := &term.Table{Out: w, Width: term.Width(w)}
	for _, q := range d.Queues {
		t.Row("disable", "queue "+q, "and wait until it is empty")
	}
	for _, s := range d.Stacks {
		t.Row("delete", "stack "+s, "")
	}
	for _, k := range d.Keeps {
		t.Row("keep", k.ID, ShortType(k.Type)+": "+k.Reason)
	}
	return t.Flush()
}
