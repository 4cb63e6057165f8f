package doctor

import (
	"strings"
	"testing"
)

func FuzzConfig(f *testing.F) {
	for _, name := range fixtures(f) {
		f.Add(readFixture(f, name).files[hostConfig])
	}
	f.Fuzz(func(t *testing.T, text string) {
		c := &config{}
		c.add(hostConfig, text)
		last := 0
		for _, s := range c.settings {
			if s.line <= last || s.line > 1+strings.Count(text, "\n") {
				t.Fatalf("line %d after %d", s.line, last)
			}
			last = s.line
			if c.get(s.name) == nil {
				t.Fatalf("%q is set and not found", s.name)
			}
		}
	})
}
