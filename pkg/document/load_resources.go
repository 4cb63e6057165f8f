package document

import (
	"slices"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

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
