// Package cmdline reads what all commands share of a command line: help, spelling, output formats, the version.
package cmdline
