package pkg_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// needsRelease matches what only a published release provides.
var needsRelease = regexp.MustCompile(`(?:@|/|rev: |version: )v1\.2\.3|templates/ci/install\.sh \[|pip install batchctl`)

// TestReleaseNotes checks that each section that needs a release has a note until CHANGELOG.md has the first one, and
// no longer after that. A section begins with a heading; another file than Markdown is one section.
func TestReleaseNotes(t *testing.T) {
	const note = "after the first release"
	changes, err := os.ReadFile("../CHANGELOG.md")
	if err != nil {
		t.Fatal(err)
	}
	released := regexp.MustCompile(`(?m)^## \d`).Match(changes)
	paths, err := filepath.Glob("../docs/*.md")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no documents: %v", err)
	}
	found := 0
	for _, path := range append(paths, "../README.md", "../templates/gitlab/template.yml") {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		sections := []string{string(text)}
		if filepath.Ext(path) == ".md" {
			sections = strings.Split(string(text), "\n## ")
		}
		for _, section := range sections {
			title, _, _ := strings.Cut(section, "\n")
			needs, has := needsRelease.FindString(section), strings.Contains(strings.ToLower(section), note)
			switch {
			case needs != "" && !has && !released:
				t.Errorf("%s, %q: %q needs a release, and there is none: write %q beside it", path, title, needs, note)
			case has && released:
				t.Errorf("%s, %q: a release exists: remove %q", path, title, note)
			case needs != "":
				found++
			}
		}
	}
	if found < 5 {
		t.Errorf("only %d sections need a release; the pattern is too narrow", found)
	}
}
