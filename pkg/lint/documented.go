package lint

import (
	"cmp"
	"slices"
	"sync"
)

// Documented returns every rule that can have a problem: first those of the reader of
// documents, which have no Run, and then those of Rules. The list is built once.
func Documented() []Rule { return slices.Clone(documented()) }

// documented is Documented without the copy.
var documented = sync.OnceValue(func() []Rule { return slices.Concat(documentRules(), all()) })

// Lookup returns the rule of that name, or of that former name.
func Lookup(name string) (Rule, bool) {
	i, ok := byName()[currentName(name)]
	if !ok {
		return Rule{}, false
	}
	return documented()[i], true
}

// byName holds the index of each rule in documented.
var byName = sync.OnceValue(func() map[string]int {
	indexes := map[string]int{}
	for i, r := range documented() {
		indexes[r.Name] = i
	}
	return indexes
})

// formerNames maps the names of rules that were merged to the names of the rules that check the same now. They stay
// valid: people wrote them into waivers and baselines.
var formerNames = map[string]string{
	"submit-env-name-reserved-prefix":    "env-name-reserved-prefix",
	"submit-legacy-override-fargate":     "fargate-no-legacy-resources",
	"submit-override-resource-type-enum": "resource-type-enum",
	"submit-parameter-unknown":           "parameter-unused",
	"submit-priority-override-range":     "scheduling-priority-range",
	"submit-retry-attempts-range":        "retry-attempts-range",
	"submit-tags-max-50":                 "tags-max-50",
	"submit-timeout-min":                 "timeout-min",

	"fargate-memory-for-0-25-vcpu": "fargate-memory-for-vcpu",
	"fargate-memory-for-0-5-vcpu":  "fargate-memory-for-vcpu",
	"fargate-memory-for-1-vcpu":    "fargate-memory-for-vcpu",
	"fargate-memory-for-2-vcpu":    "fargate-memory-for-vcpu",
	"fargate-memory-for-4-vcpu":    "fargate-memory-for-vcpu",
	"fargate-memory-for-8-vcpu":    "fargate-memory-for-vcpu",
	"fargate-memory-for-16-vcpu":   "fargate-memory-for-vcpu",
	"fargate-memory-for-32-vcpu":   "fargate-memory-for-vcpu",
}

// currentName returns the name that a rule has now. It returns any other name unchanged.
func currentName(rule string) string { return cmp.Or(formerNames[rule], rule) }

// FormerNames returns the names of the rules that were merged into a rule.
func FormerNames(rule string) (names []string) {
	for former, current := range formerNames {
		if current == rule {
			names = append(names, former)
		}
	}
	slices.Sort(names)
	return names
}
