package diag

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Offer is how Instead presents names.
type Offer struct {
	// Near is the format for one near name, such as "did you mean --target %s?".
	Near string
	// Are introduces a list of names, such as "the formats are".
	Are string
	// All says where all names are, if they are too many to list, such as "see batchctl --help".
	All string
}

const (
	// mostListed is the most names that Instead lists, and mostNearest the most of a longer list.
	mostListed  = 9
	mostNearest = 5
)

// Instead says what to write instead of an unknown name: the name that it most likely means, all names if they are few,
// or the nearest of many.
func Instead(name string, names []string, o Offer) string {
	if near := Near(name, slices.Values(names)); near != "" {
		return fmt.Sprintf(o.Near, near)
	}
	if len(names) > 0 && len(names) <= mostListed {
		return o.Are + ": " + strings.Join(names, " ")
	}
	nearest := Nearest(name, names, mostNearest)
	switch {
	case len(nearest) > 0 && o.All != "":
		return "the nearest are: " + strings.Join(nearest, " ") + "; " + o.All
	case len(nearest) > 0:
		return fmt.Sprintf("the nearest of %d are: %s", len(names), strings.Join(nearest, " "))
	case o.All != "" || len(names) == 0:
		return cmp.Or(o.All, o.Are+": none")
	}
	return fmt.Sprintf("%s: %s and %d more", o.Are, strings.Join(names[:mostListed], " "), len(names)-mostListed)
}

// Nearest returns at most n names, the nearest first: those that contain the name, and those of which at least half of
// the letters are right.
func Nearest(name string, names []string, n int) []string {
	type scored struct {
		name  string
		score int
	}
	bare := fold(nil, name)
	var found []scored
	if len(bare) == 0 || len(bare) > maxNear {
		return nil
	}
	for _, candidate := range names {
		other := fold(nil, candidate)
		wrong := typos(bare, other)
		contains := len(bare) >= 3 && strings.Contains(string(other), string(bare)) || len(other) >= 3 &&
			strings.Contains(string(bare), string(other))
		if contains || 2*wrong <= len(bare) {
			found = append(found, scored{candidate, wrong})
		}
	}
	slices.SortFunc(found, func(a, b scored) int {
		return cmp.Or(cmp.Compare(a.score, b.score),
			cmp.Compare(a.name, b.name))
	})
	nearest := make([]string, 0, n)
	for _, f := range found[:min(n, len(found))] {
		nearest = append(nearest, f.name)
	}
	return nearest
}
