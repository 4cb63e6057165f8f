package document

import (
	"regexp"
	"slices"
	"strings"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// isResources reports whether a document has lists of requests that create resources. The output of a describe
// operation has such lists too, and its elements have members that no request has.
func isResources(root *jsontree.Node) bool {
	if d, _ := describedIn(root); d != nil {
		return false
	}
	lists, requests := 0, 0
	for list := range root.Children() {
		if !list.Is(jsontree.Array) {
			continue
		}
		name := plain(list.Name)
		at := slices.IndexFunc(ResourceLists[:], func(l ResourceList) bool { return strings.EqualFold(l.Member, name) })
		if at < 0 {
			continue
		}
		lists++
		if first := list.Index(0); first.Is(jsontree.Object) && ResourceLists[at].Kind.shared(first) > 0 {
			requests++
		}
	}
	return requests > 0 && 2*lists >= contents(root)
}

// createsResources reports whether a document of the kind creates something other than jobs.
func (k Kind) createsResources() bool {
	return k == KindResources || slices.ContainsFunc(ResourceLists[:], func(l ResourceList) bool { return l.Kind == k })
}

// resources adds the requests in the lists of a document of KindResources; root is the clean copy.
func (f *File) resources(root *jsontree.Node) {
	for _, l := range ResourceLists {
		for request := range root.Get(l.Member).Children() {
			if request.Is(jsontree.Object) {
				f.Requests = append(f.Requests, Request{l.Kind, request})
			}
		}
	}
}

// loadExpanded is load for a document that refers to the platform file. The check sees the values.
func (f *File) loadExpanded(o Options) (diags diag.List) {
	f.platform = o.Platform
	for _, root := range f.expanded(o.Platform) {
		c := check(root, f.Kind)
		f.Unreadable = append(f.Unreadable, c.unknown...)
		for _, d := range c.diags { // a problem of every team is one
			if !slices.ContainsFunc(diags, func(other diag.Diagnostic) bool {
				return other.Rule == d.Rule && other.Span == d.Span && other.Message == d.Message
			}) {
				diags = append(diags, d)
			}
		}
		switch {
		case c.overflow:
			return diags
		case f.Kind == KindResources:
			f.resources(c.clean(root))
		default:
			f.take(root, c.clean(root), o)
		}
	}
	return diags
}

// expanded returns the root for each team, or one root whose lists have the resources of each team.
func (f *File) expanded(p *Platform) (roots []*jsontree.Node) {
	if f.Kind != KindResources {
		for _, r := range p.expand(Request{f.Kind, f.Root}) {
			roots = append(roots, r.Node)
		}
		return roots
	}
	root := jsontree.NewObject(f.Root)
	for m := range f.Root.Children() {
		at := slices.IndexFunc(ResourceLists[:], func(l ResourceList) bool { return l.Member == m.Name })
		if at < 0 || !m.Is(jsontree.Array) {
			root.Set(m.Name, m.Clone())
			continue
		}
		list := jsontree.NewArray(m)
		for element := range m.Children() {
			for _, r := range p.expand(Request{ResourceLists[at].Kind, element}) {
				list.Append(r.Node.Clone())
			}
		}
		root.Set(m.Name, list)
	}
	return []*jsontree.Node{root}
}

// Team is a team of the organisation, for which the platform file repeats resources.
type Team struct {
	Name string
	// Values are the members that a resource refers to: ${team.priority} is the value of "priority".
	Values *jsontree.Node
}

// reference matches a reference of a resource to the platform file: ${prefix}, ${team} and ${team.member}.
var platformReference = lazy(`\$\{(prefix|team(\.[A-Za-z0-9_-]+)?)\}`)

// teamMark begins every reference to a team.
const teamMark = "${team"

// reference returns the value of a reference for a team, which may be nil; nil if the platform file does not have it.
func (p *Platform) reference(text string, team *Team) *jsontree.Node {
	name := strings.TrimSuffix(strings.TrimPrefix(text, "${"), "}")
	switch member, ofTeam := strings.CutPrefix(name, "team."); {
	case name == "prefix" && p.Root.Get("prefix") != nil:
		return p.Root.Get("prefix")
	case team == nil:
		return nil
	case name == "team":
		return jsontree.NewString(team.Name, team.Values)
	case ofTeam:
		return team.Values.Get(member)
	}
	return nil
}

// fills returns a text without the references that the platform file fills for every team.
func (p *Platform) fills(text string) string {
	if p == nil || !strings.Contains(text, "${") {
		return text
	}
	return platformReference().ReplaceAllStringFunc(text, func(found string) string {
		if found == "${prefix}" && p.reference(found, nil) != nil {
			return ""
		}
		missing := func(t Team) bool { return p.reference(found, &t) == nil }
		if len(p.Teams) == 0 || slices.ContainsFunc(p.Teams, missing) {
			return found
		}
		return ""
	})
}

// mentionedIn reports whether a string of the tree refers to the platform file, which may be nil.
func (p *Platform) mentionedIn(root *jsontree.Node) bool {
	return p != nil && strings.Contains(root.Source.Text, "${") && anyString(root, platformReference())
}

// expand fills the references of a request to the platform file. A request whose name contains ${team} becomes one for
// each team. In any other request, this holds for each element of a list that refers to a team. References that the
// platform file does not fill stay, and are placeholders.
func (p *Platform) expand(r Request) []Request {
	if name := r.Name(); !strings.Contains(name, teamMark) || len(p.Teams) == 0 {
		return []Request{{r.Kind, p.repeatElements(r.Node)}}
	}
	var all []Request
	for _, t := range p.Teams {
		all = append(all, Request{r.Kind, p.fill(r.Node, &t)})
	}
	return all
}

// anyString reports whether a string of the tree matches a pattern.
func anyString(n *jsontree.Node, pattern *regexp.Regexp) bool {
	if n.Is(jsontree.String) {
		return strings.Contains(n.Text, "${") && pattern.MatchString(n.Text)
	}
	for child := range n.Children() {
		if anyString(child, pattern) {
			return true
		}
	}
	return false
}

// repeatElements returns the tree with each element of a list that refers to a team once for each team.
func (p *Platform) repeatElements(n *jsontree.Node) *jsontree.Node {
	switch {
	case n.Is(jsontree.Array):
		list := jsontree.NewArray(n)
		for child := range n.Children() {
			if !child.Is(jsontree.Array) && len(p.Teams) > 0 && anyString(child, teamReference()) {
				for _, t := range p.Teams {
					list.Append(p.fill(child, &t))
				}
				continue
			}
			list.Append(p.repeatElements(child))
		}
		return list
	case n.Is(jsontree.Object):
		object := jsontree.NewObject(n)
		for child := range n.Children() {
			object.Set(child.Name, p.repeatElements(child))
		}
		return object
	}
	return p.fill(n, nil)
}

// teamReference matches a reference to a team.
var teamReference = lazy(`\$\{team[.}]`)

// fill returns a copy of the tree with the references that a team fills. A string that is one reference gets the type
// of the value; any other gets its text.
func (p *Platform) fill(n *jsontree.Node, team *Team) *jsontree.Node {
	switch {
	case n.Is(jsontree.String):
		if !strings.Contains(n.Text, "${") {
			return n.Clone()
		}
		if whole := platformReference().FindString(n.Text); whole == n.Text && whole != "" {
			if v := p.reference(whole, team); v != nil {
				return n.Valued(v.Kind, v.Text)
			}
		}
		return n.Valued(jsontree.String, platformReference().ReplaceAllStringFunc(n.Text, func(found string) string {
			if v := p.reference(found, team); v != nil {
				return v.Text
			}
			return found
		}))
	case n.Is(jsontree.Array):
		list := jsontree.NewArray(n)
		for child := range n.Children() {
			list.Append(p.fill(child, team))
		}
		return list
	case n.Is(jsontree.Object):
		object := jsontree.NewObject(n)
		for child := range n.Children() {
			object.Set(child.Name, p.fill(child, team))
		}
		return object
	}
	return n.Clone()
}
