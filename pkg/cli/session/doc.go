// Package session resolves the jobs that a command names, and does the checks that earlier commands left.
package session
