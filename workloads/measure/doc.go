// Package measure is the part that all workloads share: it reads the common flags, opens the
// device, checks the memory, times verified runs and prints their results.
package measure
