package source

import (
	"math"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/batch/types"
)

// Sample is the state of a queue at one time.
type Sample struct {
	At     time.Time
	Jobs   map[types.JobStatus]int
	InUse  float64
	Shares map[string]float64
	// isGap marks a time after which no page was open.
	isGap bool
}

// Value returns a number of the sample; NaN in a gap.
func (s Sample) Value(n float64) float64 {
	if s.isGap {
		return math.NaN()
	}
	return n
}

// gap is the time without samples that a chart shows as a gap.
const gap = 2 * time.Minute

// mostSamples bounds the history of a queue. When it is full, half of the samples are dropped, and from then on the
// samples are twice as far apart: a page that is open for a day needs no more memory than one of an hour.
const mostSamples = 1000

// queueHistory is the past of a queue, the oldest sample first.
type queueHistory struct {
	samples []Sample
	apart   time.Duration
}

// add adds a sample, unless the last one is too recent.
func (h *queueHistory) add(s Sample) {
	if n := len(h.samples); n > 0 {
		switch since := s.At.Sub(h.samples[n-1].At); {
		case since < h.apart:
			return
		case since > max(gap, 4*h.apart): // no page was open
			h.samples = append(h.samples, Sample{At: h.samples[n-1].At.Add(time.Second), isGap: true})
		}
	}
	if len(h.samples) >= mostSamples-1 {
		kept := h.samples[:0]
		n := 0
		for _, old := range h.samples {
			isSecondGap := len(kept) > 0 && kept[len(kept)-1].isGap
			if old.isGap && !isSecondGap || !old.isGap && n%2 == 0 {
				kept = append(kept, old)
			}
			if !old.isGap {
				n++
			}
		}
		clear(h.samples[len(kept):])
		h.samples = kept
		h.apart = max(2*h.apart, 2*time.Second)
	}
	h.samples = append(h.samples, s)
}
