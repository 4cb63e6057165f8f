package diagnose

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/batchctl/batchctl/pkg/advise"
	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/cli/session"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/client/once"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/exit"
	record "github.com/batchctl/batchctl/pkg/history"
	"github.com/batchctl/batchctl/pkg/target"
)

// attempts reads the record of the state directory, in the order of recording. It prints damaged lines.
func attempts(con *term.Console, o target.Options, since time.Time,
	platform *document.Platform) ([]record.Attempt, error) {
	dir, err := o.Dir()
	if err != nil {
		return nil, err
	}
	var all []record.Attempt
	wanted := targetOf(o, platform)
	for a, err := range (record.Store{Dir: dir}).All() {
		if damage, ok := errors.AsType[*record.DamageError](err); ok {
			fmt.Fprintf(con.Err, "note: %s\n", diag.Printable(damage.Error()))
			continue
		}
		if err != nil {
			return nil, exit.Fail(exit.NotDone, "read the record of attempts: %v", exit.Cause(err))
		}
		if wanted(a.Target) && (since.IsZero() || cmp.Or(a.StoppedAt, a.StartedAt, a.CreatedAt) >= since.UnixMilli()) {
			all = append(all, a)
		}
	}
	return all, nil
}

// targetOf returns which targets of the record the flags mean. Without --target, all are meant.
func targetOf(o target.Options, platform *document.Platform) func(recorded string) bool {
	name, region := cmp.Or(o.Name, os.Getenv("BATCHCTL_TARGET")), o.Region
	if name == "" && region == "" {
		return func(string) bool { return true }
	}
	if platform != nil {
		if t, ok := platform.Target(name); ok {
			region = cmp.Or(region, t.Region)
		}
	}
	return func(recorded string) bool {
		if name == target.Local {
			return recorded == target.Local
		}
		return recorded != target.Local && (region == "" || strings.Contains(recorded+" ", " "+region+" "))
	}
}

// handle is an argument with the jobs that it means according to the ledger.
type handle struct {
	text string
	jobs map[string]bool
}

// handlesOf finds the jobs of arguments.
func handlesOf(con *term.Console, o target.Options, args []string) (all []handle, err error) {
	if len(args) == 0 {
		return nil, nil
	}
	dir, err := o.Dir()
	if err != nil {
		return nil, err
	}
	for _, arg := range args {
		jobs, err := session.Recorded(con, &once.Ledger{Dir: dir}, arg)
		if err != nil {
			return nil, err
		}
		all = append(all, handle{arg, jobs})
	}
	return all, nil
}

// names reports whether an argument names the job of an attempt, its array, a job of its chain, its definition or its
// submission.
func (h handle) names(a record.Attempt) bool {
	array, part := batch.SplitID(a.Job)
	if h.jobs[a.Job] || h.jobs[array] {
		return true
	}
	for _, name := range []string{a.Name, a.Name + part, advise.DefinitionName(a), batch.Name(a.Definition)} {
		if matches(h.text, name) {
			return true
		}
	}
	switch h.text {
	case "":
		return false
	case a.Definition, a.Job, array, batch.ShortID(a.Job), batch.ShortID(array), a.Submission:
		return true
	}
	return false
}

// matches compares a name with a pattern, whose trailing * is a wildcard.
func matches(pattern, name string) bool {
	if prefix, ok := strings.CutSuffix(pattern, "*"); ok {
		return strings.HasPrefix(name, prefix)
	}
	return pattern == name && name != ""
}

// howRecorded says how attempts get into the record.
const howRecorded = "batchctl records attempts when it sees that a job has ended: run, submit --wait, wait and status do"

// howMeasured says how to measure.
const howMeasured = `to measure its attempts, write "measure": true in the job file, or in the platform file for all jobs`

// noAttempts is the error if the record has none of what was asked for.
func noAttempts(what string) error {
	return exit.Fail(exit.NotDone, "no attempt%s is recorded", what).Try("%s", howRecorded)
}
