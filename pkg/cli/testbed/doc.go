// Package testbed deploys queues, benchmarks CPU against GPU on them, and removes everything again.
package testbed
