package heatmap

import (
	"bytes"
	"encoding/base64"
	"encoding/xml"
	"flag"
	"fmt"
	"hash/crc32"
	"image"
	"image/color"
	"image/png"
	"io"
	"math"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/batchctl/batchctl/pkg/draw"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// fatal is what tests and properties have in common.
type fatal interface {
	Helper()
	Fatal(...any)
}

func table(t fatal, x, y Axis, value func(i, j int) float64) *Table {
	t.Helper()
	all, err := New(x, y)
	if err != nil {
		t.Fatal(err)
	}
	for i, xv := range x.Values {
		for j, yv := range y.Values {
			if v := value(i, j); !math.IsNaN(v) {
				if err := all.Add(xv, yv, v); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	return all
}

func counted(n int, format string) (all []string) {
	for i := range n {
		all = append(all, fmt.Sprintf(format, i))
	}
	return all
}

func svg(t fatal, all *Table, o Options) string {
	t.Helper()
	var b bytes.Buffer
	if err := all.WriteSVG(&b, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestSVG(t *testing.T) {
	hostile := `<script>"&'x'</script>` + "\x1b[31m\n\x00\xff"
	small := table(t, Axis{"lr", []string{"0.1", "0.01", hostile}}, Axis{"seed", []string{"1", "2"}}, func(i, j int) float64 {
		if i == 1 && j == 1 {
			return math.NaN()
		}
		return float64(i) - 0.25*float64(j)
	})
	if err := small.Add("0.1", "1", 1); err != nil {
		t.Fatal(err)
	}
	for name, got := range map[string]string{
		"small.svg": svg(t, small, Options{Title: "sweep " + hostile, Value: "val.acc", Combine: Max}),
		"fine.svg":  svg(t, table(t, Axis{"x", counted(60, "%d")}, Axis{"y", counted(3, "row %d")}, func(i, j int) float64 { return float64(i * j) }), Options{}),
	} {
		got = embedded.ReplaceAllStringFunc(got, func(data string) string { return pixelsOf(t, data) })
		path := "testdata/" + name
		if *update {
			if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

var embedded = regexp.MustCompile(`base64,[^"]*`)

// pixelsOf is what an image in an SVG shows; its bytes are up to the encoder.
func pixelsOf(t fatal, data string) string {
	t.Helper()
	img, err := png.Decode(base64.NewDecoder(base64.StdEncoding, strings.NewReader(strings.TrimPrefix(data, "base64,"))))
	if err != nil {
		t.Fatal(err)
	}
	sum := crc32.NewIEEE()
	for y := range img.Bounds().Dy() {
		for x := range img.Bounds().Dx() {
			c := color.NRGBAModel.Convert(img.At(x, y)).(color.NRGBA)
			_, _ = sum.Write([]byte{c.R, c.G, c.B, c.A})
		}
	}
	return fmt.Sprintf("%v %08x", img.Bounds().Size(), sum.Sum32())
}

// drawn are the texts of an SVG, which is read as XML.
func drawn(t fatal, text string) (all []string) {
	t.Helper()
	for d := xml.NewDecoder(strings.NewReader(text)); ; {
		token, err := d.Token()
		if err == io.EOF {
			return all
		}
		if err != nil {
			t.Fatal(fmt.Sprintf("%v in %s", err, text))
		}
		if e, ok := token.(xml.StartElement); ok {
			if strings.HasPrefix(e.Name.Local, "script") {
				t.Fatal("an element that the heat map does not draw")
			}
			if e.Name.Local == "text" {
				var s string
				if err := d.DecodeElement(&s, &e); err != nil {
					t.Fatal(err)
				}
				all = append(all, s)
			}
		}
	}
}

// Whatever texts come from jobs, the SVG is XML with those texts in it, and the same
// each time.
func TestSVGProperty(t *testing.T) {
	name := rapid.OneOf(rapid.String(), rapid.StringOf(rapid.SampledFrom([]rune("<>&\"'\x00\n;:]]>%\ufffe"))), rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 20), func(b []byte) string { return string(b) }))
	rapid.Check(t, func(t *rapid.T) {
		x := Axis{name.Draw(t, "x"), rapid.SliceOfNDistinct(name, 1, 4, rapid.ID).Draw(t, "xs")}
		y := Axis{name.Draw(t, "y"), rapid.SliceOfNDistinct(name, 1, 4, rapid.ID).Draw(t, "ys")}
		all := table(t, x, y, func(i, j int) float64 { return float64(i + j) })
		o := Options{Title: name.Draw(t, "title"), Value: name.Draw(t, "value")}
		text := svg(t, all, o)
		texts := drawn(t, text)
		for _, want := range []string{x.Name, x.Values[0], y.Values[0], o.Title} {
			found := want == ""
			for _, got := range texts {
				found = found || got == draw.OneLine(want) || strings.Contains(got, "…")
			}
			if !found {
				t.Fatalf("%q is not among %q", want, texts)
			}
		}
		if svg(t, all, o) != text {
			t.Fatal("drawn again it is another picture")
		}
	})
}

// pageOf is a table's layout.
func pageOf(t fatal, all *Table, o Options) *page {
	t.Helper()
	p, err := all.page(o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func decoded(t fatal, all *Table, o Options) image.Image {
	t.Helper()
	var b, again bytes.Buffer
	if err := all.WritePNG(&b, o); err != nil {
		t.Fatal(err)
	}
	if err := all.WritePNG(&again, o); err != nil || !bytes.Equal(b.Bytes(), again.Bytes()) {
		t.Fatal("drawn again it is another picture", err)
	}
	img, err := png.Decode(&b)
	if err != nil {
		t.Fatal(err)
	}
	return img
}

// TestPNG looks at the colours of cells, large and small.
func TestPNG(t *testing.T) {
	for _, n := range []int{3, 90} {
		gone := func(i, j int) bool { return i == n-1 && j == 1 }
		all := table(t, Axis{"x", counted(n, "%d")}, Axis{"y", counted(n, "%d")}, func(i, j int) float64 {
			if gone(i, j) {
				return math.NaN()
			}
			return float64(i) - 2*float64(j)
		})
		p, img := pageOf(t, all, Options{Title: "t"}), decoded(t, all, Options{Title: "t"})
		if got := img.Bounds().Size(); got != image.Pt(int(p.width*draw.Pixels), int(p.height*draw.Pixels)) {
			t.Fatalf("%v pixels for %v x %v points", got, p.width, p.height)
		}
		at := func(x, y float64) color.RGBA {
			return color.RGBAModel.Convert(img.At(int(x*draw.Pixels), int(y*draw.Pixels))).(color.RGBA)
		}
		for j := range n {
			for i := range n {
				// beside the corner, where neither lines nor numbers are
				got := at(p.left+(float64(i)+0.25)*p.cellWidth, p.top+(float64(j)+0.25)*p.cellHigh)
				want := p.grid.scale.colour(float64(i) - 2*float64(j))
				if gone(i, j) && got.R < draw.Paint("faint").R {
					t.Errorf("%d of %d: no value is drawn as %v", i, n, got)
				}
				if !gone(i, j) && got != want {
					t.Fatalf("%d,%d of %d: %v, want %v", i, j, n, got, want)
				}
			}
		}
		for y, want := range map[float64]color.RGBA{p.top + 1: draw.Shade(1), p.top + p.barHigh - 1: draw.Shade(0)} {
			if got := at(p.barLeft+barWidth/2, y); absolute(got, want) > 6 {
				t.Errorf("the scale at %v: %v, want %v", y, got, want)
			}
		}
		for _, corner := range []image.Point{{}, {img.Bounds().Dx() - 1, 0}, {0, img.Bounds().Dy() - 1}} {
			if got := color.RGBAModel.Convert(img.At(corner.X, corner.Y)); got != draw.Paint("ground") {
				t.Errorf("the page at %v: %v", corner, got)
			}
		}
	}
}

func absolute(a, b color.RGBA) int {
	d := func(x, y uint8) int { return max(int(x)-int(y), int(y)-int(x)) }
	return max(d(a.R, b.R), d(a.G, b.G), d(a.B, b.B))
}

// TestLargest: the largest table has a pixel for each cell, in both formats.
func TestLargest(t *testing.T) {
	all := table(t, Axis{"x", counted(maxValues, "%d")}, Axis{"y", counted(maxValues, "a long name %d")}, func(i, j int) float64 { return float64((i * 7919) ^ (j * 104729)) })
	p, img := pageOf(t, all, Options{}), decoded(t, all, Options{})
	for _, at := range []image.Point{{0, 0}, {999, 0}, {500, 321}, {999, 999}} {
		got := color.RGBAModel.Convert(img.At(int(p.left*draw.Pixels)+at.X, int(p.top*draw.Pixels)+at.Y)).(color.RGBA)
		want := p.grid.scale.colour(p.grid.at(at.X, at.Y))
		if onFrame := at != image.Pt(500, 321); !onFrame && got != want {
			t.Errorf("%v: %v, want %v", at, got, want)
		}
	}
	if text := svg(t, all, Options{}); len(text) > 4<<20 {
		t.Errorf("the SVG has %d bytes", len(text))
	} else {
		drawn(t, text)
	}
}

func TestRefused(t *testing.T) {
	one := Axis{"one", []string{"1"}}
	for name, axes := range map[string][2]Axis{
		"none":  {one, {Name: "y"}},
		"twice": {{"x", []string{"a", "b", "a"}}, one},
		"many":  {{"x", counted(maxValues+1, "%d")}, one},
	} {
		if _, err := New(axes[0], axes[1]); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
	all := table(t, one, one, func(int, int) float64 { return 1 })
	for _, err := range []error{all.Add("2", "1", 1), all.Add("1", "2", 1), all.Add("1", "1", math.NaN()), all.Add("1", "1", math.Inf(-1)),
		all.WritePNG(io.Discard, Options{Combine: "median"}), all.WriteSVG(io.Discard, Options{Combine: "median"})} {
		if err == nil {
			t.Error("an error is missing")
		}
	}
	if all.cells[0].n != 1 {
		t.Error("what was refused has been added")
	}
}

func TestCombine(t *testing.T) {
	one := Axis{"one", []string{"1"}}
	all := table(t, one, one, func(int, int) float64 { return 4 })
	if strings.Contains(svg(t, all, Options{Value: "loss"}), "mean") {
		t.Error("one value is called a mean")
	}
	for _, v := range []float64{-2, 1} {
		if err := all.Add("1", "1", v); err != nil {
			t.Fatal(err)
		}
	}
	for how, want := range map[Combine]string{"": "mean 1", Mean: "mean 1", Min: "min -2", Max: "max 4"} {
		texts := drawn(t, svg(t, all, Options{Value: "loss", Combine: how}))
		name, number, _ := strings.Cut(want, " ")
		if got := strings.Join(texts, "|"); !strings.Contains(got, "loss ("+name+")") || !strings.Contains(got, number+"|") {
			t.Errorf("%s: %s", how, got)
		}
	}
	huge := table(t, one, one, func(int, int) float64 { return math.MaxFloat64 })
	for range 3 {
		if err := huge.Add("1", "1", math.MaxFloat64); err != nil {
			t.Fatal(err)
		}
	}
	if g, err := huge.grid(Mean); err != nil || g.at(0, 0) != math.MaxFloat64 {
		t.Errorf("the mean of the largest number is %v, %v", g.at(0, 0), err)
	}
}

// measured is a canvas that notes where texts are.
type measured struct {
	draw.Letters
	texts []box
}

// box is the rectangle around a text.
type box struct {
	text                     string
	left, right, top, bottom float64
}

func (m *measured) Fill(x, y, width, height float64, c color.RGBA)          {}
func (m *measured) Lines(thick float64, c color.RGBA, all ...draw.Segment)  {}
func (m *measured) Image(left, top, width, height float64, img image.Image) {}
func (m *measured) Label(x, y float64, text string, as draw.Lettering) {
	if text == "" {
		return
	}
	sin, cos := math.Sincos(-as.Turn * math.Pi / 180)
	b := box{text, math.Inf(1), math.Inf(-1), math.Inf(1), math.Inf(-1)}
	w, h := m.Width(text, as.Size), as.Size*draw.CapHeight
	for _, along := range []float64{-float64(as.Anchor) * w, (1 - float64(as.Anchor)) * w} {
		for _, down := range []float64{-h / 2, h / 2} {
			px, py := x+along*cos-down*sin, y+along*sin+down*cos
			b.left, b.right, b.top, b.bottom = min(b.left, px), max(b.right, px), min(b.top, py), max(b.bottom, py)
		}
	}
	m.texts = append(m.texts, b)
}

// Whatever the sizes and the names, all texts are on the page, and no two that stand
// upright overlap.
func TestLayoutProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringMatching(`[a-z0-9./_-]{0,60}`)
		axis := func(name string) Axis {
			values := counted(rapid.OneOf(rapid.IntRange(1, 30), rapid.IntRange(1, 200)).Draw(t, name+" size"), word.Draw(t, name+" values")+"%d")
			if len(values) == 1 && rapid.Bool().Draw(t, name+" empty") {
				values[0] = ""
			}
			return Axis{word.Draw(t, name), values}
		}
		size := rapid.SampledFrom([]float64{1, 1e-9, 1e3, 1e12, -0.37}).Draw(t, "size")
		holes := rapid.IntRange(0, 3).Draw(t, "holes")
		all := table(t, axis("x"), axis("y"), func(i, j int) float64 {
			if holes > 0 && (i+j)%holes == 0 {
				return math.NaN()
			}
			return size * math.Sin(float64(3*i+j))
		})
		p := pageOf(t, all, Options{Title: word.Draw(t, "title"), Value: word.Draw(t, "value")})
		m := &measured{Letters: p.letters}
		drawAll(m, p)
		const hair = 0.01
		for i, b := range m.texts {
			if b.left < -hair || b.right > p.width+hair || b.top < -hair || b.bottom > p.height+hair {
				t.Fatalf("%+v is not on the page of %v x %v", b, p.width, p.height)
			}
			if p.turned && strings.Contains(strings.Join(p.xLabels, "|"), b.text) {
				continue // the boxes of slanted texts overlap, not the texts
			}
			for _, other := range m.texts[:i] {
				if p.turned && strings.Contains(strings.Join(p.xLabels, "|"), other.text) {
					continue
				}
				if min(b.right, other.right)-max(b.left, other.left) > hair && min(b.bottom, other.bottom)-max(b.top, other.top) > hair {
					t.Fatalf("%+v lies on %+v", b, other)
				}
			}
		}
	})
}
