package shape

import (
	"maps"
	"slices"
	"strings"
)

// separators are what Fold removes.
var separators = strings.NewReplacer("_", "", "-", "")

// Fold returns a name without case and separators, so that the words of other tools compare equal.
func Fold(name string) string {
	return strings.ToLower(separators.Replace(name))
}

// deepest is how many levels below an object a name is looked for.
const deepest = 3

// names returns the index of the members at and below an object: folded names to the
// shortest paths without lists, of which there can be several.
func (s *Shape) names() map[string][][]string {
	s.indexed.Do(func() {
		s.index = map[string][][]string{}
		type step struct {
			shape *Shape
			path  []string
		}
		level := []step{{shape: s}}
		for range deepest {
			var next []step
			for _, at := range level {
				for _, name := range slices.Sorted(maps.Keys(at.shape.Members)) {
					path := append(slices.Clone(at.path), name)
					folded := Fold(name)
					if known := s.index[folded]; known == nil || len(known[0]) == len(path) {
						s.index[folded] = append(known, path)
					}
					next = append(next, step{at.shape.Members[name], path})
				}
			}
			level = next
		}
	})
	return s.index
}

// Folded returns the member whose folded name is this one, or "".
func (s *Shape) Folded(folded string) string {
	if paths := s.names()[folded]; len(paths) > 0 && len(paths[0]) == 1 {
		return paths[0][0]
	}
	return ""
}

// Path returns the shortest path to a member of that name, folded, in or below the object.
// Of several paths, it prefers one along a member that the object has. It returns nil if
// there is no such member.
func (o Object) Path(name string) []string {
	paths := o.Shape.names()[Fold(name)]
	for _, path := range paths {
		if o.Node.Get(o.spelling(path[0])) != nil {
			return path
		}
	}
	if len(paths) == 0 {
		return nil
	}
	return paths[0]
}
