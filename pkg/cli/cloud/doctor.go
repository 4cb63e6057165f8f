package cloud

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strings"

	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/doctor"
	"github.com/batchctl/batchctl/pkg/exit"
)

func doctorTopics() (topics []string) {
	for _, c := range doctor.Checks() {
		topics = append(topics, c.Topic)
	}
	return topics
}

func examine(ctx context.Context, con *term.Console, o doctorOptions) error {
	if len(o.operands) > 0 {
		return exit.Usage("doctor takes no arguments").Try("to check a directory: batchctl doctor --root %s", o.operands[0])
	}
	host, err := hostAt(o.root)
	if err != nil {
		return err
	}
	report := doctor.Examine(ctx, host)
	if err := ctx.Err(); err != nil {
		return err
	}
	if o.format == "json" {
		err = con.JSON(report)
	} else {
		err = con.Print(diag.PrintableLines(report.Text(o.verbose)))
	}
	if err != nil {
		return err
	}
	return examined(con, report)
}

// hostAt is what doctor looks at: this machine, or the files below a directory, from
// which no link leads out.
func hostAt(dir string) (doctor.Host, error) {
	if dir == "" {
		if runtime.GOOS != "linux" {
			return doctor.Host{}, exit.Fail(exit.NotDone, "doctor looks at Linux hosts and containers: this machine runs %s", runtime.GOOS).
				Try("look at files that were copied from one: batchctl doctor --root DIR")
		}
		return doctor.Host{FS: os.DirFS("/"), Env: os.Getenv, Ask: machine{}}, nil
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return doctor.Host{}, exit.Fail(exit.NotDone, "read %s: %v", dir, exit.Cause(err)).Try("name the root directory of the host")
	}
	return doctor.Host{FS: root.FS(), Root: dir}, nil
}

// examined says what the findings add up to, and gives the exit code.
func examined(con *term.Console, r doctor.Report) error {
	if r.Empty() {
		f := exit.Fail(exit.NotDone, "nothing could be checked")
		if r.Root != "" {
			return f.Try("name the root directory of the host: it holds etc, var, proc")
		}
		return f.Try("root sees more: sudo batchctl doctor")
	}
	var counts []string
	for _, s := range doctor.Severities() {
		word := string(s)
		if n := r.Count(s); s == doctor.OK {
			counts = append(counts, fmt.Sprint(n, " ok"))
		} else if n > 0 {
			counts = append(counts, term.Plural(n, word))
		}
	}
	fmt.Fprintln(con.Err, strings.Join(counts, ", "))
	if r.Count(doctor.Problem) > 0 {
		return exit.Silent(exit.Problem)
	}
	return nil
}
