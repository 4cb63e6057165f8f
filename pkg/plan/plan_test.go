package plan

import (
	"fmt"
	"path"
	"strings"
	"testing"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/testtool/golden"
)

func load(t *testing.T, a *golden.Archive, name string, p *document.Platform) *document.File {
	t.Helper()
	f, diags := document.Load(diag.NewSource(path.Base(name), a.Text(t, name)), document.Options{Platform: p})
	if len(diags) > 0 {
		t.Fatal(diags)
	}
	return f
}

// An archive of a case has the files of a command line, sometimes a platform file and, as world.json, what a
// target said, and what comes of them as "want".
func cases(t *testing.T) []*golden.Archive {
	t.Helper()
	return golden.Glob(t, "testdata/requests/*.txtar")
}

func platformOf(t *testing.T, a *golden.Archive) *document.Platform {
	t.Helper()
	if !a.Has(document.PlatformFile) {
		return nil
	}
	return load(t, a, document.PlatformFile, nil).Platform
}

func build(t *testing.T, a *golden.Archive) (*Plan, diag.List) {
	t.Helper()
	platform := platformOf(t, a)
	var files []*document.File
	for _, name := range a.Names("*.json") {
		if name != document.PlatformFile && name != worldName {
			files = append(files, load(t, a, name, platform))
		}
	}
	return Build(files, platform, Options{})
}

// Every input gives a plan, or problems.
func TestGolden(t *testing.T) {
	for _, a := range cases(t) {
		t.Run(a.Name, func(t *testing.T) {
			p, problems := build(t, a)
			if (p == nil) != problems.HasErrors() {
				t.Fatalf("plan %v with problems %v", p, problems)
			}
			if p == nil {
				a.Want(t, "want", lines(problems))
				return
			}
			text, err := p.JSON(nil)
			if err != nil {
				t.Fatal(err)
			}
			a.Want(t, "want", short(text))
		})
	}
}

func lines(l diag.List) string {
	var b strings.Builder
	l.Sort()
	for _, d := range l {
		fmt.Fprintf(&b, "%s\n  %s\n", d.Error(), d.Hint)
	}
	return b.String()
}
