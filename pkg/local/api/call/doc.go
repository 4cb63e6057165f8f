// Package call has what the operations of all services share: a request while it is served.
//
// call.go has the request, and state.go the state of the engine that it reads and changes. handler.go turns a method
// into a handler. notice.go tells the caller what has no effect here. page.go cuts answers into pages.
package call
