// Package cmdline contains the parts of a command line that all commands share: help, spelling,
// output formats, the version.
package cmdline
