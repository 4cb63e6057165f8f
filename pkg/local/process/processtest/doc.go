// Package processtest has, for tests, commands that leave processes behind, and waits for what processes do.
package processtest
