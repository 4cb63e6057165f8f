package local

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"testing"

	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"

	"github.com/batchctl/batchctl/pkg/local/journal"
)

// TestNextEngineContinuesForClients checks that the engine after a killed one takes over its
// address and key, so connected clients continue. After an orderly end the next engine has new
// ones.
func TestNextEngineContinuesForClients(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	var before Connection
	for i, killed := range []bool{true, true, false, false} {
		e, err := Open(Options{Dir: dir, Executor: &script{}})
		if err != nil {
			t.Fatal(err)
		}
		l, err := e.Listen()
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ready, served := make(chan Connection, 1), make(chan error, 1)
		go func() { served <- e.Serve(ctx, l, func(c Connection) { ready <- c }) }()
		now := <-ready
		if same := now.sameEngine(before); same != (i == 1 || i == 2) {
			t.Errorf("engine %d: %+v after %+v", i, now, before)
		}
		if i == 1 || i == 2 { // as a client read it before the first engine was killed
			before.PID++ // of another process
			client := awsbatch.NewFromConfig(before.Config())
			if _, err := client.DescribeJobQueues(t.Context(), &awsbatch.DescribeJobQueuesInput{}); err != nil {
				t.Errorf("engine %d: %v", i, err)
			}
		}
		before = now
		text, err := os.ReadFile(filepath.Join(dir, connectionFile))
		if err != nil {
			t.Fatal(err)
		}
		cancel()
		if err := errors.Join(<-served, e.Close(t.Context())); err != nil {
			t.Fatal(err)
		}
		if killed { // a killed engine leaves its connection file
			leave(t, dir, string(text))
		}
	}
}

// TestNextEngineElsewhereHasItsOwnKey checks that the key changes if another program has taken a
// killed engine's address. That program cannot use the requests that clients still sign and send
// there.
func TestNextEngineElsewhereHasItsOwnKey(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	dir := filepath.Join(t.TempDir(), "state")
	leave(t, dir, `{"endpoint":"http://`+taken.Addr().String()+`","region":"local","accessKeyId":"A","secretAccessKey":"B"}`)
	e, err := Open(Options{Dir: dir, Executor: &script{}})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close(t.Context())
	l, err := e.Listen()
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if l.Addr().String() == taken.Addr().String() || e.key.AccessKeyID == "A" || e.key.SecretAccessKey == "B" {
		t.Errorf("at %v with the key %s", l.Addr(), e.key.AccessKeyID)
	}
}

// TestNextEngineLeavesNoDeadPort checks that clients do not wait at a killed engine's address if
// the next engine listens elsewhere or serves no clients.
func TestNextEngineLeavesNoDeadPort(t *testing.T) {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	free.Close()
	dir := filepath.Join(t.TempDir(), "state")
	for _, serves := range []bool{true, false} {
		leave(t, dir, `{"endpoint":"http://`+address+`","region":"local","accessKeyId":"A","secretAccessKey":"B"}`)
		e, err := Open(Options{Dir: dir, Executor: &script{}})
		if err != nil {
			t.Fatal(err)
		}
		if conn, err := net.Dial("tcp", address); err != nil {
			t.Errorf("it has not taken the address: %v", err)
		} else {
			conn.Close()
		}
		if serves {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			ready, served := make(chan Connection, 1), make(chan error, 1)
			go func() { served <- e.Serve(ctx, l, func(c Connection) { ready <- c }) }()
			<-ready
			if conn, err := net.Dial("tcp", address); err == nil {
				conn.Close()
				t.Error("a listener is left that never answers")
			}
			cancel()
			if err := <-served; err != nil {
				t.Error(err)
			}
		}
		if err := e.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if conn, err := net.Dial("tcp", address); err == nil {
			conn.Close()
			t.Error("a listener is left after the engine's end")
		}
	}
}

func leave(t *testing.T, dir, connection string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, connectionFile), []byte(connection), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "journal"), []byte(journal.Header), 0o600); err != nil {
		t.Fatal(err)
	}
}
