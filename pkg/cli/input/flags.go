package input

import (
	"github.com/batchctl/batchctl/pkg/catalog"
	"github.com/batchctl/batchctl/pkg/cli/cmdline"
	"github.com/batchctl/batchctl/pkg/target"
)

// Options are the flags and arguments of the commands that load documents.
type Options struct {
	// Args are the documents, "-" for standard input.
	cmdline.Given
	// Target selects the target, and has the path of the platform file.
	Target  target.Options
	Catalog CatalogFile `flag:"catalog"`
	// Parameters are NAME=VALUE, or @FILE.
	Parameters []string `flag:"parameters" usage:"set a parameter of SubmitJob, <NAME=VALUE>, or @FILE with a JSON object of them; may be repeated"`
	// Set are PATH=VALUE, and Env NAME=VALUE.
	Set       []string `flag:"set" usage:"change a member of the file, <PATH=VALUE>: resources.vcpus=4, jobs.train.timeout=2h, command[1]=x; the value is JSON or text, and null removes the member; may be repeated"`
	Env       []string `flag:"env" usage:"set a variable of the container, <NAME=VALUE>, or NAME to copy your own; may be repeated"`
	KeepGoing bool     `flag:"keep-going" usage:"if a line of a command list fails, continue with the next ones"`
}

// CatalogFile is the path of a file of instance types; "" for the built-in ones.
type CatalogFile string

// Usage is the help of --catalog.
func (CatalogFile) Usage() string {
	return "a <FILE> of instance types newer than " + catalog.InstanceTypesDate + ", the output of " + catalog.Command +
		" (default: the platform file's catalog)"
}

// Raw is --raw, of commands that print the output of jobs.
type Raw struct {
	IsRaw bool `flag:"raw" usage:"print job output unchanged, with escape sequences and control characters"`
}
