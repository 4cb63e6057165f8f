package document

import (
	"strings"

	"github.com/batchctl/batchctl/pkg/jsontree"
)

// tmpfsMember is the container's file systems in memory: a map from paths to sizes with units, for the list in
// linuxParameters.
var tmpfsMember = member{name: "tmpfs", foreign: byName | byFragment, extend: extendTmpfs, find: findTmpfs}

// extendTmpfs adds the file systems to linuxParameters.
func extendTmpfs(l *lowering, m, container *jsontree.Node) {
	list := l.arena.New(jsontree.Array, "", m)
	for size := range m.Children() {
		mib := readSize(&l.problems, size)
		if mib < 0 {
			continue
		}
		entry, path := l.object(size), l.text(size.Name, size)
		path.Span = size.Key
		entry.Set("containerPath", path)
		entry.Set("size", l.number(mib, size))
		list.Append(entry)
	}
	l.setLinux(container, "tmpfs", list, "tmpfs")
}

// findTmpfs finds the file systems in memory, if none has mount options.
func findTmpfs(c *compaction) {
	list := c.box().Get("linuxParameters").Get("tmpfs")
	out := jsontree.NewObject(list)
	for entry := range list.Children() {
		path, size := entry.Get("containerPath"), shortSize(entry.Get("size"), jsontree.Number)
		if path == nil || size == nil || entry.Len() > 2 || out.Get(path.Str()) != nil ||
			strings.HasPrefix(path.Str(), "$") {
			return
		}
		out.Set(path.Str(), size)
	}
	if out.Len() > 0 {
		c.found["tmpfs"], c.taken[list] = out, true
	}
}
