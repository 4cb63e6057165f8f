package events

import (
	"context"
	"encoding/json"
	"errors"
	"hash/crc32"
	"io"
	"time"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/local/journal"
	"github.com/batchctl/batchctl/pkg/local/model"
)

// Position is a place between two records of a journal.
type Position struct {
	Records int64  `json:"records"` // before it
	Chain   uint32 `json:"chain"`   // checksum of these records
}

// After returns the position after the next record.
func (p Position) After(record []byte) Position {
	return Position{p.Records + 1, crc32.Update(p.Chain, crc32.MakeTable(crc32.Castagnoli), record)}
}

// replay applies the records of a journal to a model, and finds the changes.
type replay struct {
	model *model.Model
	at    Position
	// blocked has the reported head of each blocked queue.
	blocked map[string]head
}

// head is a task that blocks its queue.
type head struct {
	task   *model.Task
	reason string
}

func newReplay(queues []model.QueueSpec) *replay {
	return &replay{model: model.New(queues), blocked: map[string]head{}}
}

// apply applies a record. It calls found for each change, while the model is in the state of that change.
func (p *replay) apply(text []byte, found func(change) error) error {
	var r model.Record
	if err := json.Unmarshal(text, &r); err != nil {
		return err
	}
	for _, v := range r.Events {
		if err := p.model.Apply(r.At, v); err != nil {
			return err
		}
		for _, t := range p.model.Changed(v) {
			if err := statusChanges(r.At, t, found); err != nil {
				return err
			}
		}
	}
	p.model.DropDue()
	for _, v := range r.Events {
		for _, queue := range p.model.QueuesOf(v) {
			if t := p.newlyBlocked(queue); t != nil {
				if err := found(change{at: r.At, task: t, node: -1, blocked: true}); err != nil {
					return err
				}
			}
		}
	}
	p.at = p.at.After(text)
	return nil
}

// statusChanges reports the new status of a task, and of its nodes.
func statusChanges(at int64, t *model.Task, found func(change) error) error {
	for node := -1; node < t.Job.Nodes(); node++ {
		if err := found(change{at: at, task: t, node: node}); err != nil {
			return err
		}
	}
	return nil
}

// newlyBlocked returns the head of a queue if it cannot be placed and that was not reported yet.
func (p *replay) newlyBlocked(queue string) *model.Task {
	t := p.model.Head(queue)
	if t == nil || !batch.IsBlocked(t.Reason) {
		delete(p.blocked, queue)
		return nil
	}
	h := head{t, t.Reason}
	if p.blocked[queue] == h {
		return nil
	}
	p.blocked[queue] = h
	return t
}

// follower delivers the events of the journal to one destination.
type follower struct {
	*replay
	delivery *Delivery
	to       Destination
	sender   sender
	reader   *journal.Reader
	position *positionFile
	wake     chan struct{}

	saved saved
	// live is true once the replay has reached the saved position.
	live bool
	// skip is how many events of the next record were delivered already.
	skip int
	// batch are the events to be sent next.
	batch []pending
	size  int // of their lines
	// acked is the position of the last acknowledged event.
	acked saved
	dirty time.Time // when acked changed first since it was saved; zero if it did not
	// failing is the time of the first failure since the last success.
	failing time.Time
}

// pending is an event that is not acknowledged yet.
type pending struct {
	line  []byte
	after saved // the position when it is
}

// Limits of a follower.
const (
	batchSize    = 64 << 10
	gather       = 10 * time.Millisecond // the wait for more records before they are read
	saveInterval = 100 * time.Millisecond
	firstBackoff = 100 * time.Millisecond
	lastBackoff  = 30 * time.Second
)

// newFollower opens the position of a destination, or starts it at the end of the journal.
func newFollower(d *Delivery, to Destination) (*follower, error) {
	s := d.settings
	f := &follower{delivery: d, to: to, replay: newReplay(s.Queues), wake: make(chan struct{}, 1)}
	var err error
	if f.sender, err = to.open(s.Root); err != nil {
		return nil, err
	}
	if f.position, f.saved, err = openPosition(s, to); err != nil {
		f.sender.close()
		return nil, err
	}
	if f.reader, err = journal.NewReader(s.Root, "journal"); err != nil {
		f.close()
		return nil, err
	}
	f.acked = f.saved
	return f, nil
}

func (f *follower) close() {
	f.sender.close()
	_ = f.position.file.Close()
	if f.reader != nil {
		_ = f.reader.Close()
	}
}

// errStopped ends a follower whose engine ends.
var errStopped = errors.New("the engine is stopping")

// run follows the journal until the engine ends.
func (f *follower) run(ctx context.Context) {
	defer f.close()
	err := f.follow(ctx)
	f.save()
	if err != nil && !errors.Is(err, errStopped) && ctx.Err() == nil {
		f.delivery.settings.Log.Error("events are no longer delivered; restart the engine to continue after the last one", "to", f.to.String(), "error", err)
	}
}

func (f *follower) follow(ctx context.Context) error {
	for {
		// The engine writes its last record before it calls Close, so the end is read after closing.
		closing := f.isClosing()
		if err := f.catchUp(ctx, f.delivery.settings.Journal.InFile()); err != nil || closing {
			return err
		}
		if !f.rest(ctx) {
			return errStopped
		}
	}
}

// rest waits for new records, and saves the position when it is due. It reports false if ctx has ended.
func (f *follower) rest(ctx context.Context) bool {
	for {
		var due <-chan time.Time
		if !f.dirty.IsZero() {
			due = time.After(time.Until(f.dirty.Add(saveInterval)))
		}
		select {
		case <-f.wake:
			select {
			case <-time.After(gather): // more records may follow
			case <-f.delivery.closing:
			}
			return true
		case <-due:
			f.save()
		case <-f.delivery.closing:
			return true
		case <-ctx.Done():
			return false
		}
	}
}

// catchUp delivers the events of all records before a position of the file.
func (f *follower) catchUp(ctx context.Context, end int64) error {
	for {
		if !f.live {
			if err := f.findPosition(); err != nil {
				return err
			}
		}
		if ctx.Err() != nil {
			return errStopped
		}
		text, err := f.reader.Next(end)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if err := f.record(ctx, text); err != nil {
			return err
		}
	}
	return f.deliver(ctx)
}

// findPosition starts the delivery if the replay has reached the saved position, or the end of a journal to which that
// position does not belong.
func (f *follower) findPosition() error {
	end := f.delivery.settings.End
	switch {
	case f.at == f.saved.Position:
		f.skip = f.saved.Events
	case f.at == end:
		f.delivery.settings.Log.Error("an unknown number of events is lost: the recorded position of the destination does not belong to this journal; "+
			"delivery continues with new events", "to", f.to.String())
		f.saved = saved{Position: end, Lost: lossUnknown}
	default:
		return nil
	}
	f.live = true
	if f.saved.Lost == 0 {
		return nil
	}
	if f.saved.Lost > 0 {
		f.delivery.settings.Log.Error("events are lost: old jobs were removed from the journal before the destination had received their events",
			"to", f.to.String(), "lost", f.saved.Lost)
	}
	line, err := lostEvent(f.to, f.saved, time.Now().UnixMilli())
	after := f.saved
	after.Lost = 0
	f.batch = append(f.batch, pending{line, after})
	return err
}

// record applies a record and delivers its events once there are enough of them.
func (f *follower) record(ctx context.Context, text []byte) error {
	before, n, live := f.at, 0, f.live
	err := f.apply(text, func(c change) error {
		n++
		if !live || n <= f.skip {
			return nil
		}
		line, err := c.render(f.model)
		if err != nil {
			return err
		}
		f.batch = append(f.batch, pending{line, saved{Position: before, Events: n}})
		if f.size += len(line); f.size < batchSize {
			return nil
		}
		return f.deliver(ctx)
	})
	if err != nil || !live {
		return err
	}
	f.skip = 0
	if last := len(f.batch) - 1; last >= 0 {
		f.batch[last].after = saved{Position: f.at}
	} else {
		f.acknowledge(saved{Position: f.at})
	}
	return nil
}

// deliver sends the batch, again and again until it is acknowledged.
func (f *follower) deliver(ctx context.Context) error {
	backoff := firstBackoff
	for len(f.batch) > 0 {
		lines := make([][]byte, len(f.batch))
		for i, p := range f.batch {
			lines[i] = p.line
		}
		n, err := f.sender.send(ctx, lines)
		if n > 0 {
			f.acknowledge(f.batch[n-1].after)
			f.batch = f.batch[n:]
			backoff = firstBackoff
		}
		if err == nil {
			f.recovered()
			continue
		}
		f.failed(err)
		if f.isClosing() {
			return errStopped // the next engine delivers the rest
		}
		select {
		case <-time.After(backoff):
		case <-f.delivery.closing:
		case <-ctx.Done():
			return errStopped
		}
		backoff = min(2*backoff, lastBackoff)
	}
	f.batch, f.size = f.batch[:0], 0
	return nil
}

func (f *follower) isClosing() bool {
	select {
	case <-f.delivery.closing:
		return true
	default:
		return false
	}
}

// failed logs the first failure of several.
func (f *follower) failed(err error) {
	if f.failing.IsZero() {
		f.failing = time.Now()
		f.delivery.settings.Log.Warn("events cannot be delivered; they stay in the journal, and the engine tries again",
			"to", f.to.String(), "error", err)
	}
}

// recovered logs that the destination accepts events again.
func (f *follower) recovered() {
	if !f.failing.IsZero() {
		f.delivery.settings.Log.Info("events are being delivered again", "to", f.to.String(), "after",
			time.Since(f.failing).Round(time.Second).String())
		f.failing = time.Time{}
	}
}

// acknowledge notes a position, and saves it if that is due.
func (f *follower) acknowledge(s saved) {
	f.acked = s
	switch {
	case f.dirty.IsZero():
		f.dirty = time.Now()
	case time.Since(f.dirty) >= saveInterval:
		f.save()
	}
}

// save writes the position, after the events before it are on disk. If that fails, events are delivered again after a
// kill.
func (f *follower) save() {
	if f.dirty.IsZero() {
		return
	}
	f.dirty = time.Time{}
	err := f.sender.sync()
	if err == nil {
		err = f.position.write(f.acked)
	}
	if err != nil {
		f.failed(err)
	}
}
