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
		spoilt: c.spoilt(f.Root.Get("defaults").Get("array")), references: strings.Contains(f.Source.Text,
			referenceMark)}
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
	unreadable := map[diag.Span][]string{} // by entry; those of the defaults belong to no entry
	if absent := slices.Concat(c.unknown, c.missing); len(absent) > 0 {
		entries := f.Entries()
		for _, m := range absent {
			entry := entries.At(m.At)
			unreadable[entry] = append(unreadable[entry], m.Name)
		}
	}
	var diags diag.List
	for i, job := range clean {
		l := l
		l.lost = l.lost || c.lost(written[i])
		l.spoilt = l.spoilt || c.spoilt(written[i].Get("array"))
		l.unreadable = slices.Concat(unreadable[diag.Span{}], unreadable[written[i].Span])
		j, problems := lower(job, l, o)
		j.Node = written[i]
		f.Jobs = append(f.Jobs, j)
		diags = append(diags, problems...)
	}
	return diags
}
