package cfn

import (
	"cmp"
	"maps"
	"regexp"
	"strings"
	"sync"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/lint/shape"
)

// asTemplate rewrites a problem of a request for the template: members have capital
// letters, the JSON fix does not apply, and a text may lack Fn::Sub.
func asTemplate(d diag.Diagnostic) diag.Diagnostic {
	d.Fix = nil
	generic := d.Rule == document.RuleMissingMember || d.Rule == document.RuleUnknownMember || strings.Contains(d.Message, " needs ")
	d.Message, d.Hint = inCapitals(d.Message, generic), inCapitals(d.Hint, generic)
	if d.Source != nil && d.Severity == diag.Error && (d.Hint == "" || strings.HasPrefix(d.Hint, "fill in the placeholder")) {
		d.Hint = cmp.Or(hintOfSub(d.Source.Text[d.Span.Start:d.Span.End]), d.Hint)
	}
	return d
}

// hintOfSub returns the hint about a rejected text that has ${ in it, or "".
func hintOfSub(text string) string {
	switch {
	case strings.Contains(text, "${!"):
		return "Fn::Sub keeps ${!...} as text: leave out the !"
	case strings.Contains(text, "${"):
		return "to insert a value, use Fn::Sub"
	}
	return ""
}

// memberName matches what can be the name of a member, in quotes or not.
var memberName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`"?[a-z][A-Za-z0-9]*"?:?`) })

// inCapitals gives members in a sentence their capital letters: names that cannot be
// another word, names in a path, names in the form "name":, the first word, and the second
// name of "vcpus and memory". With all, it also changes names in quotes and names after "needs".
func inCapitals(sentence string, all bool) string {
	needs := strings.Index(sentence, " needs ")
	var out strings.Builder
	done := 0
	for _, at := range memberName().FindAllStringIndex(sentence, -1) {
		name := sentence[at[0]:at[1]]
		bare, quoted := strings.Trim(name, `":`), name[0] == '"'
		apart := at[0] == 0 || quoted || strings.IndexByte(" ([,.", sentence[at[0]-1]) >= 0
		if !apart || !memberNames()[bare] {
			continue
		}
		inPath := at[0] > 1 && sentence[at[0]-1] == '.' && sentence[at[0]-2] != ' '
		first, isAnd := strings.CutSuffix(sentence[:at[0]], " and ")
		if inPath || isAnd && memberNames()[first] || strings.ToLower(bare) != bare || strings.HasSuffix(name, `":`) || at[0] == 0 && !quoted || all && (quoted || needs >= 0 && at[0] > needs) {
			out.WriteString(sentence[done:at[0]] + strings.Replace(name, bare, capital(bare), 1))
			done = at[1]
		}
	}
	return out.String() + sentence[done:]
}

// memberNames are the members of the requests.
var memberNames = sync.OnceValue(func() map[string]bool {
	names, seen := map[string]bool{}, map[*shape.Shape]bool{}
	var visit func(s *shape.Shape)
	visit = func(s *shape.Shape) {
		if s == nil || seen[s] {
			return
		}
		seen[s] = true
		for name, member := range s.Members {
			names[name] = true
			visit(member)
		}
		visit(s.Element)
	}
	for kind := range maps.Values(batchResources) {
		visit(shape.Of(kind))
	}
	return names
})

// capital returns the name of a member as CloudFormation spells it.
func capital(member string) string { return strings.ToUpper(member[:1]) + member[1:] }
