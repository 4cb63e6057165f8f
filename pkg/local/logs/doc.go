// Package logs keeps what attempts print: a file for each log, with the times at which it grew and
// a limit, read as streams of events, and searched with filter patterns. It also keeps the events that
// clients put into streams of their own.
package logs
