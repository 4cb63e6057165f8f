package insights

// reference returns how to read a field.
func (p *parser) reference(name string) func(*row) value {
	if slot, ok := p.defined[name]; ok {
		return func(r *row) value { return r.values[slot] }
	}
	if p.aggregated {
		return func(*row) value { return value{} }
	}
	if f := p.query.system(name); f != nil {
		return f
	}
	q := p.query
	slot, ok := q.discovered[name]
	if !ok {
		slot = q.slot()
		q.discovered[name] = slot
		for i, c := range name {
			if c == '.' {
				q.within[name[:i]] = true
			}
		}
	}
	return func(r *row) value {
		if !r.loaded {
			r.load(q)
		}
		return r.values[slot]
	}
}

// define gives a new slot to a field, which hides an earlier field with its name.
func (p *parser) define(name string) (slot int) {
	slot = p.query.slot()
	p.defined[name] = slot
	return slot
}
