package document

import (
	"fmt"

	"github.com/batchctl/batchctl/pkg/catalog"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/sweep"
)

// arrayMember is the children of an array, and the values in which they differ.
var arrayMember = member{name: "array", in: inSubmission, aws: "arrayProperties", lower: arrayProperties,
	raise: func(properties *jsontree.Node) *jsontree.Node {
		if properties.Get("size") == nil {
			return nil
		}
		return properties
	}, merge: layArray, read: checkLauncher, noNative: noNativeArray}

// differing are the members of an array that give each child its own values.
var differing = [...]string{"matrix", "table", "commands"}

// ArraySource returns the member of Job.Array that gives each child its own values:
// matrix, table or commands. It returns nil for a job without an array, and for an array
// whose children differ only in their index.
func ArraySource(array *jsontree.Node) *jsontree.Node {
	for _, name := range differing {
		if m := array.Get(name); m != nil {
			return m
		}
	}
	return nil
}

// launcherOf returns the kind of launcher that gives the children their values; "" if they
// have none.
func launcherOf(array *jsontree.Node) sweep.Launcher {
	switch launcher := array.Get("launcher"); {
	case ArraySource(array) == nil:
		return ""
	case launcher != nil:
		return sweep.Launcher(launcher.Str())
	}
	return sweep.Shell
}

// cells returns the values in which the children of the job differ. It returns nil if they
// differ only in their index, or if the values are unknown.
func (l *lowering) cells() *sweep.Sweep {
	array := l.job.Get("array")
	if l.spoilt || !arrayMembers(&l.problems, l.job, array) {
		l.spoilt = true
		return nil
	}
	var s *sweep.Sweep
	switch source := ArraySource(array); {
	case source == nil && array.Get("maxParallel") == nil:
		return nil
	case source == nil:
		s = &sweep.Sweep{Kind: sweep.Plain, Size: whole(array.Get("size"))}
	case source.Name == "matrix":
		s = matrixCells(&l.problems, array)
	case source.Name == "table":
		s = tableCells(&l.problems, source, l.options)
	default:
		s = commandList(&l.problems, array, l.options)
	}
	if s == nil {
		return nil
	}
	s.MaxParallel = whole(array.Get("maxParallel"))
	s.Launcher = launcherOf(array)
	return s
}

// arrayMembers reports an array that defines its children twice, or not at all.
func arrayMembers(p *problems, job, array *jsontree.Node) bool {
	source, size := ArraySource(array), array.Get("size")
	before := len(p.diags)
	for _, name := range differing {
		if m := array.Get(name); m != nil && m != source {
			p.report(RuleMemberConflict, m, m.Key, "keep one of them", "%s and %s exclude each other", source.Name,
				name)
		}
	}
	switch {
	case source == nil && size == nil:
		p.report(RuleMissingMember, array, brace(array), `add "size", "matrix", "table" or "commands"`,
			"the array lacks its size, or the values of its children")
	case source.Is(jsontree.String) && source.Name == "commands" && size == nil:
		p.report(RuleMissingMember, array, brace(array), `add "size", such as 8`,
			"the array lacks the number of children that share the command list")
	case source != nil && source.Name != "commands" && size != nil:
		p.report(RuleMemberConflict, size, size.Key, "remove it", "the %s already gives the number of children",
			source.Name)
	}
	idleMembers(p, job, array, source)
	return len(p.diags) == before
}

// idleMembers reports members that have no effect in the array. It ignores members from
// defaults, which may be meant for other jobs.
func idleMembers(p *problems, job, array, source *jsontree.Node) {
	idle := func(name, of string) {
		if m := array.Get(name); m != nil && isWithin(job, m) {
			p.report(RuleMemberConflict, m, m.Key, "remove it", "%s has no effect without %s", name, of)
		}
	}
	if source == nil || source.Name != "matrix" {
		idle("exclude", "matrix")
		idle("include", "matrix")
	}
	if source == nil || source.Name != "commands" {
		idle("keepGoing", "commands")
	}
	if source == nil {
		idle("launcher", "matrix, table or commands")
	}
}

// arrayProperties returns the size of the first array that the job becomes. Its place is that
// of the array, unless the file gives a size.
func arrayProperties(l *lowering, array *jsontree.Node) *jsontree.Node {
	size := array.Get("size")
	if array.Len() == 1 && size != nil {
		return l.arena.Clone(array)
	}
	cells := 0
	switch s := l.sweep; {
	case s != nil && size == nil:
		cells = min(s.Len(), catalog.MaxArraySize)
		size = l.number(int64(cells), at(array, array.Key))
	case size != nil:
		cells = whole(size)
		size = l.arena.Clone(size)
	}
	if size == nil || ArraySource(array) != nil && cells < catalog.MinArraySize {
		return nil
	}
	properties := l.object(array)
	properties.Set("size", size)
	return properties
}

// checkLauncher reports children with different values in a job whose container cannot run
// batchctl's launcher: the requests need a command, and a single container on ECS.
func checkLauncher(l *lowering, array *jsontree.Node, job *Job) {
	source := ArraySource(array)
	if source == nil || l.spoilt {
		return
	}
	what := source.Name
	if what == "commands" {
		what = "command list"
	}
	if !l.hasOneContainer(job, source, "a "+what+" works") {
		return
	}
	if m := l.job.Get("submitJob").Get("arrayProperties"); m != nil {
		l.report(RuleMemberConflict, m, m.Key, "remove it", "the array already gives the number of children")
	}
	launcher := launcherOf(array)
	if launcher == sweep.Image {
		return
	}
	command := commandOf(job)
	switch {
	case source.Name == "commands" && command != nil:
		l.report(RuleMemberConflict, command, command.Key,
			`remove it, or write "launcher": "image" in the array if that program reads the list`,
			"commands and command exclude each other: the children run the lines of the command list")
	case source.Name != "commands" && command == nil && l.means != byNothing && l.readable("command"):
		l.report(RuleMissingMember, source, source.Key,
			`add "command", or "launcher": "image" in the array if the image's program reads its values`,
			"the launcher %s needs the job's command: batchctl does not know the image's own command", launcher)
	}
}

// dropCommand removes a command of the defaults if the children run a command list.
func (l *lowering) dropCommand() {
	array, command := l.job.Get("array"), l.job.Get("command")
	if command != nil && array.Get("commands") != nil && launcherOf(array) != sweep.Image && !isWithin(l.job, command) {
		l.job = without(l.job, []string{"command"})
	}
}

// layArray merges arrays. Only one of the members that define the children can apply.
func layArray(below, above *jsontree.Node) *jsontree.Node {
	if above.Get("size") == nil && ArraySource(above) == nil {
		return jsontree.Merge(below, above)
	}
	return jsontree.Merge(without(below, []string{"size", "matrix", "exclude", "include", "table", "commands"}), above)
}

// withoutIdleArray drops an array of the defaults that only says how children are started:
// it is for jobs that are arrays.
func withoutIdleArray(merged, job *jsontree.Node) *jsontree.Node {
	array := merged.Get("array")
	if array == nil || job.Get("array") != nil || array.Get("size") != nil || ArraySource(array) != nil {
		return merged
	}
	return without(merged, []string{"array"})
}

func noNativeArray(job *Job) (why, hint string) {
	switch source := ArraySource(job.Array); {
	case source != nil:
		return fmt.Sprintf("AWS Batch gives all children of an array the same request, so %s has no native form",
			source.Name), submitInstead
	case job.Array.Get("maxParallel") != nil:
		return "AWS Batch has no limit on children that run at once, so maxParallel has no native form", submitInstead
	}
	return "", ""
}
