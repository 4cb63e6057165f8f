package input

import (
	"github.com/urfave/cli/v2"

	"github.com/batchctl/batchctl/pkg/cli/term"
)

// RawFlag is for commands that print what jobs wrote.
func RawFlag(con *term.Console) cli.Flag {
	return &cli.BoolFlag{Name: "raw", Destination: &con.RawLog, Usage: "print what jobs wrote unchanged, with escape sequences and control characters"}
}
