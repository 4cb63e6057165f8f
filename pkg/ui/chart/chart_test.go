package chart

import (
	"encoding/xml"
	"io"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"

	"pgregory.net/rapid"

	"github.com/batchctl/batchctl/pkg/draw"
	"github.com/batchctl/batchctl/pkg/testtool/golden"
)

var start = time.Date(2026, 11, 26, 13, 7, 12, 0, time.UTC)

// times returns n times with equal distances.
func times(n int, apart time.Duration) []time.Time {
	list := make([]time.Time, n)
	for i := range list {
		list[i] = start.Add(time.Duration(i) * apart)
	}
	return list
}

// samples are the charts of the golden file.
func samples() map[string]interface{ SVG() string } {
	gap := math.NaN()
	state := func(label string, from, to int) Span {
		s := Span{From: start.Add(time.Duration(from) * time.Second), Label: label, Class: "s-" + strings.ToLower(label)}
		if to > 0 {
			s.To = start.Add(time.Duration(to) * time.Second)
		}
		return s
	}
	return map[string]interface{ SVG() string }{
		"area": Area{ID: "a", Title: "vCPUs of the queue", Unit: "vCPUs", Times: times(6, 10*time.Minute), Limit: 12, LimitName: "max vCPUs",
			Series: []Series{{"RUNNING", "s-running", []float64{1, 4, 8, 8, gap, 6}}, {"RUNNABLE", "s-runnable", []float64{0, gap, 4, gap, 2, 8}}}},
		"area-empty": Area{ID: "a", Title: "Jobs", Width: 320, Height: 120},
		"area-one":   Area{ID: "a", Title: "Jobs", Times: times(1, 0), Series: []Series{{"FAILED", "s-failed", []float64{3}}}, Width: 320, Height: 120},
		"area-zero": Area{ID: "a", Title: "Jobs", Times: times(3, 24*time.Hour), Series: []Series{{"FAILED", "s-failed", []float64{0, 0, 0}}},
			Width: 320, Height: 120},
		"area-huge": Area{ID: "a", Title: "Memory", Unit: "bytes", Times: times(3, time.Hour), Series: []Series{{"used", "", []float64{1e9, 3e9, 2e9}}},
			Limit: 64e9, LimitName: "limit", Width: 320, Height: 120},
		"spark":      Spark{ID: "s", Title: "CPU of job", Values: []float64{1, 5, gap, 3, gap, 4, 20}, Max: 10},
		"spark-none": Spark{ID: "s", Title: "CPU of job"},
		"timeline": Timeline{ID: "t", Title: "Jobs of the workflow", To: start.Add(10 * time.Minute), Lanes: []Lane{
			{"prepare", []Span{state("SUBMITTED", 0, 1), state("RUNNABLE", 1, 90), state("STARTING", 90, 120), state("RUNNING", 120, 300)}},
			{"train", []Span{state("PENDING", 0, 300), state("RUNNING", 300, 0)}}}},
		"bars": Bars{ID: "b", Title: "Matrix product", Unit: "seconds", Groups: []BarGroup{{"n = 4096", []Bar{
			{Name: "c7a.4xlarge", Value: 41.2, Low: 39, High: 44, Class: "cpu"},
			{Name: "g5.xlarge", Value: 12.3, Class: "gpu", Text: "12.3 s (3.3 times as fast)"}, {Name: "failed", Value: gap}}}}},
		"bars-long-names": Bars{ID: "b", Title: "Cost of each set", Unit: "USD", Width: 340, Groups: []BarGroup{{"", []Bar{
			{Name: "local maxvCpus 2 on Spot with t3a", Value: 1, Low: 0.5, High: 2}, {Name: "local maxvCpus 4 on Spot with t3a", Value: 3}}}}},
		"bars-log": Bars{ID: "b", Title: "Matrix product", Unit: "seconds", Width: 320, Groups: []BarGroup{
			{"", []Bar{{Name: "c7a.4xlarge", Value: 1100, Class: "cpu"}, {Name: "g5.xlarge", Value: 0.3, Low: 0.2, High: 0.4, Class: "gpu"}}}}},
	}
}

// TestGolden compares the samples with an archive. Put its SVGs into a page to see what changes.
func TestGolden(t *testing.T) {
	archive := golden.Read(t, filepath.Join("testdata", "charts.txtar"))
	for name, chart := range samples() {
		t.Run(name, func(t *testing.T) {
			svg := chart.SVG()
			check(t, svg)
			archive.Want(t, name+".svg", svg)
		})
	}
}

// box is where a label is.
type box struct {
	text                     string
	left, right, top, bottom float64
}

var (
	notFinite = regexp.MustCompile(`(?i)\b(nan|[+-]?inf(inity)?)\b`)
	viewBox   = regexp.MustCompile(`^0 0 ([0-9.]+) ([0-9.]+)$`)
	pathData  = regexp.MustCompile(`^(M-?[0-9.]+,-?[0-9.]+( -?[0-9.]+,-?[0-9.]+)*Z?)+$`)
	point     = regexp.MustCompile(`(-?[0-9.]+),(-?[0-9.]+)`)
	reference = regexp.MustCompile(`^url\(#(.*)\)$`)
)

// check checks what holds for every chart: well-formed XML without styles, whose shapes and labels are inside the
// viewBox. It returns the labels, without those on top of shapes.
func check(t interface {
	Helper()
	Fatalf(string, ...any)
}, svg string) (labels []box) {
	t.Helper()
	if !strings.HasPrefix(svg, `<svg class="chart" role="img" `) {
		t.Fatalf("the root is %.80q", svg)
	}
	var width, height float64
	inside := func(x, y float64) {
		if x < 0 || x > width || y < 0 || y > height || math.IsNaN(x+y) {
			t.Fatalf("%v,%v is not inside %v,%v: %s", x, y, width, height, svg)
		}
	}
	ids, used, seen := map[string]bool{}, map[string]bool{}, map[string]int{}
	var label *box
	onShape := false
	for decoder := xml.NewDecoder(strings.NewReader(svg)); ; {
		token, err := decoder.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatalf("%v: %s", err, svg)
		}
		switch token := token.(type) {
		case xml.StartElement:
			seen[token.Name.Local]++
			if token.Name.Local == "style" || token.Name.Local == "script" {
				t.Fatalf("element %s", token.Name.Local)
			}
			number := func(name string) float64 {
				for _, a := range token.Attr {
					if a.Name.Local == name {
						v, err := strconv.ParseFloat(a.Value, 64)
						if err != nil {
							t.Fatalf("%s: %v", name, err)
						}
						return v
					}
				}
				return 0
			}
			anchor := ""
			onShape = false
			for _, a := range token.Attr {
				if a.Name.Local == "style" || strings.HasPrefix(a.Name.Local, "on") || a.Name.Local != "class" && notFinite.MatchString(a.Value) {
					t.Fatalf("%s=%q", a.Name.Local, a.Value)
				}
				switch a.Name.Local {
				case "viewBox":
					size := viewBox.FindStringSubmatch(a.Value)
					if size == nil {
						t.Fatalf("viewBox %q", a.Value)
					}
					width, _ = strconv.ParseFloat(size[1], 64)
					height, _ = strconv.ParseFloat(size[2], 64)
				case "id":
					if ids[a.Value] {
						t.Fatalf("two ids %s", a.Value)
					}
					ids[a.Value] = true
				case "aria-labelledby":
					for id := range strings.FieldsSeq(a.Value) {
						used[id] = true
					}
				case "fill":
					if id := reference.FindStringSubmatch(a.Value); id != nil {
						used[id[1]] = true
					}
				case "class":
					onShape = a.Value == "label inside"
				case "text-anchor":
					anchor = a.Value
				case "d":
					if !pathData.MatchString(a.Value) {
						t.Fatalf("path %q", a.Value)
					}
					for _, p := range point.FindAllStringSubmatch(a.Value, -1) {
						x, _ := strconv.ParseFloat(p[1], 64)
						y, _ := strconv.ParseFloat(p[2], 64)
						inside(x, y)
					}
				}
			}
			switch token.Name.Local {
			case "circle":
				inside(number("cx")-number("r"), number("cy")-number("r"))
				inside(number("cx")+number("r"), number("cy")+number("r"))
			case "text":
				label = &box{text: anchor, left: number("x"), bottom: number("y") + 3, top: number("y") - 9}
			}
		case xml.CharData:
			for _, r := range string(token) {
				if unicode.Is(unicode.Bidi_Control, r) {
					t.Fatalf("%U in %q", r, token)
				}
			}
			if label != nil {
				half := draw.TextWidth(string(token)) / 2
				switch label.text {
				case "middle":
					label.left -= half
				case "end":
					label.left -= 2 * half
				}
				label.text, label.right = string(token), label.left+2*half
				inside(label.left+0.2, label.top) // coordinates are rounded
				inside(max(label.right-0.2, 0), label.bottom)
				if !onShape {
					labels = append(labels, *label)
				}
			}
		case xml.EndElement:
			label = nil
		}
	}
	for id := range used {
		if !ids[id] {
			t.Fatalf("no id %s", id)
		}
	}
	if seen["svg"] != 1 || seen["title"] < 1 || seen["desc"] != 1 {
		t.Fatalf("elements %v", seen)
	}
	return labels
}

// checkLabels checks that labels do not overlap.
func checkLabels(t *rapid.T, labels []box) {
	for i, a := range labels {
		for _, b := range labels[:i] {
			if a.left+0.2 < b.right && b.left+0.2 < a.right && a.top < b.bottom && b.top < a.bottom {
				t.Fatalf("labels %+v and %+v overlap", a, b)
			}
		}
	}
}

var (
	anyText = rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"RUNNING", "日本語", "</title><style>*{}</style>", "\" style=\"x", "\u202e\u2066",
		"\x00\xff\ufffe", "a\nb", strings.Repeat("w", 200)}))
	anyValue = rapid.OneOf(rapid.Float64(), rapid.Float64Range(0, 100), rapid.Map(rapid.IntRange(0, 1000), func(n int) float64 { return float64(n) }),
		rapid.SampledFrom([]float64{0, math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64, math.SmallestNonzeroFloat64, -1, 1e9, 1e-12}))
	anySize = rapid.OneOf(rapid.SampledFrom([]int{0, 320, 640, 1200, -1, math.MaxInt}), rapid.IntRange(100, 2000))
	anyZone = rapid.SampledFrom([]*time.Location{time.UTC, time.FixedZone("", 19800), time.FixedZone("", -39600)})
	anyTime = rapid.Custom(func(t *rapid.T) time.Time {
		// Near the start, in the same years, or anywhere.
		reach := rapid.SampledFrom([]int64{3, 5000, 1e6, 1e9, 1e12, math.MaxInt64 / 2}).Draw(t, "reach")
		return time.Unix(start.Unix()+rapid.Int64Range(-reach, reach).Draw(t, "seconds"), rapid.Int64Range(0, 999_999_999).Draw(t, "ns")).
			In(anyZone.Draw(t, "zone"))
	})
)

func TestProperties(t *testing.T) {
	t.Run("area", rapid.MakeCheck(func(t *rapid.T) {
		a := Area{ID: anyText.Draw(t, "id"), Title: anyText.Draw(t, "title"), Unit: anyText.Draw(t, "unit"), Limit: anyValue.Draw(t, "limit"),
			LimitName: anyText.Draw(t, "limit name"), Width: anySize.Draw(t, "width"), Height: anySize.Draw(t, "height"),
			Times: rapid.OneOf(rapid.SliceOfN(anyTime, 0, 20), rapid.Custom(func(t *rapid.T) []time.Time {
				return times(rapid.IntRange(0, 3000).Draw(t, "n"), time.Duration(rapid.Int64Range(0, 1e13).Draw(t, "apart")))
			})).Draw(t, "times")}
		for range rapid.IntRange(0, 12).Draw(t, "series") {
			a.Series = append(a.Series, Series{anyText.Draw(t, "name"), anyText.Draw(t, "class"), rapid.SliceOfN(anyValue, 0, 30).Draw(t, "values")})
		}
		svg := a.SVG()
		checkLabels(t, check(t, svg))
		if svg != a.SVG() {
			t.Fatalf("two calls differ")
		}
	}))
	t.Run("spark", rapid.MakeCheck(func(t *rapid.T) {
		check(t, Spark{ID: anyText.Draw(t, "id"), Title: anyText.Draw(t, "title"), Values: rapid.SliceOfN(anyValue, 0, 300).Draw(t, "values"),
			Max: anyValue.Draw(t, "max"), Width: anySize.Draw(t, "width"), Height: anySize.Draw(t, "height")}.SVG())
	}))
	t.Run("timeline", rapid.MakeCheck(func(t *rapid.T) {
		l := Timeline{ID: anyText.Draw(t, "id"), Title: anyText.Draw(t, "title"), Width: anySize.Draw(t, "width")}
		optionalTime := rapid.OneOf(anyTime, rapid.Just(time.Time{}))
		l.From, l.To = optionalTime.Draw(t, "from"), optionalTime.Draw(t, "to")
		for range rapid.OneOf(rapid.IntRange(0, 5), rapid.IntRange(0, 60)).Draw(t, "lanes") {
			lane := Lane{Name: anyText.Draw(t, "name")}
			for range rapid.IntRange(0, 3).Draw(t, "spans") {
				lane.Spans = append(lane.Spans, Span{optionalTime.Draw(t, "from"), optionalTime.Draw(t, "to"), anyText.Draw(t, "class"),
					anyText.Draw(t, "label"), anyText.Draw(t, "title")})
			}
			l.Lanes = append(l.Lanes, lane)
		}
		checkLabels(t, check(t, l.SVG()))
	}))
	t.Run("bars", rapid.MakeCheck(func(t *rapid.T) {
		b := Bars{ID: anyText.Draw(t, "id"), Title: anyText.Draw(t, "title"), Unit: anyText.Draw(t, "unit"), Width: anySize.Draw(t, "width")}
		for range rapid.IntRange(0, 3).Draw(t, "groups") {
			g := BarGroup{Name: anyText.Draw(t, "group")}
			for range rapid.IntRange(0, 4).Draw(t, "bars") {
				g.Bars = append(g.Bars, Bar{anyText.Draw(t, "name"), anyValue.Draw(t, "value"), anyValue.Draw(t, "low"), anyValue.Draw(t, "high"),
					anyText.Draw(t, "class"), anyText.Draw(t, "text")})
			}
			b.Groups = append(b.Groups, g)
		}
		checkLabels(t, check(t, b.SVG()))
	}))
}

func TestTicks(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Skip(err) // no time zone database
	}
	for _, test := range []struct {
		from, to string
		width    float64
		want     string
	}{
		{"2026-11-26 13:07:12", "2026-11-26 13:07:20", 400, "13:07:12 13:07:14 13:07:16 13:07:18 13:07:20"},
		{"2026-11-26 13:07:12", "2026-11-26 14:05:00", 640, "13:10 13:20 13:30 13:40 13:50 14:00"},
		{"2026-11-26 22:30:00", "2026-11-27 02:00:00", 400, "23:00 Nov 27 01:00 02:00"},
		{"2026-11-26 13:07:12", "2026-11-30 08:00:00", 640, "Nov 27 12:00 Nov 28 12:00 Nov 29 12:00 Nov 30"},
		// Mondays.
		{"2026-11-26 13:07:12", "2026-12-24 00:00:00", 400, "Nov 30 Dec 7 Dec 14 Dec 21"},
		{"2026-11-26 13:07:12", "2027-05-02 00:00:00", 640, "Dec 2026 Jan 2027 Feb 2027 Mar 2027 Apr 2027 May 2027"},
		{"2019-11-26 13:07:12", "2027-05-02 00:00:00", 400, "2020 2022 2024 2026"},
		{"0001-01-01 00:00:00", "9998-12-31 00:00:00", 640, "2000 4000 6000 8000"},
		// 02:00 does not exist on the first day and exists twice on the second.
		{"2026-03-29 00:00:00", "2026-03-29 06:00:00", 600, "Mar 29 01:00 03:00 04:00 05:00 06:00"},
		{"2026-10-25 00:00:00", "2026-10-25 05:00:00", 600, "Oct 25 01:00 02:00 03:00 04:00 05:00"},
	} {
		from, err1 := time.ParseInLocation(time.DateTime, test.from, berlin)
		to, err2 := time.ParseInLocation(time.DateTime, test.to, berlin)
		if err1 != nil || err2 != nil {
			t.Fatal(err1, err2)
		}
		var labels []string
		for _, tick := range newTimeScale(from, to, 0, test.width).ticks() {
			labels = append(labels, tick.label)
		}
		if got := strings.Join(labels, " "); got != test.want {
			t.Errorf("%s to %s: %s; want %s", test.from, test.to, got, test.want)
		}
	}
}

func TestFormats(t *testing.T) {
	for d, want := range map[time.Duration]string{0: "0s", 1250 * time.Millisecond: "1.3s", 59999 * time.Millisecond: "1m", 60 * time.Second: "1m",
		3725 * time.Second: "1h2m", 50*time.Hour + time.Minute: "2d2h", -time.Second: "0s"} {
		if got := duration(start, start.Add(d)); got != want {
			t.Errorf("duration of %v = %q, want %q", d, got, want)
		}
	}
}

// TestManyPoints checks that a long series has at most one point for each pixel and keeps its peak.
func TestManyPoints(t *testing.T) {
	values := make([]float64, 10_000)
	values[7123] = 100
	area := regexp.MustCompile(`class="area s-running" d="([^"]{100,})"`)
	svg := Area{ID: "a", Title: "t", Times: times(len(values), time.Second), Series: []Series{{"RUNNING", "s-running", values}}, Width: 400}.SVG()
	shape := area.FindStringSubmatch(svg)
	if shape == nil {
		t.Fatal("no area")
	}
	points := point.FindAllStringSubmatch(shape[1], -1)
	if n := len(points) / 2; n < 300 || n > 400 {
		t.Errorf("%d points", n)
	}
	peak := math.Inf(1)
	for _, p := range points {
		y, _ := strconv.ParseFloat(p[2], 64)
		peak = min(peak, y)
	}
	if peak > 60 {
		t.Errorf("the peak is at %v, below its value", peak)
	}
	if got := highestOf(values, 100); len(got) != 100 || got[71] != 100 || got[72] != 0 {
		t.Errorf("highestOf returns %d values", len(got))
	}
}

// TestLogarithmic checks when the axis of bars is logarithmic, and that its title reports it.
func TestLogarithmic(t *testing.T) {
	for largest, want := range map[float64]bool{40: false, 50: false, 51: true, 1e9: true} {
		svg := Bars{ID: "b", Unit: "seconds", Groups: []BarGroup{{"", []Bar{{Name: "a", Value: 1}, {Name: "b", Value: largest}, {Name: "c"}}}}}.SVG()
		if got := strings.Contains(svg, "seconds, logarithmic scale</text>"); got != want {
			t.Errorf("1 to %v: logarithmic is %v, want %v", largest, got, want)
		}
	}
}

func TestBandSeries(t *testing.T) {
	got := BandSeries([]float64{1, 2}, []float64{3, 2, 9}, []float64{4, 7})
	want := [][]float64{{1, 2}, {2, 0}, {1, 5}} // stacked, the tops are the ends of the band
	for i, s := range got {
		if !slices.Equal(s.Values, want[i]) {
			t.Errorf("%s: %v, want %v", s.Name, s.Values, want[i])
		}
	}
}
