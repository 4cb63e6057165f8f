package lint

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/batchctl/batchctl/pkg/testtool/golden"
)

// pagesDir holds the pages: an index and a page for each topic.
const pagesDir = "../../docs/checks"

func checkPages() map[string]string {
	pages := map[string]string{"README.md": indexPage()}
	for _, t := range topics(Documented()) {
		pages[pageName(t.title)] = t.page()
	}
	return pages
}

func TestPages(t *testing.T) {
	pages := checkPages()
	for name, page := range pages {
		file := filepath.Join(pagesDir, name)
		if golden.Updating() {
			golden.File(t, file, page)
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil || string(text) != page {
			t.Errorf("%s is stale, run go generate ./pkg/lint (%v)", file, err)
		}
	}
	there, err := os.ReadDir(pagesDir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range there {
		if pages[f.Name()] != "" {
			continue
		}
		if file := filepath.Join(pagesDir, f.Name()); !golden.Updating() {
			t.Errorf("%s is the page of no topic", file)
		} else if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
	}
}

// Every rule's URL leads to one headline, and every link within the pages leads somewhere.
func TestPageLinks(t *testing.T) {
	pages := checkPages()
	anchors := map[string]bool{}
	for name, page := range pages {
		if !utf8.ValidString(page) || len(page) > 512<<10 {
			t.Errorf("%s has %d bytes, and GitHub lays out no more than 512 KiB: shorten the examples, or lower longExample", name, len(page))
		}
		for line := range strings.SplitSeq(page, "\n") {
			if h := strings.TrimLeft(line, "#"); h != line && strings.HasPrefix(h, " ") {
				if a := name + "#" + anchor(h[1:]); anchors[a] {
					t.Errorf("two headlines have the anchor %s", a)
				} else {
					anchors[a] = true
				}
			}
		}
	}
	for _, r := range Documented() {
		if at, ours := strings.CutPrefix(r.URL(), PagesURL); !ours || !anchors[at] {
			t.Errorf("%s leads to no headline: %s", r.Name, r.URL())
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
