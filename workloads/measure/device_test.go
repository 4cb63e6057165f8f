package measure

import (
	"errors"
	"testing"

	"github.com/batchctl/batchctl/workloads/gpu"
)

// TestOpenCardsRefuses checks that a misspelt binding is a usage error. It must not have the exit
// code by which a job is retried on another machine.
func TestOpenCardsRefuses(t *testing.T) {
	missing := gpu.Binding{Name: "libcuda", Open: func() (gpu.Driver, error) { return nil, &gpu.UnavailableError{Reason: "no driver"} }}
	for _, c := range []struct {
		platform gpu.Platform
		binding  string
		usage    bool
	}{
		{gpu.Platform{Bindings: []gpu.Binding{missing}}, "libcudo", true},
		{gpu.Platform{Bindings: []gpu.Binding{missing}}, "libcuda", false},
		{gpu.Platform{Bindings: []gpu.Binding{missing}}, "", false},
		{gpu.Platform{}, "libcuda", false}, // another image has it
	} {
		_, _, err := OpenCards(c.platform, Options{Binding: c.binding})
		_, usage := errors.AsType[*UsageError](err)
		_, device := errors.AsType[*NoDeviceError](err)
		if usage != c.usage || device == c.usage {
			t.Errorf("%d bindings, --binding %q: %v", len(c.platform.Bindings), c.binding, err)
		}
	}
}
