package cloud

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
	made := &madeBy{queues: queues, target: call.Target.Name, staging: infra.Staging(outputs)}
	switch {
	case o.write:
		return writeMade(con, o.Target.Platform, made)
	case o.Format == "json":
		return con.JSON(struct {
			Outputs []infra.StackOutput    `json:"outputs"`
			Queues  map[string]infra.Queue `json:"queues"`
		}{outputs, byAlias(queues)})
	}
	text, err := made.into(diag.NewSource("", "{}\n"))
	if err != nil {
		return err
	}
	return author.PrintDocument(con, text)
}

// madeBy is what stacks made, as far as a platform file says it.
type madeBy struct {
	queues []infra.Queue
	// target gets the staging; "" for none.
	target, staging string
	// addedQueues are the aliases that into has added; addedStaging that it has the staging.
	addedQueues  []string
	addedStaging bool
}

// into is the text of a platform file with what it does not have yet.
func (m *madeBy) into(src *diag.Source) (text string, err error) {
	text, m.addedQueues, err = infra.AddQueues(src, m.queues)
	if err == nil && m.staging != "" {
		text, m.addedStaging, err = infra.AddStaging(diag.NewSource(src.Name, text), m.target, m.staging)
	}
	if e, ok := errors.AsType[*infra.NotPlatformError](err); ok {
		return "", exit.Fail(exit.Problem, "%v", e).Try("see what is wrong: batchctl validate %s", e.File)
	}
	return text, err
}

func byAlias(queues []infra.Queue) map[string]infra.Queue {
	all := map[string]infra.Queue{}
	for _, q := range queues {
		all[q.Alias] = q
	}
	return all
}

// writeMade adds what stacks made to the platform file.
func writeMade(con *term.Console, path string, m *madeBy) error {
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
	text, err := m.into(src)
	if err != nil {
		return err
	}
	if text != src.Text {
		if err := newfile.Write(path, 0o644, newfile.Bytes([]byte(text))); err != nil {
			return exit.Fail(exit.NotDone, "write %s: %v", path, exit.Cause(err)).Try("the file is unchanged")
		}
	}
	word := map[bool]string{true: "added", false: "as it was"}
	for _, q := range m.queues {
		fmt.Fprintf(con.Err, "%s: queue %s (%s): %s\n", diag.Printable(path), diag.Printable(q.Alias), diag.Printable(q.JobQueue), word[slices.Contains(m.addedQueues, q.Alias)])
	}
	if m.staging != "" {
		fmt.Fprintf(con.Err, "%s: staging of target %s (%s): %s\n", diag.Printable(path), diag.Printable(m.target), diag.Printable(m.staging), word[m.addedStaging])
	}
	return nil
}
