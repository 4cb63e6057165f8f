// Package quickstart knows what a quick start deploys, builds and costs, and remembers its jobs.
package quickstart
