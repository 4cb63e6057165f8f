// Package attempt carries out one attempt of a job through an Executor: its directory and logs,
// its containers or nodes, its timeout, and its end.
package attempt
