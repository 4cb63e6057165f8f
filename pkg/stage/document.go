// Package stage is what a job needs brought to it before its program begins, and
// carried away after its end: the document that says so, and the run that obeys it
// inside of the container. How bytes travel is somebody else's: a Carrier.
package stage

import "context"

// Variable is the environment variable that holds a job's Document, as JSON.
const Variable = "BATCHCTL_STAGE"

// Document is what is staged for a job. It is written by whoever submits, and read in
// the job's container, by a batchctl that may be older or newer.
type Document struct {
	// Version is that of the format: 1.
	Version int      `json:"version"`
	Inputs  []Input  `json:"inputs,omitempty"`
	Outputs []Output `json:"outputs,omitempty"`
}

// Input is an object, a tree of objects or a file that is brought before the program
// begins.
type Input struct {
	// From is s3://bucket/key, s3://bucket/prefix/ (what is below it), https://…, or, for a
	// target on this machine, an absolute path; ${NAME} stands for a variable of the
	// container's environment.
	From string `json:"from"`
	// To is the path in the container: absolute, or relative to the working directory.
	To string `json:"to"`
	// SHA256 of the content in hex, if it is pinned; only for what is one file.
	SHA256 string `json:"sha256,omitempty"`
	// Tree says that From is a list of files that the submitter made, each at its hash.
	Tree bool `json:"tree,omitempty"`
	// Executable says that the one file that is brought is a program.
	Executable bool `json:"executable,omitempty"`
}

// Output is a file or a directory that is carried away when the program has ended.
type Output struct {
	// From is the path in the container, as Input.To.
	From string `json:"from"`
	// To is s3://bucket/key, s3://bucket/prefix/ or an absolute path, as Input.From.
	To string `json:"to"`
	// When is "success" (the default, ""), "failure" or "always": after which end of the
	// program the output is carried away.
	When string `json:"when,omitempty"`
	// Local is where the user wants the output on her machine, relative to the job file;
	// for `batchctl results`, which fetches it there.
	Local string `json:"local,omitempty"`
}

// Carrier moves files between places: pkg/objects has the one that knows S3. It is used by
// several goroutines at once.
type Carrier interface {
	// Bring copies what is at a URL to a path, whole and verified, or not at all.
	Bring(ctx context.Context, in Input) (Moved, error)
	// Take copies a file or a tree at a path to a URL.
	Take(ctx context.Context, out Output) (Moved, error)
	// Carried is how many bytes have been moved so far, of what is still on its way, too.
	Carried() int64
}

// Moved is what one input or output came to.
type Moved struct {
	Files int
	Bytes int64
	// Kept is how many of the files were there already, with the same content.
	Kept int
	// Unverified is how many had no checksum at their source that covers the whole of them:
	// their size, and that they did not change on the way, is all that is known.
	Unverified int
}
