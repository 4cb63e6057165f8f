package cli

import (
	"context"

	"github.com/batchctl/batchctl/pkg/cli/cmdline"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/lsp"
	"github.com/urfave/cli/v2"
)

// lspCommand is batchctl lsp.
func lspCommand(con *term.Console) *cli.Command {
	return cmdline.Command(cli.Command{
		Name:      "lsp",
		Usage:     "run the language server for editors",
		UsageText: "batchctl lsp",
		Description: cmdline.Help("Your editor starts this command. It reports problems with quick fixes while you type, explains members on hover, and completes them.",
			"-- Neovim\nvim.lsp.config('batchctl', { cmd = { 'batchctl', 'lsp' }, filetypes = { 'json' } })\nvim.lsp.enable('batchctl')"),
	}, struct{}{}, func(ctx context.Context, _ struct{}) error {
		return lsp.Serve(ctx, con.In, con.Out, lsp.Options{Version: cmdline.Version().Version, Log: con.Err})
	})
}
