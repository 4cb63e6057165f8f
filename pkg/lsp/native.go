package lsp

import (
	"fmt"
	"iter"
	"strings"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// sources returns values as code in Markdown.
func sources(values iter.Seq[*jsontree.Node]) []string {
	var out []string
	for v := range values {
		out = append(out, "`"+source(v)+"`")
	}
	return out
}

// lowered describes what a member of the compact form becomes in the AWS requests. Their
// nodes have the location of the user's text.
func lowered(file *document.File, n *jsontree.Node) string {
	if file.Kind != document.KindJob && file.Kind != document.KindWorkflow {
		return ""
	}
	for _, job := range file.Jobs {
		var becomes []string
		for _, request := range []struct {
			kind document.Kind
			tree *jsontree.Node
		}{{document.KindJobDefinition, job.Register}, {document.KindSubmitJob, job.Submit}} {
			if path, ok := pathTo(request.tree, n); ok {
				becomes = append(becomes, fmt.Sprintf("`%s` of %s", code(path), request.kind))
			}
		}
		if len(becomes) > 0 {
			return "Becomes " + strings.Join(becomes, " and ")
		}
	}
	return ""
}

// code returns a path that is safe between backquotes.
func code(path string) string { return strings.ReplaceAll(diag.Printable(path), "`", "'") }

// pathTo returns the path to the innermost value of the tree that was built from n. The
// root of the tree does not count.
func pathTo(tree, n *jsontree.Node) (path string, ok bool) {
	for child := range tree.Children() {
		name := "[]"
		if !tree.Is(jsontree.Array) {
			name = "." + child.Name
		}
		inner, deeper := pathTo(child, n)
		switch {
		case deeper:
			return strings.TrimPrefix(name+dotted(inner), "."), true
		case child.Source == n.Source && child.Span == n.Span:
			return strings.TrimPrefix(name, "."), true
		}
	}
	return "", false
}

// dotted adds the dot between two parts of a path.
func dotted(path string) string {
	if path == "" || path[0] == '[' {
		return path
	}
	return "." + path
}
