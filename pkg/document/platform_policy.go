package document

import (
	"slices"
	"strings"

	"github.com/batchctl/batchctl/pkg/jsontree"
)

// Hint adds the contact and the way to get a waiver to the hint of a problem.
func (p Policy) Hint(hint string) string {
	parts := []string{}
	for _, part := range [...]struct{ lead, text string }{{"", hint}, {"ask ", p.Owner}, {"for a waiver: ", p.Waiver}} {
		if part.text != "" {
			parts = append(parts, part.lead+part.text)
		}
	}
	return strings.Join(parts, "; ")
}

// Rules returns the members of the policy that limit jobs, in their order.
func (p Policy) Rules() (rules []*jsontree.Node) {
	for m := range p.Node.Children() {
		switch m.Name {
		case "owner", "waiver", "$comment":
		default:
			rules = append(rules, m)
		}
	}
	return rules
}

// AllowsImage reports whether an image may run. The * of a registry does not match a
// slash: evil.example/x.dkr.ecr.us-east-1.amazonaws.com/y is not in a registry of ECR.
func (p Policy) AllowsImage(ref string) bool {
	return len(p.AllowedImages) == 0 || slices.ContainsFunc(p.AllowedImages, func(pattern string) bool {
		registry, path, ok := strings.Cut(pattern, "/")
		if !ok || registry == "*" {
			return Matches(pattern, ref)
		}
		host, name, ok := strings.Cut(ref, "/")
		return ok && Matches(registry, host) && Matches(path, name)
	})
}

// AllowsQueue reports whether jobs may go to the queue.
func (p Policy) AllowsQueue(q Queue) bool {
	return len(p.AllowedQueues) == 0 || slices.ContainsFunc(p.AllowedQueues, func(pattern string) bool {
		return q.Alias != "" && Matches(pattern, q.Alias) || Matches(pattern, q.Name) || allowsQueue(pattern, q.Name)
	})
}

// AllowsQueue reports whether jobs may go to the queue of that alias, name or ARN.
func (p *Platform) AllowsQueue(name string) bool {
	q, ok := p.Queue(name)
	if !ok {
		q = Queue{Name: name}
	}
	return p.Policy.AllowsQueue(q) || p.Policy.AllowsQueue(Queue{Name: name})
}

// allowsQueue compares names and ARNs as sameQueue does, so that a name allows
// the ARN of such a queue and the reverse.
func allowsQueue(pattern, queue string) bool {
	a, b := queueParts(pattern), queueParts(queue)
	for i := range a {
		if !Matches(a[i], b[i]) && a[i] != "" && b[i] != "" {
			return false
		}
	}
	return Matches(a[len(a)-1], b[len(b)-1])
}

// AllowsRole reports whether one of the patterns matches a role: an ARN with the name at
// its end, or only the name.
func AllowsRole(patterns []string, role string) bool {
	name := role[strings.LastIndexByte(role, '/')+1:]
	return len(patterns) == 0 || slices.ContainsFunc(patterns, func(pattern string) bool {
		return Matches(pattern, role) || !strings.Contains(pattern, ":") && Matches(pattern, name)
	})
}

// Matches reports whether s matches the pattern, in which * matches any sequence of
// characters.
func Matches(pattern, s string) bool {
	head, tail, star := strings.Cut(pattern, "*")
	if !star {
		return s == pattern
	}
	rest, ok := strings.CutPrefix(s, head)
	if !ok {
		return false
	}
	parts := strings.Split(tail, "*")
	for _, part := range parts[:len(parts)-1] {
		i := strings.Index(rest, part)
		if i < 0 {
			return false
		}
		rest = rest[i+len(part):]
	}
	return strings.HasSuffix(rest, parts[len(parts)-1])
}
