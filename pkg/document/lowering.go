package document

import (
	"slices"
	"strconv"

	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/sweep"
)

// lowering builds the two requests of one compact job.
type lowering struct {
	// job is the job with its defaults. All of its members have the types of the schema.
	job     *jsontree.Node
	means   means
	options Options
	part
	// spoilt is true if a part of the array is left out because its type is wrong.
	spoilt bool
	// unreadable lists the members whose values are left out, so that they are not absent.
	unreadable []string
	sweep      *sweep.Sweep
}

// readable reports whether no value of these members is left out, so that an absent one is certainly absent.
func (l *lowering) readable(names ...string) bool {
	return !slices.ContainsFunc(names, func(name string) bool { return slices.Contains(l.unreadable, name) })
}

// get returns a copy of a member for a request.
func (l *lowering) get(name string) *jsontree.Node { return l.arena.Clone(l.job.Get(name)) }

// part is what each part of the lowering needs: a list for problems, and an arena for nodes.
type part struct {
	problems
	arena *jsontree.Arena
}

// object, text and number return an empty object, a string and a number with the location
// of from.
func (p *part) object(from *jsontree.Node) *jsontree.Node {
	return p.arena.New(jsontree.Object, "", from)
}

func (p *part) text(text string, from *jsontree.Node) *jsontree.Node {
	return p.arena.New(jsontree.String, text, from)
}

func (p *part) number(n int64, from *jsontree.Node) *jsontree.Node {
	return p.arena.New(jsontree.Number, strconv.FormatInt(n, 10), from)
}

// isWithin reports whether a value is in the text of a job, not in defaults.
func isWithin(job, n *jsontree.Node) bool {
	return n.Source == job.Source && job.Span.Start <= n.Span.Start && n.Span.End <= job.Span.End
}

// severalContainers returns the member that gives the job several containers, or containers
// outside ECS; nil without such a member.
func (l *lowering) severalContainers(job *Job) *jsontree.Node {
	if l.means == byFragment {
		fragment := l.job.Get("jobDefinition")
		return fragment.Get(fragmentName(fragment))
	}
	return overridesSeveral(job.Submit)
}

// overridesSeveral returns the member of a submission that overrides several containers, or containers outside ECS.
func overridesSeveral(submit *jsontree.Node) *jsontree.Node {
	for _, name := range [...]string{"ecsPropertiesOverride", "eksPropertiesOverride", "nodeOverrides"} {
		if m := submit.Get(name); m != nil {
			return m
		}
	}
	return nil
}

// hasOneContainer reports a member that works only in a job with one container, in a job with several. works is its
// name with the verb.
func (l *lowering) hasOneContainer(job *Job, n *jsontree.Node, works string) bool {
	m := l.severalContainers(job)
	if m != nil {
		l.report(RuleMemberConflict, n, n.Key, `write the job with "image", or with "definition" and "command"`,
			"%s only in a job with one container, and this job has %s", works, m.Name)
	}
	return m == nil
}
