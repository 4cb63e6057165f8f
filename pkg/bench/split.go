package bench

import "github.com/batchctl/batchctl/workloads/measure"

// Split is where the time of a row's repeats went, in seconds: medians over the row's
// lines, 0 where none has the part. The parts can overlap.
type Split struct {
	// Kernel is the computation alone.
	Kernel float64 `json:"kernel,omitempty"`
	// CopyIn and CopyOut are the copies to the device and back.
	CopyIn  float64 `json:"copyIn,omitempty"`
	CopyOut float64 `json:"copyOut,omitempty"`
	// FirstCall is the first repeat, with everything that is created once. No other time
	// includes it.
	FirstCall float64 `json:"firstCall,omitempty"`
}

// splitOf returns the medians of the lines' parts.
func splitOf(lines []Result) Split {
	return Split{
		Kernel:    medianOf(lines, func(r *Result) float64 { return r.KernelSeconds }),
		CopyIn:    medianOf(lines, func(r *Result) float64 { return r.CopyInSeconds }),
		CopyOut:   medianOf(lines, func(r *Result) float64 { return r.CopyOutSeconds }),
		FirstCall: medianOf(lines, func(r *Result) float64 { return r.FirstCall }),
	}
}

// medianOf is the median of a number over the lines that have it; 0 where none has.
func medianOf(lines []Result, number func(*Result) float64) float64 {
	var all []float64
	for i := range lines {
		if v := number(&lines[i]); v > 0 {
			all = append(all, v)
		}
	}
	if len(all) == 0 {
		return 0
	}
	return measure.Median(all)
}

// copies is the seconds of the copies to the device and back.
func (s Split) copies() float64 { return s.CopyIn + s.CopyOut }

// Part is a named piece of a repeat's time, in seconds.
type Part struct {
	Name    string  `json:"name"`
	Seconds float64 `json:"seconds"`
}

// Parts is where the median repeat's time went: kernel, copies, and what is left. It is
// nil for a row whose lines do not say, or that is not a measurement.
func (r *Row) Parts() []Part {
	s := r.Split
	known := s.Kernel + s.copies()
	if !r.measured() || known == 0 {
		return nil
	}
	rest := max(r.Summary.Median-known, 0)
	var parts []Part
	for _, p := range []Part{{"copy in", s.CopyIn}, {"kernel", s.Kernel}, {"copy out", s.CopyOut}, {"other", rest}} {
		if p.Seconds > 0 {
			parts = append(parts, p)
		}
	}
	return parts
}
