package document

import (
	"strings"
	"unicode/utf8"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/sweep"
)

// commandList reads the list of command lines that the children share. A list in S3 is not
// read; only its location is kept.
func commandList(p *problems, array *jsontree.Node, o Options) *sweep.Sweep {
	n, size := array.Get("commands"), array.Get("size")
	if i, ok := size.Int(); !ok || i < 1 {
		p.report(RuleBadValue, size, size.Span, "", "size is %s: a command list needs at least 1 child",
			clip(size.Text))
		return nil
	}
	s := &sweep.Sweep{Kind: sweep.Commands, Size: whole(size), KeepGoing: isTrue(array.Get("keepGoing")) || o.KeepGoing}
	if strings.Contains(n.Str(), "://") {
		if _, ok := s3Location(n.Str(), true); !ok {
			p.report(RuleCommandList, n, n.Span,
				`write an S3 URL such as "s3://bucket/commands.txt", or the path of a file`, "invalid S3 object URL %q",
				clip(n.Str()))
			return nil
		}
		s.List = n.Str()
		return s
	}
	src := readSibling(p, RuleCommandList, n, o)
	if src == nil || !commandLines(p, n, src) {
		return nil
	}
	s.Lines = sweep.SplitLines(strings.TrimPrefix(src.Text, "\ufeff"))
	return s
}

// commandLines reports a list that is not text, or that has no command.
func commandLines(p *problems, n *jsontree.Node, src *diag.Source) bool {
	wrong, hint, at := "", "", diag.Span{}
	switch {
	case !utf8.ValidString(src.Text):
		wrong, hint = "the command list is not UTF-8 text", "save the file as UTF-8"
	case strings.ContainsRune(src.Text, 0):
		i := strings.IndexByte(src.Text, 0)
		wrong, hint, at = "a command line contains a NUL byte", "check that this file is a list of commands",
			diag.Span{Start: i, End: i + 1}
	case !hasCommand(src.Text):
		wrong, hint = "the command list has no command", "write one command on each line"
	default:
		return true
	}
	if at.End == 0 {
		p.report(RuleCommandList, n, n.Span, hint, "%s: %s", clip(n.Str()), wrong)
		return false
	}
	p.diags = append(p.diags, problem(RuleCommandList, src, at, hint, "%s", wrong))
	return false
}

// hasCommand reports whether a line is neither blank nor a comment.
func hasCommand(text string) bool {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			return true
		}
	}
	return false
}
