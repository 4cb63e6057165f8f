package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/client/once"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/exit"
)

// ledgerIn is the ledger of a state directory. It reports damaged lines, once a file.
func ledgerIn(con *term.Console, dir string) *once.Ledger {
	told := map[string]bool{}
	return &once.Ledger{Dir: dir, Damaged: func(d *once.DamageError) {
		if !told[d.Path] {
			told[d.Path] = true
			fmt.Fprintf(con.Err, "note: %s\n", diag.Printable(d.Error()))
		}
	}}
}

// checkDue does the check for duplicates that an earlier command left, for every run of the
// target where it is due, and names those for which it is not due yet. What fails is
// reported and left to the next command: this one has other work to do. Where requests may be
// repeated, jobs that nothing was wrong with are checked once more, too.
func checkDue(con *term.Console, c *cli.Context, t *target) {
	there := recheck(con, c, t)
	if c.Command.Name == "resume" {
		return // which does all that is open
	}
	open, err := t.ledger.OpenRuns()
	if err != nil {
		return // the command reports it where it reads the ledger
	}
	for _, r := range open {
		if r.Damage != nil || r.LookDue.IsZero() || !t.ledger.Covers(r.Target) && r.Target != t.ledger.Target {
			continue
		}
		if there == nil {
			there = changing(con, c, t)
		}
		if r.Target != there.Ledger.Target {
			continue
		}
		if wait := time.Until(r.LookDue); wait > 0 {
			fmt.Fprintf(con.Err, "note: jobs of run %s may have duplicates: the check is due in %v, and the next command after that does it; to wait for it: batchctl resume %[1]s%[3]s\n",
				r.Name, (wait + time.Second - 1).Truncate(time.Second), t.flags)
			continue
		}
		err := there.CheckDuplicates(c.Context, r.Name)
		_, locked := errors.AsType[*once.LockedError](err)
		if err == nil || locked || errors.Is(err, fs.ErrNotExist) {
			continue // it is done, or another process does it
		}
		con.Explain(exit.From(t.submitFailure(c.Context, err)))
	}
}

// recheck ends duplicates of jobs that earlier commands submitted and that turned up since. It
// returns the client that it used; nil if it had nothing to check.
func recheck(con *term.Console, c *cli.Context, t *target) *once.Client {
	if !t.Replayable {
		return nil
	}
	if jobs, err := t.ledger.Unverified(); err != nil || len(jobs) == 0 {
		return nil // an error is reported where the command reads the ledger
	}
	there := changing(con, c, t)
	err := there.RecheckDuplicates(c.Context)
	if twice, ok := errors.AsType[*once.TwiceError](err); ok {
		con.Explain(exit.From(t.submitFailure(c.Context, twice)))
	} else if err != nil {
		fmt.Fprintf(con.Err, "note: check earlier jobs for duplicates: %s; the next command checks them again\n", diag.Printable(con.Redacted(err.Error())))
	}
	return there
}

// changing is a client for the target that may change it: its ledger knows the account, for
// which a command that only reads has not asked.
func changing(con *term.Console, c *cli.Context, t *target) *once.Client {
	ledger := ledgerIn(con, t.ledger.Dir)
	account, err := accountsIn(ledger.Dir).of(c.Context, t.config, accountOf)
	if err != nil {
		account = ""
	}
	ledger.Target = awsLabel(cmp.Or(account, "(account not known)"), t.config)
	there := once.New(t.config)
	there.Ledger, there.Replayable = ledger, t.Replayable
	submitsWith(con, c, there)
	return there
}
