// Package process runs attempts as processes on this machine, and ends everything that they start.
//
// Support by system and file:
//
//	                       Linux                                   macOS, BSD            elsewhere
//	command, exit, signals process_unix.go                         process_unix.go       process_other.go (refuses)
//	all that it started    cgroups_linux.go, marks_linux.go        trees_bsd.go (group)  -
//	ulimits                ulimits_linux.go                        confine_other.go      confine_other.go
//	memory as a limit      memory.go, memory_linux.go              confine_other.go      confine_other.go
//	inherited descriptors  descriptors_unix.go                     descriptors_unix.go   descriptors_other.go
package process
