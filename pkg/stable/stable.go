// Package stable sorts slices with little code.
//
// The generic functions of package slices are compiled again for each type of element: about 15 functions and 10 KB
// of machine code. For batchctl's types they were 0.7 MB.
package stable

import (
	"cmp"
	"slices"
)

// Sort sorts a slice by a comparison, and keeps the order of equal elements. It sorts positions, so all types share one
// copy of the algorithm, and it moves each element once. It needs memory for a second slice.
func Sort[S ~[]E, E any](s S, compare func(a, b E) int) {
	if len(s) < 2 {
		return
	}
	order := make([]int, len(s))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { return cmp.Or(compare(s[i], s[j]), i-j) })
	sorted := make(S, len(s))
	for i, from := range order {
		sorted[i] = s[from]
	}
	copy(s, sorted)
}
