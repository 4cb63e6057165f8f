package draw

import (
	"image/color"
	"math"
	"os"
	"strconv"
	"strings"
	"sync"

	"github.com/lucasb-eyer/go-colorful"
)

// palette has the colours of all pictures, on a light and on a dark ground.
var palette = map[string]struct{ light, dark string }{
	"ground": {"#ffffff", "#0d1117"},
	"panel":  {"#f6f8fa", "#161b22"}, // on the ground
	"sheet":  {"#eaeef2", "#21262d"}, // behind a panel
	"rule":   {"#d8dde2", "#343c44"}, // between rows, and of grids
	"faint":  {"#afb8c1", "#57606a"},
	"line":   {"#6e7781", "#8b949e"},
	"soft":   {"#57606a", "#a5adb6"}, // of secondary text
	"ink":    {"#1f2328", "#f0f6fc"},
	"accent": {"#0969da", "#58a6ff"},
	// The series can be told apart with the common kinds of colour blindness: Okabe and Ito's palette ("Color Universal
	// Design", 2008), darkened for a light ground and lightened for a dark one.
	"c0": {"#0067a8", "#5cb4ee"},
	"c1": {"#c2500a", "#f0904a"},
	"c2": {"#00805c", "#3cc79c"},
	"c3": {"#a0498a", "#dc8ac6"},
	"c4": {"#8a6d00", "#dcc04a"},
	"c5": {"#4b5ac0", "#9aa6ff"},
	// What an uncertain figure is at least, in the median and at most.
	"low":    {"#0067a8", "#5cb4ee"},
	"median": {"#6ba9d2", "#39739c"},
	"high":   {"#c3dff0", "#22415a"},
	// The statuses of jobs: the same palette, and grey for what waits.
	"SUCCEEDED": {"#009e73", "#1fc497"},
	"FAILED":    {"#d55e00", "#f0792a"},
	"RUNNING":   {"#0072b2", "#3d9ee0"},
	"STARTING":  {"#56b4e9", "#7cc8f2"},
	"RUNNABLE":  {"#e69f00", "#f0b429"},
	"PENDING":   {"#8c959f", "#8b949e"},
	"SUBMITTED": {"#c4cbd2", "#5b636d"},
}

// Series is how many colours for series the palette has: c0 and so on.
const Series = 6

// Light returns a colour of the palette on a light ground, as #rrggbb. It panics if there is no such colour.
func Light(name string) string {
	c, ok := palette[name]
	if !ok {
		panic("draw: no colour " + name)
	}
	return c.light
}

// Paint returns a colour of the palette on a light ground.
func Paint(name string) color.RGBA { return parsed(Light(name)) }

// parsed returns the colour #rrggbb.
func parsed(hex string) color.RGBA {
	v, _ := strconv.ParseUint(hex[1:], 16, 32) // the colours of this file are valid
	return color.RGBA{uint8(v >> 16), uint8(v >> 8), uint8(v), 0xff}
}

// Sheet returns the style sheet of a file, for the light or dark ground that its reader prefers. Each line of rules is
// a rule, in which $ink is a colour of the palette. Every selector begins with scope.
func Sheet(rules, scope string) string {
	var all, dark strings.Builder
	for rule := range strings.Lines(rules) {
		selectors, declarations, _ := strings.Cut(rule, "{")
		rule = scope + strings.ReplaceAll(selectors, ",", ","+scope) + "{" + declarations
		all.WriteString(os.Expand(rule, Light))
		if strings.Contains(rule, "$") {
			dark.WriteString(os.Expand(rule, func(name string) string { return palette[name].dark }))
		}
	}
	return all.String() + "@media (prefers-color-scheme: dark) {\n" + dark.String() + "}\n"
}

// PageSheet returns the style sheet of rules, as in Sheet, for a page whose color-scheme chooses the ground. All class
// names begin with prefix.
func PageSheet(rules, prefix string) string {
	var all strings.Builder
	for rule := range strings.Lines(rules) {
		selectors, declarations, _ := strings.Cut(rule, "{")
		all.WriteString(strings.ReplaceAll(selectors, ".", "."+prefix) + "{" +
			os.Expand(declarations, func(name string) string {
				return "light-dark(" + Light(name) + "," + palette[name].dark + ")"
			}))
	}
	return all.String()
}

// shades is the number of different colours for numbers.
const shades = 256

// scale has the colours for numbers, dark to light. It goes through colours whose hues stay apart with the common
// kinds of colour blindness. In between, lightness grows evenly with the value, so a print in grey shows the same order
// and the same distances.
var scale = sync.OnceValue(func() (all []color.RGBA) {
	lightness := func(c colorful.Color) float64 { l, _, _ := c.Lab(); return l }
	var marks []colorful.Color
	for _, hex := range []string{"#440154", "#3b528b", "#21918c", "#5ec962", "#fde725"} {
		mark, _ := colorful.MakeColor(parsed(hex)) // false only for transparent colours
		marks = append(marks, mark)
	}
	darkest, lightest := lightness(marks[0]), lightness(marks[len(marks)-1])
	for i := range shades {
		want := darkest + (lightest-darkest)*float64(i)/(shades-1)
		for len(marks) > 2 && lightness(marks[1]) < want {
			marks = marks[1:]
		}
		from, to := lightness(marks[0]), lightness(marks[1])
		r, g, b := marks[0].BlendLab(marks[1], (want-from)/(to-from)).Clamped().RGB255()
		all = append(all, color.RGBA{r, g, b, 0xff})
	}
	return all
})

// Shade returns the colour for a number between 0 and 1.
func Shade(part float64) color.RGBA { return scale()[int(math.Round(part*(shades-1)))] }

// InkOn is black or white, whichever is easier to read on c. The weights are those of relative luminance. At half
// luminance, both have about the same contrast with the colours of Shade.
func InkOn(c color.RGBA) color.RGBA {
	linear := func(v uint8) float64 { return math.Pow(float64(v)/255, 2.2) }
	if 0.2126*linear(c.R)+0.7152*linear(c.G)+0.0722*linear(c.B) > 0.18 {
		return color.RGBA{A: 0xff}
	}
	return Paint("ground")
}
