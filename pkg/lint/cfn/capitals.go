package cfn

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/lint/shape"
)

// asTemplate rewrites a problem of a request for the template: members have capital
// letters, the JSON fix does not apply, and a text may lack Fn::Sub.
func (t *template) asTemplate(d diag.Diagnostic) diag.Diagnostic {
	d.Fix = nil
	generic := d.Rule == document.RuleMissingMember || d.Rule == document.RuleUnknownMember ||
		strings.Contains(d.Message, " needs ")
	d.Hint = inCapitals(d.Hint, generic)
	if d.Rule != document.RuleUnknownMember { // which quotes the name that is in the template
		d.Message = inCapitals(d.Message, generic)
	}
	if hint := referenceHints[d.Rule]; hint != "" && t.refers(d) {
		d.Hint = hint
	} else if d.Source != nil && d.Severity == diag.Error && (d.Hint == "" ||
		strings.HasPrefix(d.Hint, "fill in the placeholder")) {
		d.Hint = cmp.Or(hintOfSub(d.Source.Text[d.Span.Start:d.Span.End]), d.Hint)
	}
	return d
}

// referenceHints are the hints of rules that need an ARN, where a reference returns a name.
var referenceHints = map[string]string{
	"ce-managed-instances-arns": "use Fn::GetAtt with the attribute Arn: Ref returns the name",
	"role-arn-format":           "use Fn::GetAtt with the attribute Arn: Ref returns the name of the role",
	"ce-service-role-name":      "use Fn::GetAtt with the attribute Arn: Ref returns the name of the role",
	"ce-eks-cluster-arn":        "use Fn::GetAtt with the attribute Arn: Ref returns the name of the cluster",
}

// refers reports whether a problem is at a reference to a resource of the template.
func (t *template) refers(d diag.Diagnostic) bool {
	if d.Source == nil {
		return false
	}
	words := strings.FieldsFunc(d.Source.Text[d.Span.Start:d.Span.End],
		func(c rune) bool { return !unicode.IsLetter(c) && !unicode.IsDigit(c) })
	return (slices.Contains(words, "Ref") || slices.Contains(words, "Sub")) &&
		slices.ContainsFunc(words, func(word string) bool { return t.values.Resource(word) != nil })
}

// hintOfSub returns the hint about a rejected text that has ${ in it, or "".
func hintOfSub(text string) string {
	switch {
	case strings.Contains(text, "${!"):
		return "Fn::Sub keeps ${!...} as text: leave out the !"
	case strings.Contains(text, "${") && !strings.Contains(text, "Sub"):
		return "to insert a value, use Fn::Sub"
	}
	return ""
}

// memberName matches what can be the name of a member, in quotes or not.
var memberName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`"?[a-z][A-Za-z0-9]*"?:?`) })

// namesAfterNeeds matches "needs" with the list of names after it.
var namesAfterNeeds = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^ needs [\w."]+((,| and| or|, and|, or) [\w."]+)*`) })

// inCapitals gives members in a sentence their capital letters: names that cannot be
// another word, names in a path, names in the form "name":, the first word, and the second
// name of "vcpus and memory". With all, it also changes names in quotes and names after "needs".
func inCapitals(sentence string, all bool) string {
	needs, end := strings.Index(sentence, " needs "), 0
	if needs >= 0 {
		end = needs + len(namesAfterNeeds().FindString(sentence[needs:]))
	}
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
		if inPath || isAnd && memberNames()[first] || strings.ToLower(bare) != bare || strings.HasSuffix(name, `":`) ||
			at[0] == 0 && !quoted || all && (quoted || at[0] > needs && at[0] < end) {
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
	visit(shape.Of(document.KindSubmitJob))
	visit(shape.Of(document.KindUpdateComputeEnvironment))
	return names
})

// capital returns the name of a member as CloudFormation spells it.
func capital(member string) string { return strings.ToUpper(member[:1]) + member[1:] }
