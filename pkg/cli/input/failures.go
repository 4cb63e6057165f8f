package input

import (
	"context"
	"errors"
	"io/fs"
	"strings"

	"github.com/batchctl/batchctl/pkg/catalog"
	"github.com/batchctl/batchctl/pkg/check"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/exit"
)

// FailureOf returns an exit.Failure for any error, including those of package
// check.
func FailureOf(err error) *exit.Failure {
	if f, ok := errors.AsType[*exit.Failure](err); ok {
		return f
	}
	if f := ofCheck(err); f != nil {
		return f
	}
	return exit.From(err)
}

// Status explains the error of a command that ran until ctx ended or before, and returns the exit status.
func Status(ctx context.Context, con *term.Console, err error) int {
	// A command that was interrupted without an error of its own did not finish
	// either.
	if ctx.Err() != nil && (err == nil || errors.Is(err, context.Canceled)) {
		err = exit.Fail(exit.Interrupted, "interrupted")
	}
	if err == nil {
		return exit.OK
	}
	f := FailureOf(err)
	con.Explain(f)
	return f.Code
}

// ofCheck explains an error of package check; nil for other errors.
func ofCheck(err error) *exit.Failure {
	var (
		read    *check.ReadError
		pattern *check.PatternError
		types   *check.CatalogError
	)
	switch {
	case errors.As(err, &read) && read.Platform:
		return exit.From(Unreadable(err, MakePlatform))
	case errors.As(err, &read):
		return exit.From(Unreadable(err, makeJob))
	case errors.As(err, &pattern) && pattern.Err == check.ErrNoMatch:
		return exit.Fail(exit.NotDone, "%v", err).Try("** matches directories at any depth: 'jobs/**/*.json'")
	case errors.As(err, &pattern):
		return exit.Usage("%v", err)
	case errors.As(err, &types):
		return exit.Fail(exit.NotDone, "%v", err).Try("create it: %s > %s", catalog.Command, types.Path)
	}
	return nil
}

// The commands that create a missing file, without the name of the file.
const (
	makeJob      = "batchctl init"
	MakePlatform = "batchctl init --new-platform"
	MakePlan     = "batchctl plan JOB_FILE --out"
	MakeBaseline = "batchctl validate FILES --write-baseline"
	MakeLog      = "batchctl logs JOB >"
	// MakeResources writes the existing resources as requests.
	MakeResources = "batchctl export --file"
)

// Unreadable explains an error of reading a file. maker is the command that
// creates such a file, for the hint.
func Unreadable(err error, maker string) error {
	var read *check.ReadError
	if !errors.As(err, &read) {
		return err
	}
	if read.Err == check.ErrDirectory {
		return exit.Fail(exit.NotDone, "%s is a directory", read.Path).
			Try("name a job file, or check the whole directory: batchctl validate %s", read.Path)
	}
	f := exit.Fail(exit.NotDone, "read %s: %v", read.Path, read.Err)
	if !errors.Is(read.Err, fs.ErrNotExist) {
		return f
	}
	if near := read.Near(); near != "" {
		return f.Try("did you mean %s?", near)
	}
	path := read.Path
	if strings.HasPrefix(path, "-") {
		path = "./" + path
	}
	return f.Try("create one: %s %s", maker, term.Quoted(path))
}
