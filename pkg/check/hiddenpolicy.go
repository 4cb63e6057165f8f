package check

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
)

// RuleHidesPolicy warns that a platform file replaces another one whose policy would apply without it.
const RuleHidesPolicy = "platform-hides-policy"

// hiddenPolicies warns about each platform file that governs a document in place of another one: of one in a directory
// above, or of the nearest one if the user named a file. It names the rules of the other policy that the file does not
// have with the same value. A waiver of the file that hides the policy has no effect.
func (c *Checker) hiddenPolicies() (problems diag.List) {
	type pair struct{ by, hidden string }
	seen := map[pair]bool{}
	for _, dir := range slices.Sorted(maps.Keys(c.byDirectory)) {
		p := c.byDirectory[dir]
		if p.File == nil || p.Content == nil {
			continue
		}
		for path := range c.platformsAbove(dir) {
			if p.is(path) || seen[pair{p.Path, path}] {
				continue
			}
			seen[pair{p.Path, path}] = true
			problems = append(problems, p.hides(path)...)
		}
	}
	return problems
}

// platformsAbove yields the platform files of a directory and of the directories above it, the nearest first.
func (c *Checker) platformsAbove(dir string) func(yield func(path string) bool) {
	return func(yield func(path string) bool) {
		for {
			path, ok := c.options.FindPlatform(dir)
			if !ok || !yield(path) {
				return
			}
			absolute, err := filepath.Abs(path)
			if err != nil {
				return
			}
			at := filepath.Dir(absolute)
			if dir = filepath.Dir(at); dir == at {
				return
			}
		}
	}
}

// hides returns the warning that the file hides the policy of another one; nothing if it hides no rule.
func (p *Platform) hides(path string) diag.List {
	at := p.File.Root.Get("policy")
	if at == nil {
		at = p.File.Root
	}
	src, _ := at.Location()
	d := diag.Diagnostic{Severity: diag.Warning, Rule: RuleHidesPolicy, Source: src, Span: document.Opening(at)}
	var lost []string
	other, err := ReadPlatform(path, InstanceTypes{Unneeded: true})
	if err == nil && other.Content != nil {
		for _, rule := range other.Content.Policy.Rules() {
			if own := p.Content.Policy.Node.Get(rule.Name); own == nil ||
				string(own.AppendJSON(nil)) != string(rule.AppendJSON(nil)) {
				lost = append(lost, rule.Name)
			}
		}
	}
	switch {
	case len(lost) > 0:
	case err == nil && !other.Problems.HasErrors():
		return nil
	default:
		d.Message = fmt.Sprintf("%s replaces %s, which has errors, so its policy is unknown", p.Path, path)
		d.Hint = "check that file: batchctl validate " + path
		return diag.List{d}
	}
	d.Message = fmt.Sprintf("%s replaces %s, so these rules of its policy do not apply: %s", p.Path, path,
		strings.Join(lost, ", "))
	d.Hint = other.Content.Policy.Hint(`copy them to "policy" of the nearer file, or remove that file`)
	return diag.List{d}
}
