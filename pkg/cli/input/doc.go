// Package input loads the job files that a command names, and explains files that it could not read.
package input
