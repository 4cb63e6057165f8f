// Package logsapi answers the part of CloudWatch Logs that reads what jobs print and stores other events.
//
// operations.go has the table of operations. The operations on log groups are in groups.go and retention.go, those on
// log streams in streams.go, those on events in put.go, get.go, filter.go and fields.go. query.go has queries of Logs
// Insights, tail.go live tails, tags.go tags of groups. They find and read logs with service.go and scan.go; names.go
// and faults.go have the names and errors of CloudWatch Logs.
package logsapi
