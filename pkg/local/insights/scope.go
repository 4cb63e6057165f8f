package insights

// scope has the fields that an expression can name.
type scope struct {
	query *Query
	// defined has the slots of the fields that commands defined so far, by name.
	defined map[string]int
	// aggregated is true after stats: then events and their fields are gone.
	aggregated bool
}

// reference returns how to read a field.
func (s *scope) reference(name string) func(*row) value {
	if slot, ok := s.defined[name]; ok {
		return func(r *row) value { return r.values[slot] }
	}
	if s.aggregated {
		return func(*row) value { return value{} }
	}
	if f := s.query.system(name); f != nil {
		return f
	}
	q := s.query
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
func (s *scope) define(name string) (slot int) {
	slot = s.query.slot()
	s.defined[name] = slot
	return slot
}
