package document

import (
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// Found is a local file or directory.
type Found struct {
	// Path leads there from the working directory.
	Path string
	Dir  bool
	// Bytes is the size of a file.
	Bytes int64
}

// Options for Load. The zero value finds the kind from the members and applies
// no defaults.
type Options struct {
	// Kind forces the document's kind.
	Kind Kind
	// Platform supplies the organisation's defaults; may be nil.
	Platform *Platform
	// FromDescribe takes what a describe operation of AWS printed as the requests
	// that would make the same things again: one for each thing in a list. What
	// only says how things stand (ARNs, status, times) is dropped. A job keeps the
	// command, environment and resources of its container as overrides.
	FromDescribe bool
	// Recognize is for a text that a walk through a directory found: Load returns
	// nil and no problems for one that is not Ours. It reads the text once, where
	// two calls would read it twice.
	Recognize bool
	// Recognized receives the answer with Recognize; may be nil.
	Recognized *Recognition
	// Hosts takes the documents about hosts too; without it they are no documents.
	Hosts bool
	// Arena is where the nodes come from; may be nil. The file must not be used after
	// the arena's Reset.
	Arena *jsontree.Arena
	// Read reads a file that the document names, by its path relative to the document's
	// place: the table or the command list of an array (see Beside). Without it nothing
	// is read, and the jobs that need it have no Sweep.
	Read func(path string) (*diag.Source, error)
	// Find finds a file or a directory that a document names as an input, by the
	// document's name and the path in it (FindBeside). Without it nothing is looked for.
	Find func(document, path string) (Found, error)
	// KeepGoing lets the children of command lists run the remaining lines after a failed one.
	KeepGoing bool
	// Parameters is an object of strings laid over every job's parameters in
	// SubmitJob; may be nil. It comes from the command line.
	Parameters *jsontree.Node
	// Environment is an object of strings that every job gets as containerOverrides of
	// SubmitJob, before those of the same names; may be nil. It, too, comes from the
	// command line.
	Environment *jsontree.Node
	// Edit changes the document before it is checked, and says what it could not do;
	// may be nil.
	Edit func(root *jsontree.Node) diag.List
}

// Recognition says whether a text that a walk through a directory found is one
// of our documents. A directory holds the JSON of other tools too, which must not
// be checked as if it were ours.
type Recognition int

// The answers of Recognize.
const (
	// Foreign is the file of another tool.
	Foreign Recognition = iota
	// Unclear has some marks of our documents, but too few to be sure.
	Unclear
	// Ours is one of our documents, with or without mistakes.
	Ours
)
