// Package scan lists the processes on this machine (Linux), and reports when it may have missed
// one.
package scan

// Tries bounds how often to scan again because a scan may have missed a process.
const Tries = 5
