package preview

import (
	"context"
	"fmt"
	"strings"

	"github.com/batchctl/batchctl/pkg/cli/input"
	"github.com/batchctl/batchctl/pkg/cli/session"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/target"
	"github.com/batchctl/batchctl/pkg/text"
	"github.com/batchctl/batchctl/pkg/verify"
)

// checkNames returns the names of all checks, for the help.
func checkNames() (names []string) {
	for _, c := range verify.Checks() {
		names = append(names, c.Name)
	}
	return names
}

// verifyFiles is batchctl verify: it plans the files and checks at AWS what the
// jobs need. With strict, a check that could not be done is a failure.
func verifyFiles(ctx context.Context, con *term.Console, o Options, strict bool) error {
	in, err := input.Load(con, o.Options)
	if err != nil {
		return err
	}
	// The local engine creates what a plan names.
	if o.Target.NameFrom(in.Platform) == target.Local {
		return exit.Usage("verify checks what a job needs in AWS, and the local engine needs only the job file").
			Try("name a target: %s --target NAME; or run it here: batchctl run %s", nextCommand(o, "verify"),
				strings.Join(o.Paths, " "))
	}
	planned, err := BuildPlan(ctx, con, o, in, false)
	if err != nil {
		return err
	}
	t, err := session.OpenTarget(ctx, con, o.Target, in.Platform, target.ToRead)
	if err != nil {
		return err
	}
	defer t.Close()
	v := verify.New(t.Config)
	if in.Platform != nil {
		v.Types = in.Platform.Catalog
	}
	results, err := v.Run(ctx, planned)
	if err != nil {
		return err
	}
	if o.Format == "json" {
		err = con.MaskedJSON(results)
	} else {
		err = printResults(con, results)
	}
	if err != nil {
		return err
	}
	return verified(con, t, results, strict, o)
}

// printResults prints one row per check.
func printResults(con *term.Console, results []verify.Result) error {
	t := con.Table("OUTCOME", "CHECK", "WHAT", "WHY")
	for _, r := range results {
		why := r.Why
		if r.Fix != "" {
			why += "; " + r.Fix
		}
		t.Row(string(r.Outcome), r.Check, r.What, con.Redacted(why))
	}
	return t.Flush()
}

// verified prints the number of results, and returns the exit status.
func verified(con *term.Console, t *target.Target, results []verify.Result, strict bool, o Options) error {
	counts := map[verify.Outcome]int{}
	for _, r := range results {
		counts[r.Outcome]++
	}
	fmt.Fprintf(con.Err, "%s: %d passed, %d failed, %d not checked\n", diag.Printable(t.Label), counts[verify.Pass],
		counts[verify.Fail], counts[verify.NotChecked])
	switch {
	case counts[verify.Fail] > 0:
		return exit.Silent(exit.Problem)
	case verify.Unreached(results) != nil:
		return exit.Fail(exit.NotDone, "the checks are incomplete: %v", verify.Unreached(results)).
			Then(nextCommand(o, "verify"))
	case counts[verify.NotChecked] > 0 && strict:
		return exit.Fail(exit.NotDone, "could not check %s", text.Count(counts[verify.NotChecked], "thing")).
			Try("request the permissions in these lines, or omit --strict")
	}
	fmt.Fprintf(con.Err, "next: %s\n", diag.Printable(con.Redacted(nextCommand(o, "submit"))))
	return nil
}
