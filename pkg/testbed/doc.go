// Package testbed knows what batchctl bench deploy creates and costs, and records its jobs.
package testbed
