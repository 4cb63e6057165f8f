package draw

import (
	"fmt"
	"image/color"
	"math"
	"testing"
)

// luminance is the relative luminance of a colour (sRGB, IEC 61966-2-1).
func luminance(c color.RGBA) float64 {
	linear := func(v uint8) float64 {
		f := float64(v) / 255
		if f <= 0.04045 {
			return f / 12.92
		}
		return math.Pow((f+0.055)/1.055, 2.4)
	}
	return 0.2126*linear(c.R) + 0.7152*linear(c.G) + 0.0722*linear(c.B)
}

// TestEven: lightness (CIE 1976) grows by the same amount from shade to shade, so the
// scale is even for the eye, and in grey.
func TestEven(t *testing.T) {
	lightness := func(c color.RGBA) float64 { return 116*math.Cbrt(luminance(c)) - 16 }
	all := scale()
	first, last := lightness(all[0]), lightness(all[shades-1])
	if last-first < 70 {
		t.Errorf("from %v to %v", first, last)
	}
	for i, c := range all {
		if want := first + (last-first)*float64(i)/(shades-1); math.Abs(lightness(c)-want) > 0.7 {
			t.Errorf("shade %d: lightness %v, want %v", i, lightness(c), want)
		}
	}
}

// TestInk: numbers can be read on every shade, by the contrast that WCAG 2.2 asks of
// small text for large screens and small, 4.5 to 1, less what rounding takes.
func TestInk(t *testing.T) {
	for i, c := range scale() {
		if ratio := contrast(c, InkOn(c)); ratio < 4.4 {
			t.Errorf("shade %d %v: contrast %v", i, c, ratio)
		}
	}
}

// contrast is the contrast ratio of two colours by WCAG 2.2.
func contrast(one, other color.RGBA) float64 {
	a, b := luminance(one)+0.05, luminance(other)+0.05
	return max(a, b) / min(a, b)
}

// TestContrast: on both grounds, texts have the contrast that WCAG 2.2 asks of small text, and lines and areas that of
// graphics.
func TestContrast(t *testing.T) {
	graphics := []string{"line", "accent", "low", "FAILED"}
	for i := range Series {
		graphics = append(graphics, fmt.Sprintf("c%d", i))
	}
	for _, ground := range []string{"ground", "panel"} {
		for least, names := range map[float64][]string{4.5: {"ink", "soft"}, 3: graphics} {
			for _, name := range names {
				c, on := palette[name], palette[ground]
				light, dark := contrast(parsed(c.light), parsed(on.light)), contrast(parsed(c.dark), parsed(on.dark))
				if min(light, dark) < least {
					t.Errorf("%s on %s: %v and %v, want %v", name, ground, light, dark, least)
				}
			}
		}
	}
}

func TestSheet(t *testing.T) {
	const rules = ".a,.b{x:1}\n.a{fill:$ink}\n"
	if got, want := Sheet(rules, ".p "), ".p .a,.p .b{x:1}\n.p .a{fill:#1f2328}\n"+
		"@media (prefers-color-scheme: dark) {\n.p .a{fill:#f0f6fc}\n}\n"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got, want := PageSheet(rules, "p-"), ".p-a,.p-b{x:1}\n.p-a{fill:light-dark(#1f2328,#f0f6fc)}\n"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
