package measure

// Near returns the allowed name that you most likely meant, or "" if none is similar. About one
// letter in three may differ, but none in a name of three, so that gpu does not become cpu.
func Near(word string, allowed []string) string {
	best, least := "", max(len(word)-1, 0)/3+1
	for _, candidate := range allowed {
		if d := distance(word, candidate); d < least {
			best, least = candidate, d
		}
	}
	return best
}

// distance is the Levenshtein distance in bytes, computed with one row of the table.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
