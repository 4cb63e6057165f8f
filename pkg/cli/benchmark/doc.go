// Package benchmark runs one workload on two sides and compares them.
package benchmark
