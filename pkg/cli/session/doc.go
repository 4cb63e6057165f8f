// Package session resolves the jobs that a command names, and keeps what earlier commands left to check.
package session
