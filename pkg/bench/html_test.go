package bench

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// hostile replaces all texts of a log's line.
func hostile(t *testing.T, line, text string) string {
	t.Helper()
	var members map[string]any
	if err := json.Unmarshal([]byte(line), &members); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"workload", "operation", "title", "size", "type", "checksum", "kernel", "isa"} {
		members[name] = text
	}
	members["width"], members["height"] = 64, 64
	members["parameters"] = map[string]any{text: 2}
	members["versions"] = map[string]any{"go": text}
	members["environment"] = map[string]any{text: text}
	members["device"] = map[string]any{"kind": text, "name": text}
	data, err := json.Marshal(members)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func htmlOf(t *testing.T, r *Report) string {
	t.Helper()
	text, err := r.HTML()
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

var tag = regexp.MustCompile(`<[^>]*>?`)

// TestTextsOfLogsAreEscaped: a page made of hostile texts has the elements of one made
// of harmless texts of the same length, and no others.
func TestTextsOfLogsAreEscaped(t *testing.T) {
	pageOf := func(text string) (string, string) {
		log := logOf(t, hostile(t, good, text))
		c := Against(NewSide(text, "", log), NewSide(text+"2", "", log))
		d, err := Decide(c, Prices{&Price{1, text, text, text}, &Price{2, text, text, text}}, Jobs{})
		if err != nil {
			t.Fatal(err)
		}
		r := &Report{Title: text, Comparison: c, Decision: d, Notes: []string{text}, Published: &Published{text, []string{text}, []PublishedRow{{text, 1, 2}}}}
		return htmlOf(t, r), r.Markdown()
	}
	attribute := regexp.MustCompile(`(aria-label|title)="[^"]*"`)
	shape := func(html string) string {
		return strings.Join(tag.FindAllString(attribute.ReplaceAllString(html, ""), -1), "\n")
	}
	for _, text := range []string{
		`</title><script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, `'onload='alert(1)`, "<!--", "]]>", "&lt;script&gt;", "a\x00b\x1b[31m\u202e\n| x |",
	} {
		html, md := pageOf(text)
		plainHTML, _ := pageOf(strings.Repeat("x", len(text)))
		if cut := regexp.MustCompile(`(x1|x2|x|y|y1|y2|cx|cy|d|points|width|height|viewBox|transform)="[^"]*"`); cut.ReplaceAllString(shape(html), "") != cut.ReplaceAllString(shape(plainHTML), "") {
			t.Errorf("%q makes elements:\n%s", text, shape(html))
		}
		for _, bad := range []string{"<script", "<img", "onerror=alert(1)>", "\x00", "\x1b", "\u202e"} {
			if strings.Contains(html, bad) || strings.Contains(md, bad) {
				t.Errorf("%q: %q is in the report", text, bad)
			}
		}
		if strings.Contains(md, "\n| x |") {
			t.Errorf("%q begins a line of its own in Markdown", text)
		}
	}
}

// TestPlotsAreXML reads the pictures of the sample with a strict parser.
func TestPlotsAreXML(t *testing.T) {
	page := htmlOf(t, sampleReport(t, sample(t, "gpu.log", "GPU & <co>", "cuda"), samplePrices))
	pictures := regexp.MustCompile(`(?s)<svg.*?</svg>`).FindAllString(page, -1)
	if len(pictures) < 10 {
		t.Fatalf("%d pictures", len(pictures))
	}
	for _, picture := range pictures {
		for dec := xml.NewDecoder(strings.NewReader(picture)); ; {
			if _, err := dec.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%v in\n%s", err, picture)
			}
		}
		if strings.Contains(picture, "NaN") || strings.Contains(picture, "Inf") {
			t.Errorf("a position that is not a number:\n%s", picture)
		}
	}
	for _, word := range []string{"<script", "http-equiv=\"refresh\"", "src=", "href=", "url(", "@import"} {
		if strings.Contains(page, word) {
			t.Errorf("the page has %q", word)
		}
	}
}

// TestAxisOver: every axis has at least two round ticks, and no more than fit.
func TestAxisOver(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		low := rapid.Float64Range(1e-6, 1e6).Draw(t, "low")
		a := axisOver([]float64{low, low * rapid.Float64Range(1, 1e8).Draw(t, "factor")}, 0, 100)
		if ticks := a.Ticks(6); len(ticks) < 2 || len(ticks) > 16 {
			t.Fatalf("%v to %v: %v", a.Low, a.High, ticks)
		}
	})
}

func TestDigits(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 1234: "1234", 12.34: "12.3", 1.234: "1.23", 0.01234: "0.0123", 0.0009999: "0.00100", 9.999: "10.0",
		0.00000123: "0.00000123", 1.5e-12: "1.50e-12", 99999: "99999"} {
		if got := digits(v); got != want {
			t.Errorf("%v: %s, want %s", v, got, want)
		}
	}
}

func TestDemonstration(t *testing.T) {
	p := Demonstration()
	if len(p.Rows) != 10 || p.Rows[1].Base/p.Rows[1].Other != 51 || p.Source == "" || len(p.Notes) == 0 {
		t.Errorf("got %+v", p)
	}
}

// TestOpening: the first picture comes before the first table, with both sides and with
// one. Of one side, no column of the other is left.
func TestOpening(t *testing.T) {
	for name, test := range map[string]struct {
		other *Side
		first string
	}{
		"both": {sample(t, "gpu.log", "GPU", "cuda"), "Speed-up by size"},
		"one":  {AbsentSide("GPU", "none here"), "Time by size"},
	} {
		page := htmlOf(t, sampleReport(t, test.other, samplePrices))
		opening, _, _ := strings.Cut(page, "<table>")
		if !strings.Contains(opening, "<h2>"+test.first+"</h2>") || !strings.Contains(opening, "<svg") {
			t.Errorf("%s: the page opens with %s", name, opening)
		}
		if got := strings.Contains(page, ">GPU seconds</th>"); got != (name == "both") {
			t.Errorf("%s: a column of the GPU: %v", name, got)
		}
	}
}
