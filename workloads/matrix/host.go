package matrix

import (
	"errors"

	"github.com/batchctl/batchctl/workloads/gpu"
	"github.com/batchctl/batchctl/workloads/measure"
)

// hostBytes is the host memory of the matrices in bytes. bfloat16 needs a float32 matrix for the
// check and a copy for the cards.
func hostBytes(p product) int64 {
	width := p.kind.Bytes()
	if p.kind == gpu.BFloat16 {
		width += gpu.Float32.Bytes()
	}
	return 3 * int64(p.size) * int64(p.size) * width
}

// pinnable reports whether the matrices of a product may be pinned. The system cannot move or swap
// pinned pages, so at least half of the memory is left unpinned.
func pinnable(p product, memory measure.Memory) bool {
	return memory.Bytes == 0 || 2*hostBytes(p) <= memory.Bytes
}

// cardsBytes is the host memory of a product in bytes, with the pinned staging memory for copies of
// matrices that are not pinned.
func cardsBytes(p product, plans []plan, memory measure.Memory) int64 {
	total := hostBytes(p)
	for _, plan := range plans {
		if !pinnable(p, memory) {
			total += plan.slots() * (plan.blockA() + plan.blockC()) * plan.width
		}
	}
	return total
}

// allocate creates the matrices, pinned if that is allowed and the driver has the memory.
func (e *fleet[T]) allocate() (pinned bool, err error) {
	n, width := e.product.size, e.product.kind.Bytes()
	size := int64(n) * int64(n) * width
	if pinned = pinnable(e.product, e.memory); pinned {
		if pinned, err = e.pin(size); err != nil {
			return false, err
		}
	}
	matrices := []*Matrix[T]{&e.c, &e.a, &e.b}
	for i, m := range matrices {
		var data []byte
		if pinned {
			data = e.pinned[i].Data
		} else {
			data = bytesOf(make([]float64, divide(int(size), 8)))[:size] // for any element's alignment
		}
		e.images[i] = image{data: data, cols: n, width: width}
		if e.product.kind == gpu.BFloat16 {
			*m = New[T](n, n)
		} else {
			*m = Matrix[T]{Rows: n, Cols: n, Stride: n, Data: elementsOf[T](data)}
		}
	}
	return pinned, nil
}

// pin allocates pinned memory for all three matrices, or for none if there is not enough.
func (e *fleet[T]) pin(size int64) (pinned bool, err error) {
	err = e.cards[0].Do(func() error {
		for range e.images {
			m, err := e.cards[0].AllocHost(size)
			if err != nil {
				return err
			}
			e.pinned = append(e.pinned, m)
		}
		return nil
	})
	if refused, ok := errors.AsType[*gpu.Error](err); ok && refused.Code == gpu.CodeOutOfMemory {
		return false, e.unpin()
	}
	return err == nil, err
}

func (e *fleet[T]) unpin() error {
	err := e.cards[0].Do(func() error {
		var errs []error
		for _, m := range e.pinned {
			errs = append(errs, m.Free())
		}
		return errors.Join(errs...)
	})
	e.pinned = nil
	return err
}
