package plantext

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/plan"
	"github.com/batchctl/batchctl/pkg/text"
)

// Marker is the first line of the Markdown of plan. A client of GitHub or GitLab
// finds its earlier comment by it; readers do not see it.
const Marker = "<!-- batchctl plan -->"

const (
	// mostMarkdown is the most bytes of the Markdown. GitHub rejects comments of more
	// than 65,536 characters.
	mostMarkdown = 64000
	// mostRows is the part of it for the table.
	mostRows = 24000
	// longestText is the most characters of one text in it.
	longestText = 300
)

// inCode returns a text as code that means nothing else, wherever it is in
// Markdown. Every ASCII character but letters, digits, blanks and hyphens is a
// reference to it: it ends no cell and no tag, and begins no link. The element code
// keeps GitHub and GitLab from reading the result once again for names after an @,
// for numbers of issues and for addresses.
func inCode(text string) string {
	text = diag.Printable(text)
	if letters := []rune(text); len(letters) > longestText {
		text = string(letters[:longestText]) + "…"
	}
	if strings.TrimSpace(text) == "" {
		return "–"
	}
	var b strings.Builder
	b.WriteString("<code>")
	for _, r := range text {
		switch {
		case r > '~', r == ' ', r == '-', '0' <= r && r <= '9', 'a' <= r|0x20 && r|0x20 <= 'z':
			b.WriteRune(r)
		default:
			fmt.Fprintf(&b, "&#%d;", r)
		}
	}
	b.WriteString("</code>")
	return b.String()
}

// slashed returns a path as repositories write it, without ./ at the beginning.
func slashed(path string) string { return filepath.ToSlash(filepath.Clean(path)) }

// Markdown returns the report on files as a comment. What does not fit is counted.
func Markdown(files []*File) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n### batchctl plan\n\n", Marker)
	if len(files) == 0 {
		b.WriteString("No job file has changed.\n")
		return b.String()
	}
	files = slices.Clone(files)
	slices.SortStableFunc(files, func(a, b *File) int { return a.rank() - b.rank() })
	fmt.Fprintf(&b, "%s\n\n| file | verdict | jobs | runs on | price |\n| --- | --- | --- | --- | --- |\n",
		summary(files))
	hidden := 0
	for _, f := range files {
		row := fmt.Sprintf("| %s | %s | %s | %s | %s |\n", f.shown(slashed(f.Path)), f.verdict(), f.jobs(), f.places(),
			f.price())
		if hidden > 0 || b.Len()+len(row) > mostRows {
			hidden++
			continue
		}
		b.WriteString(row)
	}
	if hidden > 0 {
		fmt.Fprintf(&b, "\n%s more not shown.\n", text.Count(hidden, "file"))
	}
	b.WriteString("\n")
	foot := footer(files)
	hidden = 0
	for _, f := range files {
		if !f.hasDetails() {
			continue
		}
		// The sentence about hidden files is short.
		if part := f.details(); hidden == 0 && b.Len()+len(part)+len(foot)+100 <= mostMarkdown {
			b.WriteString(part)
			continue
		}
		hidden++
	}
	if hidden > 0 {
		fmt.Fprintf(&b, "The problems of %s more are not shown.\n\n", text.Count(hidden, "file"))
	}
	return b.String() + foot
}

// summary is the sentence above the table.
func summary(files []*File) string {
	failed, unchecked := 0, 0
	var sum plan.Total
	for _, f := range files {
		switch f.rank() {
		case 0:
			failed++
		case 1:
			unchecked++
		}
		if f.Review != nil {
			total := f.Review.Total()
			sum.Least, sum.Most = sum.Least+total.Least, sum.Most+total.Most
			sum.Priced, sum.Unbounded, sum.Unknown = sum.Priced+total.Priced, sum.Unbounded+total.Unbounded,
				sum.Unknown+total.Unknown
		}
	}
	counts := text.Count(len(files), "file") + ": "
	switch {
	case failed == 0 && unchecked == 0:
		counts += "no errors"
	case unchecked == 0:
		counts += fmt.Sprintf("%d with errors", failed)
	case failed == 0:
		counts += fmt.Sprintf("%d not checked", unchecked)
	default:
		counts += fmt.Sprintf("%d with errors, %d not checked", failed, unchecked)
	}
	if sum.Priced+sum.Unbounded+sum.Unknown > 0 && len(files) > 1 {
		counts += ". Price of all jobs: " + priceText(sum)
	}
	return counts + "."
}

// footer names the policy, the prices and what was not checked.
func footer(files []*File) string {
	var lines []string
	add := func(line string) {
		const most = 10 // of a few kinds, unless files have many platform files
		if !slices.Contains(lines, line) && len(lines) < most {
			lines = append(lines, line)
		}
	}
	for _, f := range files {
		if f.Review == nil {
			continue
		}
		if p := f.Review.Policy; p != nil && len(p.PolicyRules) > 0 {
			add(fmt.Sprintf("Policy: %s of %s.", text.Count(len(p.PolicyRules), "rule"), f.shown(slashed(p.File))))
			for _, what := range p.NotChecked {
				add("Not checked by the policy: " + f.shown(what) + ".")
			}
		}
		add("Target: " + f.shown(Target(f.Review.Target)) + ".")
		for _, j := range f.Review.Jobs {
			if c := j.Cost; c != nil && c.Unknown == "" {
				add(fmt.Sprintf("Prices: %s, on demand in %s. The lower bound is one attempt on a share of the cheapest instance, the upper bound every attempt for the whole timeout.",
					f.shown(c.Prices.String()), inCode(c.Region)))
			}
		}
	}
	if len(lines) == 0 {
		return ""
	}
	return "---\n" + strings.Join(lines, "<br>\n") + "\n"
}
