// Package logs keeps what attempts print: a file for each log, with the times at which it grew and
// a limit, read as streams of events, and searched with filter patterns.
package logs
