package preview

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/batchctl/batchctl/pkg/catalog"
	"github.com/batchctl/batchctl/pkg/check"
	"github.com/batchctl/batchctl/pkg/cli/input"
	"github.com/batchctl/batchctl/pkg/cli/session"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/newfile"
	"github.com/batchctl/batchctl/pkg/plan"
	"github.com/batchctl/batchctl/pkg/target"
	"github.com/batchctl/batchctl/pkg/text"
)

// queryTimeout limits how long a plan waits for its target. A plan must be quick;
// it reports what it could not check.
const queryTimeout = 5 * time.Second

// review compares a plan with its target, the prices and the platform file.
func review(ctx context.Context, con *term.Console, o PlanOptions, in *input.Input,
	planned *plan.Plan) (*plan.Review, error) {
	prices, err := PricesFor(string(o.Prices), in)
	if err != nil {
		return nil, err
	}
	w, err := queryTarget(ctx, con, o, in, planned)
	if err != nil {
		return nil, err
	}
	return ReviewOf(in, planned, w, prices), nil
}

// ReviewOf compares a plan with the state of its target, the prices and the
// platform file's policy.
func ReviewOf(in *input.Input, planned *plan.Plan, w *plan.TargetState, prices *catalog.Prices) *plan.Review {
	v := planned.Review(w, in.Platform, prices)
	v.Policy = policyOf(in, w)
	return v
}

// waivedIn returns the policy rules that the files waive.
func waivedIn(problems diag.List) (list []plan.Waived) {
	for _, d := range problems {
		if d.Waived != nil && strings.HasPrefix(d.Rule, "policy-") {
			list = append(list, plan.Waived{Rule: d.Rule, Reason: d.Waived.Reason, Until: d.Waived.Until})
		}
	}
	return list
}

// NoTarget is the target of a plan with --offline that would be for the local engine only because nothing names another
// target. Placement and price then follow the platform file.
const NoTarget = "none"

// queryTarget fetches the state of the target that the plan needs. Only a target
// that does not exist, or a wrong account, is an error. What cannot be queried is
// reported in the result.
func queryTarget(whole context.Context, con *term.Console, o PlanOptions, in *input.Input,
	planned *plan.Plan) (*plan.TargetState, error) {
	name := o.Target.NameFrom(in.Platform)
	var entry document.Target
	if in.Platform != nil {
		entry, _ = in.Platform.Target(name)
	}
	unqueried := &plan.TargetState{Target: name, Local: name == target.Local, Region: o.Target.Override(entry).Region}
	if o.Offline {
		unqueried.Unreached = "--offline"
	}
	if o.Offline && unqueried.Local && !o.Target.IsNamed() {
		unqueried.Target, unqueried.Local = NoTarget, false
	}
	// An engine that never ran has no definitions or queues.
	if unqueried.Local && (o.Offline || neverRan(o.Target)) {
		var err error
		if unqueried.Environments, unqueried.Machines, err = target.MachineHere(whole, entry); !o.Offline {
			unqueried.Consumables = map[string]int64{}
		}
		return unqueried, err
	}
	if o.Offline {
		return unqueried, nil
	}
	ctx, cancel := context.WithTimeout(whole, queryTimeout)
	defer cancel()
	t, err := session.OpenNamed(ctx, con, o.Target, in.Platform, name, target.ToRead)
	if err != nil && whole.Err() != nil {
		return nil, whole.Err() // Ctrl-C is no reason to print a plan
	}
	if err != nil {
		f := exit.From(err)
		// submit may run with a Region, such as in CI
		if f.Code == exit.BadUsage && !strings.HasSuffix(f.Message, "has no Region") {
			return nil, err
		}
		unqueried.Unreached = strings.TrimSuffix(f.Message+"; "+f.Hint, "; ")
		return unqueried, nil
	}
	// The account in the answers may differ from accountId of the target.
	w := targetState(ctx, t, planned)
	if whole.Err() != nil {
		return nil, errors.Join(whole.Err(), t.Close())
	}
	if account := w.Account(); entry.AccountID != "" && account != "" && account != entry.AccountID {
		return nil, target.WrongAccount(name, entry.AccountID, account, nil)
	}
	return w, t.Close()
}

// neverRan reports whether the local engine has no state directory.
func neverRan(o target.Options) bool {
	dir, err := o.Dir()
	if err != nil {
		return false
	}
	_, err = os.Stat(dir)
	return errors.Is(err, fs.ErrNotExist)
}

// targetState fetches the state from an open target.
func targetState(ctx context.Context, t *target.Target, planned *plan.Plan) *plan.TargetState {
	w := t.Client.TargetState(ctx, planned)
	w.Local, w.Target = t.IsLocal(), t.Kind()
	if w.Local {
		w.Region = ""
	} else if account := w.Account(); account != "" && !strings.Contains(w.Target, account) {
		w.Target = fmt.Sprintf("aws %s %s", account, w.Region)
	}
	return w
}

// Problems returns why the target would reject jobs of a plan, or let them wait indefinitely: what plan reports.
func Problems(ctx context.Context, t *target.Target, planned *plan.Plan) []plan.Problem {
	return planned.Review(targetState(ctx, t, planned), nil, nil).Problems()
}

// PricesFor reads the prices from the file at path. If path is "", it reads the
// file that the platform file names. It returns nil for the prices that are part
// of batchctl.
func PricesFor(path string, in *input.Input) (*catalog.Prices, error) {
	named := ""
	if path == "" && in.Platform != nil && in.Platform.PricesFile != "" {
		path, named = in.Platform.PricesPath(in.PlatformFile), ", which "+in.PlatformFile+" names"
	}
	if path == "" {
		return nil, nil
	}
	var err error
	if named != "" {
		err = document.Regular(path)
	}
	var prices *catalog.Prices
	if err == nil {
		prices, err = catalog.ReadPricesFile(path)
	}
	if err != nil {
		return nil, exit.Fail(exit.NotDone, "read prices %s%s: %v", path, named, err).
			Try("its lines are %s under that header: eu-west-1,m5.large,0.107", catalog.PricesHead)
	}
	return prices, nil
}

// writePlan writes the plan's JSON for submit --check. The file can contain
// secrets of the job file, so only its owner can read it.
func writePlan(con *term.Console, path string, document []byte) error {
	if err := newfile.Write(path, newfile.ForOwner, newfile.Bytes(document)); err != nil {
		return err
	}
	fmt.Fprintf(con.Err, "wrote the plan to %s\n", diag.Printable(path))
	return nil
}

// CheckPlan returns an error if the plan in a file differs from the plan now: the
// files, the policy, the registered definitions, the queues or the compute
// environments have changed. t is open, and nothing has been sent.
func CheckPlan(ctx context.Context, con *term.Console, t *target.Target, in *input.Input, planned *plan.Plan,
	path string) error {
	then, err := check.AppendFile(nil, path)
	if err != nil {
		return input.Unreadable(err, input.MakePlan)
	}
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	// The state of the target contains no prices.
	v := ReviewOf(in, planned, targetState(ctx, t, planned), nil)
	now, err := planned.JSON(v)
	if err != nil {
		return err
	}
	changes, notChecked, err := plan.Moved(bytes.TrimSpace(then), now)
	if err != nil {
		return exit.Fail(exit.NotDone, "read the plan %s: %v", path, err).
			Try("create it: %s %s", input.MakePlan, term.Quoted(path))
	}
	for _, reason := range notChecked {
		fmt.Fprintf(con.Err, "note: the plan is only partly checked: %s\n", diag.Printable(con.Redacted(reason)))
	}
	if problems := v.Problems(); len(changes) == 0 && len(problems) > 0 && !t.IsLocal() {
		return exit.Fail(exit.Problem, "%s: nothing was sent", diag.Printable(con.Redacted(problems[0].String()))).
			Try("%s", cmp.Or(problems[0].Remedy, "fix it, then plan again: batchctl plan JOB_FILE --out "+
				term.Quoted(path)))
	}
	if len(changes) == 0 {
		return nil // of the local engine, the submission itself finds the problems
	}
	fmt.Fprintf(con.Err, "since the plan %s was created:\n", diag.Printable(path))
	for _, change := range changes {
		fmt.Fprintf(con.Err, "  %s\n", diag.Printable(con.Redacted(change.String())))
	}
	return exit.Fail(exit.Change, "%s since the plan was created: nothing was sent",
		text.Count(len(changes), "change")).
		Try("plan again: batchctl plan JOB_FILE --out %s", path)
}
