package lint

import (
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/batchctl/batchctl/pkg/testtool/golden"
)

var pages = []string{rulesPage, hostsPage}

func TestPages(t *testing.T) {
	for _, file := range pages {
		page := pageOfFile(file)
		if golden.Updating() {
			golden.File(t, file, page)
		} else if page != read(t, file) {
			t.Errorf("%s is stale, run go generate ./pkg/lint", file)
		}
	}
}

func read(t testing.TB, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Every reader finds each rule once, and every link on the page leads somewhere on
// it.
func TestPageLinks(t *testing.T) {
	for _, file := range pages {
		t.Run(file, func(t *testing.T) { holdPage(t, file) })
	}
}

func holdPage(t *testing.T, file string) {
	page := pageOfFile(file)
	if !utf8.ValidString(page) || len(page) > 512<<10 {
		t.Errorf("the page has %d bytes, and GitHub lays out no more than 512 KiB: shorten the examples, or lower longExample", len(page))
	}
	anchors := map[string]bool{}
	for line := range strings.SplitSeq(page, "\n") {
		if h := strings.TrimLeft(line, "#"); h != line && strings.HasPrefix(h, " ") {
			if a := anchor(h[1:]); anchors[a] {
				t.Errorf("two headlines have the anchor %s", a)
			} else {
				anchors[a] = true
			}
		}
	}
	for _, part := range strings.Split(page, "](#")[1:] {
		if a, _, _ := strings.Cut(part, ")"); !anchors[a] {
			t.Errorf("nothing has the anchor %s", a)
		}
	}
	for _, r := range Documented() {
		if at, ours := strings.CutPrefix(r.URL(), strings.TrimSuffix(PageURL, rulesPage)+file+"#"); ours && !anchors[at] {
			t.Errorf("%s is not on the page", r.Name)
		}
	}
}
