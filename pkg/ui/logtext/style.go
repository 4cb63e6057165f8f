package logtext

import (
	"strconv"
	"strings"
)

// style is the state that SGR sequences set. Its zero value is the default style.
type style struct {
	bold, dim, italic, underline, reverse, strike bool
	// fore and back are one of the 16 ANSI colours plus 1, or 0 for the default colour.
	fore, back uint8
	// layout marks the name of a character in layoutNames.
	layout bool
}

// class returns the class names of a style.
func (s style) class() string {
	if s == (style{}) {
		return ""
	}
	if s.layout {
		return "ctl"
	}
	var names [8]string
	list := names[:0]
	for _, flag := range [...]struct {
		set  bool
		name string
	}{{s.bold, "b"}, {s.dim, "d"}, {s.italic, "i"}, {s.underline, "u"}, {s.reverse, "r"}, {s.strike, "s"}} {
		if flag.set {
			list = append(list, flag.name)
		}
	}
	if s.fore > 0 {
		list = append(list, "f"+strconv.Itoa(int(s.fore)-1))
	}
	if s.back > 0 {
		list = append(list, "g"+strconv.Itoa(int(s.back)-1))
	}
	return strings.Join(list, " ")
}

// maxParameters is the most parameters of one SGR sequence that count. Terminals have similar limits.
const maxParameters = 32

// parameter is a number of an SGR sequence. A part comes after a colon and belongs to the number before it.
type parameter struct {
	value  int
	isPart bool
}

// apply changes the style by the parameters of an SGR sequence (ECMA-48, 8.3.117; ITU-T T.416 for colours).
func (s *style) apply(parameters string) {
	var list [maxParameters]parameter
	rest := list[:1]
	for _, c := range []byte(parameters) {
		if c >= '0' && c <= '9' {
			last := &rest[len(rest)-1]
			last.value = min(last.value*10+int(c-'0'), 1<<16)
			continue
		}
		if len(rest) == maxParameters {
			break
		}
		rest = append(rest, parameter{isPart: c == ':'})
	}
	for len(rest) > 0 {
		n := 1
		for n < len(rest) && rest[n].isPart {
			n++
		}
		code, parts := rest[0].value, rest[1:n]
		switch {
		case code == 38 || code == 48 || code == 58:
			if len(parts) == 0 {
				n = min(n+colourSize(rest[1:]), len(rest))
				parts = rest[1:n]
			} else if parts[0].value == 2 && len(parts) > 4 {
				parts = append(parts[:1:1], parts[2:]...) // without the colour space
			}
			s.setColour(code, parts)
		case code == 4: // a part is the kind of line, 0 for no line
			s.underline = len(parts) == 0 || parts[0].value != 0
		case len(parts) == 0:
			s.set(code)
		}
		rest = rest[n:]
	}
}

// colourSize returns how many of the parameters after 38 and a semicolon describe the colour.
func colourSize(rest []parameter) int {
	switch {
	case len(rest) == 0:
		return 0
	case rest[0].value == 5:
		return 2
	case rest[0].value == 2:
		return 4
	}
	return 1
}

// setColour sets the foreground (code 38) or background (48) to the nearest of the 16 ANSI colours. It ignores
// the colour of underlines (58) and incomplete colours.
func (s *style) setColour(code int, parts []parameter) {
	var colour uint8
	switch {
	case len(parts) >= 2 && parts[0].value == 5 && parts[1].value < 256:
		colour = indexed(parts[1].value)
	case len(parts) >= 4 && parts[0].value == 2 && max(parts[1].value, parts[2].value, parts[3].value) < 256:
		colour = nearest(parts[1].value, parts[2].value, parts[3].value)
	default:
		return
	}
	switch code {
	case 38:
		s.fore = colour + 1
	case 48:
		s.back = colour + 1
	}
}

// palette has red, green and blue of the 16 ANSI colours, as xterm displays them by default.
var palette = [16][3]int{
	{0, 0, 0}, {205, 0, 0}, {0, 205, 0}, {205, 205, 0}, {0, 0, 238}, {205, 0, 205}, {0, 205, 205}, {229, 229, 229},
	{127, 127, 127}, {255, 0, 0}, {0, 255, 0}, {255, 255, 0}, {92, 92, 255}, {255, 0, 255}, {0, 255, 255},
	{255, 255, 255},
}

// nearest returns the ANSI colour with the least Euclidean distance in the RGB cube.
func nearest(red, green, blue int) uint8 {
	best, least := 0, 1<<30
	for i, c := range palette {
		r, g, b := red-c[0], green-c[1], blue-c[2]
		if distance := r*r + g*g + b*b; distance < least {
			best, least = i, distance
		}
	}
	return uint8(best)
}

// indexed returns the ANSI colour for one of the 256 colours: 16 ANSI colours, a cube of 6x6x6, 24 greys.
func indexed(n int) uint8 {
	levels := [6]int{0, 95, 135, 175, 215, 255}
	switch {
	case n < 16:
		return uint8(n)
	case n < 232:
		n -= 16
		return nearest(levels[n/36], levels[n/6%6], levels[n%6])
	}
	grey := 8 + 10*(n-232)
	return nearest(grey, grey, grey)
}

// set applies a parameter that has no parts.
func (s *style) set(code int) {
	switch {
	case code == 0:
		*s = style{}
	case code == 1:
		s.bold = true
	case code == 2:
		s.dim = true
	case code == 3:
		s.italic = true
	case code == 7:
		s.reverse = true
	case code == 9:
		s.strike = true
	case code == 21: // double underline
		s.underline = true
	case code == 22:
		s.bold, s.dim = false, false
	case code == 23:
		s.italic = false
	case code == 24:
		s.underline = false
	case code == 27:
		s.reverse = false
	case code == 29:
		s.strike = false
	case code >= 30 && code <= 37:
		s.fore = uint8(code - 30 + 1)
	case code == 39:
		s.fore = 0
	case code >= 40 && code <= 47:
		s.back = uint8(code - 40 + 1)
	case code == 49:
		s.back = 0
	case code >= 90 && code <= 97:
		s.fore = uint8(code - 90 + 8 + 1)
	case code >= 100 && code <= 107:
		s.back = uint8(code - 100 + 8 + 1)
	}
}
