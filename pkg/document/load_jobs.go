package document

import (
	"slices"
	"strings"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// lower builds the jobs of a job or a workflow file.
func (f *File) lower(c *checker, o Options) diag.List {
	root := f.Root
	if len(c.diags) > 0 || commented(root) { // else lowering, which copies what it takes, needs no clean copy
		root = c.clean(root)
	}
	f.Name = root.Get("name").Str()
	l := layers{workflow: root.Get("defaults"), faulty: len(c.diags) > 0, lost: c.lost(f.Root.Get("defaults")),
		spoilt: c.spoilt(f.Root.Get("defaults").Get("array")), references: strings.Contains(f.Source.Text, referenceMark)}
	if o.Platform != nil {
		l.platform = o.Platform.Defaults
	}
	written := []*jsontree.Node{f.Root}
	clean := written
	if f.Kind == KindWorkflow {
		written = kept(f.Root.Get("jobs"), c.bad)
		clean = slices.Collect(root.Get("jobs").Children())
	} else {
		clean = []*jsontree.Node{root}
	}
	var diags diag.List
	for i, job := range clean {
		l := l
		l.lost = l.lost || c.lost(written[i])
		l.spoilt = l.spoilt || c.spoilt(written[i].Get("array"))
		for _, m := range c.unknown {
			if entry := f.EntryAt(m.At); entry == written[i].Span || entry == (diag.Span{}) {
				l.unreadable = append(l.unreadable, m.Name)
			}
		}
		j, problems := lower(job, l, o)
		j.Node = written[i]
		f.Jobs = append(f.Jobs, j)
		diags = append(diags, problems...)
	}
	return diags
}
