package lint

import (
	"maps"
	"slices"
	"strings"
)

// GitHub does not render pages of more than 512 KiB, so the pages show only the relevant
// lines of long files, with an ellipsis for the rest.

// longExample is the number of lines from which a bad file is shortened.
const longExample = 9

// focused returns the bad files, shortened to the problems and the lines around them.
func (e Example) focused() []ExampleFile {
	files := slices.Clone(e.Bad)
	for i, f := range files {
		lines := strings.SplitAfter(strings.TrimSuffix(f.Text, "\n"), "\n")
		at := e.linesIn(f.Name)
		if len(lines) < longExample || len(at) == 0 || f.Cut {
			continue
		}
		keep := map[int]bool{}
		for n, line := range lines[1:3] { // what the file is
			keep[n+1] = !strings.HasSuffix(strings.TrimSpace(line), "{") &&
				!strings.HasSuffix(strings.TrimSpace(line), "[")
		}
		for _, n := range at {
			keep[n] = true
		}
		files[i].Text = elided(lines, keep)
	}
	return files
}

// changed returns the good files, shortened to the differences from the bad files.
func (e Example) changed() []ExampleFile {
	files := slices.Clone(e.Good)
	for i, f := range files {
		if bad := slices.IndexFunc(e.Bad, func(b ExampleFile) bool { return b.Name == f.Name }); bad >= 0 {
			files[i].Text = changedPart(e.Bad[bad].Text, f.Text)
		}
	}
	return files
}

// changedPart returns the lines of a text between its common start and its common end with
// the old text. If only lines were removed, it keeps the first line after them.
func changedPart(old, text string) string {
	before, after := strings.SplitAfter(strings.TrimSuffix(old, "\n"), "\n"),
		strings.SplitAfter(strings.TrimSuffix(text, "\n"), "\n")
	start, end := 0, 0
	for start < min(len(before), len(after)) && before[start] == after[start] {
		start++
	}
	for end < min(len(before), len(after))-start && before[len(before)-1-end] == after[len(after)-1-end] {
		end++
	}
	keep := map[int]bool{}
	for n := start; n < max(len(after)-end, start+1); n++ {
		keep[n] = true
	}
	return elided(after, keep)
}

// elided joins the lines to keep with the lines that open and close the brackets around
// them. It replaces two or more other lines in a row by an ellipsis.
func elided(lines []string, keep map[int]bool) string {
	enclosing(lines, keep)
	var b strings.Builder
	for n := 0; n < len(lines); n++ {
		end := n
		for end < len(lines) && !keep[end] {
			end++
		}
		if end-n < 2 {
			b.WriteString(lines[n])
			continue
		}
		b.WriteString(strings.Repeat(" ", indent(lines[n])) + "…\n")
		n = end - 1
	}
	return b.String()
}

// enclosing adds to the lines to keep the nearest lines before and after each that are
// indented less.
func enclosing(lines []string, keep map[int]bool) {
	for _, n := range slices.Collect(maps.Keys(keep)) {
		if n < 0 || n >= len(lines) || !keep[n] {
			continue
		}
		for _, step := range [...]int{-1, 1} {
			least := indent(lines[n])
			for i := n + step; i >= 0 && i < len(lines); i += step {
				if indent(lines[i]) < least {
					keep[i], least = true, indent(lines[i])
				}
			}
		}
	}
}

// withoutLines removes the source lines from printed problems, since the page shows them
// above.
func withoutLines(printed string) string {
	var b strings.Builder
	for line := range strings.Lines(printed) {
		if !strings.HasPrefix(strings.TrimLeft(line, " 0123456789"), "|") {
			b.WriteString(line)
		}
	}
	return b.String()
}
