package bench

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/combin"
)

// RankTest is the outcome of a Mann-Whitney U test.
type RankTest struct {
	// U counts the pairs in which the value of the first sample is the greater, equal
	// ones as halves.
	U float64 `json:"u"`
	// P is the probability, if both samples came from one distribution, of a U at least
	// as far out, on both sides.
	P float64 `json:"p"`
	// Exact says that P was counted, not approximated.
	Exact bool `json:"exact"`
}

// exactLimit is the size of both samples together up to which P is counted. The
// number of splits, at most C(50, 25), is exact in a float64.
const exactLimit = 50

// MannWhitney tests whether values of one sample tend to be greater than those of the
// other (Mann and Whitney, Annals of Mathematical Statistics 18, 1947). Up to
// exactLimit values, P comes from all splits of the pooled values, ties included,
// counted with the shift algorithm (Streitberg and Röhmel, Statistical Software
// Newsletter 12, 1986); above it, from the normal approximation with corrections for
// ties and continuity (Lehmann, Nonparametrics, 1975, section 1.4). P is twice the
// smaller tail. An empty sample gives 1.
func MannWhitney(a, b []float64) RankTest {
	n, m := len(a), len(b)
	if n == 0 || m == 0 {
		return RankTest{P: 1, Exact: true}
	}
	ranks, ties := doubledRanks(a, b)
	sum := 0
	for _, r := range ranks[:n] {
		sum += r
	}
	test := RankTest{U: float64(sum)/2 - float64(n*(n+1))/2, Exact: n+m <= exactLimit}
	if test.Exact {
		test.P = splitTail(ranks, n, sum)
	} else {
		test.P = normalTail(test.U, float64(n), float64(m), ties)
	}
	return test
}

// doubledRanks returns twice the rank of each value of a and then of b, so that the
// mean rank of equal values is whole, and the sum of t³ - t over runs of t equal ones.
func doubledRanks(a, b []float64) (ranks []int, ties float64) {
	all := slices.Concat(a, b)
	order := make([]int, len(all))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(all[i], all[j]) })
	ranks = make([]int, len(all))
	for low := 0; low < len(order); {
		high := low + 1
		for high < len(order) && all[order[high]] == all[order[low]] {
			high++
		}
		for _, i := range order[low:high] {
			ranks[i] = low + 1 + high // twice the mean of low+1 to high
		}
		t := float64(high - low)
		ties += t*t*t - t
		low = high
	}
	return ranks, ties
}

// splitTail counts, over all ways to choose n of the ranks, the sums that are at most
// and at least the one seen.
func splitTail(ranks []int, n, seen int) float64 {
	total := 0
	for _, r := range ranks {
		total += r
	}
	ways := make([][]float64, n+1) // ways[k][s]: choices of k ranks with the sum s
	for k := range ways {
		ways[k] = make([]float64, total+1)
	}
	ways[0][0] = 1
	for _, r := range ranks {
		for k := n; k > 0; k-- {
			for s := total; s >= r; s-- {
				ways[k][s] += ways[k-1][s-r]
			}
		}
	}
	var below, above, all float64
	for s, count := range ways[n] {
		all += count
		if s <= seen {
			below += count
		}
		if s >= seen {
			above += count
		}
	}
	return min(1, 2*min(below, above)/all)
}

// normalTail returns the two-sided P of U in the normal approximation. ties comes
// from doubledRanks.
func normalTail(u, n, m, ties float64) float64 {
	all := n + m
	variance := n * m / 12 * (all + 1 - ties/(all*(all-1)))
	if variance <= 0 { // all values are equal
		return 1
	}
	z := max(math.Abs(u-n*m/2)-0.5, 0) / math.Sqrt(variance)
	return 2 * normalAbove(z)
}

// leastP is the smallest P that samples of these sizes can reach.
func leastP(n, m int) float64 {
	return math.Min(1, 2*math.Exp(-combin.LogGeneralizedBinomial(float64(n+m), float64(n))))
}

// holm adjusts the P values of several tests so that all their findings together are
// wrong at most as often as one was to be (Holm, A Simple Sequentially Rejective
// Multiple Test Procedure, Scandinavian Journal of Statistics 6, 1979).
func holm(p []float64) []float64 {
	order := make([]int, len(p))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(p[i], p[j]) })
	adjusted := make([]float64, len(p))
	least := 0.0
	for rank, i := range order {
		least = max(least, min(1, float64(len(p)-rank)*p[i]))
		adjusted[i] = least
	}
	return adjusted
}
