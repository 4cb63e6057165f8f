package matrix

import "github.com/batchctl/batchctl/workloads/gpu"

// precision is the rounding of a product, as unit roundoffs: of the operands before the
// multiplication, of the sum, and of the result in C.
type precision struct {
	operand, sum, result float64
	// share is the largest allowed error of the whole product, relative to its norm.
	share float64
}

// precisions are the types of --type. The operands of bfloat16 are rounded before the product, so
// only its result is rounded. Tensor cores truncate where float32 rounds, which makes their sums
// half as precise.
//
// The shares are some three times the error of rounding to nearest with random operands: 3e-4 for
// TF32, 1.6e-3 for bfloat16.
var precisions = map[gpu.Precision]precision{
	gpu.Float64:  {sum: unit64},
	gpu.Float32:  {sum: 0x1p-24},
	gpu.TF32:     {operand: 0x1p-11, sum: 0x1p-23, share: 1e-3},
	gpu.BFloat16: {sum: 0x1p-23, result: 0x1p-8, share: 1e-2},
}

// limits are the largest errors of a correct product.
type limits struct {
	// An element may be off by element + relative |value|.
	element, relative float64
	// share is the largest error of many elements together, relative to the norm of their expected
	// values; 0 means no limit.
	share float64
	// factor is the largest |element| of A.
	factor float64
}

// shareElements is the fewest elements whose error is compared with share. In fewer, sums may
// cancel and leave little of the norm.
const shareElements = 1024

// limitsOf returns the limits of A B at a precision.
//
// With u the unit roundoff of the sum, 2 u K max|A| max|B| covers a sum of K products and its
// reference. Each of K additions rounds a partial sum. The partial sums of operands of random sign
// grow like the root of K, and the roundings have random signs too, so that they add up to a
// fraction of u K products, in any order of addition.
//
// Rounding both operands by at most v changes a product by at most 2v + v² of it, whatever the
// signs: K times that of the largest product is the worst case. It is far above the error of random
// operands, which is why share is checked as well. Rounding the result by at most w adds w of the
// element itself and of its error.
func limitsOf[T Float](kind gpu.Precision, a, b Matrix[T]) limits {
	p := precisions[kind]
	product := 2*p.operand + p.operand*p.operand + 2*p.sum
	factor := maxAbs(a)
	return limits{
		element:  product * float64(a.Cols) * factor * maxAbs(b) * (1 + p.result),
		relative: p.result, share: p.share, factor: factor,
	}
}
