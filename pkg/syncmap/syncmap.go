// Package syncmap is a map that goroutines share.
//
// The standard library's sync.Map is made of generic types, which the compiler compiles again in each package that uses
// it or a struct with it: half a megabyte of object files.
package syncmap

import "sync"

// Map is a map that several goroutines may use at the same time. The zero value is empty.
type Map[K comparable, V any] struct {
	mu     sync.RWMutex
	values map[K]V
}

// Load returns the value of a key. ok is false if there is none.
func (m *Map[K, V]) Load(key K) (value V, ok bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	value, ok = m.values[key]
	return value, ok
}

// Store sets the value of a key.
func (m *Map[K, V]) Store(key K, value V) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.values == nil {
		m.values = map[K]V{}
	}
	m.values[key] = value
}
