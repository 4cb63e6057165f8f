package document

import (
	"slices"
	"strconv"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/sweep"
)

// read reads a file that a member names. It reports an error and returns nil.
func (l *lowering) read(rule string, n *jsontree.Node, o Options) *diag.Source {
	if o.Read == nil {
		return nil
	}
	if n.Str() == "" {
		l.report(rule, n, n.Span, "write the path of a file", "%s is empty", n.Name)
		return nil
	}
	src, err := o.Read(n.Str())
	if err != nil {
		l.report(rule, n, n.Span, hintOf(err), "cannot read %s: %v", clip(n.Str()), err)
		return nil
	}
	return src
}

// lowering builds the two requests of one compact job.
type lowering struct {
	// job is the job with its defaults. All of its members have the types of the schema.
	job   *jsontree.Node
	means means
	arena *jsontree.Arena
	diags diag.List
	// spoilt is true if a part of the array is left out because its type is wrong.
	spoilt bool
	// unreadable lists the members whose values are left out, so that they are not absent.
	unreadable []string
	sweep      *sweep.Sweep
}

func (l *lowering) report(rule string, n *jsontree.Node, span diag.Span, hint, format string, args ...any) {
	l.diags = append(l.diags, problem(rule, n.Source, span, hint, format, args...))
}

// readable reports whether no value of these members is left out, so that an absent one is certainly absent.
func (l *lowering) readable(names ...string) bool {
	return !slices.ContainsFunc(names, func(name string) bool { return slices.Contains(l.unreadable, name) })
}

// get returns a copy of a member for a request.
func (l *lowering) get(name string) *jsontree.Node { return l.arena.Clone(l.job.Get(name)) }

// object, text and number return an empty object, a string and a number with the location
// of from.
func (l *lowering) object(from *jsontree.Node) *jsontree.Node {
	return l.arena.New(jsontree.Object, "", from)
}

func (l *lowering) text(text string, from *jsontree.Node) *jsontree.Node {
	return l.arena.New(jsontree.String, text, from)
}

func (l *lowering) number(n int64, from *jsontree.Node) *jsontree.Node {
	return l.arena.New(jsontree.Number, strconv.FormatInt(n, 10), from)
}

// wrote reports whether a value is in the job itself, not in defaults.
func (l *lowering) wrote(n *jsontree.Node) bool {
	return n.Source == l.job.Source && l.job.Span.Start <= n.Span.Start && n.Span.End <= l.job.Span.End
}
