package gpu

import "fmt"

// Library is a module: compiled kernels and their variables.
type Library struct {
	Module Module
	card   *Card
}

// Load compiles PTX for the card.
func (c *Card) Load(ptx string) (*Library, error) {
	m, err := c.driver.LoadModule(ptx)
	if err != nil {
		return nil, fmt.Errorf("compile PTX for %s with compute capability %d.%d: %w", c, c.Info.Capability/10,
			c.Info.Capability%10, c.note(err))
	}
	l := &Library{Module: m, card: c}
	c.hold(l, "a library", func() error { return c.driver.UnloadModule(m) })
	return l, nil
}

// Close unloads it.
func (l *Library) Close() error { return l.card.release(l, "a library") }

// Kernel finds a kernel, and lets it ask for that much dynamic shared memory.
func (l *Library) Kernel(name string, shared int) (*Kernel, error) {
	c := l.card
	if shared > c.Info.SharedBytes {
		return nil, fmt.Errorf("kernel %s needs %d bytes of shared memory per block, and %s has %d", name, shared, c,
			c.Info.SharedBytes)
	}
	f, err := c.driver.Function(l.Module, name)
	if err != nil {
		return nil, fmt.Errorf("find kernel %s: %w", name, c.note(err))
	}
	if shared > 0 {
		if err := c.driver.AllowShared(f, shared); err != nil {
			return nil, fmt.Errorf("allow kernel %s %d bytes of shared memory: %w", name, shared, c.note(err))
		}
	}
	return &Kernel{Name: name, Function: f}, nil
}

// Variable finds a variable, such as one in constant memory, and its size in bytes.
func (l *Library) Variable(name string) (Pointer, int64, error) {
	p, size, err := l.card.driver.Global(l.Module, name)
	if err != nil {
		return 0, 0, fmt.Errorf("find variable %s: %w", name, l.card.note(err))
	}
	return p, size, nil
}

// Kernel is a function of a library.
type Kernel struct {
	Name     string
	Function Function
}
