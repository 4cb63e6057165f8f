package lint

// fact is information about the files of a run that several rules need. It is computed on first use.
type fact[T any] struct {
	slot int
	find func(p *Pass, old T) T
}

// facts counts the facts, each of which has a slot in every Pass.
var facts int

// newFact declares a fact. The function computes it, and may reuse the memory of its value in the previous run.
func newFact[T any](find func(p *Pass, old T) T) *fact[T] {
	facts++
	return &fact[T]{slot: facts - 1, find: find}
}

// of returns the fact about the files of a pass.
func (f *fact[T]) of(p *Pass) T {
	if p.facts == nil {
		p.facts = make([]expiring, facts)
	}
	found, _ := p.facts[f.slot].(*foundFact[T])
	if found == nil {
		found = &foundFact[T]{}
		p.facts[f.slot] = found
	}
	if !found.known {
		found.value = f.find(p, found.value)
		found.known = true
	}
	return found.value
}

// foundFact is the value of a fact in one Pass. After expire, the value is outdated, but
// its memory may be used again.
type foundFact[T any] struct {
	value T
	// known reports whether the value belongs to the current run.
	known bool
}

// expire marks the value as that of an earlier run.
func (f *foundFact[T]) expire() { f.known = false }

// emptied returns the memory of a map without its entries.
func emptied[K comparable, V any](old map[K]V) map[K]V {
	if old == nil {
		return map[K]V{}
	}
	clear(old)
	return old
}
