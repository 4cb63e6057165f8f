// Package web serves pages to the browsers of one user on this machine. Guard decides who may ask,
// Hub sends what changes while a page is open. The package knows HTTP and nothing about jobs.
package web

import (
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"strconv"
	"time"
)

// grace is how long Serve waits for answers that are being written. It is short because browsers keep
// connections open that they have not used yet, and a shutdown waits for these too.
const grace = time.Second

// Listen listens on 127.0.0.1, so that no other machine can connect. Port 0 chooses a free port.
func Listen(port int) (net.Listener, error) {
	return net.Listen("tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
}

// Serve answers requests on ln until ctx ends, and then returns nil. The contexts of all requests end with ctx,
// so streams end at once. Serve closes ln. An error means that ln failed.
func Serve(ctx context.Context, ln net.Listener, h http.Handler) error {
	server := &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		// The handler has to reject "OPTIONS *" like any other OPTIONS request.
		DisableGeneralOptionsHandler: true,
		// There is no WriteTimeout: a stream is one long answer. Hub limits each of its writes.
		ErrorLog:    log.New(io.Discard, "", 0),
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	stopped := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(stopped)
		limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
		defer cancel()
		if server.Shutdown(limited) != nil {
			_ = server.Close()
		}
	})
	err := server.Serve(ln)
	if stop() {
		_ = server.Close()
		return err
	}
	<-stopped
	return nil
}
