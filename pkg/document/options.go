package document

import (
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// Options for Load. The zero value finds the kind from the members and applies
// no defaults.
type Options struct {
	// Kind forces the document's kind.
	Kind Kind
	// Platform supplies the organisation's defaults; may be nil.
	Platform *Platform
	// FromDescribe converts the output of a describe operation to the requests that would
	// create the same resources again, one for each. Members that only describe a state
	// (ARNs, status, times) are dropped. A job keeps the command, environment and
	// resources of its container as overrides.
	FromDescribe bool
	// Recognize is for a text from a walk through a directory: Load returns nil and no
	// problems for a text that is neither Ours nor NotChecked. The text is parsed only once.
	Recognize bool
	// Recognized receives the result of Recognize; may be nil.
	Recognized *Recognition
	// Hosts enables the documents about hosts. Without it, they are unknown documents.
	Hosts bool
	// Arena allocates the file with its jobs and nodes; may be nil. The file must not be used
	// after the arena's Reset.
	Arena *Arena
	// Read reads a file that the document names relative to itself: the table or the
	// command list of an array (see SiblingReader). If it is nil, nothing is read, and the
	// jobs that need a file have no Sweep.
	Read func(path string) (*diag.Source, error)
	// Find finds a file or a directory that a document names as an input, by the name of
	// the document and the path in it (see FindBeside). If it is nil, nothing is searched.
	Find func(document, path string) (Found, error)
	// KeepGoing lets the children of command lists run the remaining lines after a failed one.
	KeepGoing bool
	// Parameters is an object of strings that replaces parameters of every job in
	// SubmitJob; may be nil. It comes from the command line.
	Parameters *jsontree.Node
	// Environment is an object of strings that every job gets in containerOverrides of
	// SubmitJob, in place of variables with the same names; may be nil. It also comes from
	// the command line.
	Environment *jsontree.Node
	// Edit changes the document before it is checked, and returns the changes that failed;
	// may be nil.
	Edit func(root *jsontree.Node) diag.List

	// deprecated are more deprecated members, for tests.
	deprecated []deprecation
}

// ofPlatform reports whether a member is from the defaults of the platform file.
func (o *Options) ofPlatform(n *jsontree.Node) bool {
	return o.Platform != nil && o.Platform.Defaults != nil && n.Source == o.Platform.Defaults.Source
}

// Recognition is the result of Recognize: whether a text that a walk through a directory
// found belongs to batchctl. A directory also contains JSON of other tools, which must not
// be checked.
type Recognition uint8

// The results of Recognize.
const (
	// Foreign is a file of another tool.
	Foreign Recognition = iota
	// Unclear is a file with a few signs of batchctl's documents, but not enough.
	Unclear
	// Ours is a document of batchctl, with or without mistakes.
	Ours
	// NotChecked is a document of AWS Batch that batchctl recognizes and does not check; see File.Unchecked.
	NotChecked
)
