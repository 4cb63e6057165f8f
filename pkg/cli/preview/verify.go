package preview

import (
	"context"
	"fmt"
	"strings"

	"github.com/batchctl/batchctl/pkg/cli/cmdline"
	"github.com/batchctl/batchctl/pkg/cli/input"
	"github.com/batchctl/batchctl/pkg/cli/session"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/target"
	"github.com/batchctl/batchctl/pkg/text"
	"github.com/batchctl/batchctl/pkg/verify"
	"github.com/urfave/cli/v2"
)

// checkNames returns the names of all checks, for the help.
func checkNames() (names []string) {
	for _, c := range verify.Checks() {
		names = append(names, c.Name)
	}
	return names
}

// VerifyCommand is batchctl verify.
func VerifyCommand(con *term.Console) *cli.Command {
	return cmdline.Command(cli.Command{
		Name:      "verify",
		Usage:     "check that everything a job needs exists at the target",
		UsageText: "batchctl verify [FLAGS] FILE ...",
		Description: cmdline.Help("Validates and plans the file. Then it checks: "+strings.Join(checkNames(), ", ")+
			".\n\n"+
			"Checks that your credentials do not allow are reported as \"not checked\"; with --strict, the exit code is then 3.",
			"batchctl verify job.json --target prod\nbatchctl verify jobs/*.json --target prod --strict --output json"),
	}, VerifyOptions{Output: cmdline.Outputs(cmdline.JSON[[]verify.Result]())},
		func(ctx context.Context, o VerifyOptions) error { return verifyFiles(ctx, con, o) })
}

// VerifyOptions are the flags of verify.
type VerifyOptions struct {
	Options
	cmdline.Output
	Strict bool `flag:"strict" usage:"exit with status 3 if something could not be checked"`
}

// verifyFiles is batchctl verify.
func verifyFiles(ctx context.Context, con *term.Console, o VerifyOptions) error {
	results, label, err := verifyAll(ctx, con, o)
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
	return verified(con, label, results, o)
}

// verifyAll plans the files and checks at AWS what the jobs need. label names the target.
func verifyAll(ctx context.Context, con *term.Console, o VerifyOptions) (results []verify.Result, label string,
	err error) {
	in, err := input.Load(con, o.Options.Options)
	if err != nil {
		return nil, "", err
	}
	// The local engine creates what a plan names.
	if o.Target.NameFrom(in.Platform) == target.Local {
		return nil, "", exit.Usage("verify checks what a job needs in AWS, and the local engine needs only the job file").
			Try("name a target: %s --target NAME; or run it here: batchctl run %s", o.repeated("verify"),
				strings.Join(o.Args, " "))
	}
	planned, err := BuildPlan(ctx, con, o.Options, in, false)
	if err != nil {
		return nil, "", err
	}
	t, err := session.OpenTarget(ctx, con, o.Target, in.Platform, target.ToRead)
	if err != nil {
		return nil, "", err
	}
	defer t.Close()
	v := verify.New(t.Config)
	if in.Platform != nil {
		v.Types = in.Platform.Catalog
	}
	results, err = v.Run(ctx, planned)
	return results, t.Label, err
}

// repeated returns another command with the flags that change the plan.
func (o VerifyOptions) repeated(verb string) string {
	return nextCommand(PlanOptions{Options: o.Options}, verb)
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
func verified(con *term.Console, label string, results []verify.Result, o VerifyOptions) error {
	counts := map[verify.Outcome]int{}
	for _, r := range results {
		counts[r.Outcome]++
	}
	fmt.Fprintf(con.Err, "%s: %d passed, %d failed, %d not checked\n", diag.Printable(label), counts[verify.Pass],
		counts[verify.Fail], counts[verify.NotChecked])
	switch {
	case counts[verify.Fail] > 0:
		return exit.Silent(exit.Problem)
	case verify.Unreached(results) != nil:
		return exit.Fail(exit.NotDone, "the checks are incomplete: %v", verify.Unreached(results)).
			Then(o.repeated("verify"))
	case counts[verify.NotChecked] > 0 && o.Strict:
		return exit.Fail(exit.NotDone, "could not check %s", text.Count(counts[verify.NotChecked], "thing")).
			Try("request the permissions in these lines, or omit --strict")
	}
	fmt.Fprintf(con.Err, "next: %s\n", diag.Printable(con.Redacted(o.repeated("submit"))))
	return nil
}
