package lint

import (
	"slices"
	"strconv"
	"strings"

	"github.com/batchctl/batchctl/pkg/lint/examples"
)

// Example shows a rule with files that break it and files that do not.
type Example struct {
	Bad []ExampleFile `json:"bad"`
	// BadMore is the number of further files like the bad ones, which are left out.
	BadMore int `json:"badMore,omitempty"`
	// Found is what `batchctl validate` prints about the rule for the bad files.
	Found string `json:"found"`
	// Good are the files that differ from the bad ones.
	Good []ExampleFile `json:"good"`
	// GoodSame is the number of good files that are the same as bad ones.
	GoodSame int `json:"goodSame,omitempty"`
	// GoodFewer is the number of bad files that have no good counterpart.
	GoodFewer int `json:"goodFewer,omitempty"`
}

// ExampleFile is a file of an example.
type ExampleFile struct {
	Name string `json:"name"`
	Text string `json:"text"`
	// Cut reports whether an ellipsis in the text replaces lines of a long file.
	Cut bool `json:"cut,omitempty"`
}

// The most that an example shows.
const (
	// mostProblems limits the problems in Found, mostFiles the files of Bad and of Good.
	mostProblems = 3
	mostFiles    = 3
	// A longer file is cut to its ends and the relevant lines; a longer line ends with an
	// ellipsis. mostColumns counts characters.
	mostLines   = 60
	mostColumns = 120
)

// Example returns the rule's example. Every rule of Documented has one.
func (r Rule) Example() Example {
	archive, _ := examples.Of(r.Name)
	e := Example{Found: reported(archive.Want, r.Name, mostProblems)}
	for i, f := range archive.Bad {
		// A file with a reported problem is always shown, since the report refers to it.
		at := e.linesIn(f.Name)
		if i >= mostFiles && len(archive.Bad) > mostFiles+1 && len(at) == 0 {
			e.BadMore++
			continue
		}
		e.Bad = append(e.Bad, cut(f, at...))
	}
	for _, f := range archive.Good {
		if slices.Contains(archive.Bad, f) || len(e.Good) == mostFiles {
			e.GoodSame++
		} else {
			e.Good = append(e.Good, cut(f, changes(archive.Bad, f)...))
		}
	}
	e.GoodFewer = max(0, len(archive.Bad)-len(archive.Good))
	return e
}

// reported returns what a report prints about the first problems of a rule.
func reported(report, rule string, most int) string {
	var b strings.Builder
	shown := false
	for line := range strings.Lines(report) {
		if !strings.HasPrefix(line, " ") { // the excerpt and the hint are indented
			if shown = most > 0 && strings.HasSuffix(line, " ["+rule+"]\n"); shown {
				most--
			}
		}
		if shown {
			b.WriteString(line)
		}
	}
	return b.String()
}

// changes returns the first line, from 0, in which a good file differs from the bad file of its name.
func changes(bad examples.Files, good examples.File) []int {
	badFile, ok := bad.File(good.Name)
	if !ok {
		return nil
	}
	before, after := strings.Split(badFile.Text, "\n"), strings.Split(good.Text, "\n")
	n := 0
	for n < min(len(before), len(after)) && before[n] == after[n] {
		n++
	}
	return []int{n}
}

// cut shortens a long file. It keeps the lines at the start and at the end, and those around the given ones,
// which count from 0.
func cut(f examples.File, around ...int) ExampleFile {
	near := map[int]bool{}
	for _, n := range around {
		near[n-1], near[n], near[n+1] = true, true, true
	}
	out := ExampleFile{Name: f.Name}
	lines := strings.Split(strings.TrimSuffix(f.Text, "\n"), "\n")
	var kept []string
	for i, line := range lines {
		if len(lines) > mostLines && i >= 10 && i < len(lines)-4 && !near[i] {
			if last := kept[len(kept)-1]; strings.TrimSpace(last) != "…" {
				kept = append(kept, line[:indent(line)]+"…")
			}
			out.Cut = true
			continue
		}
		if r := []rune(line); len(r) > mostColumns {
			line = string(r[:mostColumns-1]) + "…"
			out.Cut = true
		}
		kept = append(kept, line)
	}
	out.Text = strings.Join(kept, "\n") + "\n"
	return out
}

// linesIn returns the lines of a bad file, from 0, where problems were found.
func (e Example) linesIn(file string) (lines []int) {
	for line := range strings.Lines(e.Found) {
		rest, ok := strings.CutPrefix(line, file+":")
		number, _, _ := strings.Cut(rest, ":")
		if n, err := strconv.Atoi(number); ok && err == nil {
			lines = append(lines, n-1)
		}
	}
	return lines
}

// indent returns the number of spaces at the start of a line.
func indent(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }
