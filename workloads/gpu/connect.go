package gpu

import (
	"errors"
	"fmt"
	"strings"
)

// errNoBinding is the answer of a program without a way to the driver.
var errNoBinding = &UnavailableError{
	Reason: "this program is built without GPU support",
	Remedy: "use the GPU image of batchctl-workloads; for jobs on this machine, put batchctl-workloads beside batchctl",
}

// Connect opens the driver by the binding of that name, or, without one, by the first
// that works. The error is an *UnavailableError that tells every binding's reason.
func (p Platform) Connect(name string) (Driver, error) {
	if len(p.Bindings) == 0 {
		return nil, errNoBinding
	}
	var names, reasons []string
	var remedy string
	for _, b := range p.Bindings {
		names = append(names, b.Name)
		if name != "" && b.Name != name {
			continue
		}
		d, err := b.Open()
		if err == nil {
			return d, nil
		}
		missing, ok := errors.AsType[*UnavailableError](err)
		if !ok {
			return nil, fmt.Errorf("open the CUDA driver through %s: %w", b.Name, err)
		}
		reasons = append(reasons, b.Name+": "+missing.Reason)
		if remedy == "" {
			remedy = missing.Remedy
		}
	}
	if len(reasons) == 0 {
		return nil, &UnavailableError{Binding: name, Reason: fmt.Sprintf("unknown binding %s", name),
			Remedy: "this program has: " + strings.Join(names, ", ")}
	}
	return nil, &UnavailableError{Binding: name, Reason: strings.Join(reasons, "; "), Remedy: remedy}
}
