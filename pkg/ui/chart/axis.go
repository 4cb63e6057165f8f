package chart

import (
	"time"

	"github.com/batchctl/batchctl/pkg/draw"
)

// timeScale maps times to x coordinates, as draw.Axis does with numbers.
type timeScale struct {
	from, to    time.Time
	left, right float64
}

// newTimeScale returns a scale from the first to the last time. It is at least 2 seconds long.
func newTimeScale(from, to time.Time, left, right float64) timeScale {
	from, to = inCalendar(from), inCalendar(to)
	if seconds(from, to) < 2 {
		to = from.Add(2 * time.Second)
	}
	return timeScale{from, to, left, right}
}

// inCalendar returns the nearest time in the years 1 to 9998, for which calendar arithmetic works.
func inCalendar(t time.Time) time.Time {
	first, last := time.Date(1, 1, 2, 0, 0, 0, 0, time.UTC), time.Date(9998, 12, 31, 0, 0, 0, 0, time.UTC)
	switch {
	case t.Before(first):
		return first.In(t.Location())
	case t.After(last):
		return last.In(t.Location())
	}
	return t
}

// seconds returns the time between two times. A time.Duration has only 292 years.
func seconds(from, to time.Time) float64 {
	return float64(to.Unix()) - float64(from.Unix()) + float64(to.Nanosecond()-from.Nanosecond())/1e9
}

// x returns the coordinate of a time, within the scale.
func (s timeScale) x(t time.Time) float64 {
	share := seconds(s.from, t) / seconds(s.from, s.to)
	return s.left + min(max(share, 0), 1)*(s.right-s.left)
}

// calendarStep is a distance of ticks. One of its parts is not 0.
type calendarStep struct {
	years, months, days, seconds int
	layout                       string
}

// calendarSteps are in ascending order. Those of seconds divide a day, so that midnight is a tick.
var calendarSteps = func() (steps []calendarStep) {
	for _, s := range []int{1, 2, 5, 10, 15, 30} {
		steps = append(steps, calendarStep{seconds: s, layout: time.TimeOnly})
	}
	for _, m := range []int{1, 2, 5, 10, 15, 30, 60, 2 * 60, 3 * 60, 6 * 60, 12 * 60} {
		steps = append(steps, calendarStep{seconds: m * 60, layout: "15:04"})
	}
	for _, d := range []int{1, 2, 7, 14} {
		steps = append(steps, calendarStep{days: d, layout: "Jan 2"})
	}
	for _, m := range []int{1, 3, 6} {
		steps = append(steps, calendarStep{months: m, layout: "Jan 2006"})
	}
	for _, y := range []int{1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000} {
		steps = append(steps, calendarStep{years: y, layout: "2006"})
	}
	return steps
}()

// length returns about how many seconds a step takes.
func (c calendarStep) length() float64 {
	const day = 24 * 60 * 60
	return float64(c.seconds) + day*(float64(c.days)+30.4*float64(c.months)+365.2*float64(c.years))
}

// timeTick is a tick of a time axis.
type timeTick struct {
	at    time.Time
	label string
}

// ticks returns the ticks at round local times, and dates at midnight. The local time is that of s.from.
func (s timeScale) ticks() []timeTick {
	const apart = 84 // pixels
	step := calendarSteps[len(calendarSteps)-1]
	for i := len(calendarSteps) - 1; i >= 0; i-- {
		if calendarSteps[i].length()*(s.right-s.left)/seconds(s.from, s.to) >= apart {
			step = calendarSteps[i]
		}
	}
	// Round down in local time: to a multiple of years or seconds of the day, to January or to Monday.
	year, month, day := s.from.Date()
	skip := 0
	switch {
	case step.years > 0:
		year, month, day = year-year%step.years, time.January, 1
	case step.months > 0:
		month, day = time.January, 1
	case step.days >= 7:
		day -= (int(s.from.Weekday()) + 6) % 7
	case step.seconds > 0:
		skip = (s.from.Hour()*3600 + s.from.Minute()*60 + s.from.Second()) / step.seconds
	}
	var ticks []timeTick
	for i := skip; ; i++ {
		at := time.Date(year+i*step.years, month+time.Month(i*step.months), day+i*step.days, 0, 0, i*step.seconds, 0,
			s.from.Location())
		switch {
		case at.After(s.to):
			return ticks
		case at.Before(s.from) || len(ticks) > 0 && !at.After(ticks[len(ticks)-1].at): // the clock may go back
			continue
		}
		label := at.Format(step.layout)
		if hour, minute, second := at.Clock(); step.seconds > 0 && hour+minute+second == 0 {
			label = at.Format("Jan 2")
		}
		ticks = append(ticks, timeTick{at, label})
	}
}

// timeAxis draws the labels of a scale with their baseline at y, and a tick or a grid line from top to bottom at
// each. The labels stay between 0 and width, and one that would overlap the previous is left out.
func (d *drawing) timeAxis(s timeScale, class string, top, bottom, y, width float64) {
	free := 0.0 // where the next label may begin
	for _, t := range s.ticks() {
		x, half := s.x(t.at), draw.TextWidth(t.label)/2
		d.Line(class, x, top, x, bottom)
		if middle := min(max(x, half), width-half); middle-half >= free {
			d.Text(middle, y, "middle", "label", t.label)
			free = middle + half
		}
	}
}

// period describes the times of a chart.
func (s timeScale) period() string {
	return "From " + s.from.Format(time.DateTime) + " to " + s.to.Format(time.DateTime) + "."
}
