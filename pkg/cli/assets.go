package cli

import (
	"context"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/batchctl/batchctl/pkg/cli/cmdline"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/schemas"
	"github.com/batchctl/batchctl/workloads"
	"github.com/batchctl/batchctl/workloads/gpu"
)

// workloadCommand is batchctl workload.
func workloadCommand(con *term.Console) *cli.Command {
	return &cli.Command{
		Name:      "workload",
		Usage:     "run the reference workloads, matrix and image",
		UsageText: "batchctl workload list | batchctl workload run NAME [FLAGS]",
		Description: cmdline.Help("The image batchctl-workloads contains the same programs.",
			"batchctl workload run matrix --sizes 500,1000\nbatchctl workload run image --help"),
		Subcommands: []*cli.Command{
			cmdline.Command(cli.Command{
				Name: "list", Usage: "list the workloads", UsageText: "batchctl workload list [FLAGS]",
				Description: cmdline.Help("Prints each workload with a description.",
					"batchctl workload list --output json"),
			}, listOptions{cmdline.Outputs(cmdline.JSON[[]workloadRow]())},
				func(_ context.Context, o listOptions) error { return listWorkloads(con, o) }),
			cmdline.Command(cli.Command{
				Name: "run", Usage: "run a workload on this machine", UsageText: "batchctl workload run NAME [FLAGS]",
				Description: cmdline.Help("The flags are the workload's own.",
					"batchctl workload run matrix --sizes 1000 --type float32"),
				SkipFlagParsing: true,
			}, arguments{}, func(ctx context.Context, o arguments) error {
				// The workloads parse their own flags.
				return exit.Silent(workloads.Main(ctx, gpu.Platform{}, o.Args, con.Out, con.Err))
			}),
		},
	}
}

// arguments are the options of a command without flags.
type arguments struct{ cmdline.Given }

// first returns the first argument, or "".
func (a arguments) first() string {
	if len(a.Args) == 0 {
		return ""
	}
	return a.Args[0]
}

// listOptions are the flags of workload list.
type listOptions struct{ cmdline.Output }

// workloadRow is a workload in the JSON output.
type workloadRow struct {
	Name string `json:"name"`
	Doc  string `json:"doc"` // what the workload computes
}

// listWorkloads prints the workloads of the program with what each computes.
func listWorkloads(con *term.Console, o listOptions) error {
	rows := []workloadRow{}
	t := con.Table("NAME", "WHAT")
	for _, w := range workloads.All() {
		rows = append(rows, workloadRow{w.Name, w.Doc})
		t.Row(w.Name, w.Doc)
	}
	if o.Format == "json" {
		return con.JSON(rows)
	}
	return t.Flush()
}

// schemaCommand is batchctl schema.
func schemaCommand(con *term.Console) *cli.Command {
	return cmdline.Command(cli.Command{
		Name:      "schema",
		Usage:     "print the JSON schema of a document",
		UsageText: "batchctl schema [job|workflow|platform|native]\n   batchctl schema output [COMMAND]",
		Description: cmdline.Help("Without a name, it lists the schemas. If you put the address of one into a file's \"$schema\", your editor completes and explains the members.\n\noutput prints the schema of a command's JSON output, or lists these commands. Later versions of batchctl may print more members.",
			"batchctl schema job > job.schema.json\nbatchctl schema output status\nbatchctl schema output infra status"),
	}, arguments{}, func(_ context.Context, o arguments) error { return schema(con, o) })
}

// schema prints a JSON schema that is part of the program, or the names of all
// schemas.
func schema(con *term.Console, o arguments) error {
	if o.first() == "output" {
		return outputSchema(con, o.Args[1:])
	}
	if err := o.Most(1); err != nil {
		return err
	}
	const suffix = ".schema.json"
	entries, err := schemas.FS.ReadDir(".")
	if err != nil {
		return err
	}
	var names []string
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), suffix); ok {
			names = append(names, name)
		}
	}
	names = append(names, "output")
	if len(o.Args) == 0 {
		return con.PrintUnmasked(strings.Join(names, "\n") + "\n")
	}
	// The name of the schema's file is accepted as well.
	chosen := strings.TrimSuffix(o.first(), suffix)
	data, err := schemas.FS.ReadFile(chosen + suffix)
	if err != nil {
		return exit.Usage("unknown schema %q", chosen).
			Try("%s", diag.Instead(chosen, names, diag.Offer{Near: "did you mean: batchctl schema %s",
				Are: "the schemas are"}))
	}
	return con.PrintUnmasked(string(data))
}

// outputSchema prints the schema of a command's JSON output, or the names of the commands that have one.
func outputSchema(con *term.Console, words []string) error {
	names, command := schemas.OutputCommands(), strings.Join(words, " ")
	if command == "" {
		return con.PrintUnmasked(strings.Join(names, "\n") + "\n")
	}
	if schema := schemas.Output(command); schema != nil {
		return con.JSON(schema)
	}
	f := exit.Usage("batchctl %s prints no JSON", command)
	if !isCommand(words[0]) {
		f = exit.Usage("unknown command %q", command)
	}
	return f.Try("%s", diag.Instead(command, names, diag.Offer{Near: "did you mean: batchctl schema output %s",
		All: "list the commands that do: batchctl schema output"}))
}
