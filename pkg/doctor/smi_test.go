package doctor

import (
	"testing"
)

func FuzzSMI(f *testing.F) {
	for _, name := range fixtures(f) {
		f.Add(readFixture(f, name).files["@run "+smiCommand])
	}
	f.Add("<a></b></gpu><gpu></a><gpu><gpu>1</gpu>2</gpu>")
	f.Fuzz(func(t *testing.T, text string) {
		r, err := readSMI(text)
		for _, g := range r.gpus {
			if n, where := g.uncorrectable(); n < 0 || n > 0 && g[where] == "" {
				t.Errorf("%d errors at %q", n, where)
			}
			g.slowed()
		}
		if err == nil && len(r.gpus) == 0 && r.driver == "" {
			t.Error("nothing was read and all is well")
		}
	})
}
