package syncmap

import (
	"sync"
	"testing"
)

func TestMap(t *testing.T) {
	var m Map[int, int]
	if v, ok := m.Load(1); v != 0 || ok {
		t.Errorf("an empty map has %d, %v", v, ok)
	}
	var writers sync.WaitGroup
	for i := range 8 {
		writers.Go(func() {
			m.Store(i, i*i)
			m.Load(i + 1)
		})
	}
	writers.Wait()
	for i := range 8 {
		if v, ok := m.Load(i); v != i*i || !ok {
			t.Errorf("%d: %d, %v", i, v, ok)
		}
	}
}
