package pkg_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// unplain are phrases that a reader has to read twice, with what to write instead.
var unplain = []struct{ phrase, instead string }{
	{`(no|some|any)body`, "name the actor: you, batchctl, AWS Batch, no client"},
	{`whoever`, "name the actor"},
	{`anew`, "again"},
	{`(is|are|was|were) (told|said)`, "reports, prints"},
	{`(says|said) so`, "reports it"},
	{`held against|holds? (it|them|each|these|those|both|the \w+) against`, "compare with, measure against"},
	{`(is|are|was|were) not known`, "unknown, no such"},
	{`look(s|ed|ing)? (up|whether)`, "query, check, find"},
	{`mend(s|ed|ing)?`, "fix"},
	{`carr(y|ies|ied|ying) away`, "upload, stage out"},
	{`(go|goes|going|went|gone) on`, "continue, resume"},
	{`(to|came to) (its|their) end`, "until it finishes"},
	{`for ever`, "indefinitely"},
	{`from nothing`, "from scratch"},
	{`dear(est|er)?`, "expensive"},
	{`by (itself|themselves)`, "on its own, automatically"},
	{`as (it is|they are|it stands)`, "unchanged"},
	{`of this machine`, "local, on this machine"},
	{`stands? (in|beside|there|here|behind|for itself)`, "is in, appears in"},
	{`demands?`, "requires, rule"},
	{`is none`, "is not a"},
	{`in (words|one way)`, "as text, consistently"},
	{`behind (it|them|one)`, "after it"},
	{`once more`, "again"},
}

// allowed is how often an unplain phrase may be in the tree.
const allowed = 0

// TestProse looks for phrases of the list above in code, documents, schemas and templates.
// Expected outputs of tests are left out: they repeat what the code prints.
func TestProse(t *testing.T) {
	var alternatives []string
	for _, u := range unplain {
		alternatives = append(alternatives, u.phrase)
	}
	all := regexp.MustCompile(`(?i)\b(` + strings.Join(alternatives, "|") + `)\b`)
	found := 0
	root := ".."
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		switch name := d.Name(); {
		case d.IsDir() && (name == ".git" || name == "testdata" || name == "dist" || name == "node_modules"):
			return filepath.SkipDir
		case d.IsDir() || name == "prose_test.go" || name == "native.schema.json" || name == "CHANGELOG.md":
			return nil
		case !regexp.MustCompile(`\.(go|md|json|ya?ml|txtar|sh|Dockerfile)$`).MatchString(name) && !strings.Contains(path, "/.ci/"):
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for i, line := range strings.Split(string(text), "\n") {
			line = exceptions.ReplaceAllString(line, "")
			for _, phrase := range all.FindAllString(line, -1) {
				if found++; found > allowed {
					t.Logf("%s:%d: %q: write %s", strings.TrimPrefix(path, root+"/"), i+1, phrase, insteadOf(phrase))
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if found > allowed {
		t.Errorf("%d unplain phrases, at most %d", found, allowed)
	}
}

// exceptions are the phrases where they are meant: instances that are not Spot, a user's name, identifiers
// of Go and Python, and "nil if there is none".
var exceptions = regexp.MustCompile(`(?i:\bon[ -]demand\b)|"nobody"|NoBody|is None|there is none|^\s*// (is|there is) none`)

func insteadOf(phrase string) string {
	for _, u := range unplain {
		if regexp.MustCompile(`(?i)^(` + u.phrase + `)$`).MatchString(phrase) {
			return u.instead
		}
	}
	return ""
}
