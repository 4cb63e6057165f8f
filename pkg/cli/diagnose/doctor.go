package diagnose

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strings"

	"github.com/batchctl/batchctl/pkg/cli/cmdline"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/doctor"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/text"
	"github.com/urfave/cli/v2"
)

// doctorTopics returns the topics of all checks, in the order of the report. The
// help lists them.
func doctorTopics() (topics []string) {
	for _, c := range doctor.Checks() {
		topics = append(topics, c.Topic)
	}
	return topics
}

// DoctorCommand is batchctl doctor.
func DoctorCommand(con *term.Console) *cli.Command {
	return cmdline.Command(cli.Command{
		Name:      "doctor",
		Usage:     "diagnose a GPU host or a job's container",
		UsageText: "batchctl doctor [FLAGS]",
		Description: cmdline.Help("Detects whether it runs on a host or in a container, then checks:\n"+
			strings.Join(doctorTopics(), ", ")+
			".\nIt changes nothing. It reports checks that hang after at most 40 seconds, and lists what it could not read without root.\n\n--root checks only files: the disk of a broken host, or a copy of the disk.",
			"batchctl doctor\nsudo batchctl doctor --verbose\nbatchctl doctor --root /mnt/broken-host --output json"),
	}, doctorOptions{Output: cmdline.Outputs(cmdline.JSON[doctor.Report]())},
		func(ctx context.Context, o doctorOptions) error { return examine(ctx, con, o) })
}

// doctorOptions are the flags of doctor. It takes no arguments.
type doctorOptions struct {
	cmdline.Given
	cmdline.Output
	Root    string `flag:"root" usage:"check only the files below this <DIR>; run no program and query no address"`
	Verbose bool   `flag:"verbose" usage:"also list the checks that passed"`
}

// examine runs doctor's checks and prints the report. It exits with exit.Problem
// if a check found a problem, and with exit.NotDone if nothing could be checked.
func examine(ctx context.Context, con *term.Console, o doctorOptions) error {
	if len(o.Args) > 0 {
		return exit.Usage("doctor takes no arguments").Try("to check a directory: batchctl doctor --root %s",
			o.Args[0])
	}
	host, err := hostAt(o.Root)
	if err != nil {
		return err
	}
	report := doctor.Examine(ctx, host)
	if err := ctx.Err(); err != nil {
		return err
	}
	if o.Format == "json" {
		err = con.JSON(report)
	} else {
		err = con.Print(diag.PrintableLines(report.Text(o.Verbose)))
	}
	if err != nil {
		return err
	}
	return examined(con, report)
}

// hostAt returns the host that doctor examines: this machine, or the files below
// a directory. Links cannot lead out of the directory. Only Linux hosts can be
// examined live.
func hostAt(dir string) (doctor.Host, error) {
	if dir == "" {
		if runtime.GOOS != "linux" {
			return doctor.Host{}, exit.Fail(exit.NotDone,
				"doctor checks Linux hosts and containers; this machine runs %s", runtime.GOOS).
				Try("check files that were copied from one: batchctl doctor --root DIR")
		}
		return doctor.Host{FS: os.DirFS("/"), Env: os.Getenv, Ask: machine{}}, nil
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return doctor.Host{}, exit.Fail(exit.NotDone, "read %s: %v", dir, exit.Cause(err)).
			Try("name the root directory of the host")
	}
	return doctor.Host{FS: root.FS(), Root: dir}, nil
}

// examined prints the number of findings of each severity on stderr, and returns
// the exit status.
func examined(con *term.Console, r doctor.Report) error {
	if r.Empty() {
		f := exit.Fail(exit.NotDone, "nothing could be checked")
		if r.Root != "" {
			return f.Try("name the root directory of the host: it holds etc, var, proc")
		}
		return f.Try("run it as root to check more: sudo batchctl doctor")
	}
	var counts []string
	for _, s := range doctor.Severities() {
		name := string(s)
		if n := r.Count(s); s == doctor.OK {
			counts = append(counts, fmt.Sprint(n, " ok"))
		} else if n > 0 {
			counts = append(counts, text.Count(n, name))
		}
	}
	fmt.Fprintln(con.Err, strings.Join(counts, ", "))
	if r.Count(doctor.Problem) > 0 {
		return exit.Silent(exit.Problem)
	}
	return nil
}
