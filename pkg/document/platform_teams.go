package document

import (
	"regexp"
	"slices"
	"strings"

	"github.com/batchctl/batchctl/pkg/jsontree"
)

// reference matches a reference of a resource to the platform file: ${prefix}, ${team} and ${team.member}.
var platformReference = lazy(`\$\{(prefix|team(\.[A-Za-z0-9_-]+)?)\}`)

// teamMark begins every reference to a team.
const teamMark = "${team"

// teamReference matches a reference to a team.
var teamReference = lazy(`\$\{team[.}]`)

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
