// Package input loads the job files that a command names, and explains what it could not read.
package input
