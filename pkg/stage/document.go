// Package stage moves the files of a job: inputs before its program starts, outputs after it has
// ended. It has the document that lists them, and the code that acts on it in the container. A
// Transferer copies the bytes.
package stage

import "context"

// Variable is the environment variable with a job's Document, as JSON.
const Variable = "BATCHCTL_STAGE"

// Document lists what is staged for a job. The submitter writes it, and a batchctl in the job's
// container reads it, which may be older or newer.
type Document struct {
	// Version is the version of the format: 1.
	Version int      `json:"version"`
	Inputs  []Input  `json:"inputs,omitempty"`
	Outputs []Output `json:"outputs,omitempty"`
	// Checkpoint is nil for a job that always starts from scratch.
	Checkpoint *Checkpoint `json:"checkpoint,omitempty"`
}

// Input is an object, a tree of objects or a file that is downloaded before the program starts.
type Input struct {
	// From is s3://bucket/key, s3://bucket/prefix/ (everything below it), https://… or, for the
	// target local, an absolute path. ${NAME} is replaced by a variable of the
	// container's environment.
	From string `json:"from"`
	// To is the path in the container: absolute, or relative to the working directory.
	To string `json:"to"`
	// SHA256 is the expected checksum of the content in hex, if it is pinned; only for a single
	// file.
	SHA256 string `json:"sha256,omitempty"`
	// Tree means that From is a list of files that the submitter created, each stored under its
	// hash.
	Tree bool `json:"tree,omitempty"`
	// Executable means that the file is a program.
	Executable bool `json:"executable,omitempty"`
}

// Output is a file or a directory that is uploaded when the program has ended.
type Output struct {
	// From is the path in the container, as Input.To.
	From string `json:"from"`
	// To is s3://bucket/key, s3://bucket/prefix/ or an absolute path, as Input.From.
	To string `json:"to"`
	// When is "success" (the default, ""), "failure" or "always": the outcome of the program after
	// which the output is uploaded.
	When string `json:"when,omitempty"`
	// Local is where the user wants the output on their machine, relative to the job file;
	// `batchctl results` fetches it there.
	Local string `json:"local,omitempty"`
}

// Transferer copies files between locations; pkg/objects has one for S3. It is used concurrently.
type Transferer interface {
	// Download copies from a URL to a path, complete and verified, or not at all.
	Download(ctx context.Context, in Input) (Moved, error)
	// Upload copies a file or a tree at a path to a URL.
	Upload(ctx context.Context, out Output) (Moved, error)
	// Transferred returns how many bytes have been transferred so far, including transfers in progress.
	Transferred() int64
}

// Moved is the result of one input or output.
type Moved struct {
	Files int
	Bytes int64
	// Kept is how many files already existed with the same content.
	Kept int
	// Unverified is how many files had no checksum of their whole content at the source. Only their
	// size was checked, and that they did not change during the transfer.
	Unverified int
}
