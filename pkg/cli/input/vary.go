package input

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// Variations of a job file on the command line: --set changes or removes a member of the
// document before it is checked, and --env adds a variable to the submission.

// Vary adds --set and --env to the options of loading. It returns the values of
// variables, which may be credentials.
func (options Options) Vary(o *document.Options) (values []*diag.Source, err error) {
	settings, err := ParseSettings(options.Set)
	if err != nil {
		return nil, err
	}
	if len(settings) > 0 {
		o.Edit = func(root *jsontree.Node) (problems diag.List) {
			for _, s := range settings {
				problems = append(problems, s.Apply(root)...)
			}
			return problems
		}
	}
	if o.Environment, err = ParseEnvironment(options.Env); err != nil {
		return nil, err
	}
	for v := range o.Environment.Children() {
		values = append(values, v.Source)
	}
	return values, nil
}

// Setting is one --set.
type Setting struct {
	argument string   // as written, for messages
	steps    []string // member names and element numbers
	value    *jsontree.Node
}

// ParseSettings parses the arguments of --set.
func ParseSettings(args []string) ([]Setting, error) {
	var all []Setting
	for _, arg := range args {
		path, value, ok := strings.Cut(arg, "=")
		steps := splitPath(path)
		if !ok || len(steps) == 0 {
			return nil, exit.Usage("--set %s is not PATH=VALUE", arg).Try("for example: --set resources.vcpus=4")
		}
		all = append(all, Setting{arg, steps, valueOf(arg, len(path)+1, value)})
	}
	return all, nil
}

// splitPath splits a.b[2].c into a, b, 2, c. A backslash makes the next character
// part of a name. It returns nil for a path without a name.
func splitPath(path string) (steps []string) {
	var name strings.Builder
	for i := 0; i < len(path); i++ {
		switch c := path[i]; {
		case c == '\\' && i+1 < len(path):
			i++
			name.WriteByte(path[i])
		case c == '.' || c == '[':
			if name.Len() > 0 {
				steps = append(steps, name.String())
				name.Reset()
			}
		case c != ']':
			name.WriteByte(c)
		}
	}
	if name.Len() > 0 {
		steps = append(steps, name.String())
	}
	return steps
}

// valueOf returns the value that begins at offset at of the argument: JSON, or
// else a string.
func valueOf(arg string, at int, text string) *jsontree.Node {
	// Blanks replace the path, so that locations in the value are offsets in the argument.
	src := diag.NewSource("--set", strings.Repeat(" ", at)+text)
	if n, problems := jsontree.Parse(src); n != nil && len(problems) == 0 {
		n.Key = diag.Span{End: at - 1}
		return moved(n, diag.NewSource("--set", arg))
	}
	from := &jsontree.Node{Source: diag.NewSource("--set", arg), Span: diag.Span{Start: at, End: len(arg)},
		Key: diag.Span{Start: 0, End: at - 1}}
	return jsontree.NewString(text, from)
}

// moved gives the nodes another source with the same offsets.
func moved(n *jsontree.Node, to *diag.Source) *jsontree.Node {
	n.Source = to
	for child := range n.Children() {
		moved(child, to)
	}
	return n
}

// Apply changes the document. It creates objects that are missing on the path,
// but not elements of arrays. The value null removes a member or an element, which must exist:
// no member of a job file can be null.
func (s Setting) Apply(root *jsontree.Node) diag.List {
	if problem := s.misunderstood(root); problem != nil {
		return problem
	}
	n := root
	for i, step := range s.steps {
		last := i == len(s.steps)-1
		switch {
		case n.Is(jsontree.Array):
			at, ok := element(n, step)
			if !ok {
				return s.problem("there is no element %s", strings.Join(s.steps[:i+1], "."))
			}
			if last && s.value.Is(jsontree.Null) {
				n.Remove(n.Index(at))
				return nil
			}
			if last {
				n.SetIndex(at, s.value.Clone())
				return nil
			}
			n = n.Index(at)
		case !n.Is(jsontree.Object):
			return s.problem("%s is not an object", strings.Join(s.steps[:i], "."))
		case s.value.Is(jsontree.Null) && n.Get(step) == nil:
			return s.nothingToRemove(n, step, i)
		case last && s.value.Is(jsontree.Null):
			n.Remove(n.Get(step))
		case last:
			n.Set(step, s.value.Clone())
		default:
			next := n.Get(step)
			if next == nil {
				next = jsontree.NewObject(s.value)
				n.Set(step, next)
			}
			n = next
		}
	}
	return nil
}

// misunderstood is the problem of a setting whose path or value needs another spelling on the command line: a resource
// without its object, or a text that is read as a number because the shell removes quotes.
func (s Setting) misunderstood(root *jsontree.Node) diag.List {
	last := len(s.steps) - 1
	name, path := s.steps[last], strings.Join(s.steps, ".")
	var problem diag.List
	switch {
	case last == 0 && root.Get(name) == nil && root.Get("resources").Get(name) != nil:
		problem = s.problem("%s is a member of resources", name)
		problem[0].Hint = "write --set resources." + s.argument
	case last == 0 || !s.value.Is(jsontree.Number) && !s.value.Is(jsontree.Bool) || !root.Is(jsontree.Object):
	case last == 1 && s.steps[0] == "environment" && !root.Get("environment").Is(jsontree.Array):
		problem = s.problem("%s must be a string, not a number or a constant", path)
		problem[0].Hint = "write --env " + term.Quoted(name+"="+s.value.Text)
	case last == 1 && (s.steps[0] == "parameters" || s.steps[0] == "tags"):
		problem = s.problem("%s must be a string, not a number or a constant", path)
		problem[0].Hint = "quote the value for the shell: --set " + term.Quoted(path+"="+strconv.Quote(s.value.Text))
	}
	return problem
}

// nothingToRemove is the problem that step i names a member that its object lacks.
func (s Setting) nothingToRemove(object *jsontree.Node, step string, i int) diag.List {
	var names []string
	for m := range object.Children() {
		names = append(names, m.Name)
	}
	list := s.problem("there is no member %s to remove", strings.Join(s.steps[:i+1], "."))
	if near := diag.Near(step, slices.Values(names)); near != "" {
		list[0].Hint = "did you mean " + strings.Join(append(slices.Clone(s.steps[:i]), near), ".") + "?"
	} else if len(names) > 0 {
		list[0].Hint = "the members there are: " + strings.Join(names, " ")
	}
	return list
}

// problem returns a problem whose location is the path of the setting.
func (s Setting) problem(format string, args ...any) diag.List {
	src := diag.NewSource("--set", s.argument)
	return diag.List{{Severity: diag.Error, Rule: "set-path", Source: src,
		Span:    diag.Span{End: strings.IndexByte(s.argument, '=')},
		Message: fmt.Sprintf(format, args...), Hint: "list the members: batchctl schema job"}}
}

// element finds an element of an array by its number, or by its name: a job of a
// workflow, or a variable of a native environment.
func element(array *jsontree.Node, step string) (at int, ok bool) {
	if i, err := strconv.Atoi(step); err == nil {
		return i, i >= 0 && i < array.Len()
	}
	for e := range array.Children() {
		if e.Get("name").Str() == step || e.Get("jobName").Str() == step {
			return at, true
		}
		at++
	}
	return 0, false
}

// ParseEnvironment returns an object of NAME=VALUE arguments. A NAME alone gets
// its value from the environment of this process.
func ParseEnvironment(args []string) (*jsontree.Node, error) {
	if len(args) == 0 {
		return nil, nil
	}
	object := jsontree.NewObject(nil)
	for _, arg := range args {
		name, value, given := strings.Cut(arg, "=")
		if !given {
			var isSet bool
			if value, isSet = os.LookupEnv(name); !isSet {
				return nil, exit.Usage("--env %s: this variable is not set here", name).
					Try("add the value: --env %s=VALUE", name)
			}
		}
		if name == "" {
			return nil, exit.Usage("--env %s is not NAME=VALUE", arg).Try("for example: --env EPOCHS=10")
		}
		from := &jsontree.Node{Source: diag.NewSource("--env", arg), Key: diag.Span{Start: 0, End: len(name)},
			Span: diag.Span{Start: 0, End: len(arg)}}
		if given {
			from.Span.Start = len(name) + 1
		}
		object.Set(name, jsontree.NewString(value, from))
	}
	return object, nil
}
