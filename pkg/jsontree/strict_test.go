package jsontree

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/batchctl/batchctl/pkg/diag"
)

// FuzzStrict compares the strict reader with the parser: it accepts exactly the texts
// without slips, and returns the same nodes with the same locations.
func FuzzStrict(f *testing.F) {
	for _, text := range []string{
		`{"a":[1,-2.5e3,true,false,null,"\u00e9\ud83d\ude00","é",""]}`, "\ufeff{}", `{"a":1,"a":2}`, "[1,]", "{} x", `"abcdefgh\x7fij"`,
		`{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1,"h":1,"i":1,"a":1}`, `{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1,"h":1,"i":1,"j":1}`,
		"\"abcdefg\x1f\"", "\"abcdefgh\xff\"", `"\ud800"`, "01", "1e999", "truex", "// c\n1", "[[[[]]]]", `{"":{}}`, "\"\x80\x81\x82\x83\x84\x85\x86\x87\"",
	} {
		f.Add(text)
	}
	files, err := filepath.Glob("../../jobs/*.json")
	if err != nil || len(files) == 0 {
		f.Fatal("no job files", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	f.Fuzz(func(t *testing.T, text string) {
		src := diag.NewSource("job.json", text)
		p := newParser(src, text)
		if !p.plausible() {
			return
		}
		quick := readStrict(src, p.pos, nil)
		want, slips := p.document()
		if (quick != nil) != (len(slips) == 0) {
			t.Fatalf("%q is read: %v; slips: %v", text, quick != nil, slips)
		}
		if quick != nil {
			if d := cmp.Diff(want, quick, cmp.AllowUnexported(Node{}), cmp.Comparer(func(a, b *diag.Source) bool { return a == b })); d != "" {
				t.Fatalf("%q: %s", text, d)
			}
		}
	})
}
