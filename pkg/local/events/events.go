// Package events delivers the state changes of an engine's jobs to other programs, in the shape of Amazon
// EventBridge's events: at least once, and in the order of the journal.
//
// # The journal is the outbox
//
// The engine writes every change to its journal before anything else happens. So the journal has everything that an
// event needs, and no second copy is kept. Each destination has a follower: a goroutine that reads the journal file
// after the engine, applies each record to a model of its own, and renders the changed jobs from that model. The model
// is then in the state of that change, not in the current one. The engine only wakes the followers and never waits for
// them: a destination that is slow, full or absent delays its own follower and nothing else. A follower costs the
// memory of a second model.
//
// Order and identity follow from this. All events of a destination are in the order of the journal. An id is derived
// from the job, the number of its attempts and its status. A job enters each status once per attempt, so the id is
// unique, and the same when an event is delivered again.
//
// # Positions
//
// The state directory has a file for each destination with the position of the last acknowledged event: the number of
// records before it, and of the events of the next record. An acknowledged event means: a file has it on disk, the
// reader of a Unix socket has read it (where the system can tell, else: it was sent), an HTTP server answered 2xx. The
// position is saved at most every tenth of a second, after the event was acknowledged. So after a kill some events are
// delivered again, and none is left out. After a power failure, an event can tell of a change that the journal lost.
// The next engine ends that attempt differently, or repeats it.
//
// A position also has a checksum of the records before it. A position whose checksum does not match belongs to another
// journal, as when an engine without this package has rewritten it: the loss is reported as below.
//
// # Bounds
//
// An engine rewrites its journal only while it starts, without the jobs that ended a week ago. A job is kept as long as
// a destination needs its events, so that a killed engine can deliver them a month later. This ends when the journal
// reaches maxHeld: then the old jobs are removed, their undelivered events are counted, and the next event that is
// delivered reports the loss. The rewrite moves positions. Both the old and the new position are saved before it. After
// a crash, the checksum of the whole old journal tells which one is right.
//
// A destination without a position starts at the end of the journal: a new one, each one on the journal of an older
// engine, and one that the engine has once been started without, since its position is then removed.
//
// # Trust
//
// Events contain the environment of jobs. So a file and a socket must belong to this user, in a directory that other
// users cannot replace, and no symbolic link is followed at its end. HTTP is for loopback addresses only, without a
// proxy and without redirects.
package events

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/batchctl/batchctl/pkg/local/journal"
	"github.com/batchctl/batchctl/pkg/local/model"
)

// directory has the positions, below the state directory.
const directory = "events"

// closeTimeout limits how long Close delivers the last events.
const closeTimeout = 3 * time.Second

// Settings configure a Delivery.
type Settings struct {
	Destinations []Destination
	// Root is the state directory.
	Root *os.Root
	// Queues are the queues of the engine's options.
	Queues []model.QueueSpec
	// Journal is the engine's open journal; nothing was appended to it yet.
	Journal *journal.Journal
	// End is the position after the last record of the journal.
	End Position
	Log *slog.Logger
}

// Delivery delivers the events of an engine.
type Delivery struct {
	settings  Settings
	followers []*follower
	running   sync.WaitGroup
	closing   chan struct{}
	cancel    context.CancelFunc
}

// Start begins to deliver. It removes the positions of other destinations. The error says which destination cannot be
// used at all; a destination that does not answer is no error.
func Start(s Settings) (*Delivery, error) {
	if err := removeOthers(s); err != nil {
		return nil, fmt.Errorf("deliver events: %w", err)
	}
	d := &Delivery{settings: s, closing: make(chan struct{})}
	ctx, cancel := context.WithCancel(context.Background())
	d.cancel = cancel
	for _, to := range s.Destinations {
		f, err := newFollower(d, to)
		if err != nil {
			cancel()
			for _, f := range d.followers {
				f.close()
			}
			return nil, fmt.Errorf("deliver events to %s: %w", to, err)
		}
		d.followers = append(d.followers, f)
	}
	for _, f := range d.followers {
		d.running.Go(func() { f.run(ctx) })
	}
	return d, nil
}

// removeOthers removes the positions of destinations that are not configured.
func removeOthers(s Settings) error {
	if len(s.Destinations) > 0 {
		if err := s.Root.Mkdir(directory, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	entries, err := fs.ReadDir(s.Root.FS(), directory)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	keep := map[string]bool{}
	for _, to := range s.Destinations {
		keep[to.positionName()] = true
	}
	for _, entry := range entries {
		name := directory + "/" + entry.Name()
		if keep[name] {
			continue
		}
		if err := s.Root.Remove(name); err != nil {
			return err
		}
		s.Log.Warn("a destination was removed from the configuration and gets no more events; "+
			"if you add it again, it gets only the events from then on", "position", name)
	}
	return nil
}

// Wake tells the followers that the journal has new records. It does not block, and a nil Delivery does nothing.
func (d *Delivery) Wake() {
	if d == nil {
		return
	}
	for _, f := range d.followers {
		select {
		case f.wake <- struct{}{}:
		default: // it has yet to receive an earlier call
		}
	}
}

// Close delivers the events that are left in the journal, but only for a short time. The others are delivered by the
// next engine. Call it before the journal is closed; a nil Delivery does nothing.
func (d *Delivery) Close() {
	if d == nil {
		return
	}
	close(d.closing)
	timer := time.AfterFunc(closeTimeout, d.cancel)
	defer timer.Stop()
	d.running.Wait()
	d.cancel()
}
