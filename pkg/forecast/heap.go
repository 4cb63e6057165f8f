package forecast

// pending is an event that is due: the end of a job, the readiness of an instance, or a decision about scaling.
type pending struct {
	at       int64
	order    uint32 // between events of one time: the earlier one first
	kind     due
	job      int32
	instance int32
	stamp    uint32 // of the instance or the attempt; another one cancels the event
}

// due is the kind of a pending event.
type due uint8

const (
	dueEnd     due = iota // a job ends
	dueReady              // an instance has booted
	dueIdle               // an idle instance may go
	dueReclaim            // EC2 takes a Spot instance back
	dueScale              // AWS Batch examines the queues
)

func (a pending) before(b pending) bool {
	return a.at < b.at || a.at == b.at && a.order < b.order
}

// queue of pending events, the next one first: a binary heap.
type agenda []pending

func (q *agenda) push(p pending) {
	*q = append(*q, p)
	h := *q
	i := len(h) - 1
	for i > 0 {
		up := (i - 1) / 2
		if !p.before(h[up]) {
			break
		}
		h[i] = h[up]
		i = up
	}
	h[i] = p
}

func (q *agenda) pop() pending {
	h := *q
	first, last := h[0], h[len(h)-1]
	h = h[:len(h)-1]
	*q = h
	for i := 0; len(h) > 0; {
		down := 2*i + 1
		if down >= len(h) {
			h[i] = last
			break
		}
		if down+1 < len(h) && h[down+1].before(h[down]) {
			down++
		}
		if !h[down].before(last) {
			h[i] = last
			break
		}
		h[i] = h[down]
		i = down
	}
	return first
}
