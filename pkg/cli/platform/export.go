package platform

import (
	"context"
	"fmt"
	"os"

	"github.com/urfave/cli/v2"

	"github.com/batchctl/batchctl/pkg/apply"
	"github.com/batchctl/batchctl/pkg/cli/cmdline"
	"github.com/batchctl/batchctl/pkg/cli/jobs"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/newfile"
	"github.com/batchctl/batchctl/pkg/rpc"
	"github.com/batchctl/batchctl/pkg/target"
	"github.com/batchctl/batchctl/pkg/text"
)

// exportOptions are the flags of export. Args are names of resources.
type exportOptions struct {
	cmdline.Given
	Target         target.Options
	File           string `flag:"file,f" usage:"write to this <FILE> instead of stdout"`
	CloudFormation bool   `flag:"cloudformation" usage:"print a CloudFormation template"`
	Terraform      bool   `flag:"terraform" usage:"print a Terraform configuration"`
}

// ExportCommand is batchctl export.
func ExportCommand(con *term.Console) *cli.Command {
	return cmdline.Command(cli.Command{
		Name:      "export",
		Usage:     "write the queues of an account as files",
		UsageText: "batchctl export [FLAGS] [NAME ...]",
		Description: cmdline.Help("Prints the requests that would create the account's compute environments, job queues and related resources. Applying them changes nothing. With a "+
			"NAME, it prints only that resource; for a queue, also its environments and scheduling policy.\n\n"+
			"--cloudformation prints a template whose resources CloudFormation can import. --terraform prints a configuration in JSON with import blocks, for Terraform 1.5 and version 6 of its AWS provider; save it as a .tf.json file.",
			"batchctl export --target prod --file queues.json\nbatchctl export gpu --target prod\nbatchctl export --target prod --terraform > queues.tf.json"),
	}, exportOptions{}, func(ctx context.Context, o exportOptions) error { return export(ctx, con, o) })
}

// export is batchctl export.
func export(ctx context.Context, con *term.Console, o exportOptions) error {
	if o.Terraform && o.CloudFormation {
		return exit.Usage("--terraform and --cloudformation exclude each other").Try("choose one of them")
	}
	out, err := newfile.Begin(o.File, newfile.ForAll)
	if err != nil {
		return err
	}
	defer out.Drop()
	t, err := jobs.OpenFor(ctx, con, jobs.Options{Target: o.Target}, target.ToRead)
	if err != nil {
		return err
	}
	defer t.Close()
	state, err := (&apply.Account{RPC: rpc.New(t.Config), API: t.Client.API}).Read(ctx)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return exit.Fail(exit.NotDone, "%v", err).Try("check the target and your permissions: batchctl queues%s",
			t.Flags)
	}
	noteUnread(con, state)
	state, missing := state.Choose(o.Args)
	if len(missing) > 0 {
		return exit.Fail(exit.NotDone, "no resource is named %s", text.Or(missing)).
			Try("list the resources: batchctl export%s", t.Flags)
	}
	for _, what := range state.Replaced() {
		fmt.Fprintf(con.Err, "left out: compute environment %s; the next apply deletes it once no job runs on it\n",
			diag.Printable(what))
	}
	exported, count, err := exportedText(con, state, o)
	if err != nil {
		return err
	}
	exported = string(diag.PrintableJSON([]byte(exported)))
	if o.File == "" {
		return con.PrintUnmasked(exported)
	}
	if differs(o.File, exported) {
		return exit.Fail(exit.NotDone, "%s already exists and has other content", o.File).
			Try("choose another name, or replace it: batchctl export%s > %s; nothing was changed", t.Flags,
				term.Quoted(o.File))
	}
	if err := out.Keep(newfile.Bytes([]byte(exported))); err != nil {
		return err
	}
	fmt.Fprintf(con.Err, "wrote %s with %s\n", diag.Printable(o.File), text.Count(count, "resource"))
	return nil
}

// differs reports whether a file exists and has another text. A device or a pipe has none.
func differs(path, text string) bool {
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return false
	}
	old, err := os.ReadFile(path)
	return err == nil && len(old) > 0 && string(old) != text
}

// exportedText returns the text in the chosen form, and how many resources it has.
func exportedText(con *term.Console, state *apply.State, o exportOptions) (string, int, error) {
	switch {
	case o.CloudFormation:
		text, err := state.Template()
		return string(text) + "\n", state.Count(), err
	case o.Terraform:
		c, err := state.Terraform()
		for _, what := range c.Left {
			fmt.Fprintf(con.Err, "left out: %s (Terraform's AWS provider does not have it)\n", diag.Printable(what))
		}
		return string(c.Text) + "\n", c.Resources, err
	}
	text, err := state.Export("https://raw.githubusercontent.com/batchctl/batchctl/main/schemas/resources.schema.json")
	if err != nil {
		return "", 0, err
	}
	root, _ := jsontree.Parse(diag.NewSource("export", string(text)))
	return jsontree.Format(root, jsontree.Width), state.Count(), nil
}
