package preview

import (
	"context"
	"errors"
	"fmt"

	"github.com/batchctl/batchctl/pkg/cli/input"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/client"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/lint"
	"github.com/batchctl/batchctl/pkg/plan"
	"github.com/batchctl/batchctl/pkg/target"
)

// policyOf reviews the policy of the platform file; nil without one. w is what the target says of the definitions that
// jobs name; nil if it was not queried.
func policyOf(in *input.Input, w *plan.TargetState) *plan.PolicyReview {
	if in.PlatformFile == "" {
		return nil
	}
	var registered map[string]plan.Registered
	why := ""
	if w != nil {
		registered, why = w.Definitions, w.Unreached
	}
	if why != "" {
		registered = nil
	}
	problems, unknown := lint.DefinitionPolicy(in.Files, in.Platform, registered, why)
	v := plan.PolicyOf(in.Platform, in.PlatformFile, append(waivedIn(in.Problems), waivedIn(problems)...))
	v.Problems = problems
	for _, u := range unknown {
		v.NotChecked = append(v.NotChecked, u.String())
	}
	return v
}

// CheckDefinitions checks the policy for the job definitions that jobs name and no file contains, as the open target
// describes them. It prints what it cannot check. The error says that nothing was sent.
func CheckDefinitions(ctx context.Context, con *term.Console, t *target.Target, in *input.Input) error {
	_, named := lint.DefinitionPolicy(in.Files, in.Platform, nil, "")
	if len(named) == 0 {
		return nil
	}
	registered := map[string]plan.Registered{}
	for _, u := range named {
		d, err := t.Client.RegisteredDefinition(ctx, u.Definition)
		var missing *client.NoSuchDefinitionError
		switch {
		case errors.As(err, &missing):
			registered[u.Definition] = plan.Registered{}
		case err != nil:
			registered[u.Definition] = plan.Registered{Err: err.Error()}
		default:
			registered[u.Definition] = plan.Registered{Named: &d}
		}
	}
	problems, unknown := lint.DefinitionPolicy(in.Files, in.Platform, registered, "")
	if err := input.Complain(con, problems); err != nil {
		return err
	}
	for _, u := range unknown {
		fmt.Fprintf(con.Err, "not checked by the policy: %s\n", diag.Printable(con.Redacted(u.String())))
	}
	return nil
}
