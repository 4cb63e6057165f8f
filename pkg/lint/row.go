package lint

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/text"
)

// Most rules are of a few kinds: a member is required, a value is in a range or in a list,
// a member must be absent. Such a rule is one row: a selector, a condition and a reason.

// selector selects the values that a row checks: paths from the objects of a scope.
type selector struct {
	scope scope
	paths []path
	// routes and labels belong to the paths. Rules run so often that they are computed in advance.
	routes []route
	labels []string
}

// in returns a selector. A path is members joined by dots; "[]" after a name stands for
// every element, "*" for every member. An empty path is the object itself.
func in(of scope, paths ...string) selector {
	pl := selector{scope: of, routes: routes(paths...)}
	for _, p := range paths {
		pl.paths = append(pl.paths, path(p))
		pl.labels = append(pl.labels, path(p).label())
	}
	return pl
}

// condition is the condition of a row: it reports a value that breaks it. The label names
// the value in messages.
type condition func(s Site, n *jsontree.Node, label string)

// rule returns a rule that reports errors, or warnings if its confidence is low. It calls a function for the whole
// pass.
func rule(name string, c Confidence, run func(*Pass), doc, source string) *Rule {
	r := &Rule{Name: name, Severity: diag.Error, Confidence: c, Doc: doc, Source: source, Run: run}
	if c == Low {
		r.Severity = diag.Warning
	}
	return r
}

// over returns a rule that calls a function for each of the things that a function of the pass returns.
func over[T any](name string, c Confidence, all func(*Pass) []T, checkOne func(T), doc, source string) *Rule {
	return rule(name, c, func(p *Pass) {
		for _, one := range all(p) {
			checkOne(one)
		}
	}, doc, source)
}

// row returns a rule that checks the values of a selector.
func row(name string, c Confidence, at selector, holds condition, doc, source string) *Rule {
	r := rule(name, c, func(p *Pass) { at.check(p, at.scope(p), holds) }, doc, source)
	r.checkIn = func(p *Pass, sites []Site) { at.check(p, sites, holds) }
	if !slices.Contains(at.paths, "") {
		return r.onlyWith(at.paths...)
	}
	return r
}

// check calls holds with each value that the selector selects below the sites.
func (at *selector) check(p *Pass, sites []Site, holds condition) {
	for _, s := range sites {
		for i, route := range at.routes {
			p.reached = route.appendFrom(p.reached[:0], s.Node)
			for _, n := range p.reached {
				holds(s, n, at.labels[i])
			}
		}
	}
}

// warns turns a rule into a warning.
func warns(r *Rule) *Rule {
	r.Severity = diag.Warning
	return r
}

// check returns a rule that calls a function for each site.
func check(name string, c Confidence, of scope, checkSite func(Site), doc, source string) *Rule {
	return row(name, c, in(of, ""), func(s Site, _ *jsontree.Node, _ string) { checkSite(s) }, doc, source)
}

// needs requires members of an object. Each is given as "name" or, for the hint,
// as "name: example".
func needs(members ...string) condition {
	wanted := make([]struct{ name, example string }, len(members))
	for i, m := range members {
		wanted[i].name, wanted[i].example, _ = strings.Cut(m, ": ")
	}
	return func(s Site, n *jsontree.Node, label string) {
		if !n.Is(jsontree.Object) {
			return
		}
		// All absent members are one problem, and the hint adds them together.
		var names, examples []string
		for _, m := range wanted {
			if n.Get(m.name) == nil && s.lacks(n, m.name) {
				names = append(names, m.name)
				examples = append(examples, fmt.Sprintf("%q: %s", m.name, orDots(m.example)))
			}
		}
		if len(names) == 0 {
			return
		}
		s.Report(fmt.Sprintf("%s needs %s", whatNeeds(n, label), text.And(names)),
			addSuch(strings.Join(examples, ", "), len(examples)), n)
	}
}

// addSuch returns the hint to add members whose values only the user knows. An example with a gap shows this itself.
func addSuch(examples string, n int) string {
	switch {
	case strings.Contains(examples, "..."), strings.Contains(examples, "<"):
		return "add " + examples
	case n > 1:
		return "add members such as " + examples
	}
	return "add a member such as " + examples
}

// both requires two conditions.
func both(one, other condition) condition {
	return func(s Site, n *jsontree.Node, label string) {
		one(s, n, label)
		other(s, n, label)
	}
}

// needed is needs for objects without a name of their own.
func needed(what string, members ...string) condition {
	return called(what, needs(members...))
}

// called gives a value another name in messages.
func called(what string, holds condition) condition {
	return func(s Site, n *jsontree.Node, _ string) { holds(s, n, what) }
}

// once checks a value of a submission only if it is not a copy of this member of the definition, because a compact job
// writes the value once for both.
func once(member string, holds condition) condition {
	return func(s Site, n *jsontree.Node, label string) {
		if s.Node != s.Submit || !sameLocation(n, s.Register.Get(member)) {
			holds(s, n, label)
		}
	}
}

// unlessMeant skips a condition that would report a mistake a second time: in a compact
// job without a name, which the schema reports, or with another name for the member,
// and in a job definition that has "name" instead.
func unlessMeant(member string, w condition) condition {
	return func(s Site, n *jsontree.Node, label string) {
		switch {
		case s.compact() && (member == "name" || document.Meant(s.Job.Node, member)):
		case !s.compact() && member == "name" && s.raw(n).Get(member) != nil:
		default:
			w(s, n, label)
		}
	}
}

// whatNeeds names an object that lacks a member: by its own name, or as an entry of
// a list.
func whatNeeds(n *jsontree.Node, label string) string {
	switch {
	case label == "" && n.Name == "":
		return "this"
	case label == "":
		return n.Name
	case n.Name == "" && !strings.Contains(label, " "):
		return "an entry of " + label
	}
	return label
}

// oneOf requires one of the values, in exactly this case.
func oneOf(values ...string) condition {
	return func(s Site, n *jsontree.Node, label string) {
		if n.Is(jsontree.String) && !slices.Contains(values, n.Text) {
			s.badValue(n, label, values)
		}
	}
}

// growing is oneOf for a list to which AWS has added values since the date of the API
// model. It only warns about those.
func growing(values []string) condition {
	return func(s Site, n *jsontree.Node, label string) {
		switch {
		case !n.Is(jsontree.String) || slices.Contains(values, n.Text):
		// The service may accept the value by now, so an error would be wrong.
		case looksNewer(n.Text, values):
			s.reportAs(diag.Warning, nil, fmt.Sprintf("%s %s is newer than the AWS Batch API reference", label,
				quote(n.Text)),
				"if AWS Batch rejects it, write "+text.Or(values), n)
		default:
			s.badValue(n, label, values)
		}
	}
}

// digits matches a number in a value, such as a version or a year.
var digits = lazy(`[0-9]+`)

// looksNewer reports whether a value is a known one with other digits, or with another
// word at its end, but not a typo of another value.
func looksNewer(value string, known []string) bool {
	mask := func(s string) string { return digits().ReplaceAllString(s, "0") }
	for _, k := range known {
		if strings.HasPrefix(value, k+"_") && near(value, known) == "" || digits().
			MatchString(k) && mask(value) == mask(k) {
			return true
		}
	}
	return false
}

// badValue reports a value that is not in the list, and suggests the closest.
func (j Job) badValue(n *jsontree.Node, label string, values []string) {
	hint, fix := "", (*diag.Fix)(nil)
	near := near(n.Text, values)
	if strings.EqualFold(n.Text, "CPU") && slices.Contains(values, "VCPU") {
		near = "VCPU" // GPU is as similar
	}
	if near != "" {
		hint, fix = "write "+quote(near), replaceTypo(n, near)
	}
	j.ReportFix(fix, fmt.Sprintf("%s must be %s, not %s", label, text.Or(values), quote(n.Text)), hint, n)
}

// between requires a number within bounds, inclusive.
func between(least, most float64) condition {
	return func(s Site, n *jsontree.Node, label string) {
		if f, ok := figure(n); ok && (f < least || f > most) {
			s.Report(fmt.Sprintf("%s must be %s to %s, not %s", label, decimal(least), decimal(most), n.Text), "", n)
		}
	}
}

// atLeast requires a number that is not smaller.
func atLeast(least float64, hint string) condition {
	return func(s Site, n *jsontree.Node, label string) {
		if f, ok := figure(n); ok && f < least {
			s.Report(fmt.Sprintf("%s must be at least %s, not %s", label, decimal(least), n.Text), hint, n)
		}
	}
}

// chars requires a string with a length in characters.
func chars(least, most int) condition {
	return func(s Site, n *jsontree.Node, label string) {
		if c := utf8.RuneCountInString(n.Str()); n.Is(jsontree.String) && (c < least || c > most) {
			limits := fmt.Sprintf("%d to %d", least, most)
			if least == 0 {
				limits = fmt.Sprintf("at most %d", most)
			}
			s.Report(fmt.Sprintf("%s must be %s characters long, not %d", label, limits, c), "", n)
		}
	}
}

// like requires a string that matches; the words describe the pattern.
func like(p pattern, form, hint string) condition {
	return valid(func(s string) bool { return p().MatchString(s) }, form, hint)
}

// valid requires a string for which a function is true; the words describe it.
func valid(isValid func(string) bool, form, hint string) condition {
	return func(s Site, n *jsontree.Node, label string) {
		if n.Is(jsontree.String) && !isValid(n.Text) {
			s.Report(fmt.Sprintf("%s must be %s, not %s", label, form, quote(n.Text)), hint, n)
		}
	}
}

// absent requires that the member is absent, and gives the reason.
func absent(why, hint string) condition {
	return func(s Site, n *jsontree.Node, label string) {
		if n.Is(jsontree.Null) || n.Is(jsontree.Array) && n.Len() == 0 {
			return // as good as absent: describe-job-definitions prints empty lists
		}
		if hint == "" {
			hint = "remove it"
		}
		s.ReportFix(s.remove(n), fmt.Sprintf("%s %s", label, why), hint, key(n))
	}
}

// absentTrue is absent for a boolean, which may be false.
func absentTrue(why, hint string) condition {
	return func(s Site, n *jsontree.Node, label string) {
		if isTrue(n) {
			s.ReportFix(s.remove(n), fmt.Sprintf("%s %s", label, why), hint, n)
		}
	}
}

// atMost limits the number of elements of a list.
func atMost(most int, hint string) condition {
	return func(s Site, n *jsontree.Node, label string) {
		if n.Len() <= most {
			return
		}
		// The first element beyond the limit is marked, not the whole list.
		i := 0
		for c := range n.Children() {
			if i++; i == most+1 {
				if n.Is(jsontree.Object) {
					c = key(c)
				}
				s.Report(fmt.Sprintf("%s has %d entries, and the limit is %d", label, n.Len(), most), hint, c)
			}
		}
	}
}

// filled requires a list that is not empty.
func filled(hint string) condition {
	return func(s Site, n *jsontree.Node, label string) {
		if (n.Is(jsontree.Array) || n.Is(jsontree.Object)) && n.Len() == 0 && s.raw(n).Len() == 0 {
			s.Report(label+" is empty", hint, n)
		}
	}
}

// distinct requires a list whose elements differ in a member, or in their text if
// the member is "".
func distinct(member, hint string) condition {
	return func(s Site, n *jsontree.Node, label string) {
		seen := map[string]bool{}
		for c := range n.Children() {
			if member != "" {
				c = c.Get(member)
			}
			if c == nil || c.Text == "" {
				continue
			}
			// A name and the ARN with that name are the same resource.
			name := batch.Name(c.Text)
			if seen[name] {
				s.Report(fmt.Sprintf("%s occurs twice in %s", quote(name), label), hint, c)
			}
			seen[name] = true
		}
	}
}

// exclusive allows only one of the members.
func exclusive(members ...string) condition {
	return func(s Site, n *jsontree.Node, label string) {
		first := ""
		for _, name := range members {
			m := n.Get(name)
			switch {
			case m == nil:
			case first == "":
				first = name
			default:
				s.ReportFix(nil, fmt.Sprintf("%s and %s exclude each other", first, name), "keep one of them", key(m))
				return
			}
		}
	}
}
