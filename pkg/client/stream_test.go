package client

import (
	"slices"
	"testing"
	"time"
)

func TestStreamReader(t *testing.T) {
	f, c := newFake(t)
	lines := []string{"one", "two"}
	f.Events["s"] = func(time.Duration) []string { return lines }
	read := func(r *StreamReader, most int) (texts []string, fresh bool) {
		t.Helper()
		fresh, err := r.Read(t.Context(), func(l Line) bool {
			texts = append(texts, l.Text)
			if l.Job != "owner" {
				t.Errorf("%+v", l)
			}
			return len(texts) < most
		})
		if err != nil {
			t.Fatal(err)
		}
		return texts, fresh
	}
	r := c.StreamReader("owner", defaultLogGroup, "s", LogOptions{})
	if got, fresh := read(r, 9); !fresh || !slices.Equal(got, lines) {
		t.Errorf("%q", got)
	}
	if got, fresh := read(r, 9); fresh || got != nil {
		t.Errorf("nothing new: %q", got)
	}
	lines = append(lines, "three")
	if got, fresh := read(r, 9); !fresh || !slices.Equal(got, []string{"three"}) {
		t.Errorf("%q", got)
	}
	if got, _ := read(c.StreamReader("owner", defaultLogGroup, "s", LogOptions{Tail: 1}), 9); !slices.Equal(got, []string{"three"}) {
		t.Errorf("the tail: %q", got)
	}
	if got, _ := read(c.StreamReader("owner", defaultLogGroup, "s", LogOptions{}), 1); !slices.Equal(got, []string{"one"}) {
		t.Errorf("stopped: %q", got)
	}
	if got, fresh := read(c.StreamReader("owner", defaultLogGroup, "gone", LogOptions{}), 9); fresh || got != nil {
		t.Errorf("not there yet: %q", got)
	}
}
