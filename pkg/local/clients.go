package local

import (
	"context"
	"net"
	"net/http"
	"sync"
)

// clientConnections are the connections of clients to a serving engine.
type clientConnections struct {
	mu      sync.Locker       // the engine's lock
	open    map[net.Conn]bool // connections on which a request was verified
	changed func()            // called after each change, with the lock held
}

// connectionKey is the context key of a func() that marks a request's connection as that of a
// client.
type connectionKey struct{}

// connected lets verified requests mark their connection as a client's. Every program on this
// machine can connect, which must not keep the engine from ending.
func (s *clientConnections) connected(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connectionKey{}, sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.open[c] = true
		s.changed()
	}))
}

// countConnection marks the connection of a verified request as a client's.
func countConnection(r *http.Request) {
	if count, ok := r.Context().Value(connectionKey{}).(func()); ok {
		count()
	}
}

// disconnected tracks closed connections. No request is being served on them.
func (s *clientConnections) disconnected(c net.Conn, state http.ConnState) {
	if state != http.StateClosed { // each request causes the other states
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open[c] {
		delete(s.open, c)
		s.changed()
	}
}
