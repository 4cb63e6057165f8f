package cli_test

import (
	"bytes"
	"context"
	"io"
	"testing"

	"github.com/batchctl/batchctl/pkg/cli"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/exit"
)

// A check that waits for standard input ends with a message when it is interrupted.
func TestInterruptedValidate(t *testing.T) {
	input, silent := io.Pipe() // nothing is ever written
	defer silent.Close()
	ctx, interrupt := context.WithCancel(t.Context())
	interrupt()
	var out, said bytes.Buffer
	code := cli.Main(ctx, []string{"batchctl", "validate", "-"}, term.Streams{In: input, Out: &out, Err: &said})
	if code != exit.Interrupted || said.String() != "batchctl: interrupted\n" || out.Len() > 0 {
		t.Errorf("exit %d, %q on stderr, %q on stdout", code, &said, &out)
	}
}
