package diag

import "slices"

// change replaces the lines [a0, a1) of one text by [b0, b1) of the other.
type change struct{ a0, a1, b0, b1 int }

// findChanges returns the changes from a to b, in order and without overlaps.
func findChanges(a, b []string) []change {
	lead := 0
	for lead < min(len(a), len(b)) && a[lead] == b[lead] {
		lead++
	}
	n, m := len(a), len(b)
	for n > lead && m > lead && a[n-1] == b[m-1] {
		n, m = n-1, m-1
	}
	var changes []change
	at := change{lead, lead, lead, lead}
	for _, p := range append(myers(a[lead:n], b[lead:m]), pair{n - lead, m - lead}) {
		at.a1, at.b1 = lead+p.a, lead+p.b
		if at.a0 < at.a1 || at.b0 < at.b1 {
			changes = append(changes, at)
		}
		at.a0, at.b0 = at.a1+1, at.b1+1
	}
	return changes
}

// pair is a line of each text, counted from 0; the two are equal.
type pair struct{ a, b int }

// maxEdits bounds the search, whose time and memory grow with the square. Texts that
// differ more are shown as replaced.
const maxEdits = 2000

// myers returns the longest common subsequence of a and b as pairs in order, or
// none if more than maxEdits lines differ. It is the greedy algorithm of E.
// Myers, An O(ND) Difference Algorithm and Its Variations, 1986: after d edits,
// reach holds for every diagonal k = x-y the furthest x that can be reached.
func myers(a, b []string) []pair {
	limit := min(len(a)+len(b), maxEdits)
	reach := make([]int32, 2*limit+3)
	zero := limit + 1 // the index of diagonal 0
	var history [][]int32
	for d := 0; d <= limit; d++ {
		history = append(history, slices.Clone(reach[zero-d:zero+d+1]))
		for k := -d; k <= d; k += 2 {
			x := step(reach, zero, k, d)
			for x < len(a) && x-k < len(b) && a[x] == b[x-k] {
				x++
			}
			reach[zero+k] = int32(x)
			if x >= len(a) && x-k >= len(b) {
				return trace(history, len(a), len(b))
			}
		}
	}
	return nil
}

// step returns where edit d arrives on diagonal k.
func step(reach []int32, zero, k, d int) int {
	if inserts(reach, zero, k, d) {
		return int(reach[zero+k+1])
	}
	return int(reach[zero+k-1]) + 1
}

// inserts reports whether edit d reaches diagonal k by a line of b from the diagonal
// above, and not by dropping a line of a from the one below: whichever is further.
func inserts(reach []int32, zero, k, d int) bool {
	return k == -d || k != d && reach[zero+k-1] < reach[zero+k+1]
}

// trace walks back from the ends of the texts and collects the equal lines.
// history[d] holds the diagonals -d to d as they were before edit d.
func trace(history [][]int32, x, y int) []pair {
	var back []pair
	for d := len(history) - 1; d >= 0; d-- {
		start, k := 0, x-y
		if d > 0 {
			start = step(history[d], d, k, d)
		}
		for ; x > start; x, y = x-1, y-1 {
			back = append(back, pair{x - 1, y - 1})
		}
		switch {
		case d == 0:
		case inserts(history[d], d, k, d):
			y--
		default:
			x--
		}
	}
	slices.Reverse(back)
	return back
}
