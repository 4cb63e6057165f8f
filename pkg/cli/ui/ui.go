package ui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"

	"github.com/batchctl/batchctl/pkg/cli/cmdline"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/cli/ui/source"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/target"
	"github.com/batchctl/batchctl/pkg/ui/web"
	"github.com/urfave/cli/v2"
)

// UICommand is batchctl ui.
func UICommand(con *term.Console) *cli.Command {
	return cmdline.Command(cli.Command{
		Name:      "ui",
		Usage:     "show queues, jobs, arrays and workflows in a browser",
		UsageText: "batchctl ui [FLAGS]\n   batchctl ui --export DIRECTORY [FLAGS] [JOB ...]",
		Description: cmdline.Help("Serves pages on 127.0.0.1 until you press Ctrl-C, and opens them in the browser. Only a browser with the key in the printed address can read them. The pages change nothing unless you pass --allow-changes. They then ask before each "+
			"change and show the equivalent command.\n\n"+
			"--export writes static pages of jobs, or of a submission, that open without a server. Without a JOB, it exports the last submission.",
			"batchctl ui\nbatchctl ui --target prod --no-open\nbatchctl ui --export report calibration"),
	}, options{}, func(ctx context.Context, o options) error {
		switch {
		case o.Port < 0 || o.Port > 65535:
			return exit.Usage("--port %d is not a port", o.Port).
				Try("choose one between 1024 and 65535, or omit --port")
		case o.Export != "":
			return export(ctx, con, o)
		case o.Submission != "" || len(o.Args) > 0:
			return exit.Usage("ui accepts jobs only with --export").Try("run batchctl ui, and search in its pages")
		}
		return serve(ctx, con, o)
	})
}

// options are the flags and arguments of ui.
type options struct {
	cmdline.Given
	Target       target.Options
	Submission   string `flag:"submission" usage:"all jobs of a <SUBMISSION>: its id, workflow or file, or one of its jobs"`
	NoOpen       bool   `flag:"no-open" usage:"print the address, but do not open a browser"`
	Port         int    `flag:"port" usage:"listen on this <PORT> of 127.0.0.1 (default: any free port)"`
	AllowChanges bool   `flag:"allow-changes" usage:"let the pages submit, stop, retry and replay jobs"`
	Export       string `flag:"export" usage:"write pages to this <DIRECTORY> and exit"`

	instead source.Instead // of the commands, in tests
}

// serve is batchctl ui without --export.
func serve(ctx context.Context, con *term.Console, o options) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s, err := newServer(ctx, con, o)
	if err != nil {
		return err
	}
	listener, err := web.Listen(o.Port)
	if err != nil {
		return exit.Fail(exit.NotDone, "listen on port %d: %v", o.Port, exit.Cause(err)).
			Try("choose another port, or leave out --port")
	}
	defer s.hub.Close()
	guard := web.NewGuard(listener.Addr().(*net.TCPAddr).Port)
	base := "http://" + listener.Addr().String()
	go s.Observer.Run(ctx)
	go s.Observer.FollowEngine(ctx)
	if err := announce(con, guard, base, o.NoOpen); err != nil {
		return errors.Join(err, listener.Close())
	}
	if err := web.Serve(ctx, listener, guard.Wrap(web.Compressed(s.handler()))); err != nil {
		return exit.Fail(exit.NotDone, "serve the pages: %v", err)
	}
	return nil
}

// announce prints the address, and opens it in a browser.
func announce(con *term.Console, guard *web.Guard, base string, noOpen bool) error {
	// The address is what a script reads, so it goes to standard output. It has the key on purpose.
	if err := con.PrintUnmasked(guard.Address(base) + "\n"); err != nil {
		return err
	}
	fmt.Fprintln(con.Err, "the address contains a key that lets anyone on this machine read the pages: do not share it. Press Ctrl-C to stop")
	if noOpen {
		return nil
	}
	if err := openBrowser(guard.Ticket(base)); err != nil {
		fmt.Fprintf(con.Err, "note: no browser was opened: %s; open the address yourself\n",
			diag.Printable(err.Error()))
	}
	return nil
}

// openBrowser opens an address in the user's browser. It does not wait for the browser.
func openBrowser(address string) error {
	command := []string{"xdg-open"}
	switch runtime.GOOS {
	case "darwin":
		command = []string{"open"}
	case "windows":
		command = []string{"rundll32", "url.dll,FileProtocolHandler"}
	default:
		if os.Getenv("DISPLAY") == "" && os.Getenv("WAYLAND_DISPLAY") == "" && os.Getenv("BROWSER") == "" {
			return errors.New("there is no display")
		}
		if own := strings.Fields(os.Getenv("BROWSER")); len(own) > 0 {
			command = own
		}
	}
	cmd := exec.Command(command[0], append(command[1:], address)...)
	cmd.Stdout, cmd.Stderr = io.Discard, io.Discard
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() { _ = cmd.Wait() }() // it ends when it likes
	return nil
}
