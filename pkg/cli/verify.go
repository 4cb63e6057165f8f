package cli

import (
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/verify"
)

func (p *program) verifyCommand() *cli.Command {
	return &cli.Command{
		Name:      "verify",
		Usage:     "look up at the target what the jobs of a file need, before the first submit; change nothing",
		UsageText: "batchctl verify [FLAGS] FILE ...",
		Description: help("The file is validated and planned first. Then are looked up: "+strings.Join(checkNames(), ", ")+".\n"+
			"What the caller may not look at is not checked, and said so; --strict ends with code 3 then.",
			"batchctl verify job.json --target prod\nbatchctl verify jobs/*.json --target prod --strict --output json"),
		Flags: append(append(append(append(inputFlags(), planFlags()...), targetFlags()...), outputFlags()...),
			&cli.BoolFlag{Name: "strict", Usage: "what could not be checked is a failure"}),
		Action: p.verify,
	}
}

func checkNames() (names []string) {
	for _, c := range verify.Checks() {
		names = append(names, c.Name)
	}
	return names
}

func (p *program) verify(c *cli.Context) error {
	format, err := outputFormat(c)
	if err != nil {
		return err
	}
	in, err := p.load(c)
	if err != nil {
		return err
	}
	if targetName(c, in.platform) == localTarget {
		return usage("verify asks AWS: the local engine needs nothing but the file").
			try("name a target: %s --target NAME; or run it here: batchctl run %s", nextCommand(c, "verify"), strings.Join(c.Args().Slice(), " "))
	}
	made, err := p.makePlan(c, in, false)
	if err != nil {
		return err
	}
	t, err := p.open(c.Context, c, in.platform, toRead)
	if err != nil {
		return err
	}
	defer t.close()
	v := verify.New(t.config)
	if in.platform != nil {
		v.Types = in.platform.Catalog
	}
	results, err := v.Run(c.Context, made)
	if err != nil {
		return err
	}
	if format == "json" {
		err = p.writeMaskedJSON(results)
	} else {
		err = p.printResults(results)
	}
	if err != nil {
		return err
	}
	return p.verified(t, results, c.Bool("strict"), nextCommand(c, "submit"))
}

func (p *program) printResults(results []verify.Result) error {
	t := p.table("OUTCOME", "CHECK", "WHAT", "WHY")
	for _, r := range results {
		why := r.Why
		if r.Fix != "" {
			why += "; " + r.Fix
		}
		t.row(string(r.Outcome), r.Check, r.What, p.redacted(why))
	}
	return t.flush()
}

// verified says what the checks add up to, and gives the exit code.
func (p *program) verified(t *target, results []verify.Result, strict bool, next string) error {
	counts := map[verify.Outcome]int{}
	for _, r := range results {
		counts[r.Outcome]++
	}
	fmt.Fprintf(p.Err, "%s: %d passed, %d failed, %d not checked\n", diag.Printable(t.label), counts[verify.Pass], counts[verify.Fail], counts[verify.NotChecked])
	switch {
	case counts[verify.Fail] > 0:
		return quiet(ExitProblem)
	case counts[verify.NotChecked] > 0 && strict:
		return fail(ExitNotDone, "%s not be checked", plural(counts[verify.NotChecked], "thing")+" could").
			try("ask for the permissions that the lines name, or leave --strict out")
	}
	fmt.Fprintf(p.Err, "next: %s\n", diag.Printable(p.redacted(next)))
	return nil
}
