package pkg_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// The most words of a sentence in a message, and the most columns of a comment line, with tabs of one.
// Help texts have the same limit of words, in pkg/cli.
const (
	mostWords   = 24
	mostColumns = 120
)

// messageFuncs are the functions and methods whose string arguments users read.
var messageFuncs = map[string]bool{
	"Errorf": true, "New": true, "Fail": true, "Try": true, "Usage": true, "Report": true, "Warn": true, "remark": true, "Line": true, "Notify": true, "Progress": true, "progress": true,
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
