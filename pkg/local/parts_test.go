package local

import (
	"context"
	"errors"
	"net"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/batchctl/batchctl/pkg/local/attempt"
	"github.com/batchctl/batchctl/pkg/local/model"
)

func TestWaitersWaitForQuiet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		s := &waiters{mu: &mu}
		idle, begun := false, time.Now()
		set := func(after time.Duration, value bool) {
			time.AfterFunc(after, func() {
				mu.Lock()
				defer mu.Unlock()
				idle = value
				s.notify()
			})
		}
		set(time.Second, true)
		set(3*time.Second, false)
		set(10*time.Second, true)
		if err := s.wait(t.Context(), 5*time.Second, func() bool { return idle }); err != nil || time.Since(begun) != 15*time.Second {
			t.Errorf("%v after %v", err, time.Since(begun))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := s.wait(ctx, 0, func() bool { return false }); !errors.Is(err, context.DeadlineExceeded) || len(s.all) != 0 {
			t.Errorf("%v, %d waiters left", err, len(s.all))
		}
	})
}

func TestRunningAttempts(t *testing.T) {
	s := &runningAttempts{mu: &sync.Mutex{}, most: 3, running: map[*model.Task]context.CancelCauseFunc{}, hurry: make(chan struct{})}
	array := &model.Job{Children: make([]model.Task, 2)}
	array.Task = model.Task{Job: array, Index: -1, Terminated: true}
	for i := range array.Children {
		array.Children[i] = model.Task{Job: array, Index: int32(i)}
	}
	pair := &model.Job{}
	pair.Parts = make([]model.Part, 2)
	pair.Task = model.Task{Job: pair, Index: -1}
	first, _ := s.begin(&array.Children[0])
	second, _ := s.begin(&array.Children[1])
	if s.fits(&pair.Task) || !s.fits(&array.Children[0]) {
		t.Error("two attempts and a job of two containers fit into three")
	}
	other, _ := s.begin(&pair.Task)
	s.endTerminated(&array.Task)
	for _, ctx := range []context.Context{first, second} {
		if cause := context.Cause(ctx); !errors.Is(cause, attempt.ErrTerminated) {
			t.Errorf("a child of a terminated array ended with %v", cause)
		}
	}
	if other.Err() != nil {
		t.Error("the attempt of another job ended")
	}
	var order []int
	s.queue(func() ready { // the goroutine that ended an attempt continues with the next
		order = append(order, 1)
		return func() ready { order = append(order, 2); return nil }
	})
	s.carryOutReady()
	s.wait(t.Context())
	if len(order) != 2 || s.next() != nil {
		t.Errorf("carried out: %v", order)
	}
}

func TestEndpointInherits(t *testing.T) {
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	killed := newEndpoint(root, &Options{})
	l, err := killed.Listen()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := killed.announce(l); err != nil {
		t.Fatal(err)
	}
	stranger := newEndpoint(root, &Options{}) // while the port is in use
	if err := stranger.inherit(); err != nil || stranger.listener != nil || stranger.key == killed.key {
		t.Errorf("%v, inherited a port in use: %v", err, stranger.listener)
	}
	if _, err := killed.announce(l); err != nil {
		t.Fatal(err)
	}
	l.Close()
	next := newEndpoint(root, &Options{})
	if err := next.inherit(); err != nil || next.listener == nil || next.key != killed.key {
		t.Fatalf("%v, listener %v", err, next.listener)
	}
	defer next.closeListener()
	if next.listener.Addr().(*net.TCPAddr).Port != l.Addr().(*net.TCPAddr).Port {
		t.Errorf("listens on %v", next.listener.Addr())
	}
	if _, err := root.Stat(connectionFile); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the connection file is left: %v", err)
	}
	if err := next.disinherit(); err != nil {
		t.Fatal(err)
	}
	if text, err := root.ReadFile(connectionFile); err != nil || string(text) != string(next.inherited) {
		t.Errorf("%q, %v", text, err)
	}
}
