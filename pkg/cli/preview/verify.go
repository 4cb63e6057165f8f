package preview

import (
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/batchctl/batchctl/pkg/cli/cmdline"
	"github.com/batchctl/batchctl/pkg/cli/input"
	"github.com/batchctl/batchctl/pkg/cli/session"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/target"
	"github.com/batchctl/batchctl/pkg/verify"
)

// VerifyCommand is batchctl verify.
func VerifyCommand(con *term.Console) *cli.Command {
	return &cli.Command{
		Name:      "verify",
		Usage:     "look up at the target what the jobs of a file need, before the first submit; change nothing",
		UsageText: "batchctl verify [FLAGS] FILE ...",
		Description: cmdline.Help("The file is validated and planned first. Then are looked up: "+strings.Join(checkNames(), ", ")+".\n"+
			"What the caller may not look at is not checked, and said so; --strict ends with code 3 then.",
			"batchctl verify job.json --target prod\nbatchctl verify jobs/*.json --target prod --strict --output json"),
		Flags: append(append(append(append(input.Flags(), PlanFlags()...), cmdline.TargetFlags()...), cmdline.OutputFlags()...),
			&cli.BoolFlag{Name: "strict", Usage: "what could not be checked is a failure"}),
		Action: func(c *cli.Context) error { return verifyFiles(con, c) },
	}
}

func checkNames() (names []string) {
	for _, c := range verify.Checks() {
		names = append(names, c.Name)
	}
	return names
}

func verifyFiles(con *term.Console, c *cli.Context) error {
	format, err := cmdline.OutputFormat(c)
	if err != nil {
		return err
	}
	in, err := input.Load(con, input.OptionsOf(c))
	if err != nil {
		return err
	}
	if cmdline.TargetOptions(c).NameFrom(in.Platform) == target.Local {
		return exit.Usage("verify asks AWS: the local engine needs nothing but the file").
			Try("name a target: %s --target NAME; or run it here: batchctl run %s", nextCommand(c, "verify"), strings.Join(c.Args().Slice(), " "))
	}
	made, err := BuildPlan(con, c, in, false)
	if err != nil {
		return err
	}
	t, err := session.OpenTarget(c.Context, con, cmdline.TargetOptions(c), in.Platform, target.ToRead)
	if err != nil {
		return err
	}
	defer t.Close()
	v := verify.New(t.Config)
	if in.Platform != nil {
		v.Types = in.Platform.Catalog
	}
	results, err := v.Run(c.Context, made)
	if err != nil {
		return err
	}
	if format == "json" {
		err = con.MaskedJSON(results)
	} else {
		err = printResults(con, results)
	}
	if err != nil {
		return err
	}
	return verified(con, t, results, c.Bool("strict"), nextCommand(c, "submit"))
}

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

// verified says what the checks add up to, and gives the exit code.
func verified(con *term.Console, t *target.Target, results []verify.Result, strict bool, next string) error {
	counts := map[verify.Outcome]int{}
	for _, r := range results {
		counts[r.Outcome]++
	}
	fmt.Fprintf(con.Err, "%s: %d passed, %d failed, %d not checked\n", diag.Printable(t.Label), counts[verify.Pass], counts[verify.Fail], counts[verify.NotChecked])
	switch {
	case counts[verify.Fail] > 0:
		return exit.Silent(exit.Problem)
	case counts[verify.NotChecked] > 0 && strict:
		return exit.Fail(exit.NotDone, "%s not be checked", term.Plural(counts[verify.NotChecked], "thing")+" could").
			Try("ask for the permissions that the lines name, or leave --strict out")
	}
	fmt.Fprintf(con.Err, "next: %s\n", diag.Printable(con.Redacted(next)))
	return nil
}
