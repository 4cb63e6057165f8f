package objects

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/batchctl/batchctl/pkg/stage"
)

const (
	// connections is the default of Store.Connections. One connection to S3 transfers some 90 MB/s,
	// and small objects spend most of their time waiting for answers.
	connections = 32
	// partSize is the default of Store.PartSize, in bytes.
	partSize = 16 << 20
	// stall is the default of Store.Stall.
	stall = 30 * time.Second
)

// Store copies files. It is a stage.Transferer. Set its fields before use; all but Config may be
// zero. Its methods may be called concurrently.
type Store struct {
	// Config returns the AWS configuration. It is called when S3 is first needed.
	Config func(ctx context.Context) (aws.Config, error)
	// Connections is the maximum number of concurrent requests; 0 means 32.
	Connections int
	// PartSize is the length of a range of a large object, in bytes, and the size from which an
	// object is large; 0 means 16 MiB.
	PartSize int64
	// Stall is how long a connection may transfer nothing before it is closed; 0 means 30 s.
	Stall time.Duration
	// NoReplace makes an existing file with other content an error.
	NoReplace bool
	// Web fetches https:// URLs; nil means its own client.
	Web *http.Client
	// Space returns the device of a directory, and how many bytes are free there; nil asks the
	// system.
	Space func(dir string) (device uint64, free int64, known bool)

	carried atomic.Int64
	config  struct {
		sync.Mutex
		loaded bool
		cfg    aws.Config
	}
	clients clients
	slots   struct {
		sync.Once
		free chan struct{}
	}
	disk disk
}

// errReplaced is the error of NoReplace.
var errReplaced = errors.New("another file of this name exists")

// Differs reports whether err means that NoReplace kept a file from being replaced.
func Differs(err error) bool { return errors.Is(err, errReplaced) }

// Transferred returns how many bytes have been transferred so far.
func (s *Store) Transferred() int64 { return s.carried.Load() }

// atOnce is Connections or its default.
func (s *Store) atOnce() int {
	if s.Connections > 0 {
		return s.Connections
	}
	return connections
}

// part is PartSize or its default.
func (s *Store) part() int64 {
	if s.PartSize > 0 {
		return s.PartSize
	}
	return partSize
}

func (s *Store) stall() time.Duration {
	if s.Stall > 0 {
		return s.Stall
	}
	return stall
}

// slot waits for one of the connections. The caller must call release.
func (s *Store) slot(ctx context.Context) (release func(), err error) {
	s.slots.Do(func() { s.slots.free = make(chan struct{}, s.atOnce()) })
	// select chooses at random if both are ready.
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	select {
	case s.slots.free <- struct{}{}:
		return func() { <-s.slots.free }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// ended returns an error, or the cause of the context's end if the error comes from that.
func ended(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// tally counts what several goroutines move.
type tally struct {
	files, kept, unverified, bytes atomic.Int64
}

// sum returns the counts so far.
func (t *tally) sum() stage.Moved {
	return stage.Moved{Files: int(t.files.Load()), Bytes: t.bytes.Load(), Kept: int(t.kept.Load()),
		Unverified: int(t.unverified.Load())}
}

// file counts one complete file.
func (t *tally) file(size int64) {
	t.files.Add(1)
	t.bytes.Add(size)
}

// each calls do for 0 to n-1 on up to atOnce goroutines. It stops at the first error, cancels the
// context of the running calls, waits for them, and returns that error.
func each(ctx context.Context, n, atOnce int, do func(ctx context.Context, i int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next atomic.Int64
	var once sync.Once
	var first error // set once, read after Wait
	var wait sync.WaitGroup
	for range min(n, atOnce) {
		wait.Go(func() {
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				if err := do(ctx, i); err != nil {
					once.Do(func() { first = err; cancel(err) })
				}
			}
		})
	}
	wait.Wait()
	if first == nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return first
}
