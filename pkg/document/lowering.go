package document

import (
	"slices"
	"strconv"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/sweep"
)

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

// size reads a size in MiB. It reports an unreadable one, and returns -1.
func (l *lowering) size(m *jsontree.Node) int64 {
	mib, err := mebibytes(m)
	if err != nil {
		l.report(RuleResourceUnit, m, m.Span, hintOf(err), "%s: %v", m.Name, err)
		return -1
	}
	return mib
}

// count reads a number of vCPUs or GPUs; "" for an unreadable one.
func (l *lowering) count(m *jsontree.Node) string {
	n, err := count(m)
	if err != nil {
		l.report(RuleResourceUnit, m, m.Span, hintOf(err), "%s: %v", m.Name, err)
	}
	return n
}

// duration reads a duration in seconds; -1 for an unreadable one.
func (l *lowering) duration(m *jsontree.Node) int64 {
	n, err := seconds(m)
	if err != nil {
		l.report(RuleDuration, m, m.Span, hintOf(err), "%s: %v", m.Name, err)
		return -1
	}
	return n
}

// severalContainers returns the member that gives the job several containers, or containers
// outside ECS; nil without such a member.
func (l *lowering) severalContainers(job *Job) *jsontree.Node {
	if l.means == byFragment {
		fragment := l.job.Get("jobDefinition")
		return fragment.Get(fragmentName(fragment))
	}
	for _, name := range [...]string{"ecsPropertiesOverride", "eksPropertiesOverride", "nodeOverrides"} {
		if m := job.Submit.Get(name); m != nil {
			return m
		}
	}
	return nil
}

// worksOnly and needs return the name of a member of staging with a verb.
func worksOnly(member string) string { return withVerb(member, "work") }

func needs(member string) string { return withVerb(member, "need") }

func withVerb(member, verb string) string {
	switch member {
	case "checkpoint":
		return "a checkpoint " + verb + "s"
	case "measure", "onFailure":
		return member + " " + verb + "s"
	}
	return member + " " + verb
}
