package author

import (
	"github.com/urfave/cli/v2"

	"github.com/batchctl/batchctl/pkg/cli/cmdline"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/lsp"
)

// LSPCommand is batchctl lsp.
func LSPCommand(con *term.Console) *cli.Command {
	return &cli.Command{
		Name:      "lsp",
		Usage:     "speak the Language Server Protocol with an editor, on standard input and output",
		UsageText: "batchctl lsp",
		Description: cmdline.Help("Problems as you type, with quick fixes; hover explains a member, completion offers the next one.\n"+
			"An editor starts this command; it is of no use in a shell.",
			"-- Neovim\nvim.lsp.config('batchctl', { cmd = { 'batchctl', 'lsp' }, filetypes = { 'json' } })\nvim.lsp.enable('batchctl')"),
		Action: func(c *cli.Context) error {
			return lsp.Serve(c.Context, con.In, con.Out, lsp.Options{Version: cmdline.Version().Version, Log: con.Err})
		},
	}
}
