package intrinsic

import "github.com/batchctl/batchctl/pkg/jsontree"

// Truth is the result of a condition.
type Truth uint8

// The results. Open is one that only CloudFormation knows.
const (
	Open Truth = iota
	Yes
	No
)

// truth is the result of a condition with the reason of an open one.
type truth struct {
	holds Truth
	why   Reason
}

// open returns an open result.
func open(format, name string) truth { return truth{Open, Reason{format, name}} }

// truthOf returns a result that is known.
func truthOf(holds bool) truth {
	if holds {
		return truth{holds: Yes}
	}
	return truth{holds: No}
}

// Exists reports whether a resource or an output exists.
func (e *Evaluator) Exists(declared *jsontree.Node) (Truth, Reason) {
	if condition := declared.Get("Condition").Str(); condition != "" {
		return e.Condition(condition)
	}
	return Yes, Reason{}
}

// Condition evaluates a condition of the template. One that refers to itself is open.
func (e *Evaluator) Condition(name string) (Truth, Reason) {
	if found, done := e.truths[name]; done {
		return found.holds, found.why
	}
	// The nesting of one condition does not count for another.
	depth := e.depth
	e.depth = 0
	e.truths[name] = open(cycle, name)
	found := open(noCondition, name)
	if n := e.root.Get("Conditions").Get(name); n != nil {
		found = e.holds(n, name)
	}
	e.truths[name] = found
	e.depth = depth
	return found.holds, found.why
}

// holds evaluates the expression n of the condition name.
func (e *Evaluator) holds(n *jsontree.Node, name string) truth {
	if other := n.Get("Condition").Str(); other != "" {
		holds, why := e.Condition(other)
		return truth{holds, why}
	}
	f := Function(n)
	switch {
	case f == nil:
		return open(malformed, "the condition "+name)
	case e.depth == maxNested:
		return open(tooDeep, "")
	}
	e.depth++
	defer func() { e.depth-- }()
	switch f.Name {
	case "Fn::And":
		return e.allOf(f, name, Yes, No)
	case "Fn::Or":
		return e.allOf(f, name, No, Yes)
	case "Fn::Not":
		if f.Is(jsontree.Array) {
			f = f.Index(0)
		}
		result := e.holds(f, name)
		if result.holds != Open {
			result.holds = Yes + No - result.holds
		}
		return result
	case "Fn::Equals":
		return e.equals(n, f, name)
	}
	return open(openIf, name)
}

// allOf returns neutral if all conditions of a list have that result, and decisive if one has that one.
func (e *Evaluator) allOf(list *jsontree.Node, name string, neutral, decisive Truth) truth {
	result := truth{holds: neutral}
	for n := range list.Children() {
		switch one := e.holds(n, name); one.holds {
		case decisive:
			return one
		case Open:
			result = one
		}
	}
	return result
}

// equals evaluates Fn::Equals. A text that CloudFormation assigns is equal to itself; whether it is another text is
// open.
func (e *Evaluator) equals(n, f *jsontree.Node, name string) truth {
	e.comparing++
	assigned := e.assigned
	a, okA := e.side(f.Index(0))
	b, okB := e.side(f.Index(1))
	e.comparing--
	if okA && okB && (a != b || a != Other) && (a == b || e.assigned == assigned) {
		return truthOf(a == b)
	}
	if e.Decide != nil {
		return truth{e.Decide(n), Reason{openIf, name}}
	}
	return open(openIf, name)
}

// side evaluates a side of Fn::Equals.
func (e *Evaluator) side(n *jsontree.Node) (text string, ok bool) {
	if name := n.Get("Ref").Str(); name != "" && e.compared[name] == Other {
		return Other, true
	}
	return e.Text(n)
}
