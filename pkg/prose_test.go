package pkg_test

import (
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
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

// TestProse looks for phrases of the list above in code, documents, schemas and templates, and in the comments of
// scripts. Expected outputs of tests are left out: they repeat what the code prints.
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
		case d.IsDir() && (name == ".git" || name == "dist" || name == "node_modules"):
			return filepath.SkipDir
		case strings.Contains(path, "/testdata/") && !strings.Contains(path, "/testdata/script/"):
			return nil
		case d.IsDir() || name == "prose_test.go" || name == "native.schema.json" || name == "CHANGELOG.md":
			return nil
		case !regexp.MustCompile(`\.(go|md|json|ya?ml|txtar|sh|Dockerfile)$`).MatchString(name) && !strings.Contains(path, "/.ci/"):
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		isScript := strings.Contains(path, "/testdata/")
		for i, line := range strings.Split(string(text), "\n") {
			if isScript && strings.HasPrefix(line, "-- ") {
				break
			}
			if isScript && !strings.HasPrefix(line, "#") {
				continue
			}
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

// The most words of a sentence in a message, and the most columns of a comment line, with tabs of one.
// Help texts have the same limit of words, in pkg/cli.
const (
	mostWords   = 24
	mostColumns = 120
)

// messageFuncs are the functions and methods whose string arguments users read.
var messageFuncs = map[string]bool{
	"Errorf": true, "New": true, "Fail": true, "Try": true, "Usage": true, "Report": true, "Warn": true, "Remark": true, "Line": true, "Notify": true, "Progress": true, "progress": true,
}

// TestColumns checks that lines of code fit a reviewer's window. A line with a long string is not broken, so that
// its text can be found; TestMessagesAndComments checks comments.
func TestColumns(t *testing.T) {
	for _, top := range []string{".", "../cmd", "../workloads", "../schemas", "../templates", "../jobs", "../.ci"} {
		err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() && d.Name() == "testdata" {
				return cmpErr(err, filepath.SkipDir)
			}
			if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return nil
			}
			text, err := os.ReadFile(path)
			if err != nil || generated.Match(text) {
				return err
			}
			long := longLiterals(text)
			for i, line := range strings.Split(string(text), "\n") {
				if n := len([]rune(line)); n > mostColumns && !long[i+1] {
					t.Errorf("%s:%d: %d columns, at most %d: break the line", path, i+1, n, mostColumns)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// generated matches the line that generated Go files begin with (go help generate).
var generated = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)

// longLiterals returns the lines of a Go file that have a comment or a string of at least 40 characters.
func longLiterals(text []byte) map[int]bool {
	long := map[int]bool{}
	fset := token.NewFileSet()
	file := fset.AddFile("", -1, len(text))
	var s scanner.Scanner
	s.Init(file, text, nil, scanner.ScanComments)
	for pos, tok, literal := s.Scan(); tok != token.EOF; pos, tok, literal = s.Scan() {
		if tok == token.STRING && len(literal) >= 40 || tok == token.COMMENT {
			for i := range strings.Count(literal, "\n") + 1 {
				long[file.Line(pos)+i] = true
			}
		}
	}
	return long
}

// TestMessagesAndComments checks that no message has a sentence that is too long to read at once,
// and that comments fit a window of a reviewer.
func TestMessagesAndComments(t *testing.T) {
	fset := token.NewFileSet()
	for _, top := range []string{".", "../cmd", "../workloads", "../schemas", "../templates", "../jobs"} {
		err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() && d.Name() == "testdata" {
				return cmpErr(err, filepath.SkipDir)
			}
			if !strings.HasSuffix(path, ".go") {
				return nil
			}
			file, err := parser.ParseFile(fset, path, nil, parser.ParseComments)
			if err != nil {
				return err
			}
			if ast.IsGenerated(file) {
				return nil
			}
			for _, group := range file.Comments {
				for _, c := range group.List {
					at := fset.Position(c.Pos())
					if n := at.Column - 1 + len([]rune(c.Text)); n > mostColumns && !strings.Contains(c.Text, "\n") && !strings.Contains(c.Text, "http") && !strings.HasPrefix(c.Text, "//\t") {
						t.Errorf("%s: a comment line ends in column %d, at most %d", at, n, mostColumns)
					}
				}
			}
			if strings.HasSuffix(path, "_test.go") {
				return nil
			}
			ast.Inspect(file, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok || !messageFuncs[calledName(call)] {
					return true
				}
				for _, arg := range call.Args {
					if text, ok := literal(arg); ok {
						for _, sentence := range messageEnd.Split(text, -1) {
							if n := len(strings.Fields(sentence)); n > mostWords {
								t.Errorf("%s: a sentence of %d words, at most %d: %s", fset.Position(arg.Pos()), n, mostWords, sentence)
							}
						}
					}
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// messageEnd ends a sentence, or a part of it that can be read as one.
var messageEnd = regexp.MustCompile(`[.:;?]\s|\n`)

// calledName returns the last name of the function that is called: "Errorf" of fmt.Errorf.
func calledName(call *ast.CallExpr) string {
	switch f := call.Fun.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		return f.Sel.Name
	}
	return ""
}

// literal returns the text of a string constant, also of several joined by +. What is computed
// counts as one word.
func literal(e ast.Expr) (text string, ok bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		return text, err == nil && e.Kind == token.STRING
	case *ast.BinaryExpr:
		left, okLeft := literal(e.X)
		right, okRight := literal(e.Y)
		if !okLeft {
			left = "x"
		}
		if !okRight {
			right = "x"
		}
		return left + right, e.Op == token.ADD && (okLeft || okRight)
	}
	return "", false
}

// cmpErr returns the first error, or skip.
func cmpErr(err, skip error) error {
	if err != nil {
		return err
	}
	return skip
}
