package bench

// addCopies brings the copies into the repeats where these are of the kernel alone,
// because a job pays for both.
func (r *Row) addCopies(lines []Result) {
	r.Split = Split{
		Kernel:    medianOf(lines, func(s Split) *float64 { return s.Kernel }),
		CopyIn:    medianOf(lines, func(s Split) *float64 { return s.CopyIn }),
		CopyOut:   medianOf(lines, func(s Split) *float64 { return s.CopyOut }),
		FirstCall: medianOf(lines, func(s Split) *float64 { return s.FirstCall }),
		Included:  lines[0].Split.Included,
	}
	if r.copiesIncluded() {
		return
	}
	r.CopiesApart = r.Split.copies()
	for i := range r.Seconds {
		r.Seconds[i] += r.CopiesApart
	}
	r.Notes = append(r.Notes, "copies to the device and back, measured apart, are added to the time")
}

// copiesIncluded reports whether the repeats hold the copies: as the line says, or
// because kernel and copies together are no longer than the repeat. Where nothing
// tells, the copies are taken as apart.
func (r *Row) copiesIncluded() bool {
	s := r.Split
	if s.copies() == 0 {
		return true
	}
	if s.Included != nil {
		return *s.Included
	}
	const slack = 0.98 // medians of parts do not add up to the median of the whole
	return s.Kernel != nil && Median(r.Seconds) >= slack*(*s.Kernel+s.copies())
}

// copies is the seconds of the copies to the device and back.
func (s Split) copies() float64 { return value(s.CopyIn) + value(s.CopyOut) }

// Part is a named piece of a repeat's time, in seconds.
type Part struct {
	Name    string  `json:"name"`
	Seconds float64 `json:"seconds"`
}

// Parts is where the median repeat's time went: kernel, copies, and what is left. It is
// nil for a row whose lines do not say, or that is not a measurement.
func (r *Row) Parts() []Part {
	s := r.Split
	if !r.measured() || (s.Kernel == nil && s.copies() == 0) {
		return nil
	}
	known := value(s.Kernel) + s.copies()
	rest := max(r.Summary.Median-known, 0)
	var parts []Part
	for _, p := range []Part{{"copy in", value(s.CopyIn)}, {"kernel", value(s.Kernel)}, {"copy out", value(s.CopyOut)}, {"other", rest}} {
		if p.Seconds > 0 {
			parts = append(parts, p)
		}
	}
	return parts
}

func value(p *float64) float64 {
	if p == nil {
		return 0
	}
	return *p
}

// medianOf is the median over the lines that have the part; nil where none has.
func medianOf(lines []Result, part func(Split) *float64) *float64 {
	var all []float64
	for _, line := range lines {
		if v := part(line.Split); v != nil {
			all = append(all, *v)
		}
	}
	if len(all) == 0 {
		return nil
	}
	m := Median(all)
	return &m
}
