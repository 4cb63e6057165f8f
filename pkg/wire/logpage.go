package wire

import (
	"bytes"
	"encoding/json"
	"strconv"
	"unicode/utf8"
)

// Decode reads a page of a log from JSON. It reads the form in which servers write pages several
// times as fast as encoding/json, which determines how long a large log takes to print. It leaves
// every other form to encoding/json.
func (o *GetLogEventsOutput) Decode(text []byte) error {
	page := pageReader{rest: text}
	if out, ok := page.output(); ok {
		*o = out
		return nil
	}
	return json.Unmarshal(PlainIntegers(text, true), o)
}

// pageReader reads a page of a log. Each method returns false for anything unusual.
type pageReader struct{ rest []byte }

// output reads the whole page.
func (p *pageReader) output() (out GetLogEventsOutput, ok bool) {
	ok = p.members(func(name string) bool {
		switch name {
		case "events":
			out.Events = []OutputLogEvent{}
			return p.events(&out.Events)
		case "nextForwardToken":
			out.NextForwardToken, ok = p.text()
			return ok
		case "nextBackwardToken":
			out.NextBackwardToken, ok = p.text()
			return ok
		}
		return false
	})
	p.take(' ', '\n')
	return out, ok && len(p.rest) == 0
}

// events reads the list of events.
func (p *pageReader) events(events *[]OutputLogEvent) bool {
	if !p.take('[') {
		return false
	}
	for first := true; ; first = false {
		if p.take(']') {
			return true
		}
		if !first && !p.take(',') {
			return false
		}
		var e OutputLogEvent
		ok := p.members(func(name string) (ok bool) {
			switch name {
			case "message":
				e.Message, ok = p.text()
			case "timestamp":
				e.Timestamp, ok = p.number()
			case "ingestionTime":
				e.IngestionTime, ok = p.number()
			}
			return ok
		})
		if !ok {
			return false
		}
		*events = append(*events, e)
	}
}

// members reads an object, and calls value at the value of each member.
func (p *pageReader) members(value func(name string) bool) bool {
	if !p.take('{') {
		return false
	}
	for first := true; ; first = false {
		if p.take('}') {
			return true
		}
		if !first && !p.take(',') {
			return false
		}
		name, ok := p.text()
		if !ok || !p.take(':') || !value(*name) {
			return false
		}
	}
}

// take skips the first of the given bytes that comes next.
func (p *pageReader) take(wanted ...byte) bool {
	if len(p.rest) == 0 || bytes.IndexByte(wanted, p.rest[0]) < 0 {
		return false
	}
	p.rest = p.rest[1:]
	return true
}

// number reads an integer without fraction and exponent.
func (p *pageReader) number() (*int64, bool) {
	n := 0
	for n < len(p.rest) && p.rest[n] >= '0' && p.rest[n] <= '9' {
		n++
	}
	if n == 0 || n > 1 && p.rest[0] == '0' || n == len(p.rest) || p.rest[n] != ',' && p.rest[n] != '}' {
		return nil, false
	}
	v, err := strconv.ParseInt(string(p.rest[:n]), 10, 64)
	p.rest = p.rest[n:]
	return &v, err == nil
}

// text reads a string. It copies it only if it has escapes.
func (p *pageReader) text() (*string, bool) {
	if len(p.rest) == 0 || p.rest[0] != '"' {
		return nil, false
	}
	end := bytes.IndexByte(p.rest[1:], '"') + 1
	if end > 0 && p.rest[end-1] == '\\' { // of an escape, perhaps
		end = stringEnd(p.rest, 0) - 1
	}
	if end <= 0 {
		return nil, false
	}
	quoted, s := p.rest[:end+1], ""
	plain := quoted[1:end]
	if bytes.IndexByte(plain, '\\') < 0 && utf8.Valid(plain) && !hasControl(plain) {
		s = string(plain)
	} else if json.Unmarshal(quoted, &s) != nil {
		return nil, false
	}
	p.rest = p.rest[end+1:]
	return &s, true
}

// hasControl reports whether a text has control characters, which JSON requires to be escaped.
func hasControl(text []byte) bool {
	for _, c := range text {
		if c < ' ' {
			return true
		}
	}
	return false
}
