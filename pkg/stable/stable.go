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
	order := positions(len(s), func(i, j int) int { return compare(s[i], s[j]) })
	sorted := make(S, len(s))
	for i, from := range order {
		sorted[i] = s[from]
	}
	copy(s, sorted)
}

// positions returns the positions of n elements in sorted order. It is not generic, so only this package compiles the
// algorithm: the compiler compiles a generic function again in each package that calls it.
func positions(n int, compare func(i, j int) int) []int {
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { return cmp.Or(compare(i, j), i-j) })
	return order
}
