package logs

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestTimesOfALongLogAreReadWithoutGarbage checks that reading the times of a log allocates
// little. A job that prints for a day has hundreds of thousands, and each answer reads them.
func TestTimesOfALongLogAreReadWithoutGarbage(t *testing.T) {
	var text []byte
	for i := range 1000 {
		text = fmt.Appendf(text, "%d %d\n", i*100, 1795477403438+i*250)
	}
	if n := len(parseSamples(append(text, "torn\n"...))); n != 1000 {
		t.Fatalf("%d times, want 1000", n)
	}
	if n := testing.AllocsPerRun(10, func() { parseSamples(text) }); n > 1 {
		t.Errorf("%v allocations for 1000 times", n)
	}
}

// TestLogPages reads files of random lines, forward and backward, in pages of random sizes.
// Everything must appear once, in order.
func TestLogPages(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(r *rapid.T) {
		line := rapid.OneOf(rapid.StringN(0, 20, -1), rapid.Just(strings.Repeat("long", maxEventBytes/4)),
			rapid.Just(strings.Repeat("x", 2*maxEventBytes+5)), rapid.Just(strings.Repeat("y", maxEventBytes)))
		text := strings.Join(rapid.SliceOfN(line, 0, 30).Draw(r, "lines"), "\n")
		file, err := os.CreateTemp(dir, "log")
		if err != nil {
			r.Fatal(err)
		}
		defer file.Close()
		if _, err := file.WriteString(text); err != nil {
			r.Fatal(err)
		}
		s := &Stream{file: file, End: int64(len(text))}
		limit := rapid.IntRange(1, 12).Draw(r, "limit")
		var ahead, back []Line
		for at := int64(0); ; {
			page, next, err := s.Forward(at, limit)
			if err != nil || len(page) > limit {
				r.Fatalf("forward: %d events, %v", len(page), err)
			}
			if next == at {
				break
			}
			ahead, at = append(ahead, page...), next
		}
		for at := s.End; at > 0; {
			page, next, err := s.Backward(at, limit)
			if err != nil || len(page) > limit || len(page) == 0 {
				r.Fatalf("backward from %d: %d events, %v", at, len(page), err)
			}
			back, at = append(append([]Line{}, page...), back...), next
		}
		for name, lines := range map[string][]Line{"forward": ahead, "backward": back} {
			if err := pieces(text, lines); err != nil {
				r.Fatalf("%s: %v", name, err)
			}
		}
	})
}

// TestLiveLogShowsLongLines checks that an unfinished line is shown as complete pieces, and that
// the pieces stay the same when the line ends.
func TestLiveLogShowsLongLines(t *testing.T) {
	for written, want := range map[string]int{
		"half a line":                        0,
		"a\nb":                               1,
		strings.Repeat("x", maxEventBytes-1): 0,
		strings.Repeat("x", maxEventBytes):   1,
		"a\n" + strings.Repeat("x", 2*maxEventBytes+5):   3,
		strings.Repeat("x", maxEventBytes) + "x\n" + "y": 2,
	} {
		file, err := os.Create(filepath.Join(t.TempDir(), "log"))
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		read := func(live bool) []Line {
			s := &Stream{file: file}
			if err := s.measure(live, math.MaxInt64, 0); err != nil {
				t.Fatal(err)
			}
			lines, _, err := s.Forward(0, 10000)
			if err != nil {
				t.Fatal(err)
			}
			return lines
		}
		if _, err := file.WriteString(written); err != nil {
			t.Fatal(err)
		}
		live := read(true)
		if _, err := file.WriteString("more\nand more"); err != nil {
			t.Fatal(err)
		}
		whole := read(false)
		if len(live) != want || !reflect.DeepEqual(live, whole[:len(live):len(live)]) && want > 0 {
			t.Errorf("%d bytes: %d events while it runs, want the first %d of %d", len(written), len(live), want, len(whole))
		}
	}
}

// pieces checks that events are the pieces of text, each once and in order.
func pieces(text string, lines []Line) error {
	at := int64(0)
	for _, l := range lines {
		if l.Start != at || len(l.Text) > maxEventBytes {
			return fmt.Errorf("an event of %d bytes begins at %d, want %d", len(l.Text), l.Start, at)
		}
		if got := text[l.Start:l.End]; strings.TrimSuffix(got, "\n") != string(l.Text) {
			return fmt.Errorf("event at %d differs", l.Start)
		}
		at = l.End
	}
	if at != int64(len(text)) {
		return fmt.Errorf("%d of %d bytes came", at, len(text))
	}
	return nil
}
