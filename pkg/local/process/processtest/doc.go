// Package processtest provides commands for tests that leave processes behind, and waits for
// processes.
package processtest
