// Package quickstart deploys queues, benchmarks CPU against GPU on them, and removes everything again.
package quickstart
