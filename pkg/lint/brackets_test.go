package lint

import (
	"slices"
	"strings"
	"testing"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// bracketSlips are what happens to a bracket. Each returns the text with the slip at byte i, or "" if there is none.
var bracketSlips = map[string]func(text string, i int) string{
	"a closing bracket is lost": func(text string, i int) string {
		if text[i] != '}' && text[i] != ']' {
			return ""
		}
		return text[:i] + text[i+1:]
	},
	"a line with a closing bracket is lost": func(text string, i int) string {
		start, end := strings.LastIndexByte(text[:i], '\n')+1, strings.IndexByte(text[i:], '\n')
		if text[i] != '}' && text[i] != ']' || strings.TrimSpace(text[start:i]) != "" || end < 0 {
			return ""
		}
		return text[:start] + text[i+end+1:]
	},
	"a closing bracket is typed twice": func(text string, i int) string {
		if text[i] != '}' && text[i] != ']' {
			return ""
		}
		return text[:i+1] + text[i:]
	},
	"an opening bracket is lost": func(text string, i int) string {
		if text[i] != '{' && text[i] != '[' {
			return ""
		}
		return text[:i] + text[i+1:]
	},
}

// TestOneBracketIsOneProblem checks that a slip with one bracket of a sound file has no other errors in its wake, but
// for 1 of 1,000 cases, and that 99 of 100 slips are reported once.
func TestOneBracketIsOneProblem(t *testing.T) {
	texts := slices.DeleteFunc(realTexts(t), func(text string) bool {
		c := checkText(text, nil)
		return c.slips > 0 || slices.ContainsFunc(c.problems, func(d diag.Diagnostic) bool { return d.Severity == diag.Error })
	})
	for name, slip := range bracketSlips {
		t.Run(name, func(t *testing.T) {
			cases, followed, slips := 0, 0, 0
			example := ""
			for _, text := range texts {
				inString := false
				for i := range text {
					if text[i] == '"' && text[i-1] != '\\' {
						inString = !inString
					}
					broken := slip(text, i)
					if broken == "" || inString {
						continue
					}
					cases++
					c := checkText(broken, nil)
					slips += max(c.slips-1, 0)
					if i := slices.IndexFunc(c.problems, func(d diag.Diagnostic) bool { return d.Severity == diag.Error && d.Rule != jsontree.RuleSyntax }); i >= 0 {
						followed++
						example = c.problems[i].Error() + "\n" + broken
					}
				}
			}
			t.Logf("%d cases, %d with other errors, %d further slips", cases, followed, slips)
			if cases < 1000 || followed > cases/1000 || slips > cases/100 {
				t.Errorf("%d cases, %d with other errors, %d further slips, such as %s", cases, followed, slips, example)
			}
		})
	}
}
