package matrix

import "github.com/batchctl/batchctl/workloads/gpu"

// precision is how a product is rounded, as unit roundoffs: of the operands on their
// way into the multiplication, of the sum, and of the sum on its way into C.
type precision struct {
	operand, sum, result float64
	// share is the most that may be lost of a product all in all, as a share of its norm.
	share float64
}

// precisions are those of --type. The operands of bfloat16 are rounded before they are
// operands, so only the result is. Tensor cores cut off what float32 rounds, which
// makes their sums half as precise.
//
// The shares are some three times what rounding to nearest gives with random
// operands: 3e-4 of TF32, 1.6e-3 of bfloat16.
var precisions = map[gpu.Precision]precision{
	gpu.Float64:  {sum: unit64},
	gpu.Float32:  {sum: 0x1p-24},
	gpu.TF32:     {operand: 0x1p-11, sum: 0x1p-23, share: 1e-3},
	gpu.BFloat16: {sum: 0x1p-23, result: 0x1p-8, share: 1e-2},
}

// limits are how far a right product may be off.
type limits struct {
	// An element may be off by element + relative |value|.
	element, relative float64
	// share is the most that many elements together may be off, as a share of the
	// norm of what they should be; 0 asks for nothing.
	share float64
}

// shareElements is from how many elements on their norm is held to a share. In fewer
// the sums may cancel, and little of the norm is left.
const shareElements = 1024

// limitsOf are those of A B at a precision.
//
// With u the unit roundoff of the sum, 2 u K max|A| max|B| covers a sum of K
// products and its reference: each of K additions rounds a partial sum, and although
// the partial sums of operands of random sign grow like the root of K, the
// roundings have random signs too, so that they come to a fraction of u K products,
// in whatever order they are added.
//
// Rounding both operands by at most v changes a product by at most 2v + v² of it,
// whatever the signs: K times that of the largest product is the worst case.
// It is far above what random operands give, which is why the share is asked for as well.
// Rounding the result by at most w adds w of the element itself and of its error.
func limitsOf[T Float](kind gpu.Precision, a, b Matrix[T]) limits {
	p := precisions[kind]
	product := 2*p.operand + p.operand*p.operand + 2*p.sum
	return limits{
		element:  product * float64(a.Cols) * maxAbs(a) * maxAbs(b) * (1 + p.result),
		relative: p.result, share: p.share,
	}
}
