// Package diagnose has the commands that compare and examine: history, advise and diff about earlier attempts, and
// doctor about a host.
package diagnose
