package platform

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/batchctl/batchctl/pkg/check"
	"github.com/batchctl/batchctl/pkg/cli/author"
	"github.com/batchctl/batchctl/pkg/cli/input"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/infra"
	"github.com/batchctl/batchctl/pkg/newfile"
	"github.com/batchctl/batchctl/pkg/target"
)

// infraOutputs is batchctl infra outputs: it prints a platform file with the
// queues of the stacks, or adds them to the existing file.
func infraOutputs(ctx context.Context, con *term.Console, o infraOptions) error {
	call, err := openInfra(ctx, con, o, target.ToRead)
	if err != nil {
		return err
	}
	defer call.Close()
	outputs, err := call.Outputs(ctx, call.chosen)
	if err != nil {
		return call.failed(ctx, err)
	}
	if len(outputs) == 0 {
		return exit.Fail(exit.NotDone, "no stack of batchctl has outputs").Try("deploy first: %s", call.next("deploy"))
	}
	queues, err := call.Queues(ctx, outputs)
	if err != nil {
		return call.failed(ctx, err)
	}
	resources := &infra.PlatformResources{Queues: queues, Prefix: call.Prefix, Target: call.Target.Name,
		Staging: infra.Staging(outputs)}
	switch {
	case o.Write:
		return writeResources(con, o.Target.Platform, resources)
	case o.Format == "json":
		return con.JSON(outputsDocument{outputs, byAlias(queues)})
	}
	text, err := platformText(resources, diag.NewSource("", "{}\n"))
	if err != nil {
		return err
	}
	return author.PrintDocument(con, text)
}

// outputsDocument is the JSON output of infra outputs.
type outputsDocument struct {
	Outputs []infra.StackOutput `json:"outputs"`
	// Queues are the queues of the stacks by their name in the platform file.
	Queues map[string]infra.Queue `json:"queues"`
}

// platformText returns the text of a platform file with the resources that it lacked.
func platformText(m *infra.PlatformResources, src *diag.Source) (string, error) {
	text, err := m.Into(src)
	if e, ok := errors.AsType[*infra.NotPlatformError](err); ok {
		return "", exit.Fail(exit.Problem, "%v", e).Try("see what is wrong: batchctl validate %s", e.File)
	}
	return text, err
}

// byAlias indexes queues by their alias in the platform file.
func byAlias(queues []infra.Queue) map[string]infra.Queue {
	all := map[string]infra.Queue{}
	for _, q := range queues {
		all[q.Alias] = q
	}
	return all
}

// writeResources adds the resources to the platform file. It creates the file if
// there is none.
func writeResources(con *term.Console, path string, m *infra.PlatformResources) error {
	// Like other commands, use the platform file of this directory or of one
	// above it.
	if found, ok := check.FindPlatform("."); path == "" && ok {
		path = found
	}
	path = cmp.Or(path, document.PlatformFile)
	src := diag.NewSource(path, "{}\n")
	if _, err := os.Stat(path); err == nil {
		if src, err = check.ReadFile(path); err != nil {
			return input.Unreadable(err, input.MakePlatform)
		}
	}
	text, err := platformText(m, src)
	if err != nil {
		return err
	}
	if text != src.Text {
		if err := newfile.Write(path, 0o644, newfile.Bytes([]byte(text))); err != nil {
			return exit.Fail(exit.NotDone, "write %s: %v", path, exit.Cause(err)).Try("the file is unchanged")
		}
	}
	outcome := map[bool]string{true: "added", false: "as it was"}
	for _, q := range m.Queues {
		isAdded := slices.ContainsFunc(m.AddedQueues, func(a infra.Queue) bool { return a.JobQueue == q.JobQueue })
		alias := infra.AliasIn(diag.NewSource(path, text), q)
		fmt.Fprintf(con.Err, "%s: queue %s (%s): %s\n", diag.Printable(path), diag.Printable(alias),
			diag.Printable(q.JobQueue), outcome[isAdded])
	}
	fmt.Fprintf(con.Err, "%s: tag %s of every job: %s\n", diag.Printable(path), infra.ProjectTag, diag.Printable(m.Tag))
	if m.Tag != m.Prefix {
		fmt.Fprintf(con.Err, "note: jobs for the queues of %[1]s need the tag %[2]s = %[1]s: add it to their files, or AWS rejects them\n", diag.Printable(m.Prefix), infra.ProjectTag)
	}
	if m.Staging != "" {
		fmt.Fprintf(con.Err, "%s: staging of target %s (%s): %s\n", diag.Printable(path), diag.Printable(m.Target),
			diag.Printable(m.Staging), outcome[m.AddedStaging])
	}
	return nil
}
