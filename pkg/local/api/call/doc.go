// Package call has what the operations of all services share: a request while it is served.
//
// call.go has the request, handler.go makes a handler of a method, notice.go reports to the caller what has no effect
// here. The other files have parts of answers and of checks: faults, pages, ids, tags.
package call
